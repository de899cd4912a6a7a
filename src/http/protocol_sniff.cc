// SPDX-License-Identifier: Apache-2.0
// Looks for a method, a space, and the start of a target. An SSH banner may have the first two, HTTP/2 has all three.
#include "http/protocol_sniff.h"

#include <algorithm>

#include "http/grammar.h"

namespace penstock::http {

Protocol sniff_protocol(std::string_view bytes) {
  const auto end = std::find_if_not(bytes.begin(), bytes.end(), is_token_char);
  const std::string_view method = bytes.substr(0, static_cast<std::size_t>(end - bytes.begin()));
  if (method.size() > kLongestMethod) return Protocol::other;
  if (method.size() == bytes.size()) return Protocol::undecided;
  if (method.empty() || *end != ' ' || method == "PRI") return Protocol::other;
  if (method == "CONNECT") return Protocol::request;  // to be refused as a request
  const std::string_view target = bytes.substr(method.size() + 1);
  if (target.empty()) return Protocol::undecided;
  const char first = lower(target.front());
  return first == '/' || first == '*' || first == 'h' ? Protocol::request : Protocol::other;
}

}  // namespace penstock::http
