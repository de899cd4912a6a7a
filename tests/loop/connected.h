// SPDX-License-Identifier: Apache-2.0
// A Stream under test, connected to a plain socket of the test's, and what it has told so far.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "loop/listener.h"
#include "loop/stream.h"
#include "support/sockets.h"
#include "support/test_loop.h"

namespace penstock::loop {

class ConnectedTest : public testing::Test, protected StreamEvents {
 protected:
  ConnectedTest() {
    auto listening = Listener::listen(run_.loop, {"127.0.0.1", 0}, [this](std::unique_ptr<Stream> stream) {
      stream_ = std::move(stream);
      stream_->set_events(*this);
    });
    EXPECT_TRUE(listening);
    listener_ = std::move(*listening);
    peer_ = test::connect_to(listener_->bound().port);
    EXPECT_TRUE(run_.run_until([this] { return stream_ != nullptr; }));
  }

  void on_read(std::string_view bytes) override {
    read_.append(bytes);
    if (when_read_) when_read_();
  }
  void on_gone() override {
    ++gone_;
    if (when_gone_) when_gone_();
  }
  void on_drained() override {
    ++drained_;
    if (when_drained_) when_drained_();
  }

  /// Within a turn of the loop, and then to its end.
  void in_a_turn(std::function<void()> task) {
    bool done = false;
    run_.loop.post([&] {
      task();
      done = true;
    });
    ASSERT_TRUE(run_.run_until([&] { return done; }));
  }
  void write(std::string_view bytes) {
    stream_->out().append(bytes);
    stream_->touch();
  }

  test::TestLoop run_;
  std::unique_ptr<Listener> listener_;
  test::Socket peer_{-1};
  std::unique_ptr<Stream> stream_;
  std::string read_;
  int gone_ = 0;
  int drained_ = 0;
  std::function<void()> when_read_, when_gone_, when_drained_;
};

/// Bytes in which a lost, doubled or misplaced piece shows.
inline std::string pattern(std::size_t size) {
  std::string bytes;
  bytes.reserve(size + 16);
  for (std::size_t i = 0; bytes.size() < size; ++i) bytes += std::to_string(i) + ',';
  bytes.resize(size);
  return bytes;
}

}  // namespace penstock::loop
