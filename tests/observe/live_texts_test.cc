// SPDX-License-Identifier: Apache-2.0
// What /live says, the events of a second, the page and its frozen copy: texts alone.
#include "observe/live/live_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <nlohmann/json.hpp>

#include "observe/live/event_feed.h"
#include "observe/live/page.h"
#include "observe/live/plain_rows.h"

namespace penstock::observe {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

json data_of(const std::string& event) { return json::parse(event.substr(event.find("data: ") + 6)); }

Snapshot of(std::vector<UpstreamSnapshot> upstreams) {
  Snapshot snapshot;
  snapshot.upstreams = std::move(upstreams);
  return snapshot;
}

class LiveTextsTest : public testing::Test {
 protected:
  json written(Snapshot snapshot, bool all, bool details = true) {
    LiveTexts::Wanted wanted;
    wanted.add(all, details);
    return data_of(*texts_.write(std::move(snapshot), facts_, wanted).of(all, details));
  }

  LiveTexts texts_;
  LiveFacts facts_{.config = std::make_shared<const Config>(), .why_not = "because"};
};

TEST_F(LiveTextsTest, only_upstreams_that_changed_are_said_and_those_that_are_gone) {
  EXPECT_EQ(written(of({{.name = "a"}, {.name = "b"}}), true)["upstreams"].size(), 2u);
  const auto changed = written(of({{.name = "a"}, {.name = "b", .pending = 1}}), false);
  EXPECT_FALSE(changed["full"]);
  ASSERT_EQ(changed["upstreams"].size(), 1u);
  EXPECT_EQ(changed["upstreams"][0]["name"], "b");
  EXPECT_EQ(changed["gone"], json::array());
  const auto less = written(of({{.name = "b", .pending = 1}}), false);
  EXPECT_EQ(less["upstreams"], json::array());
  EXPECT_EQ(less["gone"], json::array({"a"}));
  EXPECT_EQ(written(of({{.name = "b", .pending = 1}}), true)["upstreams"].size(), 1u);
}

TEST_F(LiveTextsTest, time_that_goes_by_is_no_change) {
  const auto at = [](Duration left, double used) {
    return of({{.name = "a", .limits = {{.name = "w", .used = used, .of = 9, .opens_in = left, .resets_in = left}}}});
  };
  EXPECT_EQ(written(at(9s, 1), false)["upstreams"].size(), 1u);
  EXPECT_EQ(written(at(8s, 1), false)["upstreams"].size(), 0u);
  auto later = at(8s, 1);
  later.upstreams[0].last_minute.out_per_second = 3;
  EXPECT_EQ(written(std::move(later), false)["upstreams"].size(), 0u) << "the page counts itself";
  EXPECT_EQ(written(at(7s, 2), false)["upstreams"][0]["limits"][0]["resetsInMs"], 7000);
  EXPECT_EQ(written(at(6s, 2), true)["upstreams"][0]["limits"][0]["resetsInMs"], 6000) << "all are as they are now";
}

TEST_F(LiveTextsTest, who_may_not_see_details_is_told_why_and_groups_are_in_no_snapshot) {
  const auto snapshot = of({{.name = "a", .groups = {{.name = "secret"}}}});
  const auto open = written(snapshot, true), closed = written(snapshot, true, false);
  EXPECT_TRUE(open["details"]);
  EXPECT_FALSE(closed["details"]);
  EXPECT_EQ(closed["detailsWhy"], "because");
  EXPECT_THAT(open.dump() + closed.dump(), Not(HasSubstr("secret")));
}

TEST_F(LiveTextsTest, of_ten_thousand_the_busiest_are_shown_and_the_rest_is_counted) {
  std::vector<UpstreamSnapshot> many(10'000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i].name = std::to_string(i) + ".example:443";
  many[7'000].pending = 3;
  many[9'999].entry = 4;
  const auto all = written(of(many), true);
  EXPECT_EQ(all["upstreams"].size() + all["notShown"].get<std::size_t>(), 10'000u);
  EXPECT_LE(all["upstreams"].size(), LiveTexts::kMostUpstreams);
  EXPECT_LE(all.dump().size(), LiveTexts::kMostBytes + 1000);
  std::vector<std::string> names;
  for (const auto& one : all["upstreams"]) names.push_back(one["name"]);
  EXPECT_THAT(names, testing::IsSupersetOf({"7000.example:443", "9999.example:443"}));
  EXPECT_THAT(plain_rows(of(many)), HasSubstr("\n9800 more are not shown"));
}

TEST_F(LiveTextsTest, details_say_who_waits_and_that_an_upstream_is_not_there) {
  UpstreamDetails details;
  details.waiting.push_back({.id = "x1", .path = "/a\n\ndata: {}", .since = 1500us});
  details.callers.emplace_back("10.0.0.7", 12);
  const auto text = details_event("a", details, {{.name = "</script>"}}, "held to 1/s");
  EXPECT_EQ(text.find("\n\n"), text.size() - 2) << "nothing in it ends the event";
  const auto data = data_of(text);
  EXPECT_EQ(data["waiting"][0]["sinceMs"], 1.5);
  EXPECT_EQ(data["waiting"][0]["leavesInMs"], nullptr);
  EXPECT_EQ(data["callers"], json::parse(R"([["10.0.0.7",12]])"));
  EXPECT_EQ(data["groups"][0]["name"], "</script>");
  EXPECT_EQ(data["explain"], "held to 1/s");
  EXPECT_EQ(data_of(details_event("a", std::nullopt, {}, "")), json::parse(R"({"upstream":"a","gone":true})"));
}

Event ended(int status, std::string_view id, EventKind kind = EventKind::complete) {
  return {.kind = kind, .id = id, .status = status};
}

std::vector<std::string> ids_of(const json& data) {
  std::vector<std::string> ids;
  for (const auto& line : data["lines"]) ids.push_back(line["id"]);
  return ids;
}

TEST(EventFeed, shows_twenty_a_second_errors_and_refusals_first_and_counts_the_rest) {
  EventFeed feed;
  EXPECT_EQ(feed.take().text, nullptr);
  feed.record(ended(0, "took-off", EventKind::dispatch));
  EXPECT_EQ(feed.take().text, nullptr) << "it has not ended";
  for (int i = 0; i < 30; ++i) feed.record(ended(200, "fine" + std::to_string(i)));
  feed.record(ended(503, "bad"));
  feed.record(ended(429, "turned-away", EventKind::refused));
  const auto data = data_of(*feed.take().text);
  const auto ids = ids_of(data);
  ASSERT_EQ(ids.size(), 20u);
  EXPECT_EQ(ids.front(), "fine0");
  EXPECT_EQ(ids[17], "fine17");
  EXPECT_EQ(ids[18], "bad");
  EXPECT_EQ(ids[19], "turned-away");
  EXPECT_EQ(data["dropped"], 12);
  feed.record(ended(200, "later"));
  EXPECT_THAT(ids_of(data_of(*feed.take().text)), ElementsAre("later"));
}

TEST(EventFeed, long_lines_do_not_fill_what_a_viewer_may_hold) {
  EventFeed feed;
  const std::string path(7000, 'x');
  for (int i = 0; i < 20; ++i) feed.record({.kind = EventKind::complete, .path = path});
  const auto text = feed.take().text;
  EXPECT_LE(text->size(), EventFeed::kMostBytes + 100);
  EXPECT_EQ(data_of(*text)["lines"].size() + data_of(*text)["dropped"].get<std::size_t>(), 20u);
}

std::string source_between(std::string_view text, std::string_view begin, std::string_view end) {
  const auto at = text.find(begin) + begin.size();
  const auto part = text.substr(at, text.find(end) - at);
  unsigned char hash[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(part.data(), part.size(), hash, &size, EVP_sha256(), nullptr);
  unsigned char base64[64];
  EVP_EncodeBlock(base64, hash, static_cast<int>(size));
  return std::string("'sha256-") + reinterpret_cast<const char*>(base64) + "'";
}

TEST(Page, its_policy_allows_its_own_script_and_style_and_nothing_else) {
  const auto script = source_between(page(), "<script>", "</script>"),
             style = source_between(page(), "<style>", "</style>");
  EXPECT_EQ(page_policy(), "default-src 'none'; script-src " + script + "; style-src " + style +
                               "; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                               "frame-ancestors 'none'");
  EXPECT_LE(page().size(), 40'000u);
  for (const auto* forbidden :
       {"innerHTML", "insertAdjacentHTML", "document.write", "outerHTML", "eval(", " style=", "http://", "https://"})
    EXPECT_THAT(std::string(page()), Not(HasSubstr(forbidden)));
}

TEST(Page, frozen_it_holds_its_data_and_nothing_in_these_ends_their_element) {
  const auto text = frozen_page(R"({"path":"</script><script>alert(1)</script><!--"})");
  EXPECT_THAT(text, HasSubstr(R"(<script type="application/json" id="frozen">{"path":"\u003c/script>\u003cscript>)"));
  EXPECT_THAT(
      text,
      HasSubstr("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(text, HasSubstr("connect-src 'none'"));
}

TEST(PlainRows, are_aligned_and_say_what_is_happening) {
  Snapshot snapshot =
      of({{.name = "api", .pending = 12, .in_flight = 2, .max_concurrent = 8}, {.name = "longer.example:80"}});
  snapshot.upstreams[1].unreachable = true;
  EXPECT_THAT(plain_rows(snapshot), StartsWith("upstream           waiting  in flight  what is happening\n"
                                               "api                12       2/8"));
  EXPECT_THAT(plain_rows(snapshot), HasSubstr("\nlonger.example:80  0        0/0        UNREACHABLE"));
}

}  // namespace
}  // namespace penstock::observe
