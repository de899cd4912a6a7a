// SPDX-License-Identifier: Apache-2.0
// `penstock run`: how it begins and how it ends. What it does in between is for the system tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "app/program.h"

namespace penstock::app {
namespace {

using testing::HasSubstr;
using testing::Not;

// As in a minimal image, where the package ca-certificates is not.
TEST(Run, does_not_start_where_an_upstream_speaks_tls_and_nobody_would_be_trusted) {
  for (const std::string upstream : {"{ match: a.example, https: originate }", "{ baseUrl: 'https://a.example' }"}) {
    const TemporaryFile file(kAnywhere + "upstreams: { plain: { match: b.example }, a: " + upstream + " }\n");
    Program running({"run", "--config", file.path()}, {"SSL_CERT_FILE=/nowhere.pem"});
    const auto ended = running.wait();
    EXPECT_EQ(ended.code, 1);
    EXPECT_EQ(
        ended.err,
        "penstock: upstreams.a: the system's authorities are missing, so nobody is trusted over TLS: cannot read "
        "/nowhere.pem: No such file or directory; install the package ca-certificates, or name a file in tls.ca or "
        "by SSL_CERT_FILE\n");
    const auto checked = penstock({"check", file.path()}, {"SSL_CERT_FILE=/nowhere.pem"});
    EXPECT_EQ(checked.code, 1);
    EXPECT_THAT(checked.err + checked.out, HasSubstr("install the package ca-certificates"));
  }
}

std::string errors_without_authorities(const std::string& config) {
  const TemporaryFile file(config);
  Program running({"run", "--config", file.path()}, {"SSL_CERT_FILE=/nowhere.pem"});
  EXPECT_TRUE(running.says("upstream *"));
  running.send(SIGTERM);
  std::string errors;
  std::istringstream lines(running.wait().err);
  for (std::string line; std::getline(lines, line);) {
    if (const auto at = line.find(" error "); at != std::string::npos) errors += line.substr(at) + "\n";
  }
  return errors;
}

TEST(Run, says_once_that_nobody_would_be_trusted_where_only_clients_can_ask_for_tls) {
  EXPECT_EQ(
      errors_without_authorities(kAnywhere + "upstreams: { a: { match: a.example } }\n"),
      " error the system's authorities are missing, so nobody is trusted over TLS: cannot read /nowhere.pem: No such "
      "file or directory; install the package ca-certificates, or name a file in tls.ca or by SSL_CERT_FILE\n");
}

TEST(Run, wants_no_authorities_of_the_system_where_all_have_their_own) {
  const std::string own = "tls: { ca: /etc/ssl/certs/ca-certificates.crt }";
  EXPECT_EQ(errors_without_authorities(kAnywhere + "upstreams: { a: { match: a.example, https: originate, " + own +
                                       " }, '*': { " + own + " } }\n"),
            "");
}

TEST(Run, takes_its_file_with_and_without_an_option) {
  const TemporaryFile file(kAnywhere + "upstreams: { mine: { match: a.example } }\n");
  for (const Texts& words : {Texts{"run", file.path()}, Texts{"run", "--config", file.path()}}) {
    Program running(words);
    EXPECT_TRUE(running.says("upstream mine"));
    running.send(SIGTERM);
    EXPECT_EQ(running.wait().code, 0);
  }
  EXPECT_EQ(penstock({"run", "--config", file.path(), file.path()}).code, 2);
}

TEST(Run, says_the_address_that_it_listens_on_even_where_that_is_all_of_them) {
  const TemporaryFile file(
      "version: 1\nproxy: { listen: '0.0.0.0:0' }\nadmin: { listen: '[::1]:0' }\nlog: { events: off }\n");
  Program running({"run", "--config", file.path()});
  ASSERT_TRUE(running.says("\n"));
  running.send(SIGTERM);
  const auto ended = running.wait();
  EXPECT_THAT(ended.err, HasSubstr("listening on http://0.0.0.0:"));
  EXPECT_THAT(ended.err, HasSubstr("admin on http://[::1]:"));
}

TEST(Run, says_of_each_upstream_how_it_is_governed) {
  const TemporaryFile file(kAnywhere +
                           "upstreams:\n  b: { match: b.example, https: originate }\n"
                           "  a: { match: [], baseUrl: 'https://a.example/v1' }\n"
                           "  d: { baseUrl: 'https://d.example/v1' }\n  e: { match: e.example/path }\n");
  Program running({"run", "--config", file.path()});
  ASSERT_TRUE(running.says("upstream *"));
  running.send(SIGTERM);
  const auto err = running.wait().err;
  const auto port = err.substr(err.find("http://127"), err.find(',') - err.find("http://127"));
  EXPECT_THAT(err, testing::ContainsRegex(
                       "info upstream b: http:// per request as https; https:// per tunnel\n.* info upstream a: " +
                       port + "/@a per request\n.* info upstream d: " + port +
                       "/@d, http:// per request; https:// per tunnel\n.* info upstream e: http:// per request; no "
                       "https:// comes here\n.* info upstream [*]: http:// per request; https:// per tunnel\n"));
}

TEST(Run, warns_of_limits_that_count_tunnels_at_the_start_and_at_a_reload) {
  const std::string file_with_limits = kAnywhere + "upstreams: { a: { match: a.example, rate: 2/s } }\n";
  const TemporaryFile file(file_with_limits);
  Program running({"run", "--config", file.path()});
  ASSERT_TRUE(running.says(file.path() + ":" + std::to_string(std::ranges::count(file_with_limits, '\n')) +
                           ":14: warning: upstreams.a: https:// goes through tunnels"));
  std::ofstream(file.path()) << kAnywhere << "upstreams: { b: { match: b.example, rate: 2/s } }\n";
  running.send(SIGHUP);
  EXPECT_TRUE(running.says("warning: upstreams.b: https:// goes through tunnels"));
  running.send(SIGTERM);
  EXPECT_EQ(running.wait().code, 0);
}

TEST(Run, says_nothing_of_upstreams_below_level_info) {
  const TemporaryFile file(
      "version: 1\nproxy: { listen: 127.0.0.1:0 }\nadmin: { listen: 127.0.0.1:0 }\nlog: { level: warn, events: off "
      "}\n");
  Program running({"run", "--config", file.path()});
  ASSERT_TRUE(running.says("listening"));
  running.send(SIGTERM);
  EXPECT_THAT(running.wait().err, Not(HasSubstr("upstream")));
}

TEST(Run, tells_all_faults_and_listens_nowhere) {
  const TemporaryFile file(kAnywhere + "proxi: 1\ncaps: { pipelined: 0 }\n");
  const auto ended = penstock({"run", "--config", file.path()});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr(":5:1: unknown key 'proxi'"));
  EXPECT_THAT(ended.err, HasSubstr(":6:20: pipelined in caps"));
  EXPECT_THAT(ended.err, Not(HasSubstr("listening")));
}

TEST(Run, says_that_a_port_is_taken) {
  test::ListeningSocket taken;
  const std::string port = std::to_string(taken.port());
  const TemporaryFile file("version: 1\nproxy: { listen: 127.0.0.1:" + port + " }\nadmin: { listen: 127.0.0.1:0 }\n");
  const auto ended = penstock({"run", "--config", file.path()});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("127.0.0.1:" + port));
}

}  // namespace
}  // namespace penstock::app
