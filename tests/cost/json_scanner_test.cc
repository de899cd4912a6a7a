// SPDX-License-Identifier: Apache-2.0
// What is found in JSON texts, which of several counts, and what is not JSON; each text cut in five ways.
#include <gtest/gtest.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <limits>

#include "cost/scanning.h"
#include "support/machine.h"

namespace penstock::cost {
namespace {

using State = JsonScanner::State;

TEST(JsonScanner, finds_a_number_by_its_path) {
  const std::string body = R"({"model":"m","usage":{"total_tokens":17,"other":{"total_tokens":99}},"total_tokens":5})";
  EXPECT_EQ(number_in(body, "usage.total_tokens"), 17);
  EXPECT_EQ(number_in(body, "usage.other.total_tokens"), 99);
  EXPECT_EQ(number_in(body, "total_tokens"), 5);
  EXPECT_EQ(number_in(body, "usage"), std::nullopt);
  EXPECT_EQ(number_in(body, "model"), std::nullopt) << "a text is no number";
  EXPECT_EQ(number_in(body, "total"), std::nullopt) << "the beginning of a key is another key";
  EXPECT_EQ(number_in(body, "total_tokens_"), std::nullopt);
}

TEST(JsonScanner, finds_all_of_its_paths_at_once) {
  const Scan found = scan(R"([{"a":{"b":1,"c":2}},{"a":{"b":3}}])", {"[].a.b", "[].a.c", "[].a", "a.b"});
  EXPECT_EQ(found.numbers, (std::vector<std::optional<double>>{3, 2, std::nullopt, std::nullopt}));
}

TEST(JsonScanner, takes_brackets_for_elements_and_for_no_key) {
  EXPECT_EQ(number_in(R"({"[]":1})", "[]"), std::nullopt);
  EXPECT_EQ(number_in("[1, 4, [9]]", "[]"), 4);
  EXPECT_EQ(number_in("[1, 4, [9]]", "[].[]"), 9);
  EXPECT_EQ(number_in(R"({"a":[{"b":1}]})", "a.b"), std::nullopt);
}

TEST(JsonScanner, reads_every_form_of_a_number) {
  for (const auto& [text, value] :
       std::vector<std::pair<std::string, double>>{{"0", 0},
                                                   {"-0", 0},
                                                   {"12", 12},
                                                   {"-7", -7},
                                                   {"1.5", 1.5},
                                                   {"0.25", 0.25},
                                                   {"1e3", 1000},
                                                   {"1E+3", 1000},
                                                   {"25e-1", 2.5},
                                                   {"-1.5e2", -150},
                                                   {"9007199254740993", 9007199254740992.0}}) {
    EXPECT_EQ(number_in("{\"n\":" + text + "}", "n"), value) << text;
    EXPECT_EQ(number_in("{\"n\" : " + text + " }", "n"), value) << text;
    EXPECT_EQ(number_in("[" + text + ",null]", "[]"), value) << text;
  }
}

TEST(JsonScanner, reads_no_number_that_is_too_long_or_too_large) {
  const std::string longest(JsonScanner::kLongestNumber - 2, '0');
  EXPECT_EQ(number_in("{\"n\":5." + longest + "}", "n"), 5);
  EXPECT_EQ(number_in("{\"n\":5." + longest + "0}", "n"), std::nullopt);
  EXPECT_EQ(number_in("{\"n\":1e999}", "n"), std::nullopt);
}

TEST(JsonScanner, of_a_key_that_stands_twice_the_larger_number_counts) {
  EXPECT_EQ(number_in(R"({"n":5,"n":3})", "n"), 5);
  EXPECT_EQ(number_in(R"({"n":3,"n":5})", "n"), 5);
  EXPECT_EQ(number_in(R"({"n":3,"n":"5"})", "n"), 3);
  EXPECT_EQ(number_in(R"({"u":{"n":-3},"u":{"n":-5},"u":null})", "u.n"), -3);
}

TEST(JsonScanner, of_a_key_that_stands_twice_the_last_text_counts) {
  EXPECT_EQ(text_in(R"({"model":"a","model":"b"})", "model"), "b");
  EXPECT_EQ(text_in(R"({"model":"a","model":null})", "model"), std::nullopt);
  EXPECT_EQ(text_in(R"({"model":"a","model":{"model":"b"}})", "model"), std::nullopt);
  EXPECT_EQ(text_in(R"({"in":{"model":"a"},"in":5})", "in.model"), std::nullopt);
}

TEST(JsonScanner, keeps_texts_numbers_and_words) {
  EXPECT_EQ(text_in(R"({"model":"gpt-5"})", "model"), "gpt-5");
  EXPECT_EQ(text_in(R"({"model":""})", "model"), "");
  EXPECT_EQ(text_in(R"({"model":12.50})", "model"), "12.50");
  EXPECT_EQ(text_in(R"({"model":true})", "model"), "true");
  EXPECT_EQ(text_in(R"({"model":false,"x":"y"})", "model"), "false");
  EXPECT_EQ(text_in(R"({"model":["a"]})", "model"), std::nullopt);
  EXPECT_EQ(text_in(R"({"model":"cut)", "model"), std::nullopt);
  const std::string longest(JsonScanner::kLongestText, 'x');
  EXPECT_EQ(text_in("{\"model\":\"" + longest + "\"}", "model"), longest);
  EXPECT_EQ(text_in("{\"model\":\"" + longest + "x\"}", "model"), std::nullopt);
}

TEST(JsonScanner, compares_keys_after_their_escapes_are_undone) {
  EXPECT_EQ(number_in(R"({"max\u005ftokens":4})", "max_tokens"), 4);
  EXPECT_EQ(number_in(R"({"\u006D\u0061x_tokens":4})", "max_tokens"), 4);
  EXPECT_EQ(number_in(R"({"a\/b":4})", "a/b"), 4);
  EXPECT_EQ(number_in(R"({"\u00e4":4})", "\xc3\xa4"), 4);
  EXPECT_EQ(number_in(R"({"\u20ac":4})", "\xe2\x82\xac"), 4);
  EXPECT_EQ(number_in(R"({"\ud83d\ude00":4})", "\xf0\x9f\x98\x80"), 4);
  EXPECT_EQ(number_in(R"({"max_tokens\u0000":4})", "max_tokens"), std::nullopt);
  EXPECT_EQ(text_in(R"({"m":"\"\\\/\b\f\n\r\t\u00e4\ud83d\ude00"})", "m"), "\"\\/\b\f\n\r\t\xc3\xa4\xf0\x9f\x98\x80");
}

TEST(JsonScanner, half_a_pair_equals_no_key) {
  EXPECT_EQ(text_in(R"({"m":"\ud83dx"})", "m"), "\xed\xa0\xbdx");
  EXPECT_EQ(text_in(R"({"m":"\ud83d\n"})", "m"), "\xed\xa0\xbd\n");
  EXPECT_EQ(text_in(R"({"m":"\ud83d\ud83d\ude00"})", "m"), "\xed\xa0\xbd\xf0\x9f\x98\x80");
  EXPECT_EQ(text_in(R"({"m":"\ude00"})", "m"), "\xed\xb8\x80");
  EXPECT_EQ(text_in(R"({"m":"\ud83d"})", "m"), "\xed\xa0\xbd");
}

TEST(JsonScanner, knows_a_whole_text) {
  for (const char* json :
       {"{}", "[]", " [ ] ", "\"\"", "0", "-1.5e3", "true", "false", "null", "\t{\r\n\"a\" : [ 1 , {} ] } \n"})
    EXPECT_EQ(scan(json, {"a"}).state, State::whole) << json;
}

TEST(JsonScanner, knows_a_text_that_was_cut) {
  for (const char* json : {"", " ", "{", "[1", "[1,", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":1", "tru", "\"\\u00"})
    EXPECT_EQ(scan(json, {"a"}).state, State::more) << json;
}

TEST(JsonScanner, knows_what_is_no_json) {
  for (const char* json :
       {"}",       "]",         "{]",          "[}",    "{,}", "[,]",  "[1,]",     "{\"a\":1,}", "{a:1}",
        "{'a':1}", "{\"a\" 1}", "{\"a\":}",    "[1 2]", "01",  "-",    "+1",       ".5",         "1.",
        "1.e1",    "1e",        "1e+",         "--1",   "0x1", "NaN",  "Infinity", "True",       "nulll",
        "\"\n\"",  "\"\\x\"",   "\"\\u00g0\"", "{} {}", "1 1", "[] ,", "/**/1",    "{\"a\":1}}", "[DONE]"}) {
    EXPECT_EQ(scan(json, {"a"}).state, State::broken) << json;
  }
}

TEST(JsonScanner, keeps_what_stood_before_a_mistake) {
  const Scan found = scan(R"({"n":4,"m":5,})", {"n", "m"});
  EXPECT_EQ(found.state, State::broken);
  EXPECT_EQ(found.numbers, (std::vector<std::optional<double>>{4, 5}));
}

TEST(JsonScanner, takes_no_number_that_may_go_on) {
  EXPECT_EQ(number_in(R"({"n":12)", "n"), std::nullopt);
  EXPECT_EQ(number_in(R"({"n":12 )", "n"), 12);
  EXPECT_EQ(number_in(R"({"n":12,)", "n"), 12);
}

TEST(JsonScanner, reads_64_levels) {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_EQ(scan(nested(64), {}).state, State::whole);
  EXPECT_EQ(scan(nested(65), {}).state, State::broken);
  std::string deep, end;
  for (int i = 0; i < 63; ++i) deep += "{\"a\":", end += "}";
  EXPECT_EQ(number_in("{\"deep\":" + deep + "1" + end + ",\"n\":4}", "n"), 4);
  EXPECT_EQ(number_in(deep + "1" + end, "a.a.a.a.a.a.a.a"), std::nullopt);
}

TEST(JsonScanner, begins_another_text_and_keeps_what_it_found) {
  JsonPaths paths;
  ASSERT_EQ(paths.add("n"), 0U);
  ASSERT_EQ(paths.add_text("m"), 1U);
  JsonScanner scanner(paths);
  EXPECT_EQ(scanner.feed(R"({"n":4,"m":"a","x":[)"), State::more);
  scanner.restart();
  EXPECT_EQ(scanner.feed(R"({"n":3,"m":"b)"), State::more);
  scanner.restart();
  EXPECT_EQ(scanner.feed("{}"), State::whole);
  EXPECT_EQ(scanner.number(0), 4);
  EXPECT_EQ(scanner.text(), std::nullopt);
}

TEST(JsonPaths, has_one_to_eight_keys_and_sixteen_paths) {
  JsonPaths paths;
  for (const char* bad : {"", ".", "a.", ".a", "a..b", "a.b.c.d.e.f.g.h.i"}) EXPECT_FALSE(paths.add(bad)) << bad;
  EXPECT_EQ(paths.add("a.b.c.d.e.f.g.h"), 0U);
  for (std::size_t i = 1; i < JsonPaths::kMost; ++i) EXPECT_EQ(paths.add("n" + std::to_string(i)), i);
  EXPECT_EQ(paths.add("n3"), 3U) << "it is known";
  EXPECT_FALSE(paths.add("more"));
  EXPECT_EQ(paths.add_text("n4"), 4U);
  EXPECT_FALSE(paths.add_text("n5")) << "there is one text at most";
}

double cpu_us() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

/// The best of many, in µs of the processor's time: what other programs do to this machine is no part of it. Those that
/// share a core with this one slow it down for a while, so it goes on for some tenths of a second unless it has been as
/// fast as `enough`.
double us_for_a_kib(const std::string& json, double enough) {
  const double kib = static_cast<double>(json.size()) / 1024;
  JsonPaths paths;
  for (const char* path : {"max_completion_tokens", "max_tokens", "usage.total_tokens"}) EXPECT_TRUE(paths.add(path));
  EXPECT_TRUE(paths.add_text("model"));
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 5'000 && best > enough * kib; ++i) {
    JsonScanner scanner(paths);
    const double from = cpu_us();
    scanner.feed(json);
    best = std::min(best, cpu_us() - from);
    EXPECT_EQ(scanner.state(), State::whole);
  }
  return best / kib;
}

/// How much slower this machine is than one whose processor runs at 2.7 GHz, by a chain of xors and multiplications,
/// four cycles a byte: 1 at least.
double slowness() {
  constexpr double kUsForAKib = 4.0 * 1024 / 2'700;
  const std::string text(64 * 1024, 'x');
  double best = std::numeric_limits<double>::infinity();
  std::uint64_t sum = 0;
  for (int i = 0; i < 200; ++i) {
    const double from = cpu_us();
    for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    best = std::min(best, (cpu_us() - from) / 64);
  }
  std::printf("%.2f us for a KiB of a plain chain (%llx)\n", best, static_cast<unsigned long long>(sum));
  return std::max(1.0, best / kUsForAKib);
}

TEST(JsonScanner, takes_5_us_a_kib_at_most) {
  if (test::kSanitized) return;  // that takes most of the time
  const double most = 5 * slowness();
  std::string talk = R"({"model":"m","messages":[)", numbers = "[", keys = "{";
  for (int i = 0; i < 300; ++i) {
    const auto n = std::to_string(i);
    talk += R"({"role":"user","content":"What is the \"best\" way to count to )" + n + R"( without a mistake?\n"},)";
    numbers += "-0.0123456789,[" + n + "],{},";
    keys += "\"max_completion_token" + n + "\":" + n + ",\"\\u006d\\u0061x_tokens\":null,";
  }
  talk += R"({"role":"user","content":""}],"max_tokens":100})";
  for (const auto& json : {talk, numbers + "0]", keys + "\"\":0}"}) {
    const double us = us_for_a_kib(json, most);
    std::printf("%.2f us for a KiB of %.24s...\n", us, json.c_str());
    EXPECT_LE(us, most) << json.substr(0, 80);
  }
}

}  // namespace
}  // namespace penstock::cost
