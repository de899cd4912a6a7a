// SPDX-License-Identifier: Apache-2.0
// See error_codes.h. The parser tells of each word as it comes, so that no depth of the body costs stack or memory.
#include "http/error_codes.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "http/grammar.h"

namespace penstock::http {

namespace {

class CodeFinder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit CodeFinder(std::span<const std::string> codes) : codes_(codes) {}
  bool found() const { return found_; }

  // For the parser: false ends the parsing.
  bool key(string_t& name) override {
    names_code_ = name == "code" || name == "type" || name == "error_code";
    return true;
  }
  bool string(string_t& value) override {
    found_ = names_code_ && std::ranges::find(codes_, value) != codes_.end();
    return other() && !found_;
  }
  bool null() override { return other(); }
  bool boolean(bool) override { return other(); }
  bool number_integer(number_integer_t) override { return other(); }
  bool number_unsigned(number_unsigned_t) override { return other(); }
  bool number_float(number_float_t, const string_t&) override { return other(); }
  bool binary(binary_t&) override { return other(); }
  bool start_object(std::size_t) override { return other(); }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return other(); }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  bool other() {
    names_code_ = false;
    return true;
  }

  std::span<const std::string> codes_;
  bool names_code_ = false;  // of the key just read
  bool found_ = false;
};

}  // namespace

bool may_name_error(const Fields& fields) {
  const auto type = fields.find("content-type");
  if (!type || fields.find("content-encoding")) return false;
  std::string_view media = type->substr(0, type->find(';'));
  while (!media.empty() && is_blank(media.back())) media.remove_suffix(1);
  return equal_ignoring_case(media, "application/json");
}

bool names_error(const Fields& fields, std::string_view body, std::span<const std::string> codes) {
  if (codes.empty() || !may_name_error(fields)) return false;
  CodeFinder finder(codes);
  nlohmann::json::sax_parse(body, &finder);
  return finder.found();
}

}  // namespace penstock::http
