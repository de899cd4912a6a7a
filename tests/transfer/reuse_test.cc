// SPDX-License-Identifier: Apache-2.0
// Kept connections: used again while they are sound, and what happens when they are not. A request is never on the wire
// twice unless the caller says so.
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
  start(order("GET", origin.host()), one);
  start(order("GET", origin.host()), two);
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
  Order fresh = order("GET", origin.host());
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

// An answer that nobody asked for must not become the answer to the next question.
TEST_F(ReuseTest, bytes_that_nobody_asked_for_end_the_connection) {
  test::Origin origin([](test::Origin& self, test::Socket& peer, int number) {
    peer.read_until("\r\n\r\n");
    peer.send(kOk);
    if (number > 1) return;
    while (self.notes().empty()) std::this_thread::yield();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
    self.note("sent");
    self.note(peer.read_to_end());
  });
  EXPECT_EQ(get(origin.host()), Failure::none);
  origin.note("now");
  wait_for_notes(origin, 2);
  run_.run_for(2'000);
  Recorder recorder;
  EXPECT_EQ(send(order("GET", origin.host()), recorder), Failure::none);
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
  EXPECT_EQ(send(with_length(order("POST", origin.host()), 3), upload), Failure::none);
  origin.note("now");
  wait_for_notes(origin, 2);
  run_.run_for(2'000);
  EXPECT_EQ(send(order("GET", origin.host()), recorder), Failure::none);
  EXPECT_EQ(recorder.body, "ok");
}

TEST_F(ReuseTest, more_than_an_answer_said_is_dropped_with_the_connection) {
  test::Origin origin(test::always(kOk + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"));
  for (int i = 0; i < 3; ++i) {
    Recorder recorder;
    EXPECT_EQ(send(order("GET", origin.host()), recorder), Failure::none);
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
  first.when_done = [&] { start(order("GET", origin.host()), next); };
  start(order("GET", origin.host()), first);
  wait_for_notes(origin, 1);
  origin.note("now");  // with the loop at rest
  while (origin.notes().size() < 3) std::this_thread::yield();
  finish(next);
  EXPECT_EQ(first.result.failure, Failure::none);
  EXPECT_EQ(next.body.find("evil"), std::string::npos);
  first.transfer.reset();
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
  const std::int64_t took = quickest([&] {
    for (const Failure expected : {Failure::none, Failure::stale_connection}) {
      Order several = order("GET", host);
      several.pin = host + ":127.0.0.1,127.0.0.2,[::1],127.0.0.3";
      Recorder recorder;
      EXPECT_EQ(send(std::move(several), recorder), expected);
    }
  });
  EXPECT_LT(took, 150'000);
}

TEST_F(ReuseTest, a_post_is_never_on_the_wire_twice) {
  for (const bool with_reset : {false, true}) {
    test::Origin origin(only_once(with_reset));
    EXPECT_EQ(get(origin.host()), Failure::none);
    Recorder recorder;
    EXPECT_EQ(send(order("POST", origin.host()), recorder), Failure::stale_connection);
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
    const Order upload = order("POST", origin.host());
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
  Order fresh = order("GET", origin.host());
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
  start(order("POST", origin->host()), recorder);
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

}  // namespace
}  // namespace penstock::transfer
