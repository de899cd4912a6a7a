// SPDX-License-Identifier: Apache-2.0
// A connection that stays: reads, gathered writes, back-pressure, and a peer that leaves.
#include <linux/tcp.h>
#include <malloc.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <future>
#include <map>
#include <thread>

#include "connected.h"
#include "support/few_files.h"

namespace penstock::loop {
namespace {

constexpr std::size_t kMoreThanKernelsHold = 16 * 1024 * 1024;

/// Bytes that malloc has given out.
std::size_t in_use() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

using StreamTest = ConnectedTest;

unsigned segments_with_data_received(const test::Socket& socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  EXPECT_EQ(::getsockopt(socket.fd(), IPPROTO_TCP, TCP_INFO, &info, &size), 0);
  return info.tcpi_data_segs_in;
}

TEST_F(StreamTest, hands_on_what_it_reads) {
  stream_->read_on();
  peer_.send("hello ");
  ASSERT_TRUE(run_.run_until([&] { return read_.size() == 6; }));
  peer_.send("world");
  ASSERT_TRUE(run_.run_until([&] { return read_.size() == 11; }));
  EXPECT_EQ(read_, "hello world");
}

TEST_F(StreamTest, reads_nothing_before_it_is_told_to_nor_after_it_is_told_not_to) {
  peer_.send("one");
  run_.run_for(20'000);
  EXPECT_EQ(read_, "");
  stream_->read_on();
  ASSERT_TRUE(run_.run_until([&] { return read_ == "one"; }));
  stream_->read_off();
  peer_.send("two");
  run_.run_for(20'000);
  EXPECT_EQ(read_, "one");
  stream_->read_on();
  EXPECT_TRUE(run_.run_until([&] { return read_ == "onetwo"; }));
}

TEST_F(StreamTest, reads_one_buffer_a_turn_however_much_has_come) {
  const std::string sent = pattern(1024 * 1024);
  std::thread sender([&] { peer_.send(sent); });
  run_.run_for(20'000);  // some of it is there before it is read
  std::map<std::uint64_t, std::size_t> taken;
  std::size_t before = 0;
  when_read_ = [&] {
    taken[run_.loop.iteration()] += read_.size() - before;
    before = read_.size();
  };
  stream_->read_on();
  EXPECT_TRUE(run_.run_until([&] { return read_.size() == sent.size(); }));
  sender.join();
  EXPECT_TRUE(read_ == sent);
  for (const auto& [iteration, bytes] : taken) EXPECT_LE(bytes, Loop::kReadBuffer) << "turn " << iteration;
}

TEST_F(StreamTest, gathers_the_writes_of_a_turn_into_one_send) {
  const unsigned before = segments_with_data_received(peer_);
  in_a_turn([&] {
    write("HTTP/1.1 200 OK\r\n"), write("Content-Length: 2\r\n\r\n"), write("ok");
    EXPECT_EQ(peer_.peek(), "");
    EXPECT_EQ(stream_->queued(), 40u);
  });
  EXPECT_EQ(peer_.read(40), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_EQ(segments_with_data_received(peer_) - before, 1u);
  EXPECT_EQ(stream_->queued(), 0u);
}

TEST_F(StreamTest, sends_before_the_turn_ends_where_much_has_gathered) {
  in_a_turn([&] {
    write(std::string(64 * 1024, 'x'));
    EXPECT_NE(peer_.read_some(), "");
  });
}

TEST_F(StreamTest, says_drained_only_where_something_had_to_wait) {
  in_a_turn([&] { write("little"); });
  run_.run_for(20'000);
  EXPECT_EQ(drained_, 0);
}

TEST_F(StreamTest, queues_what_a_peer_does_not_read_and_says_when_it_is_drained) {
  const std::string sent = pattern(kMoreThanKernelsHold);
  in_a_turn([&] { write(sent); });
  EXPECT_GT(stream_->queued(), Stream::kHighWater);
  run_.run_for(20'000);
  EXPECT_EQ(drained_, 0);
  in_a_turn([&] { write("the end"); });

  auto received = std::async(std::launch::async, [&] { return peer_.read(sent.size() + 7); });
  ASSERT_TRUE(run_.run_until([&] { return drained_ > 0; }));
  EXPECT_EQ(stream_->queued(), 0u);
  EXPECT_TRUE(received.get() == sent + "the end");
  run_.run_for(20'000);
  EXPECT_EQ(drained_, 1);
}

/// `text = {}` keeps a string's memory.
TEST_F(StreamTest, keeps_no_memory_of_what_has_waited) {
  in_a_turn([&] { write(pattern(kMoreThanKernelsHold)); });
  ASSERT_GT(stream_->queued(), Stream::kHighWater);
  const std::size_t held = stream_->queued();
  const std::size_t before = in_use();
  auto received = std::async(std::launch::async, [&] {
    std::size_t size = 0;
    while (size < kMoreThanKernelsHold) size += peer_.read_some().size();
    return size;
  });
  ASSERT_TRUE(run_.run_until([&] { return drained_ > 0; }));
  ASSERT_EQ(received.get(), kMoreThanKernelsHold);
  const std::size_t after = in_use();
  EXPECT_TRUE(before == 0 || after + held / 2 < before)
      << before << " " << after << "; 0: a sanitizer has malloc's place";
}

TEST_F(StreamTest, leaves_little_with_the_kernel_that_the_peer_is_not_ready_for) {
  in_a_turn([&] { write(std::string(kMoreThanKernelsHold, 'x')); });
  EXPECT_LT(stream_->unread_by_peer() - stream_->queued(), 4 * Stream::kHighWater);
}

TEST_F(StreamTest, goes_on_reading_while_its_writes_wait) {
  in_a_turn([&] { write(std::string(kMoreThanKernelsHold, 'x')); });
  stream_->read_on();
  peer_.send("still here");
  EXPECT_TRUE(run_.run_until([&] { return read_ == "still here"; }));
}

TEST_F(StreamTest, tells_where_its_peer_is) { EXPECT_EQ(stream_->peer(), (Endpoint{"127.0.0.1", peer_.port()})); }

TEST_F(StreamTest, says_gone_when_the_peer_closes_while_it_reads) {
  stream_->read_on();
  peer_.send("last words");
  peer_.close();
  ASSERT_TRUE(run_.run_until([&] { return gone_ > 0; }));
  EXPECT_EQ(read_, "last words");
  run_.run_for(20'000);
  EXPECT_EQ(gone_, 1);
}

TEST_F(StreamTest, says_gone_when_the_peer_half_closes) {
  stream_->read_on();
  peer_.shut_down();
  EXPECT_TRUE(run_.run_until([&] { return gone_ == 1; }));
}

TEST_F(StreamTest, says_gone_when_the_peer_resets_while_it_reads) {
  stream_->read_on();
  run_.run_for(1'000);
  peer_.reset();
  ASSERT_TRUE(run_.run_until([&] { return gone_ > 0; }));
  run_.run_for(20'000);
  EXPECT_EQ(gone_, 1);
}

TEST_F(StreamTest, says_gone_when_the_peer_closes_behind_unread_bytes) {
  in_a_turn([&] {
    stream_->read_on();
    stream_->read_off();
  });
  peer_.send(std::string(70'000, 'u'));
  run_.run_for(20'000);
  EXPECT_EQ(gone_, 0);
  peer_.close();
  ASSERT_TRUE(run_.run_until([&] { return gone_ > 0; }));
  EXPECT_EQ(read_, "");
  run_.run_for(20'000);
  EXPECT_EQ(gone_, 1);
}

TEST_F(StreamTest, says_gone_when_the_peer_resets_behind_unread_bytes) {
  in_a_turn([&] {
    stream_->read_on();
    stream_->read_off();
  });
  peer_.send(std::string(70'000, 'u'));
  run_.run_for(20'000);
  peer_.reset();
  ASSERT_TRUE(run_.run_until([&] { return gone_ > 0; }));
  run_.run_for(20'000);
  EXPECT_EQ(gone_, 1);
}

TEST_F(StreamTest, says_gone_when_the_peer_has_left_before_reading_was_stopped) {
  peer_.close();
  in_a_turn([&] {
    stream_->read_on();
    stream_->read_off();
  });
  EXPECT_TRUE(run_.run_until([&] { return gone_ == 1; }));
}

TEST_F(StreamTest, still_notices_a_leaver_after_reading_went_off_and_on_many_times) {
  for (int i = 0; i < 20; ++i) {
    in_a_turn([&] { stream_->read_off(); });
    in_a_turn([&] { stream_->read_on(); });
  }
  peer_.send("all of it");
  ASSERT_TRUE(run_.run_until([&] { return read_ == "all of it"; }));
  in_a_turn([&] { stream_->read_off(); });
  peer_.close();
  EXPECT_TRUE(run_.run_until([&] { return gone_ == 1; }));
}

TEST_F(StreamTest, notices_a_leaver_although_no_descriptor_is_left) {
  peer_.send("unread");
  in_a_turn([] {});  // UBSan opens a pipe the first time that it looks at an object of a type
  {
    const test::FewFiles none(0);
    in_a_turn([&] { stream_->read_on(), stream_->read_off(); });
    run_.run_for(10'000);
  }
  peer_.close();
  EXPECT_TRUE(run_.run_until([&] { return gone_ == 1; }));
}

TEST_F(StreamTest, an_idle_watch_for_leavers_costs_no_turns) {
  in_a_turn([&] {
    stream_->read_on();
    stream_->read_off();
  });
  peer_.send(std::string(70'000, 'u'));
  run_.run_for(20'000);
  EXPECT_LT(run_.run_for(200'000), 10);
}

TEST_F(StreamTest, says_gone_when_a_write_fails) {
  in_a_turn([&] { write(std::string(kMoreThanKernelsHold, 'x')); });
  peer_.reset();
  ASSERT_TRUE(run_.run_until([&] { return gone_ > 0; }));
  in_a_turn([&] { write("into the void"); });
  run_.run_for(20'000);
  EXPECT_EQ(gone_, 1);
  EXPECT_EQ(drained_, 0);
}

TEST_F(StreamTest, may_be_destroyed_in_on_read) {
  when_read_ = [&] { stream_.reset(); };
  stream_->read_on();
  peer_.send("bye");
  ASSERT_TRUE(run_.run_until([&] { return stream_ == nullptr; }));
  EXPECT_EQ(peer_.read_to_end(), "");
}

TEST_F(StreamTest, may_be_destroyed_in_on_gone) {
  when_gone_ = [&] { stream_.reset(); };
  stream_->read_on();
  peer_.close();
  EXPECT_TRUE(run_.run_until([&] { return stream_ == nullptr; }));
}

TEST_F(StreamTest, may_be_destroyed_in_on_gone_while_reading_is_off) {
  when_gone_ = [&] { stream_.reset(); };
  in_a_turn([&] {
    stream_->read_on();
    stream_->read_off();
  });
  peer_.close();
  EXPECT_TRUE(run_.run_until([&] { return stream_ == nullptr; }));
}

TEST_F(StreamTest, may_be_destroyed_in_on_drained) {
  when_drained_ = [&] { stream_.reset(); };
  in_a_turn([&] { write(std::string(kMoreThanKernelsHold, 'x')); });
  auto received = std::async(std::launch::async, [&] { return peer_.read_to_end().size(); });
  EXPECT_TRUE(run_.run_until([&] { return stream_ == nullptr; }));
  run_.run_for(1'000);
  EXPECT_EQ(received.get(), kMoreThanKernelsHold);
}

TEST_F(StreamTest, dropping_it_with_a_write_under_way_and_a_write_to_come_leaks_nothing) {
  in_a_turn([&] {
    write(std::string(kMoreThanKernelsHold, 'x'));
    write("more");
    stream_.reset();
  });
  EXPECT_LT(peer_.read_to_end().size(), kMoreThanKernelsHold);
}

TEST_F(StreamTest, all_its_descriptors_are_closed_with_it) {
  run_.run_for(1'000);
  const std::size_t before = test::open_descriptors();
  in_a_turn([&] {
    stream_->read_on();
    stream_->read_off();
  });
  EXPECT_EQ(test::open_descriptors(), before) << "to watch for leavers takes none";
  stream_.reset();
  run_.run_for(1'000);
  EXPECT_EQ(test::open_descriptors(), before - 1);
}

}  // namespace
}  // namespace penstock::loop
