// SPDX-License-Identifier: Apache-2.0
// Entries are read as networks first, and otherwise as hosts; hosts are looked up label by label.
#include "access/rule.h"

#include <algorithm>
#include <charconv>

namespace penstock::access {

namespace {

using Wrong = std::unexpected<std::string>;

constexpr std::size_t kLongestHost = 253, kLongestLabel = 63;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
bool is_host_char(char c) {
  return (lower(c) >= 'a' && lower(c) <= 'z') || is_digit(c) || c == '-' || c == '_' || c == '.';
}

// What a lenient resolver takes for a number: such a host must be a whole dotted quad.
bool looks_numeric(std::string_view host) {
  const auto last = host.substr(host.rfind('.') + 1);
  return last.starts_with("0x") || std::all_of(last.begin(), last.end(), is_digit);
}

bool has_long_label(std::string_view host) {
  for (; host.size() > kLongestLabel; host.remove_prefix(host.find('.') + 1)) {
    if (host.find('.') > kLongestLabel) return true;
  }
  return false;
}

// The rules of http/target.cc for hosts, with error texts for a configuration.
std::optional<std::string> wrong_with_host_name(std::string_view host) {
  if (host.empty()) return "the host is missing";
  if (host.size() > kLongestHost) return "the host is longer than 253 characters";
  if (host.find('*') != std::string_view::npos) return "a * may stand only in front, as in *.example.com";
  const auto foreign = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  if (std::any_of(host.begin(), host.end(), foreign)) return "write the host in its ASCII form (xn--…)";
  if (!std::all_of(host.begin(), host.end(), is_host_char)) return "'" + std::string(host) + "' is not a host";
  if (host.front() == '.' || host.find("..") != std::string_view::npos) return "the host has an empty label";
  if (has_long_label(host)) return "a label of the host is longer than 63 characters";
  if (looks_numeric(host)) return "'" + std::string(host) + "' is not an IPv4 address";
  return std::nullopt;
}

std::optional<std::uint16_t> parse_port(std::string_view digits) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size() && !digits.starts_with('0');
  return whole ? std::optional(port) : std::nullopt;
}

// Reads `:port`, or nothing, behind a host; false if it is no port.
bool take_port(std::string_view after_host, Rule& rule) {
  if (after_host.empty()) return true;
  rule.port = after_host.front() == ':' ? parse_port(after_host.substr(1)) : std::nullopt;
  return rule.port.has_value();
}

std::unexpected<std::string> no_port(std::string_view text) {
  return Wrong("'" + std::string(text) + "' does not end with a port from 1 to 65535");
}

std::expected<Rule, std::string> parse_bracketed(std::string_view text) {
  const auto end = text.find(']');
  if (end == std::string_view::npos) return Wrong("'" + std::string(text) + "' has a bracket that is not closed");
  const auto address = parse_address(text.substr(1, end - 1));
  if (!address || text.substr(1, end - 1).find(':') == std::string_view::npos)
    return Wrong("'" + std::string(text) + "' has no IPv6 address in its brackets");
  Rule rule{.networks = {Network{*address, address->v6 ? 128 : 32}}, .host = {}, .port = {}};
  return take_port(text.substr(end + 1), rule) ? std::expected<Rule, std::string>(std::move(rule)) : no_port(text);
}

std::expected<Rule, std::string> parse_host(std::string_view text) {
  Rule rule;
  const auto colon = std::min(text.find(':'), text.size());
  if (!take_port(text.substr(colon), rule)) return no_port(text);
  std::string_view host = text.substr(0, colon);
  rule.suffix = host.starts_with("*.");
  if (rule.suffix) host.remove_prefix(2);
  auto name = parse_name(host);
  if (!name) return Wrong("'" + std::string(text) + "' is neither a network (10.0.0.0/8) nor a host: " + name.error());
  const auto address = parse_address(*name);
  if (address && rule.suffix) return Wrong("'" + std::string(text) + "': an address has no subdomains");
  if (address) {
    rule.networks = {Network{*address, 32}};
  } else {
    rule.host = *std::move(name);
  }
  return rule;
}

bool fits(const std::optional<std::uint16_t>& rule, std::uint16_t port) { return !rule || *rule == port; }

}  // namespace

std::expected<std::string, std::string> parse_name(std::string_view text) {
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(), lower);
  if (const auto address = parse_address(name); address && !address->v6) return name;
  if (name.size() > 1 && name.back() == '.') name.pop_back();
  if (auto wrong = wrong_with_host_name(name)) return Wrong(*wrong);
  return name;
}

std::expected<Rule, std::string> parse_rule(std::string_view text) {
  const bool network = text.find('/') != std::string_view::npos || std::count(text.begin(), text.end(), ':') > 1;
  if (text.starts_with('[')) return parse_bracketed(text);
  auto networks = parse_networks(text);
  if (networks) return Rule{.networks = *std::move(networks), .host = {}, .port = {}};
  return network ? Wrong(networks.error()) : parse_host(text);
}

Rules::Rules(const std::vector<std::string>& texts) {
  for (const auto& text : texts) {
    if (auto rule = parse_rule(text)) add(*std::move(rule));
  }
}

void Rules::add(Rule rule) {
  for (const auto& network : rule.networks) networks_.emplace_back(network, rule.port);
  if (rule.networks.empty()) (rule.suffix ? suffixes_ : hosts_)[std::move(rule.host)].push_back(rule.port);
}

bool Rules::name(const Address& address, std::uint16_t port) const {
  return std::any_of(networks_.begin(), networks_.end(),
                     [&](const auto& one) { return one.first.contains(address) && fits(one.second, port); });
}

bool Rules::name_alone(const Address& address, std::uint16_t port) const {
  return std::any_of(networks_.begin(), networks_.end(), [&](const auto& one) {
    return one.first.single() && one.first.base == address && fits(one.second, port);
  });
}

bool Rules::has(const Hosts& hosts, std::string_view host, std::uint16_t port) {
  const auto found = hosts.find(host);
  return found != hosts.end() &&
         std::any_of(found->second.begin(), found->second.end(), [&](const auto& one) { return fits(one, port); });
}

bool Rules::name(std::string_view host, std::uint16_t port) const {
  if (has(hosts_, host, port)) return true;
  for (auto dot = host.find('.'); !suffixes_.empty() && dot != std::string_view::npos; dot = host.find('.')) {
    host.remove_prefix(dot + 1);
    if (has(suffixes_, host, port)) return true;
  }
  return false;
}

}  // namespace penstock::access
