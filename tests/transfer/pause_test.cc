// SPDX-License-Identifier: Apache-2.0
// Pausing, in both directions, and what a paused transfer costs: nothing.
#include <atomic>
#include <random>

#include "sending.h"

namespace penstock::transfer {
namespace {

constexpr std::size_t kMany = 8 << 20;

std::string pattern(std::size_t size) {
  std::string bytes;
  bytes.reserve(size + 16);
  for (std::size_t i = 0; bytes.size() < size; ++i) bytes += std::to_string(i) + ',';
  bytes.resize(size);
  return bytes;
}

class PauseTest : public SendingTest {
 protected:
  bool until(std::function<bool()> holds) { return run_.run_until(std::move(holds)); }
  /// In 300 ms, once the kernels have swallowed what they can: what spins is never quiet before that.
  int turns_while_idle() {
    for (int i = 0; i < 60 && run_.run_for(50'000) >= 5; ++i) continue;
    return run_.run_for(300'000);
  }

  Recorder recorder_;
};

TEST_F(PauseTest, a_body_taken_in_gulps_is_the_same_body) {
  const std::string plain = pattern(kMany);
  std::string chunks;
  for (std::size_t at = 0; at < kMany; at += 1 << 16) chunks += "10000\r\n" + plain.substr(at, 1 << 16) + "\r\n";
  chunks += "0\r\nX-Sum: 7\r\n\r\n";
  for (const bool chunked : {false, true}) {
    const std::string& sent = chunked ? chunks : plain;
    const std::string framing = chunked ? "Transfer-Encoding: chunked" : "Content-Length: " + std::to_string(kMany);
    test::Origin origin([&](test::Origin&, test::Socket& peer, int) {
      peer.read_until("\r\n\r\n");
      peer.send("HTTP/1.1 200 OK\r\n" + framing + "\r\n\r\n" + sent);
    });
    Recorder recorder;
    recorder.hold_every = 50'000;
    start(request("GET", origin.host()), recorder);
    loop::Timer going_on(run_.loop, [&] {
      if (recorder.held) recorder.take_on();
      going_on.start(run_.loop.now() + 300);
    });
    going_on.start(run_.loop.now());
    ASSERT_TRUE(until([&] { return recorder.done > 0; }));
    going_on.stop();
    EXPECT_EQ(recorder.result.failure, Failure::none) << recorder.result.details;
    EXPECT_TRUE(recorder.body == sent) << recorder.body.size();
  }
}

TEST_F(PauseTest, a_body_that_nobody_takes_holds_the_upstream_back) {
  std::atomic<std::size_t> sent = 0;
  test::Origin origin([&](test::Origin&, test::Socket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\n\r\n");
    const std::string piece(1 << 16, 'x');
    while (sent < (std::size_t{256} << 20) && peer.send(piece)) sent += piece.size();
  });
  recorder_.held = true;
  start(request("GET", origin.host()), recorder_);
  std::size_t last = 1;
  loop::Timer looking(run_.loop, [&] {});
  ASSERT_TRUE(until([&] { return !recorder_.head.empty(); }));
  while (last != sent) {  // until the kernel's buffers are full
    last = sent;
    run_.run_for(100'000);
  }
  EXPECT_LT(sent, std::size_t{64} << 20);
  EXPECT_EQ(recorder_.body, "");
  EXPECT_LT(turns_while_idle(), 10);
  recorder_.transfer.reset();
}

TEST_F(PauseTest, a_body_given_in_drops_arrives_whole) {
  for (const bool chunked : {false, true}) {
    const std::string sent = pattern(200'000);
    test::Origin origin([&](test::Origin& self, test::Socket& peer, int) {
      peer.read_until("\r\n\r\n");
      std::string body;
      if (!chunked) body = peer.read(sent.size());
      for (std::string size = "1"; chunked && size != "0\r\n";) {
        size = peer.read_until("\r\n");
        body += peer.read(std::stoul(size, nullptr, 16));
        peer.read(2);
      }
      self.note(body == sent ? "same" : "different");
      peer.send(kOk);
    });
    Recorder recorder;
    recorder.whole = false;
    const Request upload = request("POST", origin.host());
    start(chunked ? in_chunks(upload) : with_length(upload, sent.size()), recorder);
    std::size_t given = 0;
    loop::Timer dripping(run_.loop, [&] {
      const std::size_t size = std::min<std::size_t>(5'000, sent.size() - given);
      recorder.to_give += sent.substr(given, size);
      given += size;
      recorder.whole = given == sent.size();
      recorder.transfer->resume_upload();
      if (!recorder.whole) dripping.start(run_.loop.now() + 500);
    });
    dripping.start(run_.loop.now());
    ASSERT_TRUE(until([&] { return recorder.done > 0; }));
    EXPECT_EQ(recorder.result.failure, Failure::none) << recorder.result.details;
    EXPECT_EQ(origin.notes(), std::vector<std::string>{"same"});
  }
}

TEST_F(PauseTest, both_ways_at_once_with_pauses_of_their_own) {
  test::Origin origin([](test::Origin&, test::Socket& peer, int) {  // an echo
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kMany) + "\r\n\r\n");
    for (std::size_t echoed = 0; echoed < kMany;) {
      const std::string piece = peer.read_some();
      if (piece.empty()) return;
      peer.send(piece);
      echoed += piece.size();
    }
  });
  const std::string sent = pattern(kMany);
  std::mt19937 random(3);
  std::size_t given = 0;
  recorder_.whole = false;
  recorder_.hold_every = 70'000;
  start(with_length(request("POST", origin.host()), kMany), recorder_);
  loop::Timer taking(run_.loop, [&] {
    if (recorder_.held) recorder_.take_on();
    taking.start(run_.loop.now() + 100 + random() % 400);
  });
  loop::Timer giving(run_.loop, [&] {
    const std::size_t size = std::min<std::size_t>(random() % 200'000, kMany - given);
    recorder_.to_give += sent.substr(given, size);
    given += size;
    recorder_.whole = given == kMany;
    recorder_.transfer->resume_upload();
    giving.start(run_.loop.now() + 100 + random() % 700);
  });
  taking.start(run_.loop.now());
  giving.start(run_.loop.now());
  ASSERT_TRUE(until([&] { return recorder_.done > 0; }));
  EXPECT_EQ(recorder_.result.failure, Failure::none) << recorder_.result.details;
  EXPECT_TRUE(recorder_.body == sent) << recorder_.body.size();
}

TEST_F(PauseTest, a_paused_download_costs_no_turns) {
  test::Origin origin([](test::Origin&, test::Socket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + std::string(500'000, 'x'));
    peer.read_to_end();
  });
  recorder_.held = true;
  start(request("GET", origin.host()), recorder_);
  ASSERT_TRUE(until([&] { return recorder_.head.ends_with("\r\n\r\n"); }));
  EXPECT_LT(turns_while_idle(), 10);
}

TEST_F(PauseTest, a_paused_download_whose_upstream_has_left_costs_no_turns_and_is_heard_to_its_end) {
  test::Origin origin([](test::Origin&, test::Socket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\n\r\n" + std::string(100'000, 'x'));
  });
  recorder_.held = true;
  start(request("GET", origin.host()), recorder_);
  ASSERT_TRUE(until([&] { return recorder_.head.ends_with("\r\n\r\n"); }));
  EXPECT_LT(turns_while_idle(), 10);
  recorder_.take_on();
  finish(recorder_);
  EXPECT_EQ(recorder_.result.failure, Failure::none);
  EXPECT_EQ(recorder_.body.size(), 100'000u);
}

TEST_F(PauseTest, a_paused_download_whose_upstream_has_reset_costs_no_turns) {
  test::Origin origin([](test::Origin& self, test::Socket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + std::string(100'000, 'x'));
    while (self.notes().empty()) std::this_thread::yield();
    peer.reset();
  });
  recorder_.held = true;
  start(request("GET", origin.host()), recorder_);
  ASSERT_TRUE(until([&] { return recorder_.head.ends_with("\r\n\r\n"); }));
  origin.note("now");
  EXPECT_LT(turns_while_idle(), 10);
  recorder_.take_on();
  finish(recorder_);
  EXPECT_EQ(recorder_.result.failure, Failure::incomplete);
}

TEST_F(PauseTest, a_paused_upload_costs_no_turns) {
  test::Origin origin([](test::Origin&, test::Socket& peer, int) { peer.read_to_end(); });
  recorder_.whole = false;
  start(with_length(request("POST", origin.host()), 10), recorder_);
  ASSERT_TRUE(until([&] { return recorder_.gives > 0; }));
  EXPECT_LT(turns_while_idle(), 10);
}

TEST_F(PauseTest, an_upload_that_the_upstream_does_not_read_costs_no_turns) {
  test::Origin origin([](test::Origin& self, test::Socket&, int) {
    while (self.notes().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  recorder_.to_give = std::string(32 << 20, 'u');
  start(with_length(request("POST", origin.host()), 32 << 20), recorder_);
  ASSERT_TRUE(until([&] { return recorder_.gives > 0; }));
  // The kernel takes some of it first; on a slow machine that takes a while.
  for (auto before = recorder_.gives - 1; before != recorder_.gives; run_.run_for(300'000)) before = recorder_.gives;
  EXPECT_LT(turns_while_idle(), 10);
  origin.note("end");
}

TEST_F(PauseTest, a_request_that_waits_for_its_answer_costs_no_turns) {
  test::Origin origin([](test::Origin&, test::Socket& peer, int) { peer.read_to_end(); });
  start(request("GET", origin.host()), recorder_);
  ASSERT_TRUE(until([&] { return recorder_.connected > 0; }));
  EXPECT_LT(turns_while_idle(), 10);
}

TEST_F(PauseTest, kept_connections_cost_no_turns_even_where_the_upstream_leaves_or_speaks) {
  test::Origin origin([](test::Origin&, test::Socket& peer, int number) {
    peer.read_until("\r\n\r\n");
    peer.send(kOk);
    if (number == 1) return;
    if (number == 2) peer.send("and another thing");
    peer.read_to_end();
  });
  Recorder one, two, three;
  start(request("GET", origin.host()), one);
  start(request("GET", origin.host()), two);
  start(request("GET", origin.host()), three);
  finish(one), finish(two), finish(three);
  EXPECT_LT(turns_while_idle(), 10);
}

TEST_F(PauseTest, resuming_what_is_not_paused_changes_nothing) {
  test::Origin origin(test::always(kOk));
  start(request("GET", origin.host()), recorder_);
  recorder_.transfer->resume_download();
  recorder_.transfer->resume_upload();
  ASSERT_TRUE(until([&] { return recorder_.done > 0; }));
  recorder_.transfer->resume_download();
  recorder_.transfer->resume_upload();
  EXPECT_EQ(recorder_.body, "ok");
  EXPECT_EQ(recorder_.done, 1);
}

}  // namespace
}  // namespace penstock::transfer
