// SPDX-License-Identifier: Apache-2.0
// The two ways to end a connection: gently, so that the last answer arrives, and with a reset, so that a broken one is
// seen to be broken.
#include <future>

#include "connected.h"

namespace penstock::loop {
namespace {

using ClosingTest = ConnectedTest;

TEST_F(ClosingTest, gently_delivers_what_was_written_and_then_a_fin) {
  in_a_turn([&] {
    write("the answer");
    Stream::close_lingering(std::move(stream_));
  });
  EXPECT_EQ(peer_.read_to_end(), "the answer");
  EXPECT_FALSE(peer_.was_reset());
}

TEST_F(ClosingTest, gently_reads_away_what_the_peer_had_sent_for_a_reset_would_destroy_the_answer) {
  peer_.send(pattern(200'000));
  in_a_turn([&] {
    write("413 too much");
    Stream::close_lingering(std::move(stream_));
  });
  ASSERT_TRUE(run_.run_until([&] { return peer_.peek().size() == 12; }));
  run_.run_for(20'000);
  EXPECT_EQ(peer_.read_to_end(), "413 too much");
  EXPECT_FALSE(peer_.was_reset());
}

TEST_F(ClosingTest, gently_waits_for_a_peer_that_goes_on_sending_for_a_while) {
  in_a_turn([&] {
    write("413 too much");
    Stream::close_lingering(std::move(stream_));
  });
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(peer_.send(pattern(20'000)));
    run_.run_for(2'000);
  }
  EXPECT_EQ(peer_.read_to_end(), "413 too much");
  EXPECT_FALSE(peer_.was_reset());
  peer_.close();
  EXPECT_TRUE(run_.run_until([&] { return run_.loop.self_owned() == 0; }));
}

TEST_F(ClosingTest, gently_after_unread_bytes_and_the_peers_fin_still_gives_no_reset) {
  in_a_turn([&] {
    stream_->read_on();
    stream_->read_off();
  });
  peer_.send(pattern(150'000));
  in_a_turn([&] {
    write("the answer");
    Stream::close_lingering(std::move(stream_));
    peer_.shut_down();
  });
  ASSERT_TRUE(run_.run_until([&] { return run_.loop.self_owned() == 0; }));
  EXPECT_EQ(peer_.read_to_end(), "the answer");
  EXPECT_FALSE(peer_.was_reset());
}

TEST_F(ClosingTest, gently_delivers_a_long_answer_to_a_peer_that_reads_late) {
  const std::string answer = pattern(16 * 1024 * 1024);
  in_a_turn([&] {
    write(answer);
    Stream::close_lingering(std::move(stream_));
  });
  run_.run_for(3'000'000);  // longer than any politeness towards one who has everything
  auto received = std::async(std::launch::async, [&] { return peer_.read_to_end(); });
  ASSERT_TRUE(run_.run_until([&] { return received.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
  EXPECT_TRUE(received.get() == answer);
  EXPECT_FALSE(peer_.was_reset());
}

TEST_F(ClosingTest, gently_is_over_when_the_peer_closes_too) {
  in_a_turn([&] {
    write("the answer");
    Stream::close_lingering(std::move(stream_));
  });
  EXPECT_EQ(run_.loop.self_owned(), 1u);
  peer_.close();
  EXPECT_TRUE(run_.run_until([&] { return run_.loop.self_owned() == 0; }));
}

TEST_F(ClosingTest, gently_does_not_wait_for_ever_for_a_peer_that_stays) {
  in_a_turn([&] {
    write("the answer");
    Stream::close_lingering(std::move(stream_));
  });
  EXPECT_EQ(peer_.read_to_end(), "the answer");
  EXPECT_TRUE(run_.run_until([&] { return run_.loop.self_owned() == 0; }));
}

TEST_F(ClosingTest, gently_does_not_read_without_end) {
  in_a_turn([&] {
    write("the answer");
    Stream::close_lingering(std::move(stream_));
  });
  auto flood = std::async(std::launch::async, [&] {
    const std::string much(64 * 1024, 'f');
    int sent = 0;
    while (peer_.send(much)) ++sent;
    return sent;
  });
  ASSERT_TRUE(run_.run_until([&] { return run_.loop.self_owned() == 0; }));
  run_.run_for(1'000);
  EXPECT_GE(flood.get(), 16) << "a mebibyte at least is read";
}

TEST_F(ClosingTest, gently_with_nothing_written_is_a_fin) {
  in_a_turn([&] { Stream::close_lingering(std::move(stream_)); });
  EXPECT_EQ(peer_.read_to_end(), "");
  EXPECT_FALSE(peer_.was_reset());
}

TEST_F(ClosingTest, gently_after_the_peer_has_gone_is_over_at_once) {
  stream_->read_on();
  peer_.close();
  ASSERT_TRUE(run_.run_until([&] { return gone_ == 1; }));
  Stream::close_lingering(std::move(stream_));
  EXPECT_EQ(run_.loop.self_owned(), 0u);
}

TEST_F(ClosingTest, gently_tells_the_former_listener_nothing_more) {
  stream_->read_on();
  in_a_turn([&] {
    write("the answer");
    Stream::close_lingering(std::move(stream_));
  });
  peer_.send("more");
  peer_.close();
  ASSERT_TRUE(run_.run_until([&] { return run_.loop.self_owned() == 0; }));
  EXPECT_EQ(read_, "");
  EXPECT_EQ(gone_, 0);
}

TEST_F(ClosingTest, with_reset_gives_a_reset) {
  in_a_turn([&] {
    write("half an ans");
    Stream::close_with_reset(std::move(stream_));
  });
  run_.run_for(1'000);
  peer_.read_to_end();
  EXPECT_TRUE(peer_.was_reset());
}

TEST_F(ClosingTest, with_reset_gives_a_reset_while_the_peer_is_watched_for_leaving) {
  in_a_turn([&] {
    stream_->read_on();
    stream_->read_off();
  });
  in_a_turn([&] { Stream::close_with_reset(std::move(stream_)); });
  run_.run_for(1'000);
  peer_.read_to_end();
  EXPECT_TRUE(peer_.was_reset());
}

TEST_F(ClosingTest, with_reset_gives_a_reset_while_a_write_is_under_way) {
  in_a_turn([&] {
    write(std::string(16 * 1024 * 1024, 'x'));
    Stream::close_with_reset(std::move(stream_));
  });
  run_.run_for(1'000);
  peer_.read_to_end();
  EXPECT_TRUE(peer_.was_reset());
}

TEST_F(ClosingTest, every_way_gives_its_descriptors_back) {
  run_.run_for(1'000);
  const std::size_t before = test::open_descriptors();
  in_a_turn([&] {
    stream_->read_on();
    stream_->read_off();
  });
  in_a_turn([&] { Stream::close_with_reset(std::move(stream_)); });
  run_.run_for(1'000);
  EXPECT_EQ(test::open_descriptors(), before - 1);

  peer_ = test::connect_to(listener_->bound().port);
  ASSERT_TRUE(run_.run_until([&] { return stream_ != nullptr; }));
  in_a_turn([&] { Stream::close_lingering(std::move(stream_)); });
  peer_.close();
  ASSERT_TRUE(run_.run_until([&] { return run_.loop.self_owned() == 0; }));
  run_.run_for(1'000);
  EXPECT_EQ(test::open_descriptors(), before - 2);
}

}  // namespace
}  // namespace penstock::loop
