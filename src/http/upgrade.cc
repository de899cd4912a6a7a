// SPDX-License-Identifier: Apache-2.0
// Reads lists of protocols, name[/version]; names are compared without regard to case.
#include "http/upgrade.h"

#include "http/grammar.h"

namespace penstock::http {
namespace {

constexpr NameSet kNotPassed({"h2c", "h2", "http", "tls"});

bool may_pass(std::string_view protocol) {
  const bool has_version = protocol.contains('/');
  const std::string_view name = cut(protocol, '/');
  return is_token(name) && (!has_version || is_token(protocol)) && !kNotPassed.contains(name);
}

bool lists(std::string_view protocols, std::string_view wanted) {
  bool found = false;
  each_member(protocols, [&](std::string_view protocol) { found = found || equal_ignoring_case(protocol, wanted); });
  return found;
}

}  // namespace

std::string upgrades_passed(const Fields& fields) {
  std::string passed;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto [name, value] = fields[i];
    if (!equal_ignoring_case(name, "upgrade")) continue;
    each_member(value, [&](std::string_view protocol) {
      if (may_pass(protocol)) passed.append(passed.empty() ? "" : ", ").append(protocol);
    });
  }
  return passed;
}

bool switches_as_asked(const ResponseHead& head, std::string_view asked) {
  bool any = false, all = head.minor_version == 1 && head.fields.lists("connection", "upgrade");
  for (std::size_t i = 0; i < head.fields.size(); ++i) {
    const auto [name, value] = head.fields[i];
    if (!equal_ignoring_case(name, "upgrade")) continue;
    each_member(value, [&](std::string_view protocol) {
      any = true;
      all = all && lists(asked, protocol);
    });
  }
  return any && all;
}

void add_upgrade(Fields& fields, std::string_view protocols) {
  fields.add("Connection", "Upgrade");
  fields.add("Upgrade", protocols);
}

}  // namespace penstock::http
