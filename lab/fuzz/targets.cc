// SPDX-License-Identifier: Apache-2.0
// Text that says where to: targets, authorities, gateways, base URLs, patterns, networks and addresses. What is read
// and written back reads the same; and no spelling makes a special address look like an ordinary one.
#include <arpa/inet.h>

#include <array>
#include <string>

#include "access/verdict.h"
#include "fuzz/fuzz.h"
#include "http/gateway_rewrite.h"
#include "http/target.h"
#include "penstock/config.h"

namespace penstock::fuzz {
namespace {

using access::Address;

std::uint64_t number(const Address& address, std::size_t from, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = from; i < from + size; ++i) value = value << 8 | address.bytes[i];
  return value;
}

/// After the registries, by numbers; src/access goes by prefixes in text.
bool looks_special(const Address& address) {
  const auto v4 = static_cast<std::uint32_t>(number(address, 0, 4));
  const std::uint64_t high = number(address, 0, 8), low = number(address, 8, 8);
  if (!address.v6) {
    const std::uint32_t first = v4 >> 24, two = v4 >> 16, three = v4 >> 8;
    return first == 0 || first == 10 || first == 127 || first >= 224 || (first == 100 && (two & 0xc0) == 0x40) ||
           two == 0xa9fe || (two & 0xfff0) == 0xac10 || three == 0xc00000 || three == 0xc00002 || two == 0xc0a8 ||
           (two & 0xfffe) == 0xc612 || three == 0xc63364 || three == 0xcb0071;
  }
  const bool ipv4_compatible = high == 0 && low >> 32 == 0, nat64 = high == 0x64ff9b'00000000 && low >> 32 == 0;
  const bool translated = high == 0 && low >> 32 == 0xffff0000;
  return ipv4_compatible || nat64 || translated || high >> 16 == 0x200100020000 || high >> 44 == 0x3fff0 ||
         high >> 48 == 0x5f00 || high >> 16 == 0x64ff9b0001 || high == 0x0100'0000'0000'0000 ||
         high >> 32 == 0x20010000 || high >> 32 == 0x20010db8 || high >> 48 == 0x2002 || high >> 57 == 0x7e ||
         high >> 55 == 0x1fd || high >> 56 == 0xff;
}

/// The same address as others write it.
std::string in_full(const Address& address) {
  std::array<char, 64> text{};
  const auto* b = address.bytes.data();
  if (address.v6) {
    std::snprintf(text.data(), text.size(), "%X:%x:%04x:%x:%x:%x:%x:%X", b[0] << 8 | b[1], b[2] << 8 | b[3],
                  b[4] << 8 | b[5], b[6] << 8 | b[7], b[8] << 8 | b[9], b[10] << 8 | b[11], b[12] << 8 | b[13],
                  b[14] << 8 | b[15]);
  } else {
    std::snprintf(text.data(), text.size(), "0:0:0::FFFF:%d.%d.%d.%d", b[0], b[1], b[2], b[3]);
  }
  return text.data();
}

void check_address(const Address& address) {
  static const access::Verdict verdict{{}, {{"0.0.0.0", 3128}, {"127.0.0.1", 9128}}};
  const std::string text = access::to_string(address);
  must(access::parse_address(text) == address, "an address is written as it is read", text);
  must(access::parse_address(in_full(address)) == address, "other spellings are the same address", in_full(address));
  must(access::is_special(address) == looks_special(address), "special is what the registries say", text);
  if (looks_special(address)) {
    must(verdict.destination(address, 80) != access::Destination::allowed, "a special address is not dialled", text);
    const auto url = address.v6 ? "http://[" + in_full(address) + "]/" : "http://" + text + "/";
    const auto target = http::parse_target("GET", url);
    must(target && target->literal && access::parse_address(target->host) == address, "in a URL it is the same", url);
  }
  must(!access::is_loopback(address) || verdict.destination(address, 3128) == access::Destination::own, "own port",
       text);
}

void check_networks(std::string_view text) {
  if (const auto address = access::parse_address(text)) check_address(*address);
  const auto networks = access::parse_networks(text);
  if (!networks) return;
  for (const auto& network : *networks) {
    check_address(network.base);
    must(network.contains(network.base), "a network has its base in it", text);
    const int width = network.base.v6 ? 128 : 32;
    must(network.prefix >= 0 && network.prefix <= width, "a prefix fits", text);
    for (int bit = 0; bit < width; ++bit) {
      Address other = network.base;
      other.bytes[static_cast<std::size_t>(bit / 8)] ^= static_cast<std::uint8_t>(0x80 >> bit % 8);
      must(network.contains(other) == (bit >= network.prefix), "a network ends where its prefix does", text);
    }
  }
}

void check_authority(std::string_view text) {
  const auto authority = http::parse_authority(text);
  if (!authority) return;
  const auto& [host, port, literal] = *authority;
  const std::string bare = host.contains(':') ? "[" + host + "]" : host;
  const auto again = http::parse_authority(port ? bare + ":" + std::to_string(port) : bare);
  must(again && again->host == host && again->port == port && again->literal == literal, "an authority is stable",
       text);
  must(http::is_host_value(bare), "what is an authority may stand in Host", text);
  in_addr v4;
  in6_addr v6;
  must(literal == access::parse_address(host).has_value(), "an address is known for one", text);
  must(literal || (inet_aton(host.c_str(), &v4) == 0 && inet_pton(AF_INET6, host.c_str(), &v6) != 1),
       "what a resolver takes for an address is one", text);
  for (const char c : host) must(c > ' ' && c < 0x7f && (c < 'A' || c > 'Z'), "hosts are in lower case", text);
}

void check_target(std::string_view method, std::string_view text) {
  const auto target = http::parse_target(method, text);
  if (!target) return;
  const bool tunnel = method == "CONNECT";
  must(target->tunnel == tunnel && target->port != 0 && !target->host.empty(), "a target leads somewhere", text);
  must(http::is_host_value(target->host_field()), "Host may say it", text);
  check_authority(target->authority());
  const bool asks_server = target->resource == "*";
  must(!tunnel || target->resource.empty(), "a tunnel has no path", text);
  must(tunnel || asks_server || target->resource.starts_with('/'), "a path begins with a slash", text);
  for (const char c : target->resource) must(c > ' ' && c < 0x7f && c != '#', "the path fits a request line", text);
  const std::string url =
      std::string(target->scheme) + "://" + target->authority() + (asks_server ? "" : target->resource);
  const auto again = http::parse_target(method, tunnel ? target->authority() : url);
  must(again && again->authority() == target->authority() && again->resource == target->resource, "it is stable", text);
}

/// Whether a server that decodes dots would leave the folder.
bool climbs(std::string_view path) {
  path = path.substr(0, path.find('?'));
  while (!path.empty()) {
    const auto end = std::min(path.find('/'), path.size());
    std::string segment(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
    for (const char* dot : {"%2e", "%2E"}) {
      for (auto at = segment.find(dot); at != std::string::npos; at = segment.find(dot)) segment.replace(at, 3, ".");
    }
    if (segment == "." || segment == "..") return true;
  }
  return false;
}

void check_gateway(std::string_view text) {
  static const UpstreamConfig upstream{.name = "api", .base_url = *parse_base_url("https://api.test/v1")};
  const auto form = http::gateway_form(text);
  const auto behind = http::behind_gateway(upstream, form ? form->rest : text);
  if (!behind || !form) return;
  must(behind->authority() == "api.test:443" && behind->secure(), "a gateway leads to its own host", text);
  must(behind->resource.starts_with("/v1"), "a gateway stays below its base", text);
  must(behind->resource.substr(3) == form->rest, "byte for byte", text);
  must(!climbs(behind->resource), "no dots climb out of it", text);
  for (const char c : behind->resource) must(c > ' ' && c < 0x7f && c != '#', "the path fits a request line", text);
}

template <typename Parse>
void check_stable(std::string_view text, Parse parse) {
  const auto parsed = parse(text);
  if (!parsed) return;
  const std::string written = to_string(*parsed);
  const auto again = parse(written);
  must(again && *again == *parsed, "what is written is read the same", text, written);
}

void check_base_url(std::string_view text) {
  const auto url = parse_base_url(text);
  if (!url) return;
  const auto target = http::parse_target("GET", to_string(*url) + "/x");
  must(target.has_value(), "behind a base URL one can ask for something", text);
  must(target->host == url->host && target->port == url->port && target->resource == url->path + "/x", "there", text);
}

}  // namespace

void try_input(std::string_view input) {
  Address address{.v6 = input.size() >= 16};
  const std::size_t size = address.v6 ? 16 : 4;
  if (input.size() >= size) {
    std::copy_n(input.begin(), size, address.bytes.begin());
    if (const auto known = access::parse_address(access::to_string(address))) check_address(*known);
  }
  check_networks(input);
  check_authority(input);
  for (const char* method : {"GET", "OPTIONS", "CONNECT"}) check_target(method, input);
  if (const auto outside = http::parse_target("CONNECT", "api.test:80")) {
    const auto inside = http::parse_target_inside(*outside, "GET", input);
    must(!inside || inside->authority() == "api.test:80", "what comes inside a CONNECT stays inside", input);
  }
  check_gateway(input);
  check_stable(input, [](auto text) { return parse_endpoint(text); });
  check_stable(input, [](auto text) { return parse_match(text); });
  check_stable(input, [](auto text) { return parse_base_url(text); });
  check_stable(input, [](auto text) { return parse_group(text); });
  check_base_url(input);
  static_cast<void>(parse_redis_url(input));
}

}  // namespace penstock::fuzz
