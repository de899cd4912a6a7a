// SPDX-License-Identifier: Apache-2.0
// `penstock check`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "app/home.h"
#include "app/program.h"
#include "support/held_port.h"
#include "support/redis_server.h"
#include "tls/authority.h"

namespace penstock::app {
namespace {

TEST(Check, is_content_with_the_files_that_come_with_penstock) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PENSTOCK_CONFIG_DIR)) {
    if (entry.path().extension() != ".yaml") continue;
    const auto ended = penstock({"check", entry.path()});
    EXPECT_EQ(ended.code, 0) << entry.path();
    EXPECT_THAT(ended.out, testing::StartsWith(entry.path().string() + ": ok\n"));
    EXPECT_EQ(ended.err, "");
    ++files;
  }
  EXPECT_GE(files, 5);
}

TEST(Check, counts_routes_and_their_limits) {
  const TemporaryFile file(
      "version: 1\nupstreams:\n  api: { match: a.test, https: originate, routes: [ { match: { path: /x }, rate: 1/s "
      "},\n"
      "    { match: { path: /y }, maxConcurrent: 1 }, { match: { method: PUT }, weight: 2 } ] }\n");
  const auto ended = penstock({"check", file.path()});
  EXPECT_EQ(ended.out, file.path() + ": ok\nupstreams.api: 3 routes, 2 with limits of their own (3 limits)\n");
  const auto json = nlohmann::json::parse(penstock({"check", "--format", "json", file.path()}).out);
  EXPECT_EQ(json.at("routes").at(0), "upstreams.api: 3 routes, 2 with limits of their own (3 limits)");
}

TEST(Check, marks_the_place_behind_characters_of_several_bytes) {
  const TemporaryFile file("version: 1\nupstreams: { \"ä\": { match: a.test, rate: 5 } }\n");
  EXPECT_THAT(penstock({"check", file.path()}).err,
              testing::HasSubstr("\n    upstreams: { \"ä\": { match: a.test, rate: 5 } }\n"
                                 "                                             ^\n"));
}

TEST(Check, shows_no_line_that_may_hold_a_password) {
  for (const std::string line : {"redis: { url: 'redis://:hush@127.0.0.1:port' }",
                                 "redis: { url: 'redis://127.0.0.1', "
                                 "secrets: hush }"}) {
    const TemporaryFile file("version: 1\n" + line + "\n");
    const auto ended = penstock({"check", file.path()});
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.err, testing::Not(testing::HasSubstr("hush")));
  }
}

TEST(Check, has_a_place_for_files_that_are_missing) {
  const TemporaryFile users("version: 1\naccess: { users: /no/such }\n");
  EXPECT_EQ(penstock({"check", users.path()}).err,
            users.path() +
                ":2:18: access.users: /no/such: cannot be read: No such file or directory\n"
                "    access: { users: /no/such }\n                     ^\n");
  const TemporaryFile ca(
      "version: 1\nupstreams: { a: { match: a.test, https: intercept } }\n"
      "intercept: { ca: /no/ca, key: /no/key }\n");
  EXPECT_EQ(penstock({"check", ca.path()}).err,
            ca.path() +
                ":3:18: intercept.ca: cannot read /no/ca: No such file or directory; `penstock ca init` makes "
                "one\n    intercept: { ca: /no/ca, key: /no/key }\n                     ^\n");
}

TEST(Check, says_the_same_as_json_for_programs) {
  const TemporaryFile faulty("version: 1\nupstreams: { a: { match: a.test, rate: 5 } }\n");
  auto ended = penstock({"check", "--format", "json", faulty.path()});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.err, "");
  auto json = nlohmann::json::parse(ended.out);
  EXPECT_EQ(json["ok"], false);
  ASSERT_EQ(json["errors"].size(), 1u);
  EXPECT_EQ(json["errors"][0]["file"], faulty.path());
  EXPECT_EQ(json["errors"][0]["line"], 2);
  EXPECT_EQ(json["errors"][0]["column"], 40);
  EXPECT_THAT(json["errors"][0]["message"].get<std::string>(),
              testing::StartsWith("rate in upstreams.a: '5' is not a rate"));
  const TemporaryFile warned("version: 1\nupstreams: { a: { match: a.test, rate: 5/s } }\n");
  ended = penstock({"check", warned.path(), "--format", "json"});
  EXPECT_EQ(ended.code, 0);
  json = nlohmann::json::parse(ended.out);
  EXPECT_EQ(json["ok"], true);
  EXPECT_EQ(json["warnings"].size(), 1u);
  EXPECT_EQ(penstock({"check", "--format", "xml", warned.path()}).code, 2);
}

/// The YAML files that a page shows whole.
std::vector<std::string> files_shown_in(const std::filesystem::path& page) {
  std::ifstream stream(page);
  std::ostringstream text;
  text << stream.rdbuf();
  std::vector<std::string> files;
  std::string_view rest = text.view();
  for (std::size_t at; (at = rest.find("```yaml\nversion: 1\n")) != std::string_view::npos;) {
    rest.remove_prefix(at + std::string_view("```yaml\n").size());
    files.emplace_back(rest.substr(0, rest.find("```")));
  }
  return files;
}

TEST(Check, has_nothing_to_say_of_the_files_that_our_pages_show) {
  std::vector<std::filesystem::path> pages{PENSTOCK_CONFIG_DIR "/../README.md"};
  for (const auto& page : std::filesystem::directory_iterator(PENSTOCK_CONFIG_DIR "/../docs")) pages.push_back(page);
  int files = 0;
  for (const auto& page : pages) {
    for (const auto& yaml : files_shown_in(page)) {
      const TemporaryFile file(yaml);
      EXPECT_EQ(penstock({"check", file.path()}).err, "") << page << '\n' << yaml;
      ++files;
    }
  }
  EXPECT_GE(files, 3);
}

TEST(Check, says_everything_at_once_with_its_place) {
  const TemporaryFile file(
      "version: 1\nupstreams:\n  github:\n    match: api.github.com\n    maxConcurent: 20\nproxi: {}\n");
  const auto ended = penstock({"check", file.path()});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.err, file.path() +
                           ":5:5: unknown key 'maxConcurent' in upstreams.github; did you mean 'maxConcurrent'?\n"
                           "        maxConcurent: 20\n        ^\n" +
                           file.path() + ":6:1: unknown key 'proxi'; did you mean 'proxy'?\n    proxi: {}\n    ^\n");
}

TEST(Check, says_that_a_file_cannot_be_read) {
  const auto ended = penstock({"check", "/nowhere.yaml"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.err, "/nowhere.yaml: cannot be read: No such file or directory\n");
}

TEST(Check, fills_in_variables_as_run_would) {
  const TemporaryFile file("version: 1\nproxy: { listen: '${PENSTOCK_TEST_LISTEN}' }\n");
  EXPECT_EQ(penstock({"check", file.path()}, {"PENSTOCK_TEST_LISTEN=127.0.0.1:1"}).code, 0);
  EXPECT_EQ(penstock({"check", file.path()}).code, 1);
}

TEST(Check, warns_of_rules_that_https_passes_by) {
  const TemporaryFile file(
      "version: 1\nupstreams:\n  search: { match: [a.example/search, a.example:80/x, b.example] }\n"
      "  teams: { match: c.example, group: \"header:X-Team\" }\n  hosts: { match: \"*.d.example\", group: host }\n");
  const auto ended = penstock({"check", file.path()});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out, file.path() + ": ok\n");
  EXPECT_EQ(
      ended.err,
      file.path() +
          ":3:20: warning: upstreams.search: https:// goes through tunnels, which show no path: "
          "a.example/search is for http:// only; see https: originate, https: intercept and baseUrl\n" +
          file.path() +
          ":4:37: warning: upstreams.teams: https:// goes through tunnels, which show neither path nor "
          "fields: they are all in group '-' of header:X-Team; see https: originate, https: intercept and baseUrl\n");
}

TEST(Check, does_not_warn_of_tunnels_where_https_is_originated_or_comes_by_the_gateway) {
  const TemporaryFile file(
      "version: 1\nupstreams:\n  search: { match: [a.example/search], group: \"header:X\", https: originate }\n"
      "  models: { baseUrl: \"https://b.example\", match: [], group: \"header:X\" }\n"
      "  \"*\": { group: \"header:X\", https: originate }\n");
  const auto ended = penstock({"check", file.path()});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "");
}

TEST(Check, warns_of_limits_that_count_tunnels) {
  const TemporaryFile file(
      "version: 1\nupstreams:\n  a: { match: a.example, rate: 2/s }\n  b: { match: \"b.example:80\", rate: 2/s }\n"
      "  c: { match: c.example, rate: 2/s, https: tunnel }\n  d: { match: d.example }\n"
      "  e: { match: [], baseUrl: \"https://e.example\", rate: 2/s }\n  \"*\": { rate: 5/s }\n");
  const auto words = [&](const std::string& place, const std::string& upstream) {
    return file.path() + place + "warning: upstreams." + upstream +
           ": https:// goes through tunnels, and limits count these here, not requests: a client that keeps its "
           "connection sends any number of requests through one. https: intercept or https: originate governs each "
           "request; https: tunnel says that tunnels are meant\n";
  };
  EXPECT_EQ(penstock({"check", file.path()}).err, words(":3:3: ", "a") + words(":8:3: ", "*"));
  const TemporaryFile meant(
      "version: 1\ndefaults: { https: tunnel }\nupstreams: { a: { match: a.example, rate: 2/s } }\n");
  EXPECT_EQ(penstock({"check", meant.path()}).err, "");
}

TEST(Check, warns_of_a_pattern_that_no_originated_request_fits) {
  const TemporaryFile file("version: 1\nupstreams:\n  a: { match: [\"a.example:443\"], https: originate }\n");
  EXPECT_EQ(penstock({"check", file.path()}).err,
            file.path() +
                ":3:15: warning: upstreams.a: a.example:443 does not fit http://a.example, whose port becomes 443 "
                "only behind it; write a.example\n");
}

TEST(Check, warns_of_plain_ports_where_no_connect_may_go) {
  const TemporaryFile file("version: 1\naccess: { plainPorts: [80, 8080] }\n");
  EXPECT_EQ(penstock({"check", file.path()}).err,
            file.path() + ":2:23: warning: access.plainPorts: 8080 does nothing, as it is not in connectPorts\n");
  const TemporaryFile by_default("version: 1\naccess: { connectPorts: [443] }\n");
  EXPECT_EQ(penstock({"check", by_default.path()}).err, "");
}

// Of interception.

constexpr std::int64_t kDay = 24 * 60 * 60;

/// Writes an authority that was made so many days ago, and checks a file that needs it.
Ended checked(const Home& home, int days = 0) {
  const auto made = tls::make_authority("of the tests", std::time(nullptr) - days * kDay);
  home.write(".config/penstock/ca.pem", made.certificate);
  const auto key = home.write(".config/penstock/ca-key.pem", made.key);
  ::chmod(key.c_str(), 0600);
  return home.penstock({"check", home.write("penstock.yaml", kIntercepting)});
}

TEST(Check, is_content_with_an_authority_that_can_be_used) {
  const Home home;
  const auto ended = checked(home);
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "");
}

TEST(Check, refuses_a_key_that_others_can_read) {
  const Home home;
  checked(home);
  for (const mode_t mode : {0640, 0604, 0620}) {
    ::chmod(home.key().c_str(), mode);
    const auto ended = home.penstock({"check", home.path("penstock.yaml")});
    EXPECT_EQ(ended.code, 1) << mode;
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, testing::HasSubstr("intercept.key: " + home.key() + " can be read by others"));
  }
}

TEST(Check, takes_a_credential_of_systemd_that_an_access_list_opens_to_the_service) {
  const Home home;
  checked(home);
  const auto config = home.write("service.yaml", "version: 1\nintercept: { ca: " + home.ca() + ", key: " + home.key() +
                                                     " }\n"
                                                     "upstreams: { api: { match: api.example, https: intercept } }\n");
  const auto check = [&](const std::string& folder) {
    return home.penstock({"check", config}, {"CREDENTIALS_DIRECTORY=" + home.path(folder)}).err;
  };
  ::chmod(home.key().c_str(), 0440);
  EXPECT_EQ(check(".config/penstock"), "");
  EXPECT_THAT(check(".config/pen"), testing::HasSubstr("can be read by others")) << "it lies elsewhere";
  ::chmod(home.key().c_str(), 0444);
  EXPECT_THAT(check(".config/penstock"), testing::HasSubstr("can be read by others"));
}

TEST(Check, refuses_where_the_authority_is_missing_or_is_none) {
  const Home home;
  const auto config = home.write("penstock.yaml", kIntercepting);
  const auto missing = home.penstock({"check", config});
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.err, testing::HasSubstr("intercept.ca: cannot read " + home.ca()));
  checked(home);
  const auto other = tls::make_authority("another", std::time(nullptr));
  home.write(".config/penstock/ca.pem", other.certificate);
  EXPECT_THAT(home.penstock({"check", config}).err, testing::HasSubstr("does not belong to " + home.ca()));
}

TEST(Check, refuses_an_authority_that_has_expired_and_warns_before) {
  const Home home;
  const auto soon = checked(home, 3652 - 10);
  EXPECT_EQ(soon.code, 0);
  EXPECT_THAT(soon.err, testing::MatchesRegex(".*: warning: intercept.ca: the authority expires in (9|10) days; .*\n"));
  EXPECT_EQ(checked(home, 3652 - 40).err, "");
  const auto late = checked(home, 3653);
  EXPECT_EQ(late.code, 1);
  EXPECT_THAT(late.err, testing::HasSubstr("has expired"));
}

TEST(Check, does_not_look_at_an_authority_that_nobody_needs) {
  const TemporaryFile file("version: 1\nintercept: { ca: /nowhere/ca.pem, key: /nowhere/ca-key.pem }\n");
  EXPECT_EQ(penstock({"check", file.path()}).code, 0);
}

TEST(Check, knows_that_what_is_intercepted_shows_paths_and_fields_but_only_where_a_connect_may_go) {
  const Home home;
  checked(home);
  const auto config =
      home.write("penstock.yaml",
                 "version: 1\naccess: { connectPorts: [443] }\nupstreams:\n  a: { match: [a.example/v1, "
                 "\"b.example:8443\", c.example:443], group: \"path:/v1/{x}\", https: intercept }\n");
  const auto ended = home.penstock({"check", config});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, config +
                           ":4:15: warning: upstreams.a: b.example:8443 is never intercepted, as 8443 is not in "
                           "access.connectPorts\n");
}

std::string file_with_redis(const std::string& url, const std::string& keys = "") {
  return "version: 1\nredis: { url: '" + url + "'" + keys + " }\n";
}

TEST(CheckLive, says_what_it_finds_of_redis) {
  test::RedisServer redis;
  const TemporaryFile file(file_with_redis(redis.url()));
  const auto ended = penstock({"check", "--live", file.path()});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(
      ended.out,
      testing::MatchesRegex(".*: ok\nRedis [0-9.]+ at redis://127.0.0.1:[0-9]+/0, standalone, without "
                            "TLS, as user default\na round trip takes ([0-9]+ µs|[0-9.]+ ms), its "
                            "clock is ([0-9]+ µs|[0-9.]+ ms) (behind|ahead of) ours\nits user may do all that Penstock "
                            "needs\n"));
  EXPECT_EQ(ended.err, "");
}

// A request would not wait so long, but whoever asks what is wrong wants an answer.
TEST(CheckLive, has_more_patience_than_requests_have) {
  test::RedisServer redis;
  redis.run({"CLIENT", "PAUSE", "400", "WRITE"});
  const TemporaryFile file(file_with_redis(redis.url(), ", timeout: 50ms"));
  const auto ended = penstock({"check", "--live", file.path()});
  EXPECT_EQ(ended.code, 0) << ended.err;
}

TEST(CheckLive, warns_of_a_redis_that_evicts_and_of_rights_that_are_missing) {
  test::RedisServer redis({"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"});
  redis.run({"ACL", "SETUSER", "default", "-publish"});
  const TemporaryFile file(file_with_redis(redis.url()));
  const auto ended = penstock({"check", "--live", file.path()});
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.err,
              testing::HasSubstr("maxmemory-policy is allkeys-lru: a key that it evicts is a limit forgotten"));
  EXPECT_THAT(ended.err, testing::HasSubstr("its user lacks: +publish"));
}

TEST(CheckLive, fails_where_limits_cannot_be_shared) {
  test::RedisServer redis({"--requirepass", "s3cret"});
  const test::HeldPort nobody;
  const auto why = [](const std::string& text) {
    const TemporaryFile file(text);
    const auto ended = penstock({"check", "--live", file.path()});
    EXPECT_EQ(ended.code, 1) << ended.out;
    return ended.err;
  };
  EXPECT_THAT(why(file_with_redis(redis.url())),
              testing::HasSubstr("is down: NOAUTH Authentication required. Set redis.password"));
  EXPECT_THAT(why(file_with_redis(redis.url(), ", password: wrong")), testing::HasSubstr("is down: WRONGPASS"));
  EXPECT_THAT(why(file_with_redis("redis://127.0.0.1:" + std::to_string(nobody.number()))),
              testing::HasSubstr("is down: Connection refused"));
  redis.run({"AUTH", "s3cret"});
  redis.run({"ACL", "SETUSER", "default", "-evalsha"});
  EXPECT_THAT(why(file_with_redis(redis.url(), ", password: s3cret")), testing::HasSubstr("+evalsha"));
}

TEST(CheckLive, says_that_there_is_no_redis) {
  const TemporaryFile file("version: 1\n");
  EXPECT_THAT(penstock({"check", "--live", file.path()}).out,
              testing::HasSubstr("no redis: each process keeps its limits"));
}

}  // namespace
}  // namespace penstock::app
