// SPDX-License-Identifier: Apache-2.0
// Peers that leave in crowds, while nothing is read from them.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "loop/listener.h"
#include "loop/stream.h"
#include "support/sockets.h"
#include "support/test_loop.h"

namespace penstock::loop {
namespace {

/// One of the crowd, unread.
struct WatchedGuest final : StreamEvents {
  explicit WatchedGuest(std::unique_ptr<Stream> its) : stream(std::move(its)) {
    stream->set_events(*this);
    stream->read_on();
    stream->read_off();
  }
  void on_read(std::string_view) override {}
  void on_gone() override {
    ++gone;
    if (when_gone) when_gone();
  }
  void on_drained() override {}
  void on_end() override { ++ended; }

  std::unique_ptr<Stream> stream;
  std::function<void()> when_gone;
  int gone = 0, ended = 0;
};

class LeavingTest : public testing::Test {
 protected:
  LeavingTest() {
    auto listening = Listener::listen(run_.loop, {"127.0.0.1", 0}, [this](std::unique_ptr<Stream> stream) {
      guests_.push_back(std::make_unique<WatchedGuest>(std::move(stream)));
    });
    listener_ = std::move(*listening);
  }

  void invite(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      peers_.push_back(test::connect_to(listener_->bound().port));
      peers_.back().send("unread");
    }
    ASSERT_TRUE(run_.run_until([&] { return guests_.size() == count; }));
    run_.run_for(5'000);
  }
  std::size_t gone() const {
    std::size_t count = 0;
    for (const auto& guest : guests_) count += static_cast<std::size_t>(guest->gone);
    return count;
  }

  test::TestLoop run_;
  std::unique_ptr<Listener> listener_;
  std::deque<std::unique_ptr<WatchedGuest>> guests_;
  std::deque<test::Socket> peers_;
};

TEST_F(LeavingTest, a_crowd_at_once_is_noticed_to_the_last) {
  invite(300);
  EXPECT_EQ(gone(), 0u);
  peers_.clear();
  EXPECT_TRUE(run_.run_until([&] { return gone() == 300; }));
  EXPECT_LT(run_.run_for(50'000), 10) << "and said no more";
  EXPECT_EQ(gone(), 300u);
}

TEST_F(LeavingTest, who_is_dropped_when_another_leaves_in_the_same_turn_hears_nothing) {
  invite(40);
  bool first = true;
  for (auto& guest : guests_) {
    guest->when_gone = [&] {
      if (!std::exchange(first, false)) return;
      for (auto& other : guests_) other->stream.reset();
    };
  }
  peers_.clear();
  ASSERT_TRUE(run_.run_until([&] { return gone() > 0; }));
  run_.run_for(5'000);
  EXPECT_EQ(gone(), 1u);
}

TEST_F(LeavingTest, one_side_of_a_half_open_stream_that_ends_unread_is_read_in_its_turn) {
  invite(1);
  auto& guest = *guests_.front();
  guest.stream->keep_half_open();
  peers_.front().shut_down();
  EXPECT_LT(run_.run_for(50'000), 10) << "the end that waits behind unread bytes costs no turns";
  EXPECT_EQ(guest.gone + guest.ended, 0);
  guest.stream->read_on();
  EXPECT_TRUE(run_.run_until([&] { return guest.ended == 1; }));
  EXPECT_EQ(guest.gone, 0);
}

}  // namespace
}  // namespace penstock::loop
