// SPDX-License-Identifier: Apache-2.0
// Thousands of JSON texts by seed, whole, cut and spoilt, which the scanner and another library read alike.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "cost/scanning.h"

namespace penstock::cost {
namespace {

using Json = nlohmann::json;
using State = JsonScanner::State;

/// Texts whose keys often stand twice and are often spelt with escapes.
class Writer {
 public:
  explicit Writer(std::uint32_t seed) : random_(seed) {}

  std::string value(int depth = 0) {
    switch (below(depth < 4 ? 8 : 5)) {
      case 0: return number();
      case 1: return number();
      case 2: return string(word());
      case 3: return below(2) ? "true" : "null";
      case 4: return string("");
      case 5: return array(depth);
      default: return object(depth);
    }
  }
  /// Where most paths lead somewhere.
  std::string document() { return below(4) ? object(0) : array(0); }
  std::size_t below(std::size_t n) { return random_() % n; }

 private:
  std::string blank() { return below(4) ? "" : std::string(1 + below(2), " \n\r\t"[below(4)]); }
  std::string word() {
    constexpr const char* kWords[] = {"a", "b", "ab", "model", "a\xc3\xa4", "\xf0\x9f\x98\x80", "a/b", "\\", "\""};
    return kWords[below(std::size(kWords))];
  }
  std::string number() {
    constexpr const char* kNumbers[] = {
        "0", "-1", "17", "4096", "1.5", "2e2", "-0.5E-1", "123456789012345678901234567890", "3.0"};
    return kNumbers[below(std::size(kNumbers))];
  }
  std::string string(const std::string& text) {
    std::string json = "\"";
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        json += '\\', json += c;
      } else if (byte < 0x80 && below(3) == 0) {
        char escape[7];
        std::snprintf(escape, sizeof escape, below(2) ? "\\u%04x" : "\\u%04X", byte);
        json += escape;
      } else {
        json += c;
      }
    }
    return json + '"';
  }
  std::string array(int depth) {
    std::string json = "[" + blank();
    for (std::size_t i = 0, n = below(4); i < n; ++i) json += (i ? "," + blank() : "") + value(depth + 1) + blank();
    return json + "]";
  }
  std::string object(int depth) {
    std::string json = "{" + blank();
    for (std::size_t i = 0, n = below(6); i < n; ++i)
      json += (i ? "," + blank() : "") + string(word()) + blank() + ":" + blank() + value(depth + 1) + blank();
    return json + "}";
  }

  std::mt19937 random_;
};

/// Each number of the text with the path that leads to it, by the callbacks of the other library's parser, so that
/// keys that stand twice are seen twice.
class Numbers : public Json::json_sax_t {
 public:
  explicit Numbers(std::string path) : path_(std::move(path)) {}
  std::optional<double> largest;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return take(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return take(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) override { return take(value); }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return open(""); }
  bool key(string_t& key) override { return where_.back() = key, true; }
  bool end_object() override { return where_.pop_back(), true; }
  bool start_array(std::size_t) override { return open("[]"); }
  bool end_array() override { return where_.pop_back(), true; }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override { return false; }

 private:
  bool open(const char* segment) { return where_.emplace_back(segment), true; }
  bool take(double value) {
    std::string path;
    for (const auto& segment : where_) path += (path.empty() ? "" : ".") + segment;
    if (path == path_) largest = std::max(largest, std::optional(value));
    return true;
  }

  std::string path_;
  std::vector<std::string> where_;
};

std::optional<std::string> text_at(const Json& json, const std::string& key) {
  if (!json.is_object() || !json.contains(key)) return std::nullopt;
  const Json& found = json[key];  // of a key that stands twice this library keeps the last, too
  return found.is_string() ? std::optional(found.get<std::string>()) : std::nullopt;
}

const std::vector<std::string> kPaths{"a", "a.b", "a.ab", "[].a", "a.[].b", "a/b", "a\xc3\xa4.a", "a.a.a"};

void compare(const std::string& json) {
  const Scan found = scan(json, kPaths, "model");
  const bool valid = Json::accept(json);
  ASSERT_EQ(found.state == State::whole, valid) << json;
  if (!valid) return;
  for (std::size_t i = 0; i < kPaths.size(); ++i) {
    Numbers numbers(kPaths[i]);
    ASSERT_TRUE(Json::sax_parse(json, &numbers)) << json;
    ASSERT_EQ(found.numbers[i], numbers.largest) << kPaths[i] << " of " << json;
  }
  const Json parsed = Json::parse(json);
  if (parsed.is_object() && parsed.contains("model") && !parsed["model"].is_string()) return;  // its text is as written
  ASSERT_EQ(found.text, text_at(parsed, "model")) << json;
}

TEST(JsonTwin, reads_what_another_library_reads) {
  int found = 0;
  for (std::uint32_t seed = 0; seed < 4000; ++seed) {
    const std::string json = Writer(seed).document();
    ASSERT_NO_FATAL_FAILURE(compare(json)) << "seed " << seed;
    for (const auto& number : scan(json, kPaths).numbers) found += number.has_value();
  }
  EXPECT_GT(found, 400) << "the texts have what is looked for";
}

bool has_large_exponent(const std::string& json) {
  for (auto at = json.find('e'); at != std::string::npos; at = json.find('e', at + 1)) {
    const auto digits = json.find_first_not_of("0123456789", at + 1);
    if (std::min(digits, json.size()) - at > 3) return true;
  }
  return false;
}

TEST(JsonTwin, refuses_what_another_library_refuses) {
  constexpr std::string_view kBytes = "{}[]\",:\\ue0-.1 tn";
  for (std::uint32_t seed = 0; seed < 4000; ++seed) {
    Writer writer(seed);
    std::string json = writer.value();
    for (std::size_t i = 0, n = 1 + writer.below(2); i < n; ++i)
      json[writer.below(json.size())] = kBytes[writer.below(kBytes.size())];
    if (writer.below(3) == 0) json.resize(writer.below(json.size() + 1));
    // That library demands UTF-8 of texts, whole pairs of escapes, and numbers that a double can hold, which the
    // scanner leaves to the upstream.
    const auto utf8 = Json(json).dump(-1, ' ', false, Json::error_handler_t::ignore);
    const bool may_differ = Json(json).dump(-1, ' ', false, Json::error_handler_t::replace) != utf8 ||
                            json.contains("\\ud") || json.contains("\\uD") || has_large_exponent(json);
    if (may_differ) continue;
    ASSERT_NO_FATAL_FAILURE(compare(json)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace penstock::cost
