// SPDX-License-Identifier: Apache-2.0
// https: whom a transfer trusts and as whom it speaks, what becomes of kept connections, and the ways in which TLS
// fails.
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "sending.h"
#include "support/tls_server.h"

namespace penstock::transfer {
namespace {

using test::Authority;
using test::Origin;
using test::TlsOptions;
using test::TlsServer;

constexpr std::string_view kEvil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";

class TlsTest : public SendingTest {
 protected:
  TlsTest() { trust({.ca = authority_.file()}); }

  void trust(const TlsConfig& tls, std::chrono::seconds idle = std::chrono::seconds(30)) {
    multi_.reset();
    multi_ = std::make_unique<Multi>(run_.loop, guard_, tls, idle);
  }

  static Request secure(const std::string& method, const Origin& origin) {
    Request made = request(method, origin.host());
    made.origin = "https://" + origin.host() + "/";
    return made;
  }
  /// Under a name, at the same place.
  static Request named(const std::string& name, const Origin& origin) {
    Request made = request("GET", origin.host());
    const std::string host = name + ":" + std::to_string(origin.port());
    made.origin = "https://" + host + "/";
    made.pin = host + ":127.0.0.1";
    return made;
  }
  Failure get_from(const Origin& origin) {
    Recorder recorder;
    const Failure failure = send(secure("GET", origin), recorder);
    said_ = recorder.result.details;
    body_ = recorder.body;
    return failure;
  }
  Failure get_under(const std::string& name, const Origin& origin) {
    Recorder recorder;
    const Failure failure = send(named(name, origin), recorder);
    said_ = recorder.result.details;
    return failure;
  }
  void wait_for_notes(const Origin& origin, std::size_t count) {
    ASSERT_TRUE(run_.run_until([&] { return origin.notes().size() >= count; }));
  }

  Authority authority_;
  std::string said_, body_;
};

TEST_F(TlsTest, an_upstream_is_spoken_to_by_its_name_over_tls_1_3_and_http_1_1) {
  TlsServer tls(authority_.issue());
  Origin origin(test::always(kOk), tls.wrap());
  Recorder recorder;
  EXPECT_EQ(send(named("good.test", origin), recorder), Failure::none) << recorder.result.details;
  EXPECT_EQ(recorder.body, "ok");
  const auto shaken = tls.handshakes();
  ASSERT_EQ(shaken.size(), 1u);
  EXPECT_EQ(shaken[0].sni, "good.test");
  EXPECT_EQ(shaken[0].offered, "http/1.1");
  EXPECT_EQ(shaken[0].version, "TLSv1.3");
  EXPECT_EQ(shaken[0].peer, "");
}

TEST_F(TlsTest, an_address_in_the_certificate_is_good_too) {
  TlsServer tls(authority_.issue());
  Origin origin(test::always(kOk), tls.wrap());
  EXPECT_EQ(get_from(origin), Failure::none) << said_;
  EXPECT_EQ(tls.handshakes()[0].sni, "");
}

// What libcurl checks before it uses a kept connection takes a ticket that nobody has read for anything.
TEST_F(TlsTest, kept_connections_are_used_again_whatever_tickets_come) {
  for (const std::size_t tickets : {0u, 2u, 7u}) {
    TlsServer tls(authority_.issue(), {.tickets = tickets});
    Origin origin(test::always(kOk), tls.wrap());
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(get_from(origin), Failure::none) << said_;
      run_.run_for(2'000);
    }
    EXPECT_EQ(origin.connections(), 1) << tickets << " tickets";
  }
}

TEST_F(TlsTest, and_when_a_ticket_comes_to_a_connection_at_rest) {
  TlsServer tls(authority_.issue());
  Origin origin(
      [](Origin& self, test::Socket& peer, int) {
        while (!peer.read_until("\r\n\r\n").empty()) {
          const auto before = self.notes().size();
          peer.send(kOk);
          while (self.notes().size() == before) std::this_thread::yield();
          peer.layer()->speak_aside();
          self.note("ticket");
        }
      },
      tls.wrap());
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(get_from(origin), Failure::none) << said_;
    origin.note("answered");
    wait_for_notes(origin, 2 * i + 2);
    if (i % 2 == 0) run_.run_for(5'000);  // seen on the socket at rest, or when it is used again
  }
  EXPECT_EQ(origin.connections(), 1);
}

TEST_F(TlsTest, a_second_connection_resumes_the_session) {
  for (const int most : {12, 13}) {
    TlsServer tls(authority_.issue(), {.most = most});
    Origin origin(
        [](Origin& self, test::Socket& peer, int) {
          while (!peer.read_until("\r\n\r\n").empty()) {
            self.note("asked");
            while (self.notes().size() == 2) std::this_thread::yield();  // until the other has come too
            peer.send(kOk);
          }
        },
        tls.wrap());
    EXPECT_EQ(get_from(origin), Failure::none) << said_;
    Recorder one, two;
    start(secure("GET", origin), one);
    start(secure("GET", origin), two);
    finish(one), finish(two);
    const auto shaken = tls.handshakes();
    ASSERT_EQ(shaken.size(), 2u);
    EXPECT_FALSE(shaken[0].resumed);
    EXPECT_TRUE(shaken[1].resumed);
  }
}

TEST_F(TlsTest, the_authorities_are_not_read_again_for_each_connection) {
  const std::string copy = authority_.folder() + "/copy.pem";
  std::filesystem::copy_file(authority_.file(), copy);
  trust({.ca = copy});
  TlsServer tls(authority_.issue());
  Origin origin(test::always("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"), tls.wrap());
  EXPECT_EQ(get_from(origin), Failure::none) << said_;
  std::filesystem::remove(copy);
  TlsServer other(authority_.issue());
  Origin elsewhere(test::always(kOk), other.wrap());
  EXPECT_EQ(get_from(elsewhere), Failure::none) << said_;
}

TEST_F(TlsTest, an_upstream_that_says_goodbye_at_rest_is_not_asked_again) {
  for (const bool politely : {true, false}) {
    TlsServer tls(authority_.issue());
    Origin origin(
        [&](Origin& self, test::Socket& peer, int) {
          peer.read_until("\r\n\r\n");
          peer.send(kOk);
          politely ? peer.close() : peer.cut();
          self.note("closed");
        },
        tls.wrap());
    for (std::size_t i = 1; i <= 5; ++i) {
      EXPECT_EQ(get_from(origin), Failure::none) << i << said_;
      wait_for_notes(origin, i);
      run_.run_for(2'000);
    }
    EXPECT_EQ(origin.connections(), 5);
  }
}

// At once: nobody has had the time to look at the socket in between.
TEST_F(TlsTest, nor_one_whose_goodbye_came_with_the_answer) {
  TlsServer tls(authority_.issue());
  Origin origin(
      [](Origin& self, test::Socket& peer, int) {
        peer.read_until("\r\n\r\n");
        self.note("asked");
        self.wait_for_release();
        peer.send(kOk);
        peer.close();
        self.note("closed");
      },
      tls.wrap());
  Recorder one, two;
  one.when_done = [&] {
    one.transfer.reset();
    start(secure("GET", origin), two);
  };
  start(secure("GET", origin), one);
  wait_for_notes(origin, 1);
  origin.release();
  while (origin.notes().size() < 2) std::this_thread::yield();
  finish(two);
  EXPECT_EQ(one.result.failure, Failure::none);
  EXPECT_TRUE(two.result.failure == Failure::none || two.result.failure == Failure::not_sent ||
              two.result.failure == Failure::stale_connection);
  EXPECT_EQ(two.head.find("evil"), std::string::npos);
}

TEST_F(TlsTest, an_answer_that_nobody_asked_for_is_nobodys) {
  TlsServer tls(authority_.issue());
  Origin origin(
      [](Origin& self, test::Socket& peer, int number) {
        peer.read_until("\r\n\r\n");
        peer.send(kOk);
        if (number > 1) return;
        while (self.notes().empty()) std::this_thread::yield();
        peer.send(kEvil);
        self.note("sent");
        peer.read_to_end();
      },
      tls.wrap());
  EXPECT_EQ(get_from(origin), Failure::none) << said_;
  origin.note("now");
  wait_for_notes(origin, 2);
  run_.run_for(2'000);
  EXPECT_EQ(get_from(origin), Failure::none) << said_;
  EXPECT_EQ(body_, "ok");
  EXPECT_EQ(origin.connections(), 2);
}

TEST_F(TlsTest, nor_does_one_that_came_with_the_answer_become_the_next_one) {
  const std::string empty = "HTTP/1.1 204 No Content\r\n\r\n", evil(kEvil);
  const std::string long_one = "HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n" + std::string(20'000, 'x');
  // In one record, and in two.
  for (const std::vector<std::string>& said :
       {std::vector{kOk + evil}, {kOk, evil}, {empty + evil}, {empty, evil}, {long_one + evil}, {long_one, evil}}) {
    TlsServer tls(authority_.issue());
    Origin origin(
        [&](Origin& self, test::Socket& peer, int) {
          while (!peer.read_until("\r\n\r\n").empty()) {
            self.note("asked");
            while (self.notes().size() < 2) std::this_thread::yield();
            for (const auto& each : said) peer.send(each);
            self.note("said");
          }
        },
        tls.wrap());
    Recorder first, next;
    // From inside the end of the first, so that the loop has not looked at the socket.
    first.when_done = [&] { start(secure("GET", origin), next); };
    start(secure("GET", origin), first);
    wait_for_notes(origin, 1);
    origin.note("now");  // with the loop at rest
    while (origin.notes().size() < 3) std::this_thread::yield();
    finish(next);
    EXPECT_EQ(first.result.failure, Failure::none) << first.result.details;
    EXPECT_EQ(next.body.find("evil"), std::string::npos);
    EXPECT_TRUE(next.result.failure == Failure::none || next.result.failure == Failure::not_sent)
        << next.result.failure << next.result.details;
    first.transfer.reset();
  }
}

TEST_F(TlsTest, bodies_of_a_mebibyte_pass_both_ways_exactly) {
  std::string bytes(1024 * 1024, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 2654435761u >> 13);
  TlsServer tls(authority_.issue());
  Origin origin(
      [&](Origin& self, test::Socket& peer, int) {
        peer.read_until("\r\n\r\n");
        self.note(peer.read(bytes.size()) == bytes ? "same" : "other");
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(bytes.size()) + "\r\n\r\n" + bytes);
      },
      tls.wrap());
  Recorder recorder;
  recorder.to_give = bytes;
  recorder.hold_every = 100'000;
  start(with_length(secure("POST", origin), bytes.size()), recorder);
  // Small pauses in between: what OpenSSL has read and libcurl not yet is not on the socket.
  ASSERT_TRUE(run_.run_until([&] {
    if (recorder.held) recorder.take_on();
    return recorder.done > 0;
  }));
  EXPECT_EQ(recorder.result.failure, Failure::none) << recorder.result.details;
  EXPECT_TRUE(recorder.body == bytes);
  EXPECT_EQ(origin.notes(), std::vector<std::string>{"same"});
  recorder.transfer.reset();
}

TEST_F(TlsTest, a_body_that_ends_with_the_connection_ends_with_its_goodbye) {
  for (const bool politely : {true, false}) {
    TlsServer tls(authority_.issue());
    Origin origin(
        [&](Origin&, test::Socket& peer, int) {
          peer.read_until("\r\n\r\n");
          peer.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf of it");
          if (!politely) peer.cut();
        },
        tls.wrap());
    Recorder recorder;
    EXPECT_EQ(send(secure("GET", origin), recorder), Failure::none) << recorder.result.details;
    EXPECT_EQ(recorder.result.without_goodbye, !politely);
    EXPECT_EQ(recorder.body, "half of it");
  }
}

TEST_F(TlsTest, a_body_with_a_length_is_whole_when_all_of_it_is_there) {
  for (const std::string body : {"ten bytes!", "nine byte"}) {
    TlsServer tls(authority_.issue());
    Origin origin(
        [&](Origin&, test::Socket& peer, int) {
          peer.read_until("\r\n\r\n");
          peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" + body);
          peer.cut();
        },
        tls.wrap());
    EXPECT_EQ(get_from(origin), body.size() == 10 ? Failure::none : Failure::incomplete) << said_;
  }
}

TEST_F(TlsTest, chunks_that_break_off_are_incomplete) {
  for (const bool politely : {true, false}) {
    TlsServer tls(authority_.issue());
    Origin origin(
        [&](Origin&, test::Socket& peer, int) {
          peer.read_until("\r\n\r\n");
          peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel");
          if (!politely) peer.cut();
        },
        tls.wrap());
    EXPECT_EQ(get_from(origin), Failure::incomplete) << said_;
  }
}

TEST_F(TlsTest, a_kept_connection_that_dies_under_a_request_is_stale) {
  for (const bool politely : {true, false}) {
    TlsServer tls(authority_.issue());
    Origin origin(
        [&](Origin& self, test::Socket& peer, int) {
          peer.read_until("\r\n\r\n");
          peer.send(kOk);
          self.note(peer.read_until("\r\n\r\n").substr(0, 4));
          politely ? peer.close() : peer.cut();
        },
        tls.wrap());
    for (const std::string method : {"GET", "POST"}) {
      EXPECT_EQ(get_from(origin), Failure::none) << said_;
      Recorder recorder;
      EXPECT_EQ(send(secure(method, origin), recorder), Failure::stale_connection) << recorder.result.details;
    }
    EXPECT_EQ(origin.notes(), (std::vector<std::string>{"GET ", "POST"})) << "each is on the wire once";
  }
}

// Certificates.

TEST_F(TlsTest, a_certificate_that_is_not_good_is_said_to_be_what_it_is) {
  Authority unknown;
  const std::vector<std::pair<test::Issued, std::string>> all{
      {authority_.issue({.expired = true}), "has expired"},
      {authority_.issue({.not_yet = true}), "is not valid yet"},
      {authority_.issue({.names = {"other.test"}, .addresses = {}}), "is for another name"},
      {unknown.issue(), "comes from an authority that is not trusted here"},
      {authority_.issue({.self_signed = true}), "is signed by itself only"}};
  for (const auto& [issued, words] : all) {
    TlsServer tls(issued);
    Origin origin(test::always(kOk), tls.wrap());
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(get_under("good.test", origin), Failure::certificate) << said_;
      EXPECT_NE(said_.find(words), std::string::npos) << said_;
    }
    EXPECT_EQ(origin.notes().size(), 0u) << "no byte of a request";
  }
}

TEST_F(TlsTest, an_authority_is_trusted_where_it_is_named_and_nowhere_else) {
  TlsServer tls(authority_.issue());
  Origin origin(test::always(kOk), tls.wrap());
  trust({});
  EXPECT_EQ(get_from(origin), Failure::certificate) << said_;
  ::setenv("SSL_CERT_FILE", authority_.file().c_str(), 1);
  trust({});
  ::unsetenv("SSL_CERT_FILE");
  EXPECT_EQ(get_from(origin), Failure::none) << said_;
}

// Client certificates.

TEST_F(TlsTest, a_client_certificate_is_shown_where_it_is_demanded) {
  const auto alice = authority_.issue({.common_name = "alice"});
  TlsServer tls(authority_.issue(), {.client_ca = authority_.file()});
  Origin origin(test::always(kOk), tls.wrap());
  trust({.ca = authority_.file(), .client_cert = alice.certificate, .client_key = alice.key});
  EXPECT_EQ(get_from(origin), Failure::none) << said_;
  EXPECT_EQ(tls.handshakes()[0].peer, "alice");
}

TEST_F(TlsTest, where_there_is_none_the_upstreams_refusal_says_so) {
  for (const int most : {12, 13}) {
    TlsServer tls(authority_.issue(), {.client_ca = authority_.file(), .most = most});
    Origin origin(test::always(kOk), tls.wrap());
    EXPECT_EQ(get_from(origin), Failure::tls) << most << said_;
    EXPECT_NE(said_.find(most == 13 ? "it demands a client certificate" : "handshake"), std::string::npos) << said_;
  }
}

TEST_F(TlsTest, a_certificate_file_that_is_gone_is_our_own_fault) {
  const auto alice = authority_.issue();
  TlsServer tls(authority_.issue());
  Origin origin(test::always(kOk), tls.wrap());
  trust({.ca = authority_.file(), .client_cert = alice.certificate, .client_key = alice.key});
  std::filesystem::remove(alice.certificate);
  EXPECT_EQ(get_from(origin), Failure::internal);
  EXPECT_NE(said_.find("tls.clientCert"), std::string::npos) << said_;
  trust({.ca = "/nowhere/ca.pem"});
  EXPECT_EQ(get_from(origin), Failure::internal);
  EXPECT_NE(said_.find("tls.ca"), std::string::npos) << said_;
}

// Handshakes.

TEST_F(TlsTest, an_upstream_that_speaks_no_tls_is_told_from_one_that_refuses) {
  const std::vector<std::pair<std::string, std::string>> all{
      {"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "does not speak TLS"},
      {std::string("\x15\x03\x03\x00\x02\x02\x28", 7), "alert handshake failure"},
      {"", "broke off the TLS handshake"}};
  for (const auto& [bytes, words] : all) {
    Origin origin([&](Origin&, test::Socket& peer, int) {
      peer.read_some();
      peer.send(bytes);
    });
    EXPECT_EQ(get_from(origin), Failure::tls) << said_;
    EXPECT_NE(said_.find(words), std::string::npos) << said_;
  }
}

TEST_F(TlsTest, old_versions_are_not_spoken) {
  for (const int most : {10, 11}) {
    TlsServer tls(authority_.issue(), {.most = most});
    Origin origin(test::always(kOk), tls.wrap());
    EXPECT_EQ(get_from(origin), Failure::tls) << said_;
    EXPECT_EQ(origin.notes().size(), 0u);
  }
}

TEST_F(TlsTest, a_handshake_that_stalls_meets_the_connect_timeout) {
  Origin origin([](Origin&, test::Socket& peer, int) { peer.read_to_end(); });
  Recorder recorder;
  Request stalled = secure("GET", origin);
  stalled.connect_timeout = Duration{50'000};
  EXPECT_EQ(send(std::move(stalled), recorder), Failure::connect_timeout);
  EXPECT_EQ(recorder.connected, 0);
}

TEST_F(TlsTest, a_connection_of_its_own_is_shared_with_nobody) {
  TlsServer tls(authority_.issue());
  Origin origin(test::always(kOk), tls.wrap());
  for (const bool own : {false, true, true, false}) {
    Recorder recorder;
    Request one = secure("GET", origin);
    one.own_connection = own;
    EXPECT_EQ(send(std::move(one), recorder), Failure::none);
  }
  EXPECT_EQ(origin.connections(), 3);
}

TEST_F(TlsTest, a_connection_that_has_been_idle_for_too_long_is_closed_although_nothing_is_sent_any_more) {
  trust({.ca = authority_.file()}, std::chrono::seconds(1));
  TlsServer tls(authority_.issue());
  Origin origin(
      [](Origin& self, test::Socket& peer, int) {
        while (!peer.read_until("\r\n\r\n").empty()) peer.send(kOk);
        self.note("end");
      },
      tls.wrap());
  EXPECT_EQ(get_from(origin), Failure::none);
  wait_for_notes(origin, 1);
  EXPECT_EQ(get_from(origin), Failure::none);
  EXPECT_EQ(origin.connections(), 2);
}

}  // namespace
}  // namespace penstock::transfer
