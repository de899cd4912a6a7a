// SPDX-License-Identifier: Apache-2.0
// Kept connections: used again while they are sound, and what happens when they are not. A request is never on the wire
// twice unless the caller says so.
#include <chrono>
#include <list>
#include <thread>

#include "sending.h"

namespace penstock::transfer {
namespace {

/// Answers the first request of each connection, notes down what comes then, and ends without a word.
test::Origin::Script only_once(bool with_reset = false) {
  return [with_reset](test::Origin& origin, test::Socket& peer, int number) {
    const auto note = [&](const std::string& what) { origin.note(std::to_string(number) + ": " + what); };
    note(peer.read_until("\r\n\r\n").substr(0, 4));
    peer.send(kOk);
    note(peer.read_until("\r\n\r\n").substr(0, 4));
    if (with_reset) peer.reset();
  };
}

class ReuseTest : public SendingTest {
 protected:
  /// Until the origin's other thread has noted that much.
  void wait_for_notes(const test::Origin& origin, std::size_t count) {
    ASSERT_TRUE(run_.run_until([&] { return origin.notes().size() >= count; }));
  }
};

TEST_F(ReuseTest, two_requests_use_one_connection) {
  test::Origin origin(test::always(kOk));
  EXPECT_EQ(get(origin.host()), Failure::none);
  EXPECT_EQ(get(origin.host()), Failure::none);
  EXPECT_EQ(origin.connections(), 1);
  EXPECT_EQ(origin.notes().size(), 2u);
}

TEST_F(ReuseTest, two_at_once_use_two) {
  test::Origin origin(test::always(kOk));
  Recorder one, two;
  start(request("GET", origin.host()), one);
  start(request("GET", origin.host()), two);
  finish(one), finish(two);
  EXPECT_EQ(origin.connections(), 2);
}

TEST_F(ReuseTest, an_upstream_that_closes_is_obeyed) {
  test::Origin origin(test::always("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_EQ(get(origin.host()), Failure::none);
  EXPECT_EQ(get(origin.host()), Failure::none);
  EXPECT_EQ(origin.connections(), 2);
}

TEST_F(ReuseTest, a_fresh_connection_is_fresh) {
  test::Origin origin(test::always(kOk));
  EXPECT_EQ(get(origin.host()), Failure::none);
  Recorder recorder;
  Request fresh = request("GET", origin.host());
  fresh.fresh_connection = true;
  EXPECT_EQ(send(std::move(fresh), recorder), Failure::none);
  EXPECT_EQ(origin.connections(), 2);
}

TEST_F(ReuseTest, an_idle_connection_that_the_upstream_closed_is_not_used) {
  test::Origin origin([](test::Origin& self, test::Socket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send(kOk);
    peer.close();
    self.note("closed");
  });
  for (int i = 1; i <= 5; ++i) {
    EXPECT_EQ(get(origin.host()), Failure::none) << i;
    ASSERT_TRUE(run_.run_until([&] { return static_cast<int>(origin.notes().size()) == i; }));
    run_.run_for(2'000);
  }
  EXPECT_EQ(origin.connections(), 5);
}

TEST_F(ReuseTest, an_idle_connection_that_the_upstream_reset_is_not_used) {
  test::Origin origin([](test::Origin& self, test::Socket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send(kOk);
    while (self.notes().empty()) std::this_thread::yield();
    peer.reset();
    self.note("reset");
  });
  EXPECT_EQ(get(origin.host()), Failure::none);
  origin.note("now");
  wait_for_notes(origin, 2);
  run_.run_for(2'000);
  EXPECT_EQ(get(origin.host()), Failure::none);
}

/// Answers, and on its first connection says once more what nobody asked for, as soon as something is noted.
void says_more_when_told(test::Origin& self, test::Socket& peer, int number) {
  peer.read_until("\r\n\r\n");
  peer.send(kOk);
  if (number > 1) return;
  while (self.notes().empty()) std::this_thread::yield();
  peer.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
  self.note("sent");
  self.note(peer.read_to_end());
}

// An answer that nobody asked for must not become the answer to the next question.
TEST_F(ReuseTest, bytes_that_nobody_asked_for_end_the_connection) {
  test::Origin origin(says_more_when_told);
  EXPECT_EQ(get(origin.host()), Failure::none);
  origin.note("now");
  wait_for_notes(origin, 2);
  run_.run_for(2'000);
  Recorder recorder;
  EXPECT_EQ(send(request("GET", origin.host()), recorder), Failure::none);
  EXPECT_EQ(recorder.body, "ok");
  EXPECT_EQ(origin.connections(), 2);
}

TEST_F(ReuseTest, the_same_after_an_upload) {
  test::Origin origin([](test::Origin& self, test::Socket& peer, int number) {
    peer.read_until("\r\n\r\n");
    if (number == 1) peer.read(3);
    peer.send(kOk);
    if (number > 1) return;
    while (self.notes().empty()) std::this_thread::yield();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
    self.note("sent");
    peer.read_to_end();
  });
  Recorder upload, recorder;
  upload.to_give = "abc";
  EXPECT_EQ(send(with_length(request("POST", origin.host()), 3), upload), Failure::none);
  origin.note("now");
  wait_for_notes(origin, 2);
  run_.run_for(2'000);
  EXPECT_EQ(send(request("GET", origin.host()), recorder), Failure::none);
  EXPECT_EQ(recorder.body, "ok");
}

TEST_F(ReuseTest, more_than_an_answer_said_is_dropped_with_the_connection) {
  test::Origin origin(test::always(kOk + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"));
  for (int i = 0; i < 3; ++i) {
    Recorder recorder;
    EXPECT_EQ(send(request("GET", origin.host()), recorder), Failure::none);
    EXPECT_EQ(recorder.body, "ok");
  }
  EXPECT_EQ(origin.connections(), 3);
}

// From inside the end of the one before, so that the loop has not looked at the socket in between.
TEST_F(ReuseTest, nor_does_what_comes_right_behind_an_answer_become_the_next_one) {
  test::Origin origin([](test::Origin& self, test::Socket& peer, int) {
    while (!peer.read_until("\r\n\r\n").empty()) {
      self.note("asked");
      while (self.notes().size() < 2) std::this_thread::yield();
      peer.send(kOk);
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
      self.note("said");
    }
  });
  Recorder first, next;
  first.when_done = [&] { start(request("GET", origin.host()), next); };
  start(request("GET", origin.host()), first);
  wait_for_notes(origin, 1);
  origin.note("now");  // with the loop at rest
  while (origin.notes().size() < 3) std::this_thread::yield();
  finish(next);
  EXPECT_EQ(first.result.failure, Failure::none);
  EXPECT_EQ(next.body.find("evil"), std::string::npos);
  first.transfer.reset();
}

// On a busy machine much arrives between the loop's look at its sockets and the request that it then sends.
TEST_F(ReuseTest, nor_does_what_came_after_the_loop_last_looked_at_the_connection) {
  test::Origin origin(says_more_when_told);
  EXPECT_EQ(get(origin.host()), Failure::none);
  run_.run_for(2'000);  // the loop has turned away from the socket
  origin.note("now");
  while (origin.notes().size() < 2) std::this_thread::yield();
  Recorder recorder;
  EXPECT_EQ(send(with_length(request("POST", origin.host()), 0), recorder), Failure::not_sent);
  EXPECT_EQ(recorder.connected, 0);
  wait_for_notes(origin, 3);
  EXPECT_EQ(origin.notes().back(), "") << "nothing was sent on it";
  EXPECT_EQ(get(origin.host()), Failure::none);
}

TEST_F(ReuseTest, a_get_on_a_connection_that_dies_without_a_byte_is_stale_and_left_to_the_caller) {
  for (const bool with_reset : {false, true}) {
    test::Origin origin(only_once(with_reset));
    EXPECT_EQ(get(origin.host()), Failure::none);
    EXPECT_EQ(get(origin.host()), Failure::stale_connection);
    run_.run_for(20'000);
    EXPECT_EQ(origin.notes(), (std::vector<std::string>{"1: GET ", "1: GET "}));
    EXPECT_EQ(origin.connections(), 1) << "no connection is opened for a repetition that is not to be";
  }
}

TEST_F(ReuseTest, stale_is_said_at_once_however_many_addresses_there_are) {
  test::Origin origin(only_once());
  const std::string host = "name.test:" + std::to_string(origin.port());
  for (const Failure expected : {Failure::none, Failure::stale_connection}) {
    Request several = request("GET", host);
    several.pin = host + ":127.0.0.1,127.0.0.2,[::1],127.0.0.3";
    Recorder recorder;
    const auto began = test::MachineClock::now();
    EXPECT_EQ(send(std::move(several), recorder), expected);
    EXPECT_TRUE(at_once(began));
  }
}

TEST_F(ReuseTest, a_post_is_never_on_the_wire_twice) {
  for (const bool with_reset : {false, true}) {
    test::Origin origin(only_once(with_reset));
    EXPECT_EQ(get(origin.host()), Failure::none);
    Recorder recorder;
    EXPECT_EQ(send(request("POST", origin.host()), recorder), Failure::stale_connection);
    EXPECT_EQ(recorder.connected, 1);
    run_.run_for(20'000);
    EXPECT_EQ(origin.notes(), (std::vector<std::string>{"1: GET ", "1: POST"}));
    EXPECT_EQ(origin.connections(), 1);
  }
}

TEST_F(ReuseTest, nor_is_a_post_with_a_body) {
  for (const bool chunked : {false, true}) {
    test::Origin origin(only_once());
    EXPECT_EQ(get(origin.host()), Failure::none);
    Recorder recorder;
    recorder.to_give = "abc";
    const Request upload = request("POST", origin.host());
    const Failure failure = send(chunked ? in_chunks(upload) : with_length(upload, 3), recorder);
    EXPECT_TRUE(failure == Failure::stale_connection || failure == Failure::terminated) << failure;
    run_.run_for(20'000);
    EXPECT_EQ(origin.notes(), (std::vector<std::string>{"1: GET ", "1: POST"}));
    EXPECT_EQ(origin.connections(), 1);
  }
}

TEST_F(ReuseTest, a_connection_that_dies_after_a_byte_is_not_stale) {
  test::Origin origin([](test::Origin&, test::Socket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send(kOk);
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
  });
  EXPECT_EQ(get(origin.host()), Failure::none);
  EXPECT_EQ(get(origin.host()), Failure::incomplete);
  EXPECT_EQ(origin.connections(), 1);
}

TEST_F(ReuseTest, a_stale_request_sent_again_on_a_fresh_connection_succeeds) {
  test::Origin origin(only_once());
  EXPECT_EQ(get(origin.host()), Failure::none);
  EXPECT_EQ(get(origin.host()), Failure::stale_connection);
  Recorder recorder;
  Request fresh = request("GET", origin.host());
  fresh.fresh_connection = true;
  EXPECT_EQ(send(std::move(fresh), recorder), Failure::none);
  EXPECT_EQ(origin.connections(), 2);
}

TEST_F(ReuseTest, a_stale_connection_to_an_upstream_that_is_gone_is_still_stale) {
  auto origin = std::make_unique<test::Origin>([](test::Origin& self, test::Socket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send(kOk);
    peer.read_until("\r\n\r\n");
    self.note("second");
    peer.read_to_end();
  });
  EXPECT_EQ(get(origin->host()), Failure::none);
  Recorder recorder;
  start(request("POST", origin->host()), recorder);
  wait_for_notes(*origin, 1);
  origin.reset();
  finish(recorder);
  EXPECT_EQ(recorder.result.failure, Failure::stale_connection) << recorder.result.details;
}

TEST_F(ReuseTest, kept_connections_end_with_the_multi) {
  test::Origin origin([](test::Origin& self, test::Socket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send(kOk);
    self.note("end: " + peer.read_to_end());
  });
  EXPECT_EQ(get(origin.host()), Failure::none);
  multi_.reset();
  EXPECT_TRUE(run_.run_until([&] { return origin.notes() == std::vector<std::string>{"end: "}; }));
}

class IdleTest : public ReuseTest {
 protected:
  IdleTest() { multi_ = std::make_unique<Multi>(run_.loop, guard_, TlsConfig{}, std::chrono::seconds(1)); }

  bool come_to(std::size_t descriptors) {
    return run_.run_until([&] { return test::open_descriptors() <= descriptors; });
  }
};

/// Notes the end of each connection.
void serve_to_the_end(test::Origin& origin, test::Socket& peer, int) {
  while (!peer.read_until("\r\n\r\n").empty()) peer.send(kOk);
  origin.note("end");
}

TEST_F(IdleTest, a_connection_is_closed_although_nothing_is_sent_any_more) {
  test::Origin origin(serve_to_the_end), other(serve_to_the_end);
  EXPECT_EQ(get(origin.host()), Failure::none);
  EXPECT_EQ(get(other.host()), Failure::none);
  wait_for_notes(origin, 1);
  wait_for_notes(other, 1);
  EXPECT_EQ(get(origin.host()), Failure::none) << "and others come about";
  EXPECT_EQ(origin.connections(), 2);
}

TEST_F(IdleTest, a_connection_is_closed_while_another_is_in_use) {
  test::Origin origin(serve_to_the_end), slow([](test::Origin&self, test::Socket&peer, int) {
    peer.read_until("\r\n\r\n");
    self.wait_for_release();
    peer.send(kOk);
  });
  Recorder recorder;
  start(request("GET", slow.host()), recorder);
  EXPECT_EQ(get(origin.host()), Failure::none);
  wait_for_notes(origin, 1);
  EXPECT_EQ(recorder.done, 0);
  slow.release();
  finish(recorder);
  EXPECT_EQ(recorder.result.failure, Failure::none);
}

TEST_F(IdleTest, a_connection_that_the_upstream_has_left_is_closed_on_our_side_too) {
  EXPECT_EQ(get(test::Origin(test::always(kOk)).host()), Failure::none);
  run_.run_for(1'000);
  const std::size_t before = test::open_descriptors();
  {
    test::Origin origin(test::always(kOk));
    EXPECT_EQ(get(origin.host()), Failure::none);
  }
  EXPECT_TRUE(come_to(before - 1)) << "with that of the first";
}

TEST_F(IdleTest, the_end_may_come_before_the_first_is_too_old) {
  test::Origin origin(serve_to_the_end);
  EXPECT_EQ(get(origin.host()), Failure::none);
  multi_.reset();
  wait_for_notes(origin, 1);
}

TEST_F(ReuseTest, no_more_connections_are_kept_than_may_be_and_the_latest_are) {
  multi_->keep_at_most(3);
  std::list<test::Origin> origins;
  for (int i = 0; i < 12; ++i) {
    run_.run_for(2'000);  // libcurl knows since which millisecond a connection rests: of equal ones, any may go
    origins.emplace_back(serve_to_the_end);
    EXPECT_EQ(get(origins.back().host()), Failure::none);
  }
  std::size_t ended = 0;
  EXPECT_TRUE(run_.run_until([&] {
    ended = 0;
    for (const auto& origin : origins) ended += origin.notes().size();
    return ended >= 8;
  })) << ended;
  EXPECT_LE(ended, 9u);
  EXPECT_EQ(get(origins.back().host()), Failure::none);
  EXPECT_EQ(origins.back().connections(), 1);
}

}  // namespace
}  // namespace penstock::transfer
