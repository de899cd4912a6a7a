// SPDX-License-Identifier: Apache-2.0
// A method, a space, and how a target begins. An SSH banner may have the first two, and HTTP/2 begins with all of them.
#include "http/first_bytes.h"

#include <algorithm>

#include "http/grammar.h"

namespace penstock::http {

FirstBytes judge_first_bytes(std::string_view bytes) {
  const auto end = std::find_if_not(bytes.begin(), bytes.end(), is_token_char);
  const std::string_view method = bytes.substr(0, static_cast<std::size_t>(end - bytes.begin()));
  if (method.size() > kLongestMethod) return FirstBytes::other;
  if (method.size() == bytes.size()) return FirstBytes::undecided;
  if (method.empty() || *end != ' ' || method == "PRI") return FirstBytes::other;
  if (method == "CONNECT") return FirstBytes::request;  // to be refused as one
  const std::string_view target = bytes.substr(method.size() + 1);
  if (target.empty()) return FirstBytes::undecided;
  const char first = lower(target.front());
  return first == '/' || first == '*' || first == 'h' ? FirstBytes::request : FirstBytes::other;
}

}  // namespace penstock::http
