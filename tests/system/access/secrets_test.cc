// SPDX-License-Identifier: Apache-2.0
// What must not get out: secrets in fields, userinfo and query show in no answer of Penstock's own, no event, no
// metric, no status and no diagnostics; nor can a request write lines of its own there.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "system/stage.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kSecret = "s3cr3t-0f-m1ne";

const std::string kFields = "Authorization: Bearer "s + kSecret + "\r\nCookie: session=" + kSecret +
                            "\r\nProxy-Authorization: Basic " + kSecret + "\r\nX-Api-Key: " + kSecret +
                            "\r\nReferer: http://a.example/?" + kSecret + "\r\n";

/// All that an operator, or whoever reads what operators read, gets to see.
std::string all_told(const Daemon& daemon) {
  std::string all = daemon.diagnostics() + daemon.admin("/metrics").body + daemon.admin("/status").body +
                    daemon.admin("/nothing?"s + kSecret).body;
  for (const auto& event : daemon.events()) all += event.dump() + "\n";
  return all;
}

TEST(Secrets, of_requests_are_in_no_answer_and_in_nothing_that_is_told) {
  Stage stage(
      {.yaml = "access: { deny: [denied.test] }\nupstreams: { none: { match: none.test, queue: { maxPending: 0 } }, "
               "api: { baseUrl: 'http://127.0.0.1:9/', match: [], group: 'header:X-Api-Key' } }\n"});
  const Closed nobody;
  const std::string query = "?key="s + kSecret;
  const std::string requests[] = {
      get(stage.url("/fine" + query), kFields),
      get("http://" + nobody.host() + "/refused" + query, kFields),
      get("http://user:" + std::string(kSecret) + "@" + stage.origin.host() + "/", kFields),
      get("http://" + std::string(kSecret) + "@" + stage.origin.host() + "/", kFields),
      get("http://denied.test/" + query, kFields),
      get("http://10.0.0.1/" + query, kFields),
      get(stage.daemon.host() + query, kFields),
      get("http://" + stage.daemon.host() + "/" + query, kFields),
      "CONNECT user:" + std::string(kSecret) + "@a.example:443 HTTP/1.1\r\n\r\n",
      "CONNECT a.example:" + std::string(kSecret) + " HTTP/1.1\r\n" + kFields + "\r\n",
      "GET /" + query + " HTTP/1.1\r\nHost: a\r\n" + kFields + "\r\n",
      "GET /@nobody/" + query + " HTTP/1.1\r\nHost: localhost\r\n" + kFields + "\r\n",
      "GET /@api/x" + query + " HTTP/1.1\r\nHost: localhost\r\n" + kFields + "\r\n",
      "GET " + stage.url("/" + query) + "#" + kSecret + " HTTP/1.1\r\nHost: a\r\n" + kFields + "\r\n",
      "GET " + stage.url("/" + query) + " HTTP/9.9\r\n" + kFields + "\r\n",
      "GET " + stage.url("/" + query) + " HTTP/1.1\r\n" + kFields + "\r\n",
      "GET " + stage.url("/" + query) + " HTTP/1.1\r\nHost: a\r\n" + kFields + "Bad Name: " + kSecret + "\r\n\r\n",
      "POST " + stage.url("/" + query) + " HTTP/1.1\r\nHost: a\r\n" + kFields + "Content-Length: " + kSecret +
          "\r\n\r\n",
      get(stage.url("/" + query), kFields + "Penstock-Max-Wait: " + kSecret + "\r\n"),
      get(stage.url("/" + query), kFields + "Expect: " + kSecret + "\r\n"),
      "TRACE " + stage.url("/" + query) + " HTTP/1.1\r\nHost: a\r\n" + kFields + "\r\n",
      "OPTIONS " + stage.url("/" + query) + " HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n" + kFields + "\r\n",
  };
  for (const auto& request : requests) {
    SCOPED_TRACE(shown(request));
    const Reply reply = stage.ask(request);
    EXPECT_GT(reply.status, 0);
    if (reply.body == "hello") continue;
    EXPECT_THAT(reply.head + reply.body, Not(HasSubstr(kSecret)));
  }
  EXPECT_EQ(stage.origin.count(), 1u) << "of these, one is in order";
  ASSERT_TRUE(eventually([&] { return stage.daemon.events().size() >= std::size(requests); }));
  EXPECT_THAT(all_told(stage.daemon), Not(HasSubstr(kSecret)));
}

/// Vendors have credentials in paths. The upstream gets them, and nobody else, however the path is spelled.
TEST(Secrets, of_paths_are_told_nowhere) {
  Stage stage(
      {.yaml = "upstreams: { bots: { match: 127.0.0.1, group: 'path:/{bot}/{method}', redact: ['/bot{}/'] } }\n"});
  const std::string secret = kSecret, paths[] = {"/bot" + secret + "/getMe", "/bot" + secret, "//b%6ft" + secret + "/x",
                                                 "/file/bot" + secret + "/a.jpg?" + secret};
  for (const auto& path : paths) EXPECT_EQ(stage.fetch(path).status, 200);
  EXPECT_EQ(stage.ask(get("http://127.0.0.1:9/bot" + secret + "/getMe")).status, 502);
  EXPECT_EQ(stage.ask("GET /@botz/bot" + secret + "/x HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 404);
  EXPECT_EQ(stage.ask(get(stage.url("/bot" + secret + "/x"), "Penstock-Max-Wait: x\r\n")).status, 400);
  for (std::size_t i = 0; i < std::size(paths); ++i) EXPECT_EQ(stage.origin.seen().at(i).target, paths[i]);
  ASSERT_EQ(stage.daemon.await_events(2, "refused").size(), 2u);
  EXPECT_EQ(stage.daemon.events()[0].at("path"), "/bot…/getMe");
  EXPECT_THAT(all_told(stage.daemon), Not(HasSubstr(kSecret)));
}

TEST(Secrets, of_redis_are_told_nowhere) {
  const Closed redis;
  Stage stage({.yaml = "redis: { url: 'redis://admin:" + std::string(kSecret) + "@" + redis.host() +
                       "' }\n"
                       "upstreams: { here: { match: 127.0.0.1, rate: 1000/s } }\n"});
  EXPECT_GT(stage.fetch("/").status, 0);
  EXPECT_THAT(all_told(stage.daemon), Not(HasSubstr(kSecret)));
}

TEST(Lines, of_the_log_cannot_be_written_by_a_request) {
  Stage stage;
  const std::string tricks[] = {"/%0d%0a{\"event\":\"complete\"}", "/\"},{\"event\":\"complete\"", "/\\u000a\\",
                                "/<script>'&", "/" + std::string(8000, 'x')};
  for (const auto& path : tricks) stage.ask("GET " + stage.url(path) + " HTTP/1.1\r\nHost: a\r\n\r\n");
  stage.ask("GET /\x1b[2J\r\nX: \x1b]0;pwned\x07\r\n\r\n");
  stage.ask("G\x1b[31mT http://a/ HTTP/1.1\r\n\r\n");
  const auto refused = stage.daemon.await_events(2, "refused");  // each line is JSON, or this would not read them
  EXPECT_EQ(refused.size(), 2u);
  for (const auto& event : stage.daemon.events()) {
    for (const unsigned char c : event.dump()) EXPECT_TRUE(c >= 0x20 && c != 0x7f) << event;
    EXPECT_LT(event.dump().size(), 20'000u);
  }
  EXPECT_EQ(stage.daemon.diagnostics().find('\x1b'), std::string::npos);
}

TEST(Lines, of_the_log_are_cut_however_long_a_target_may_be) {
  Stage stage({.yaml = "caps: { targetBytes: 500KiB, headerBytes: 512KiB }\n"});
  const std::string long_path = "/" + std::string(500'000, 'x'), trick = "/%0a\\\"},{\"event\":\"complete\"";
  std::string many_tricks;
  while (many_tricks.size() < long_path.size()) many_tricks += trick;
  for (const auto& path : {long_path, many_tricks}) EXPECT_EQ(stage.fetch(path).status, 200);
  EXPECT_EQ(stage.fetch("/" + std::string(515'000, 'x')).status, 414);
  const int far_beyond = stage.fetch("/" + std::string(1024 * 1024, 'x')).status;
  EXPECT_TRUE(far_beyond == 414 || far_beyond == 431) << far_beyond << ", of the target or of the whole head";
  EXPECT_EQ(stage.origin.seen().at(0).target, long_path) << "the upstream gets all of it";
  ASSERT_EQ(stage.daemon.await_events(2, "complete").size(), 2u);
  ASSERT_EQ(stage.daemon.await_events(2, "refused").size(), 2u);
  for (const auto& event : stage.daemon.events()) {
    EXPECT_LT(event.dump().size(), 20'000u);
    if (event.at("event") == "refused") continue;
    EXPECT_TRUE(event.at("path").get<std::string>().ends_with("…")) << "and says that it was cut";
  }
  EXPECT_EQ(stage.daemon.events().size(), 6u) << "a line for each event, none for a trick";
}

TEST(Answers, of_our_own_are_plain_text_that_no_browser_takes_for_a_page) {
  Stage stage;
  for (const Reply& reply : {stage.ask(get("http://a.test/<script>alert(1)</script>", "Penstock-Weight: <b>\r\n")),
                             stage.ask("GET /<script> HTTP/1.1\r\nHost: a\r\n\r\n")}) {
    EXPECT_EQ(reply.status, 400);
    EXPECT_TRUE(reply.field("content-type").starts_with("text/plain")) << reply.head;
    EXPECT_THAT(reply.head + reply.body, Not(HasSubstr("<script>")));
  }
}

TEST(Environment, with_what_others_obey_is_warned_of_and_has_no_effect) {
  Origin elsewhere;
  const std::string other = "http://" + elsewhere.host();
  const std::string folder = new_folder();
  Stage stage({.environment = {{"http_proxy", other},
                               {"ALL_PROXY", other},
                               {"NO_PROXY", "*"},
                               {"SSLKEYLOGFILE", folder + "/keys"},
                               {"CURL_HOME", folder},
                               {"HOME", folder}}});
  EXPECT_EQ(stage.fetch("/").body, "hello");
  EXPECT_EQ(elsewhere.connections(), 0u);
  EXPECT_TRUE(eventually([&] { return stage.daemon.diagnostics().find("without effect here") != std::string::npos; }));
  EXPECT_THAT(
      stage.daemon.diagnostics(),
      HasSubstr("set in the environment, and without effect here: http_proxy, ALL_PROXY, NO_PROXY, SSLKEYLOGFILE, "
                "CURL_HOME\n"));
  // libcurl opens the file all the same, and then has nothing to say.
  EXPECT_EQ(std::ifstream(folder + "/keys").peek(), std::ifstream::traits_type::eof());
  std::remove((folder + "/keys").c_str());
  EXPECT_EQ(::rmdir(folder.c_str()), 0) << "nobody wrote there";
}

TEST(Environment, with_a_netrc_at_home_sends_nobodys_password) {
  const std::string home = new_folder();
  std::ofstream(home + "/.netrc") << "machine 127.0.0.1 login x password y\ndefault login x password y\n";
  {
    Stage stage({.environment = {{"HOME", home}, {"CURL_HOME", home}, {"NETRC", home + "/.netrc"}}});
    EXPECT_EQ(stage.fetch("/").status, 200);
    EXPECT_EQ(stage.ask(get("http://localhost:" + std::to_string(stage.origin.port()) + "/")).status, 200);
    EXPECT_EQ(stage.fetch("/", "Authorization: Bearer mine\r\n").status, 200);
    const auto seen = stage.origin.seen();
    ASSERT_EQ(seen.size(), 3u);
    EXPECT_FALSE(seen[0].fields.has("authorization")) << seen[0].head;
    EXPECT_FALSE(seen[1].fields.has("authorization")) << seen[1].head;
    EXPECT_THAT(seen[2].fields.all("authorization"), testing::ElementsAre("Bearer mine"));
  }
  std::filesystem::remove_all(home);
}

}  // namespace
}  // namespace penstock::trial
