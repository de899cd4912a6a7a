// SPDX-License-Identifier: Apache-2.0
// What goes wrong on the way, and what it is called.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>

#include "sending.h"
#include "support/bind.h"
#include "support/held_port.h"

namespace penstock::transfer {
namespace {

using namespace std::chrono_literals;

/// Reads a head, sends the bytes, and closes.
test::Origin::Script say(std::string bytes) {
  return [bytes = std::move(bytes)](test::Origin&, test::Socket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send(bytes);
  };
}

test::Origin::Script say_and_reset(std::string bytes) {
  return [bytes = std::move(bytes)](test::Origin& origin, test::Socket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send(bytes);
    // What was sent must have arrived, or the reset destroys it: the test says when.
    while (origin.notes().empty()) std::this_thread::yield();
    peer.reset();
  };
}

class FailureTest : public SendingTest {
 protected:
  Failure failure_of(test::Origin::Script script) {
    test::Origin origin(std::move(script));
    const Failure failure = send(request("GET", origin.host()), recorder_);
    EXPECT_NE(recorder_.result.details, "");
    EXPECT_EQ(recorder_.done, 1);
    return failure;
  }
  Failure failure_of_reset_after(const std::string& bytes, std::size_t body) {
    test::Origin origin(say_and_reset(bytes));
    start(request("GET", origin.host()), recorder_);
    EXPECT_TRUE(run_.run_until([&] { return recorder_.body.size() == body && !recorder_.head.empty(); }));
    origin.note("now");
    finish(recorder_);
    return recorder_.result.failure;
  }

  Recorder recorder_;
};

/// An address whose queue of connections is full: whoever dials it waits.
class SilentAddress {
 public:
  explicit SilentAddress(std::uint16_t port, const char* address = "127.9.0.2") {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(port);
    ::inet_pton(AF_INET, address, &place.sin_addr);
    socklen_t size = sizeof place;
    EXPECT_TRUE(test::take_place(fds_[0], place));
    EXPECT_EQ(::listen(fds_[0], 0), 0);
    ::getsockname(fds_[0], reinterpret_cast<sockaddr*>(&place), &size);
    port_ = ntohs(place.sin_port);
    for (int i = 1; i < kSockets; ++i) ::connect(fds_[i], reinterpret_cast<sockaddr*>(&place), sizeof place);
  }
  ~SilentAddress() {
    for (const int fd : fds_) ::close(fd);
  }
  std::string host() const { return "127.9.0.2:" + std::to_string(port_); }

 private:
  static constexpr int kSockets = 8;
  static int make() { return ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

  int fds_[kSockets] = {make(), make(), make(), make(), make(), make(), make(), make()};
  std::uint16_t port_ = 0;
};

TEST_F(FailureTest, nobody_listening_is_refused) {
  const test::HeldPort nobody;
  EXPECT_EQ(get("127.0.0.1:" + std::to_string(nobody.number())), Failure::refused);
}

TEST_F(FailureTest, nobody_answering_the_dial_is_a_connect_timeout_in_time) {
  const SilentAddress full(0);
  Request slow = request("GET", full.host());
  slow.connect_timeout = 300ms;
  const auto began = test::MachineClock::now();
  EXPECT_EQ(send(std::move(slow), recorder_), Failure::connect_timeout);
  EXPECT_GE(test::MachineClock::now() - began, 290ms);
  EXPECT_TRUE(test::within(350ms, began));
  EXPECT_EQ(recorder_.connected, 0);
}

TEST_F(FailureTest, a_connect_timeout_below_a_millisecond_is_one_too) {
  const SilentAddress full(0);
  Request slow = request("GET", full.host());
  slow.connect_timeout = 200us;
  EXPECT_EQ(send(std::move(slow), recorder_), Failure::connect_timeout);
}

// libcurl gives a first address half of the time, and closes its socket unsaid; the second gets the same number.
TEST_F(FailureTest, an_address_that_keeps_silent_leaves_time_for_the_next) {
  test::Origin origin(test::always(kOk));
  Request both = request("GET", "name.test:" + std::to_string(origin.port()));
  both.pin = "name.test:" + std::to_string(origin.port()) + ":127.9.0.2,127.0.0.1";
  both.connect_timeout = 4s;
  const SilentAddress silent(origin.port());
  EXPECT_EQ(send(std::move(both), recorder_), Failure::none) << recorder_.result.details;
}

TEST_F(FailureTest, an_address_that_is_refused_late_leaves_time_for_the_next) {
  test::Origin origin(test::always(kOk));
  auto silent = std::make_optional<SilentAddress>(origin.port());
  Request both = request("GET", "name.test:" + std::to_string(origin.port()));
  both.pin = "name.test:" + std::to_string(origin.port()) + ":127.9.0.2,127.0.0.1";
  both.connect_timeout = 8s;
  start(std::move(both), recorder_);
  run_.run_for(50'000);
  silent.reset();  // the next knock is answered with a reset
  const auto began = test::MachineClock::now();
  ASSERT_TRUE(run_.run_until([&] { return recorder_.done > 0; }));
  EXPECT_EQ(recorder_.result.failure, Failure::none) << recorder_.result.details;
  EXPECT_TRUE(test::within(1500ms, began)) << "the kernel knocks again after a second; half of the time would be four";
}

TEST_F(FailureTest, a_number_that_was_dialled_in_vain_serves_others_again) {
  const SilentAddress full(0);
  for (int i = 0; i < 3; ++i) {
    Recorder late;
    Request slow = request("GET", full.host());
    slow.connect_timeout = 50ms;
    EXPECT_EQ(send(std::move(slow), late), Failure::connect_timeout);
    test::Origin origin(test::always(kOk));
    EXPECT_EQ(get(origin.host()), Failure::none);
  }
}

TEST_F(FailureTest, no_descriptor_left_says_so) {
  test::Origin origin(test::always(kOk)), other(test::always(kOk));
  EXPECT_EQ(get(other.host()), Failure::none);  // sanitizers take descriptors too, the first time they meet a type
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(0);
  ::close(next);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(next);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const Failure failure = get(origin.host());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(failure, Failure::no_descriptors);
  EXPECT_EQ(get(origin.host()), Failure::none) << "and it recovers";
}

TEST_F(FailureTest, closed_before_any_byte_is_terminated_and_not_tried_again) {
  test::Origin origin(say(""));
  EXPECT_EQ(get(origin.host()), Failure::terminated);
  run_.run_for(20'000);
  EXPECT_EQ(origin.connections(), 1);
}

TEST_F(FailureTest, reset_before_any_byte_is_terminated) {
  EXPECT_EQ(failure_of([](test::Origin&, test::Socket& peer, int) {
              peer.read_until("\r\n\r\n");
              peer.reset();
            }),
            Failure::terminated);
}

TEST_F(FailureTest, a_body_shorter_than_its_length_is_incomplete) {
  EXPECT_EQ(failure_of(say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")), Failure::incomplete);
  EXPECT_EQ(recorder_.body, "hello");
}

TEST_F(FailureTest, chunks_without_a_last_one_are_incomplete) {
  EXPECT_EQ(failure_of(say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")),
            Failure::incomplete);
  EXPECT_EQ(recorder_.body, "5\r\nhello\r\n");
}

TEST_F(FailureTest, a_last_chunk_without_its_end_is_incomplete) {
  EXPECT_EQ(failure_of(say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n")),
            Failure::incomplete);
}

TEST_F(FailureTest, a_reset_in_the_middle_of_a_body_is_incomplete) {
  EXPECT_EQ(failure_of_reset_after("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", 5), Failure::incomplete);
}

TEST_F(FailureTest, a_reset_in_the_middle_of_chunks_is_incomplete) {
  EXPECT_EQ(failure_of_reset_after("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", 10),
            Failure::incomplete);
}

TEST_F(FailureTest, a_reset_is_the_end_of_a_body_without_length_but_no_good_one) {
  EXPECT_EQ(failure_of_reset_after("HTTP/1.1 200 OK\r\n\r\nhello", 5), Failure::incomplete);
}

TEST_F(FailureTest, a_broken_chunk_is_a_broken_coding) {
  EXPECT_EQ(failure_of(say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello\r\n")), Failure::coding);
}

TEST_F(FailureTest, a_chunk_longer_than_it_said_is_a_broken_coding) {
  EXPECT_EQ(failure_of(say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n")),
            Failure::coding);
}

TEST_F(FailureTest, earlier_failures_do_not_colour_later_ones) {
  const test::HeldPort nobody;
  EXPECT_EQ(get("127.0.0.1:" + std::to_string(nobody.number())), Failure::refused);
  EXPECT_EQ(failure_of(say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello\r\n")), Failure::coding);
}

TEST_F(FailureTest, another_protocol_is_no_http) {
  EXPECT_EQ(failure_of(say("SSH-2.0-OpenSSH_9.2\r\n")), Failure::protocol);
}

TEST_F(FailureTest, a_body_without_a_head_is_no_http) {
  EXPECT_EQ(failure_of(say("<html>HTTP/0.9</html>")), Failure::protocol);
  EXPECT_EQ(recorder_.body, "");
}

TEST_F(FailureTest, half_a_status_line_is_no_answer) { EXPECT_EQ(failure_of(say("HTTP/1.")), Failure::terminated); }

TEST_F(FailureTest, an_endless_line_of_a_head_is_too_large) {
  EXPECT_EQ(failure_of(say("HTTP/1.1 200 OK\r\nX: " + std::string(400'000, 'x'))), Failure::head_too_large);
}

TEST_F(FailureTest, a_line_that_is_not_wanted_stops_it) {
  recorder_.stop_line = true;
  EXPECT_EQ(failure_of(say(kOk)), Failure::stopped);
}

TEST_F(FailureTest, a_body_that_is_not_wanted_stops_it) {
  recorder_.stop_body = true;
  EXPECT_EQ(failure_of(say(kOk)), Failure::stopped);
}

TEST_F(FailureTest, an_upload_may_be_stopped) {
  test::Origin origin(test::always(kOk));
  recorder_.stop_giving = true;
  EXPECT_EQ(send(with_length(request("POST", origin.host()), 10), recorder_), Failure::stopped);
}

}  // namespace
}  // namespace penstock::transfer
