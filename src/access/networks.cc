// SPDX-License-Identifier: Apache-2.0
// Networks in CIDR form, and the two named ones. Strict: bits beyond the prefix are an error, not ignored.
#include <algorithm>
#include <charconv>

#include "access/address.h"

namespace penstock::access {

namespace {

using Parsed = std::expected<std::vector<Network>, std::string>;

int width(const Address& address) { return address.v6 ? 128 : 32; }

// The bits of byte `index` that belong to a prefix of `prefix` bits.
std::uint8_t mask(int prefix, int index) {
  const int bits = std::clamp(prefix - 8 * index, 0, 8);
  return static_cast<std::uint8_t>(0xff00U >> bits);
}

Address base_of(Address address, int prefix) {
  for (int i = 0; i < 16; ++i) address.bytes[i] &= mask(prefix, i);
  return address;
}

std::unexpected<std::string> wrong(std::string_view text, std::string_view why) {
  return std::unexpected("'" + std::string(text) + "' " + std::string(why));
}

std::optional<int> parse_prefix(std::string_view digits) {
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool leading_zero = digits.size() > 1 && digits.front() == '0';
  if (error != std::errc{} || end != digits.data() + digits.size() || value < 0 || leading_zero) return std::nullopt;
  return value;
}

Parsed parse_cidr(std::string_view text, std::size_t slash) {
  const auto address = parse_address(text.substr(0, slash));
  auto prefix = parse_prefix(text.substr(slash + 1));
  if (!address || !prefix) return wrong(text, "is not a network such as 10.0.0.0/8 or fc00::/7");
  const bool mapped = !address->v6 && text.find(':') != std::string_view::npos;
  if (mapped) *prefix -= 96;
  if (*prefix < 0 || *prefix > width(*address)) {
    const std::string most = mapped ? "/96 to /128" : "/0 to /" + std::to_string(width(*address));
    return wrong(text, "has a prefix that does not fit its address; it may be " + most);
  }
  const Address base = base_of(*address, *prefix);
  if (base == *address) return std::vector{Network{base, *prefix}};
  return wrong(text, "has bits beyond its prefix; write " + to_string(base) + "/" + std::to_string(*prefix));
}

Parsed parse_single(std::string_view text) {
  const auto address = parse_address(text);
  if (!address) return wrong(text, "is neither a network (10.0.0.0/8), nor an address, nor loopback, nor private");
  return std::vector{Network{*address, width(*address)}};
}

std::vector<Network> all_of(std::initializer_list<std::string_view> texts) {
  std::vector<Network> all;
  for (const auto text : texts) all.push_back(parse_networks(text)->front());
  return all;
}

}  // namespace

// Called for every dialled address, on some thirty networks: comparing whole bytes first mostly settles it.
bool Network::contains(const Address& address) const {
  const int whole = prefix / 8;
  if (address.v6 != base.v6 || !std::equal(base.bytes.begin(), base.bytes.begin() + whole, address.bytes.begin())) {
    return false;
  }
  return prefix % 8 == 0 || ((base.bytes[whole] ^ address.bytes[whole]) & mask(prefix, whole)) == 0;
}

Parsed parse_networks(std::string_view text) {
  if (text == "loopback") return all_of({"127.0.0.0/8", "::1"});
  if (text == "private") return all_of({"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"});
  const auto slash = text.find('/');
  return slash == std::string_view::npos ? parse_single(text) : parse_cidr(text, slash);
}

}  // namespace penstock::access
