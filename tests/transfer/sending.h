// SPDX-License-Identifier: Apache-2.0
// A Multi on a loop, and transfers that tell what happened to them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/dial_guards.h"
#include "support/machine.h"
#include "support/origin.h"
#include "support/test_loop.h"
#include "transfer/multi.h"

namespace penstock::transfer {

inline std::ostream& operator<<(std::ostream& out, Failure failure) { return out << static_cast<int>(failure); }

/// Records one transfer, and behaves as the test says.
struct Recorder final : TransferEvents {
  // What it gives.
  std::string to_give;  ///< of the request's body, not yet given
  bool whole = true;    ///< nothing will be added to it
  std::size_t give_at_once = std::string::npos;
  std::vector<std::pair<std::string, std::string>> trailers;
  // Where it pauses or stops.
  bool held = false;           ///< takes no body
  std::size_t hold_every = 0;  ///< is held again after about that many bytes
  bool stop_line = false, stop_body = false, stop_giving = false;
  std::function<void()> when_connected, when_line, when_done;
  // What came.
  std::string head;
  std::string body;
  int connected = 0;
  int heads_sent = 0;  ///< 100 for one told at a wrong time
  int gives = 0;
  int done = 0;
  Result result{.failure = Failure::internal};

  std::unique_ptr<Transfer> transfer;

  void on_connected() override {
    ++connected;
    if (when_connected) when_connected();
  }
  void on_head_sent() override { heads_sent += connected > 0 && head.empty() ? 1 : 100; }
  bool on_line(std::string_view line) override {
    head.append(line);
    if (when_line) when_line();
    return !stop_line;
  }
  Taken on_body(std::string_view bytes) override {
    if (stop_body) return Taken::stop;
    if (held) return Taken::none;
    body.append(bytes);
    if (hold_every > 0 && body.size() / hold_every > (body.size() - bytes.size()) / hold_every) held = true;
    return Taken::all;
  }
  Given give_body(char* room, std::size_t space, std::size_t& size) override {
    ++gives;
    if (stop_giving) return Given::stop;
    if (to_give.empty()) return whole ? Given::end : Given::none;
    size = to_give.copy(room, std::min(space, give_at_once));
    to_give.erase(0, size);
    return Given::bytes;
  }
  void give_trailers(HeaderLines& lines) override {
    for (const auto& [name, value] : trailers) lines.add(name, value);
  }
  void on_done(const Result& what) override {
    ++done;
    result = what;
    if (when_done) when_done();
  }

  void take_on() {
    held = false;
    transfer->resume_download();
  }
};

class SendingTest : public testing::Test {
 protected:
  SendingTest() : multi_(std::make_unique<Multi>(run_.loop, guard_)) {}

  static Request request(const std::string& method, const std::string& host, const std::string& resource = "/") {
    Request request;
    request.method = method;
    request.origin = "http://" + host + "/";
    request.resource = resource;
    request.lines.add("Host", "origin.test");
    return request;
  }
  static Request with_length(Request request, std::size_t length) {
    request.body = BodyKind::length;
    request.length = length;
    return request;
  }
  static Request in_chunks(Request request) {
    request.body = BodyKind::chunked;
    return request;
  }

  void start(Request request, Recorder& recorder) { recorder.transfer = multi_->start(std::move(request), recorder); }
  bool finish(Recorder& recorder) {
    const bool ended = run_.run_until([&] { return recorder.done > 0; });
    EXPECT_TRUE(ended) << "after " << recorder.head;
    recorder.transfer.reset();
    return ended;
  }
  /// From beginning to end.
  Failure send(Request request, Recorder& recorder) {
    start(std::move(request), recorder);
    finish(recorder);
    return recorder.result.failure;
  }
  /// Waits for no timer of libcurl's, of which the shortest is 200 ms.
  static testing::AssertionResult at_once(test::MachineClock::time_point since) {
    return test::within(std::chrono::milliseconds(150), since);
  }
  Failure get(const std::string& host) {
    Recorder recorder;
    return send(request("GET", host), recorder);
  }

  test::TestLoop run_;
  test::DialGuard guard_;  // allows all, unless told otherwise
  std::unique_ptr<Multi> multi_;
};

inline const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

}  // namespace penstock::transfer
