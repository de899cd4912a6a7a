// SPDX-License-Identifier: Apache-2.0
// https to upstreams: what TLS protects, how it fails, and whose connections are whose.
#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <set>

#include "support/tls_server.h"
#include "system/stage.h"

namespace penstock::trial {
namespace {

using test::Authority;
using test::TlsServer;
using testing::HasSubstr;

/// An authority, an origin that it vouches for, and a proxy that trusts it.
struct Secure {
  explicit Secure(const test::Wanted& wanted = {}, Given given = {})
      : tls(authority.issue(wanted)), origin(tls.wrap()), daemon(trusting(authority, std::move(given))) {}
  ~Secure() { EXPECT_EQ(origin.complaint(), ""); }

  static Given trusting(const Authority& authority, Given given) {
    given.environment["SSL_CERT_FILE"] = authority.file();
    return given;
  }
  Reply fetch(std::string_view path) const { return daemon.ask(get(origin.url(path))); }

  Authority authority;
  TlsServer tls;
  Origin origin;
  Daemon daemon;
};

/// The proxy's own answer, and the same in the event of this request.
void expect_failure(const Daemon& daemon, const Reply& reply, int status, const std::string& error,
                    const std::string& words) {
  expect_own_answer(reply, {status}, error);
  EXPECT_THAT(reply.field("proxy-status"), HasSubstr(words));
  EXPECT_THAT(reply.reason, HasSubstr(words)) << "most clients show nothing else";
  const Json told = daemon.await_event("error");
  EXPECT_EQ(told.at("error"), error);
  EXPECT_EQ(told.at("status"), status);
  EXPECT_THAT(told.at("detail").get<std::string>(), HasSubstr(words));
}

TEST(Certificate, of_an_authority_that_nobody_knows_is_502) {
  Secure stage;
  Authority other;
  TlsServer tls(other.issue());
  Origin origin(tls.wrap());
  expect_failure(stage.daemon, stage.daemon.ask(get(origin.url())), 502, "tls_certificate_error",
                 "comes from an authority that is not trusted here");
  EXPECT_EQ(stage.fetch("/").body, "hello") << "others are none the worse";
}

// Whoever can cut a connection could otherwise shorten what ends with it.
TEST(Originated, an_answer_that_is_cut_off_does_not_look_whole) {
  Secure stage;
  for (const bool politely : {true, false}) {
    stage.origin.on("/", [=](Visit& visit) {
      visit.read_body();
      visit.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall there is");
      politely ? visit.close() : visit.cut();
    });
    const Reply reply = stage.fetch("/");
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.whole, politely);
    const auto ends = stage.daemon.await_events(1, politely ? "complete" : "error");
    ASSERT_EQ(ends.size(), 1u);
    if (!politely) {
      EXPECT_EQ(ends[0].at("error"), "http_response_incomplete");
    }
  }
}

TEST(Originated, keys_of_tls_are_written_nowhere) {
  Authority files;
  const std::string log = files.folder() + "/keys";
  Secure stage({}, {.environment = {{"SSLKEYLOGFILE", log}}});
  EXPECT_EQ(stage.fetch("/").body, "hello");
  std::ifstream written(log);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(written), {}), "");
}

// Who one is.

std::string files(const Authority& authority, const test::Issued& issued) {
  return "tls: { ca: " + authority.file() + ", clientCert: " + issued.certificate + ", clientKey: " + issued.key + " }";
}

TEST(Identities, never_share_connections) {
  Authority authority;
  const auto alice = authority.issue({.common_name = "alice"}), bob = authority.issue({.common_name = "bob"});
  TlsServer tls(authority.issue(), {.client_ca = authority.file()});
  Origin origin(tls.wrap());
  Daemon daemon({.yaml = "upstreams:\n  a: { match: 127.0.0.1/a, " + files(authority, alice) +
                         " }\n  b: { match: 127.0.0.1/b, " + files(authority, bob) + " }\n  c: { match: 127.0.0.1/c, " +
                         files(authority, alice) + " }\n"});
  Client client(daemon.port());
  for (int i = 0; i < 5; ++i) {
    for (const char* path : {"/a", "/b", "/c"}) {
      client.send(get(origin.url(path)));
      EXPECT_EQ(client.reply().body, "hello");
    }
  }
  std::map<std::size_t, std::set<std::string>> peers;
  for (const auto& seen : origin.seen()) {
    EXPECT_EQ(seen.peer, seen.target == "/b" ? "bob" : "alice");
    peers[seen.connection].insert(seen.peer);
  }
  EXPECT_EQ(peers.size(), 2u) << "one for each, and a and c are the same";
  for (const auto& [connection, names] : peers) EXPECT_EQ(names.size(), 1u);
}

TEST(Identities, whose_files_are_no_good_are_found_at_start) {
  Authority authority;
  const auto alice = authority.issue(), bob = authority.issue();
  const std::string none = authority.folder() + "/none.pem";
  std::ofstream(none) << "nothing of the kind\n";
  const std::vector<std::pair<std::string, std::string>> all{
      {"tls: { ca: /nowhere/ca.pem }", "upstreams.a.tls.ca: cannot read /nowhere/ca.pem: No such file"},
      {"tls: { ca: " + none + " }", "upstreams.a.tls.ca: there is no certificate in "},
      {files(authority, {none, alice.key}), "upstreams.a.tls.clientCert: there is no certificate in "},
      {files(authority, {alice.certificate, none}), "upstreams.a.tls.clientKey: there is no private key in "},
      {files(authority, {alice.certificate, bob.key}), "does not belong to "}};
  for (const auto& [tls, words] : all) {
    const std::string file = authority.folder() + "/penstock.yaml";
    std::ofstream(file) << "version: 1\nproxy: { listen: 127.0.0.1:0 }\nadmin: { listen: 127.0.0.1:0 }\nupstreams:\n"
                        << "  a: { match: a.test, " << tls << " }\n";
    const Finished run = run_program({"run", "--config", file});
    EXPECT_EQ(run.code, 1);
    EXPECT_THAT(run.err, HasSubstr(words));
  }
}

// NTLM and Negotiate log in a connection, not a request: whoever uses it after that is taken for the same.

std::string says(const std::string& url, const std::string& authorization) {
  return get(url, "Authorization: " + authorization + "\r\n");
}

void log_in(const Origin& origin, const Daemon& daemon, const std::string& scheme) {
  std::list<Client> clients;
  for (int i = 0; i < 2; ++i) {
    Client& client = clients.emplace_back(daemon.port());
    const std::string url = origin.url("/" + std::to_string(i));
    client.send(get(url));
    EXPECT_EQ(client.reply().status, 401);
    client.send(says(url, scheme + " one"));
    EXPECT_EQ(client.reply().field("www-authenticate"), "Basic realm=\"x\", " + scheme + " two");
    client.send(says(url, scheme + " three"));
    EXPECT_EQ(client.reply().body, "welcome");
    for (int more = 0; more < 3; ++more) {
      client.send(get(url));  // nothing of the log-in is in it, and the connection speaks for the client
      EXPECT_EQ(client.reply().body, "known");
    }
  }
  Client stranger(daemon.port());
  for (int i = 0; i < 3; ++i) {
    stranger.send(get(origin.url("/other")));
    EXPECT_EQ(stranger.reply().status, 401) << "a stranger is nobody";
  }
}

TEST(ConnectionLogin, belongs_to_the_client_that_did_it) {
  for (const std::string scheme : {"NTLM", "Negotiate"}) {
    Secure stage;
    stage.origin.otherwise(scripts::logs_in(scheme));
    log_in(stage.origin, stage.daemon, scheme);
    std::map<std::string, std::set<std::size_t>> connections;
    for (const auto& seen : stage.origin.seen()) {
      if (seen.target == "/other") continue;
      if (seen.fields.has("authorization") || connections.contains(seen.target))
        connections[seen.target].insert(seen.connection);
    }
    ASSERT_EQ(connections.size(), 2u);
    for (const auto& [target, used] : connections) EXPECT_EQ(used.size(), 1u) << "all steps of " << target;
    EXPECT_NE(connections.at("/0"), connections.at("/1"));
    for (const auto& seen : stage.origin.seen()) {
      for (const auto& [target, used] : connections) {
        if (used.contains(seen.connection)) {
          EXPECT_EQ(seen.target, target);
        }
      }
    }
  }
}

TEST(ConnectionLogin, ends_with_the_client) {
  Stage stage;
  stage.origin.otherwise(scripts::logs_in("NTLM"));
  std::atomic<bool> ended = false;
  stage.origin.on("/wait", [&](Visit& visit) {
    visit.answer(200, "waiting");
    ended = visit.sees_the_end();
  });
  {
    Client client(stage.daemon.port());
    client.send(says(stage.url(), "ntlm one"));  // any case
    EXPECT_EQ(client.reply().status, 401);
    client.send(get(stage.url("/wait")));
    EXPECT_EQ(client.reply().body, "waiting");
  }
  EXPECT_TRUE(eventually([&] { return ended.load(); })) << "nobody else may have it";
  EXPECT_EQ(stage.origin.connections(), 1u);
}

}  // namespace
}  // namespace penstock::trial
