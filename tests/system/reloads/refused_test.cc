// SPDX-License-Identifier: Apache-2.0
// SIGHUP with a file that will not do: each fault is said with its place, the failure is counted, and nothing changes.
#include <gmock/gmock.h>

#include <filesystem>
#include <functional>

#include "system/limited.h"

namespace penstock::trial {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

/// `api` lets two leave in an hour: whoever forgets that, or what has left, is found out.
struct Ruled : Limited {
  Ruled() : Limited("maxConcurrent: 5, queue: { maxWait: 24h }, limits: [{ counter: { max: 2, period: 1h } }]") {
    send_one("/1");
    expect_all_served();
  }
  std::string text_with(const std::string& more) const {
    return daemon.text_with(
        "upstreams:\n  api: { match: [127.0.0.1, localhost], limits: [{ counter: { max: 9, period: 1h } }] }\n" + more);
  }
  void expect_old_rules() {
    send_one("/2");
    expect_all_served();
    send_one("/3");
    EXPECT_TRUE(daemon.await_pending("api", 1));
    EXPECT_EQ(origin.count(), 2u);
    EXPECT_EQ(daemon.status("api").at("maxConcurrent"), 5);
  }
};

struct Fault {
  std::string name, yaml, place, words;
};

/// Lines 1 to 4 are those of every test; the upstream is in 5 and 6.
std::vector<Fault> faults() {
  return {
      {"syntax", "caps: { pipelined: 3\n", ":[0-9]+:[0-9]+: not YAML", ""},
      {"unknown key", "proxi: 1\n", ":7:1: ", "unknown key 'proxi'"},
      {"variable that is not set", "dns: { servers: [\"${NOWHERE_SET}\"] }\n", ":7:18: ", "NOWHERE_SET"},
      {"other dns", "dns: { timeout: 7s }\n", ":7:", "dns cannot be changed by a reload"},
      {"redis", "redis: { main: { url: redis://127.0.0.1:1/0, timeout: 0s } }\n", ":7:", "timeout in redis.main is 0s"},
      {"tls file", "  x: { match: x.test, tls: { ca: /nowhere.pem } }\n", ":7:34: ", "cannot read /nowhere.pem"},
  };
}

void expect_refused(Ruled& stage, const std::string& place, const std::string& words) {
  const std::size_t before = stage.daemon.diagnostics().size();
  EXPECT_FALSE(stage.daemon.reloads());
  const std::string said = stage.daemon.diagnostics().substr(before);
  EXPECT_THAT(said, ContainsRegex(stage.daemon.file() + place));
  EXPECT_THAT(said, HasSubstr(words));
  EXPECT_THAT(said, HasSubstr(stage.daemon.file() + " not loaded: the configuration stays as it was\n"));
}

TEST(RefusedReload, says_what_is_wrong_and_where_and_changes_nothing) {
  Ruled stage;
  int count = 0;
  for (const auto& fault : faults()) {
    SCOPED_TRACE(fault.name);
    stage.daemon.write_file(stage.text_with(fault.yaml));
    expect_refused(stage, fault.place, fault.words);
    EXPECT_EQ(stage.daemon.metric("penstock_config_reloads_total", "result=\"failed\""), ++count);
  }
  EXPECT_EQ(stage.daemon.metric("penstock_config_reloads_total", "result=\"success\""), 0);
  stage.expect_old_rules();
}

TEST(RefusedReload, of_what_is_bound_to_the_process) {
  Ruled stage;
  const std::string folder = std::filesystem::path(stage.daemon.file()).parent_path();
  const std::vector<std::array<std::string, 4>> changes{
      {"127.0.0.1:0\"", "127.0.0.2:0\"", ":2:18: ", "listen in proxy cannot be changed by a reload"},
      {"admin: { listen: \"127.0.0.1:0\" }", "admin: { listen: \"127.0.0.1:1\" }",
       ":3:18: ", "listen in admin cannot be changed by a reload"},
      {folder + "/events", folder + "/others", ":4:16: ", "events in log cannot be changed by a reload"}};
  for (const auto& [before, after, place, words] : changes) {
    SCOPED_TRACE(words);
    std::string text = stage.text_with("");
    text.replace(text.find(before), before.size(), after);
    stage.daemon.write_file(text);
    expect_refused(stage, place, words);
  }
  EXPECT_FALSE(std::filesystem::exists(folder + "/others"));
  stage.expect_old_rules();
}

TEST(RefusedReload, of_a_file_that_is_gone_or_cannot_be_read) {
  Ruled stage;
  const std::string& file = stage.daemon.file();
  const std::string text = stage.text_with("");
  const std::vector<std::function<void()>> ways{[&] { std::filesystem::remove(file); },
                                                [&] { std::filesystem::create_directory(file); },
                                                [&] {
                                                  std::filesystem::remove(file);
                                                  std::filesystem::create_symlink(file, file);
                                                },
                                                [&] {
                                                  std::filesystem::remove(file);
                                                  stage.daemon.write_file("");
                                                }};
  for (const auto& way : ways) {
    way();
    expect_refused(stage, ":", "");
  }
  EXPECT_EQ(stage.daemon.metric("penstock_config_reloads_total", "result=\"failed\""), 4);
  stage.expect_old_rules();
  stage.daemon.write_file(text);
  EXPECT_TRUE(stage.daemon.reloads()) << "and a good one is taken on all the same";
  stage.expect_all_served();
}

}  // namespace
}  // namespace penstock::trial
