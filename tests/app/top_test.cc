// SPDX-License-Identifier: Apache-2.0
// The picture of `penstock top` as a pure function, and what it is made of. tests/top shows it in a real terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "app/top_figures.h"
#include "app/top_keys.h"
#include "app/top_screen.h"
#include "app/top_status.h"
#include "app/top_text.h"
#include "app/top_view.h"

namespace penstock::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string kept(const std::string& name) {
  std::ifstream file(PENSTOCK_TOP_DIR "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string text_of(const std::vector<TopLine>& lines) {
  std::string text;
  for (const auto& line : lines) text += plain_text(line) + "\n";
  return text;
}

/// Two hours after its configuration came into force.
TopNews frozen() {
  auto status = read_status(kept("status.json"));
  if (!status) throw std::runtime_error("status.json");
  const double now = *status->loaded_at + 7300;
  return {.status = std::move(*status), .now = now};
}

TopNews news_of(const std::string& body) { return {.status = read_status(body).value()}; }

/// So many hosts, host0 with the longest queue.
TopNews many(int count) {
  std::string body = R"({"upstreams":[)";
  for (int i = 0; i < count; ++i) {
    body += (i > 0 ? "," : "") + std::string(R"({"name":"host)") + std::to_string(i) +
            R"(","state":"held","pending":)" + std::to_string(1000 - i) + "}";
  }
  return news_of(body + "]}");
}

void press_all(TopView& view, const std::string& bytes, const ShownStatus& status) {
  KeyReader reader;
  for (const auto& key : reader.read(bytes)) press(view, key, status);
  for (const auto& key : reader.finish()) press(view, key, status);
}

TEST(TopScreen, of_80_by_24_equals_its_file) {
  EXPECT_EQ(text_of(top_screen(frozen(), {}, {80, 24})), kept("screen_80x24.txt"));
}

TEST(TopScreen, of_200_by_50_equals_its_file) {
  EXPECT_EQ(text_of(top_screen(frozen(), {}, {200, 50})), kept("screen_200x50.txt"));
}

TEST(TopScreen, of_details_equals_its_file) {
  TopView view;
  press_all(view, "/github\r\r", frozen().status);
  EXPECT_EQ(text_of(top_screen(frozen(), view, {80, 24})), kept("details_80x24.txt"));
}

TEST(TopScreen, without_room_says_so) {
  const auto told = [](TopSize size) { return text_of(top_screen(frozen(), {}, size)); };
  EXPECT_EQ(told({79, 24}), "penstock top needs 80 x 24, this is 79 x 24; q quits\n" + std::string(23, '\n'));
  EXPECT_EQ(told({200, 23}), "penstock top needs 80 x 24, this is 200 x 23; q quits\n" + std::string(22, '\n'));
  EXPECT_EQ(cells_of(plain_text(top_screen(frozen(), {}, {10, 3})[0])), 10u);
}

TEST(TopScreen, fills_every_size_and_none_of_its_lines_is_wider) {
  auto news = frozen();
  news.trouble = std::string(300, 'x');
  for (std::size_t columns = 80; columns < 260; ++columns) {
    for (const auto page : {TopView::Page::list, TopView::Page::details, TopView::Page::help}) {
      const auto lines = top_screen(news, {.page = page, .selected = "github"}, {columns, 24});
      EXPECT_EQ(lines.size(), 24u);
      for (const auto& line : lines) EXPECT_LE(cells_of(plain_text(line)), columns) << plain_text(line);
    }
  }
}

TEST(TopScreen, shows_what_is_not_known_as_a_dash_and_never_as_0) {
  const auto news = news_of(
      R"({"loadedAt":0,"configHash":"","upstreams":[{"name":"old","pending":null,"inFlight":"3","lastMinute":null}]})");
  for (const std::size_t columns : {80, 200}) {
    const auto list = text_of(top_screen(news, {}, {columns, 24}));
    EXPECT_THAT(list, testing::ContainsRegex("old +–/– +–/– +– +–[ –]*\n")) << list;
    EXPECT_THAT(list, HasSubstr("clients –"));
    EXPECT_THAT(list, HasSubstr("config –, –"));
  }
  const auto details = text_of(top_screen(news, {.page = TopView::Page::details, .selected = "old"}, {80, 24}));
  EXPECT_THAT(details, HasSubstr("last minute   – out · their 429s: –\n"));
  EXPECT_THAT(details, HasSubstr("limits        not shown\n"));
  EXPECT_THAT(details, HasSubstr("groups        not shown\n"));
}

TEST(TopScreen, knows_no_429s_where_requests_are_not_seen) {
  const auto row = [](const std::string& tunnels_only) {
    return text_of(top_screen(
        news_of(R"({"upstreams":[{"name":"a","lastMinute":{"upstream429":7},"tunnelsOnly":)" + tunnels_only + "}]}"),
        {}, {80, 24}));
  };
  EXPECT_THAT(row("false"), testing::ContainsRegex(" 7\n"));
  EXPECT_THAT(row("true"), Not(HasSubstr("7")));
}

TEST(TopScreen, names_the_quota_that_an_upstream_draws_on) {
  const auto details = [](const std::string& upstream) {
    return text_of(top_screen(news_of(R"({"upstreams":[{"name":"a")" + upstream + "}]}"),
                              {.page = TopView::Page::details, .selected = "a"}, {80, 24}));
  };
  EXPECT_THAT(details(R"(,"quota":"github")"),
              HasSubstr("quota         github: its queue and limits are those of all that draw on it\n"));
  EXPECT_THAT(details(""), Not(HasSubstr("quota")));
}

TEST(TopScreen, says_why_groups_are_not_shown) {
  const auto news = news_of(R"({"detailsWhy":"only to this machine","upstreams":[{"name":"a"}]})");
  EXPECT_THAT(text_of(top_screen(news, {.page = TopView::Page::details, .selected = "a"}, {80, 24})),
              HasSubstr("groups        not shown: only to this machine\n"));
}

TEST(TopScreen, names_what_is_wrong_with_redis_and_with_the_file) {
  auto news = news_of(R"({"draining":true,"reload":{"errors":["x"]},"redis":{"up":false,"degraded":true,"mode":"share",
    "processes":3,"shareOf":3,"limitsDiffer":["a","b","c"]},"upstreams":[]})");
  const auto text = text_of(top_screen(news, {}, {200, 24}));
  EXPECT_THAT(text, HasSubstr("● draining"));
  EXPECT_THAT(text, HasSubstr("Redis DOWN, 3 processes, our share 1/3, limits differ: a and 2 more"));
  EXPECT_THAT(text, HasSubstr("the last reload FAILED"));
  EXPECT_THAT(text, HasSubstr("no upstream yet"));
}

TEST(TopScreen, names_each_of_several_redis) {
  const auto news = news_of(R"({"redis":{"up":false,"each":[{"name":"main","up":true,"mode":"shared","processes":2},
    {"name":"eu","up":false,"degraded":true,"mode":"share","shareOf":2}]},"upstreams":[]})");
  EXPECT_THAT(text_of(top_screen(news, {}, {200, 24})),
              HasSubstr("Redis main up, 2 processes; eu DOWN, our share 1/2"));
}

TEST(TopScreen, names_the_nodes_of_a_cluster_that_are_down) {
  const auto news = news_of(R"({"redis":{"up":false,"degraded":true,"kind":"cluster","tls":true,"mode":"share",
    "processes":3,"shareOf":3,"nodes":[{"name":"127.0.0.1:7001","up":true},{"name":"127.0.0.1:7002","up":false},
    {"name":"127.0.0.1:7003","up":true}]},"upstreams":[]})");
  EXPECT_THAT(text_of(top_screen(news, {}, {200, 24})),
              HasSubstr("Redis Cluster over TLS 2 of 3 nodes, DOWN: 127.0.0.1:7002; 3 processes, our share 1/3"));
}

TEST(TopScreen, tells_of_a_daemon_that_does_not_answer_how_old_the_picture_is) {
  auto news = frozen();
  news.trouble = "127.0.0.1:9128: Connection refused";
  news.age = 5;
  const auto text = text_of(top_screen(news, {}, {80, 24}));
  EXPECT_THAT(text, HasSubstr("\n NO ANSWER: 127.0.0.1:9128: Connection refused; what is shown is 5.0 s old\n"));
  EXPECT_THAT(text, HasSubstr("24/200"));
}

TEST(TopScreen, keeps_the_selected_row_in_sight) {
  const auto news = many(100);
  TopView view;
  EXPECT_THAT(text_of(top_screen(news, view, {80, 24})), HasSubstr("\n›host0 "));
  for (int i = 1; i < 100; ++i) {
    press_all(view, "j", news.status);
    EXPECT_THAT(text_of(top_screen(news, view, {80, 24})), HasSubstr("\n›host" + std::to_string(i) + " "));
  }
  press_all(view, "\x1b[H", news.status);
  EXPECT_THAT(text_of(top_screen(news, view, {80, 24})), HasSubstr("\n›host0 "));
}

TEST(TopLines, have_every_row) {
  EXPECT_EQ(text_of(top_lines(frozen(), 200)), kept("once.txt"));
  EXPECT_THAT(text_of(top_lines(many(100), 200)), HasSubstr(" host99 "));
}

TEST(TopStatus, is_refused_where_it_is_none) {
  for (const auto* body : {"", "{}", "[]", "null", R"({"upstreams":{}})", "<html>", R"({"upstreams":[})"}) {
    EXPECT_FALSE(read_status(body)) << body;
  }
  EXPECT_EQ(in_one_line("<html>"), "");
}

TEST(TopStatus, of_odd_kinds_is_unknown) {
  const auto status = read_status(R"({"connections":-1,"redis":[],"upstreams":[7,null,"x",
    {"name":7,"pending":[],"limits":{},"head":3,"groups":null}]})");
  ASSERT_TRUE(status);
  EXPECT_FALSE(status->connections || !status->redis.empty());
  const auto& odd = status->upstreams.at(3);
  EXPECT_FALSE(odd.pending || odd.head || odd.limits || odd.groups);
  EXPECT_EQ(odd.name, "");
}

TEST(TopStatus, has_departures_between_two_where_the_daemon_does_not_say_how_many) {
  const auto at = [](int dispatched, const std::string& more = "") {
    return *read_status(R"({"upstreams":[{"name":"a","totals":{"dispatched":)" + std::to_string(dispatched) + "}" +
                        more + "}]}");
  };
  auto now = at(130);
  compare(now, at(100), 2);
  EXPECT_EQ(now.upstreams[0].out_a_second, 15);
  auto restarted = at(5);
  compare(restarted, at(100), 2);
  EXPECT_EQ(restarted.upstreams[0].out_a_second, std::nullopt);
  auto told = at(130, R"(,"lastMinute":{"out":60,"outPerSecond":1})");
  compare(told, at(100), 2);
  EXPECT_EQ(told.upstreams[0].out_a_second, 1);
}

TEST(TopText, loses_what_a_terminal_would_obey) {
  EXPECT_EQ(safe_text("a\x1b[31mb\x07\r\n\t\x7f"), "a�[31mb�����");
  EXPECT_EQ(safe_text("\xc2\x9b"
                      "31m"),
            "�31m");  // CSI in one character
  EXPECT_EQ(safe_text("a\xe2\x80\xae"
                      "b\xe2\x81\xa6\xe2\x80\x8b"),
            "a�b��");                             // turned around, isolated, of no width
  EXPECT_EQ(safe_text("\xf3\xa0\x81\x81"), "�");  // a tag
}

TEST(TopText, replaces_bytes_that_are_no_utf8) {
  EXPECT_EQ(safe_text("a\xff"
                      "b"),
            "a�b");
  EXPECT_EQ(safe_text("\xc0\xaf"), "��");            // too long for what it says
  EXPECT_EQ(safe_text("\xed\xa0\x80"), "���");       // a surrogate
  EXPECT_EQ(safe_text("\xf4\x90\x80\x80"), "����");  // beyond the last
  EXPECT_EQ(safe_text("\xe6\x97"), "��");            // cut off
}

TEST(TopText, is_as_wide_as_its_characters_are) {
  EXPECT_EQ(cells_of("abc"), 3u);
  EXPECT_EQ(cells_of("日本"), 4u);
  EXPECT_EQ(cells_of("e\xcc\x81"), 1u);
  EXPECT_EQ(in_cells("日本語", 5), "日本…");
  EXPECT_EQ(in_cells("日本語", 4), "日… ");
  EXPECT_EQ(in_cells("日本", 6), "日本  ");
  EXPECT_EQ(in_cells("7", 3, Side::right), "  7");
  EXPECT_EQ(in_cells("e\xcc\x81xyz", 2), "e\xcc\x81…");
  EXPECT_EQ(in_cells("abc", 0), "");
  EXPECT_EQ(in_ascii("▓░ 日 …"), "#. ?? ~");
}

TEST(TopText, does_not_pile_marks_on_a_character_or_on_what_stands_before_it) {
  std::string pile = "a";
  for (int i = 0; i < 1000; ++i) pile += "\xcc\x81";
  EXPECT_EQ(safe_text(pile).size(), 1 + 3 * 2u);
  EXPECT_EQ(safe_text("\xcc\x81x"), "�x");
}

TEST(TopFigures, are_short) {
  EXPECT_EQ(amount(5000), "5 000");
  EXPECT_EQ(amount(1234567), "1 234 567");
  EXPECT_EQ(amount(0.5), "0.5");
  EXPECT_EQ(amount(1e300), "1e+300");
  EXPECT_EQ(amount(std::nullopt), "–");
  EXPECT_EQ(time_span(41), "41 ms");
  EXPECT_EQ(time_span(1700), "1.7 s");
  EXPECT_EQ(time_span(720'000), "12 min");
  EXPECT_EQ(time_span(7'300'000), "2 h");
  EXPECT_EQ(time_span(5 * 86'400'000.0), "5 d");
  EXPECT_EQ(rate_a_second(15), "15.0");
  EXPECT_EQ(bar(1, 1000, 4), "▓░░░");
  EXPECT_EQ(bar(0, 1000, 4), "░░░░");
  EXPECT_EQ(bar(2000, 1000, 4), "▓▓▓▓");
  EXPECT_EQ(bar(1, std::nullopt, 4), "    ");
}

TEST(TopFigures, tell_of_a_limit_what_matters_now) {
  ShownLimit hour{
      .name = "hour", .kind = "window", .used = 3912, .of = 5000, .opens_in_ms = 0, .resets_in_ms = 3'000'000};
  EXPECT_EQ(limit_line(hour, 0), "hour 3 912 of 5 000, resets in 50 min");
  hour.pace = 1088 / 720.0;
  EXPECT_EQ(limit_line(hour, 0), "hour 3 912 of 5 000, 12 min left at this pace");
  EXPECT_EQ(limit_line(hour, 10), "hour ▓▓▓▓▓▓▓░░░ 3 912 of 5 000, 12 min left at this pace");
  hour.kind = "slidingWindow";
  EXPECT_EQ(limit_line(hour, 0), "hour 3 912 of 5 000, resets in 50 min") << "what is used comes back";
  hour.kind = "window";
  hour.pace = 0.3;
  EXPECT_EQ(limit_line(hour, 0), "hour 3 912 of 5 000, resets in 50 min");
  hour.used = 5000;
  hour.opens_in_ms = 23'000;
  EXPECT_EQ(limit_line(hour, 0), "hour 5 000 of 5 000, opens in 23.0 s");
  const ShownLimit permits{.name = "permits", .kind = "semaphore", .used = 1, .of = 3, .pace = 2};
  EXPECT_EQ(limit_line(permits, 0), "permits 1 of 3") << "given back, they last for ever";
  EXPECT_EQ(limit_line({.name = "rate", .rate = 12.5}, 10), "rate 12.5/s");
  EXPECT_EQ(limit_line({.name = "new"}, 10), "new – of –");
}

TEST(TopStatus, has_the_pace_of_all_that_share_a_limit_smoothed) {
  const auto at = [](int used) {
    return *read_status(R"({"upstreams":[{"name":"a","limits":[{"name":"hour","mode":"shadow","units":3,"used":)" +
                        std::to_string(used) + "}]}]}");
  };
  auto first = at(100), second = at(110), third = at(130), anew = at(2);
  compare(second, first, 1);
  compare(third, second, 1);
  compare(anew, third, 1);
  EXPECT_EQ((*first.upstreams[0].limits)[0].pace, std::nullopt);
  EXPECT_DOUBLE_EQ(*(*second.upstreams[0].limits)[0].pace, 10);
  EXPECT_DOUBLE_EQ(*(*third.upstreams[0].limits)[0].pace, 11);
  EXPECT_DOUBLE_EQ(*(*anew.upstreams[0].limits)[0].pace, 11);
  EXPECT_EQ((*third.upstreams[0].limits)[0].name, "hour (shadow)");
}

TEST(TopScreen, shows_tunnels_in_flight_where_there_are_only_tunnels) {
  const auto news = news_of(R"({"upstreams":[{"name":"a","inFlight":5,"maxConcurrent":6,"tunnelsOnly":true,
    "tunnels":{"busy":2,"resting":1},"maxTunnels":64,"lastMinute":{"out":60}}]})");
  EXPECT_THAT(text_of(top_screen(news, {}, {80, 24})), testing::ContainsRegex(" 2/64 +– +– +–\n"));
}

TEST(TopKeys, come_out_of_sequences_however_they_are_cut) {
  const std::string bytes = "a\x1b[A\x1bOB\x1b[5~\x1b[1;5Z\xe6\x97\xa5\r\x7f\x15";
  const auto whole = KeyReader().read(bytes);
  using enum Key::Kind;
  EXPECT_THAT(whole, ElementsAre(Key{text, "a"}, Key{up}, Key{down}, Key{page_up}, Key{text, "日"}, Key{enter},
                                 Key{back}, Key{clear}));
  KeyReader reader;
  std::vector<Key> cut;
  for (const char byte : bytes) {
    for (auto& key : reader.read({&byte, 1})) cut.push_back(std::move(key));
  }
  EXPECT_EQ(cut, whole);
}

TEST(TopKeys, tell_an_escape_by_what_does_not_follow) {
  KeyReader reader;
  EXPECT_THAT(reader.read("\x1b"), ElementsAre());
  EXPECT_TRUE(reader.waits());
  EXPECT_THAT(reader.finish(), ElementsAre(Key{Key::Kind::escape}));
  EXPECT_FALSE(reader.waits());
  EXPECT_THAT(reader.read("\x1bq"), ElementsAre(Key{Key::Kind::escape}, Key{Key::Kind::text, "q"}));
}

TEST(TopView, filters_by_letters_that_are_commands_elsewhere) {
  const auto status = frozen().status;
  TopView view;
  press_all(view, "/qsp日", status);
  EXPECT_EQ(view.filter, "qsp日");
  EXPECT_FALSE(view.held);
  press_all(view, "\x7f\x7f", status);
  EXPECT_EQ(view.filter, "qs");
  press_all(view, "\r", status);
  EXPECT_EQ(view.page, TopView::Page::list);
  EXPECT_TRUE(press(view, Key{Key::Kind::text, "q"}, status));
}

TEST(TopView, keeps_its_row_when_the_order_changes) {
  const auto status = frozen().status;
  TopView view;
  press_all(view, "j", status);
  EXPECT_EQ(view.selected, "stripe");
  press_all(view, "ss", status);
  EXPECT_EQ(view.selected, "stripe");
  const auto rows = rows_of(status, view);
  EXPECT_EQ(rows[selected_of(rows, view)]->name, "stripe");
}

}  // namespace
}  // namespace penstock::app
