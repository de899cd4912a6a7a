// SPDX-License-Identifier: Apache-2.0
// Streams that are dialled, and each direction of a stream by itself: half-open connections, and writes at once.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>

#include "connected.h"
#include "support/few_files.h"
#include "support/held_port.h"

namespace penstock::loop {
namespace {

using namespace std::chrono_literals;

struct Caller final : StreamEvents {
  void on_read(std::string_view bytes) override { read.append(bytes); }
  void on_gone() override { ++gone; }
  void on_drained() override { ++drained; }
  void on_connected() override { ++connected; }
  void on_end() override { ++ends; }
  std::string read;
  int gone = 0, drained = 0, connected = 0, ends = 0;
};

class DiallingTest : public testing::Test {
 protected:
  void dial(const Endpoint& there) {
    stream_ = Stream::dial(run_.loop, there, caller_);
    EXPECT_EQ(caller_.connected + caller_.gone, 0) << "never from inside the call";
  }
  bool tells() {
    return run_.run_until([this] { return caller_.connected + caller_.gone > 0; });
  }
  test::TestLoop run_;
  Caller caller_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(DiallingTest, connects_and_then_is_like_any_other) {
  test::ListeningSocket listening;
  dial({"127.0.0.1", listening.port()});
  ASSERT_TRUE(tells());
  EXPECT_EQ(caller_.connected, 1);
  EXPECT_EQ(stream_->dial_failure(), DialFailure::none);
  test::Socket peer = listening.accept();
  stream_->read_on();
  EXPECT_TRUE(stream_->send("ping"));
  EXPECT_EQ(peer.read(4), "ping");
  peer.send("pong");
  EXPECT_TRUE(run_.run_until([this] { return caller_.read == "pong"; }));
  peer.close();
  EXPECT_TRUE(run_.run_until([this] { return caller_.gone == 1; }));
}

TEST_F(DiallingTest, tells_that_nobody_listens) {
  const test::HeldPort nobody;
  dial({"127.0.0.1", nobody.number()});
  ASSERT_TRUE(tells());
  EXPECT_EQ(caller_.gone, 1);
  EXPECT_EQ(stream_->dial_failure(), DialFailure::refused);
  EXPECT_EQ(stream_->error(), ECONNREFUSED);
}

TEST_F(DiallingTest, tells_later_what_the_kernel_says_at_once) {
  dial({"no address", 80});
  ASSERT_TRUE(tells());
  EXPECT_EQ(caller_.gone, 1);
  EXPECT_EQ(stream_->dial_failure(), DialFailure::other);
}

TEST_F(DiallingTest, for_ourselves_may_use_the_last_descriptors_that_peers_must_leave) {
  test::ListeningSocket listening;
  const Endpoint there{"127.0.0.1", listening.port()};
  dial(there);  // UBSan opens files where it meets a type for the first time
  ASSERT_TRUE(tells());
  stream_ = nullptr;
  caller_ = {};
  const test::FewFiles one(1);
  dial(there);
  ASSERT_TRUE(tells());
  EXPECT_EQ(stream_->dial_failure(), DialFailure::no_descriptors);
  EXPECT_EQ(stream_->error(), EMFILE);
  caller_ = {};
  stream_ = Stream::dial(run_.loop, there, caller_, DialFor::ourselves);
  ASSERT_TRUE(tells());
  EXPECT_EQ(caller_.connected, 1);
}

/// A Unix socket that listens in a folder of its own.
class UnixSocketTest : public DiallingTest {
 protected:
  UnixSocketTest() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listening_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listening_, 1), 0);
  }
  ~UnixSocketTest() override {
    ::close(listening_);
    std::filesystem::remove_all(folder_);
  }

  void dial_path(const std::string& path) {
    stream_ = Stream::dial_path(run_.loop, path, caller_);
    EXPECT_EQ(caller_.connected + caller_.gone, 0) << "never from inside the call";
    ASSERT_TRUE(tells());
  }

  static std::string new_folder() {
    std::string name = std::filesystem::temp_directory_path() / "penstock-XXXXXX";
    return ::mkdtemp(name.data());
  }

  const std::string folder_ = new_folder();
  const std::string path_ = folder_ + "/socket";
  const int listening_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

TEST_F(UnixSocketTest, is_a_stream_like_any_other) {
  dial_path(path_);
  ASSERT_EQ(caller_.connected, 1);
  const int peer = ::accept(listening_, nullptr, nullptr);
  stream_->read_on();
  EXPECT_TRUE(stream_->send("ping"));
  char bytes[8] = {};
  EXPECT_EQ(::recv(peer, bytes, sizeof bytes, 0), 4);
  EXPECT_EQ(::send(peer, "pong", 4, 0), 4);
  EXPECT_TRUE(run_.run_until([this] { return caller_.read == "pong"; }));
  ::close(peer);
  EXPECT_TRUE(run_.run_until([this] { return caller_.gone == 1; }));
  EXPECT_EQ(stream_->error(), 0) << "the peer closed it";
}

TEST_F(UnixSocketTest, takes_what_the_peer_does_not_read_yet_and_sends_it_later) {
  dial_path(path_);
  const int peer = ::accept(listening_, nullptr, nullptr);
  const std::string much(4 * 1024 * 1024, 'x');
  EXPECT_FALSE(stream_->send(much));
  std::string bytes(1024 * 1024, '\0');
  std::size_t read = 0;
  EXPECT_TRUE(run_.run_until([&] {
    const auto size = ::recv(peer, bytes.data(), bytes.size(), MSG_DONTWAIT);
    read += size > 0 ? static_cast<std::size_t>(size) : 0;
    return read == much.size() && caller_.drained == 1;
  }));
  ::close(peer);
}

TEST_F(UnixSocketTest, that_is_not_there_is_told_as_the_system_says_it) {
  dial_path(folder_ + "/none");
  EXPECT_EQ(caller_.gone, 1);
  EXPECT_EQ(stream_->error(), ENOENT);
}

TEST_F(UnixSocketTest, whose_path_is_too_long_is_told_likewise) {
  dial_path(folder_ + "/" + std::string(200, 'x'));
  EXPECT_EQ(caller_.gone, 1);
  EXPECT_EQ(stream_->error(), ENAMETOOLONG);
}

TEST_F(DiallingTest, may_be_dropped_while_it_dials) {
  test::ListeningSocket listening;
  dial({"127.0.0.1", listening.port()});
  stream_.reset();
  run_.run_for(1);
  const auto before = test::open_descriptors();  // with what a loop's first stream opens for all of them
  dial({"127.0.0.1", listening.port()});
  stream_.reset();
  EXPECT_TRUE(run_.run_until([&] { return test::open_descriptors() == before; }));
  EXPECT_EQ(caller_.connected + caller_.gone, 0);
}

class HalfOpenTest : public ConnectedTest {
 protected:
  HalfOpenTest() {
    stream_->keep_half_open();
    stream_->read_on();
  }
  void on_end() override { ++ends_; }
  int ends_ = 0;
};

TEST_F(HalfOpenTest, the_peers_end_is_told_once_and_writing_goes_on) {
  peer_.send("last words");
  peer_.shut_down();
  ASSERT_TRUE(run_.run_until([this] { return ends_ == 1; }));
  EXPECT_EQ(read_, "last words");
  stream_->read_on();  // there is nothing more to read
  EXPECT_TRUE(stream_->send("still here"));
  EXPECT_EQ(peer_.read(10), "still here");
  run_.run_for(20'000);
  EXPECT_EQ(ends_, 1);
  EXPECT_EQ(gone_, 0);
}

TEST_F(HalfOpenTest, our_end_comes_behind_what_had_to_wait_and_reading_goes_on) {
  const std::string much = pattern(8 * 1024 * 1024);
  in_a_turn([&] {
    write("first ");
    EXPECT_FALSE(stream_->send(much));
    stream_->end_writing();
  });
  auto heard = std::async(std::launch::async, [&] { return peer_.read_to_end(); });
  EXPECT_TRUE(run_.run_until([&] { return heard.wait_for(0s) == std::future_status::ready; }));
  EXPECT_EQ(heard.get(), "first " + much);
  EXPECT_EQ(drained_, 1);
  peer_.send("an answer");
  EXPECT_TRUE(run_.run_until([this] { return read_ == "an answer"; }));
}

TEST_F(HalfOpenTest, bytes_before_the_end_are_read_first_however_long_reading_was_off) {
  in_a_turn([this] { stream_->read_off(); });
  peer_.send("bytes");
  peer_.shut_down();
  run_.run_for(50'000);  // what would be told wrongly is told by now, or the test cannot see it
  EXPECT_EQ(ends_ + gone_, 0);
  in_a_turn([this] { stream_->read_on(); });
  ASSERT_TRUE(run_.run_until([this] { return ends_ == 1; }));
  EXPECT_EQ(read_, "bytes");
}

TEST_F(HalfOpenTest, a_reset_is_heard_while_reading_is_off) {
  in_a_turn([this] { stream_->read_off(); });
  peer_.reset();
  EXPECT_TRUE(run_.run_until([this] { return gone_ == 1; }));
  EXPECT_EQ(ends_, 0);
}

TEST_F(HalfOpenTest, sending_to_a_peer_that_was_reset_is_told_later) {
  in_a_turn([this] { stream_->read_off(); });
  peer_.reset();
  const auto until_it_fails = [this] {
    const int before = gone_;
    for (int i = 0; i < 10; ++i) stream_->send("x");
    EXPECT_EQ(gone_, before) << "never from inside the call";
  };
  in_a_turn(until_it_fails);
  EXPECT_TRUE(run_.run_until([this] { return gone_ == 1; }));
}

TEST_F(HalfOpenTest, closes_gently_behind_its_last_bytes_once_the_peer_has_ended) {
  const std::string much = pattern(8 * 1024 * 1024);
  peer_.shut_down();
  ASSERT_TRUE(run_.run_until([this] { return ends_ == 1; }));
  EXPECT_FALSE(stream_->send(much));
  stream_->end_writing();
  Stream::close_lingering(std::move(stream_));
  EXPECT_EQ(run_.loop.self_owned(), 1u);
  auto heard = std::async(std::launch::async, [&] { return peer_.read_to_end(); });
  EXPECT_TRUE(run_.run_until([&] { return heard.wait_for(0s) == std::future_status::ready; }));
  EXPECT_EQ(heard.get().size(), much.size());
  EXPECT_TRUE(run_.run_until([this] { return run_.loop.self_owned() == 0; }));
}

}  // namespace
}  // namespace penstock::loop
