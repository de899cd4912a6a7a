// SPDX-License-Identifier: Apache-2.0
// Sets of names tell which fields pass; one pass over the section then builds the result.
#include "http/forwarding.h"

#include <array>
#include <cstdio>

#include "http/credentials.h"
#include "http/gateway_rewrite.h"
#include "http/grammar.h"

namespace penstock::http {
namespace {

// `Host` is made again, `Expect` is between client, proxy and upstream; the others concern a single hop.
constexpr NameSet kNotInRequests({"connection", "keep-alive", "te", "transfer-encoding", "content-length", "upgrade",
                                  "http2-settings", "host", "expect"});
constexpr NameSet kNotInResponses({"connection", "keep-alive", "proxy-connection", "te", "transfer-encoding",
                                   "content-length", "upgrade", "proxy-authenticate", "proxy-authentication-info",
                                   "penstock-request-id"});
// RFC 9110 6.5.1, 6.6.2: fields that frame, route or authenticate, or that must be known before the body.
constexpr NameSet kNotInTrailers({"connection",
                                  "keep-alive",
                                  "te",
                                  "transfer-encoding",
                                  "content-length",
                                  "upgrade",
                                  "trailer",
                                  "host",
                                  "expect",
                                  "via",
                                  "max-forwards",
                                  "cache-control",
                                  "pragma",
                                  "range",
                                  "if-match",
                                  "if-none-match",
                                  "if-modified-since",
                                  "if-unmodified-since",
                                  "if-range",
                                  "authorization",
                                  "www-authenticate",
                                  "cookie",
                                  "set-cookie",
                                  "age",
                                  "date",
                                  "expires",
                                  "location",
                                  "retry-after",
                                  "vary",
                                  "warning",
                                  "content-encoding",
                                  "content-type",
                                  "content-range"});
// RFC 9110 7.6.1: Connection cannot nominate fields for all recipients. `close` and `keep-alive` name no field.
constexpr NameSet kNotNominable({"close",
                                 "keep-alive",
                                 "host",
                                 "content-length",
                                 "transfer-encoding",
                                 "authorization",
                                 "cookie",
                                 "set-cookie",
                                 "content-type",
                                 "content-encoding",
                                 "content-range",
                                 "range",
                                 "cache-control",
                                 "date",
                                 "expires",
                                 "location",
                                 "vary",
                                 "etag",
                                 "via",
                                 "max-forwards"});
constexpr std::string_view kMaxForwards = "max-forwards";
constexpr std::string_view kMaxWait = "penstock-max-wait";
constexpr std::string_view kRequestId = "penstock-request-id";
constexpr std::string_view kWeight = "penstock-weight";
constexpr std::uint64_t kHeaviest = 1'000'000;
constexpr std::string_view kMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
/// Approximate size of what Via and Server-Timing add, in bytes.
constexpr std::size_t kOwnText = 96;

bool starts_with_ignoring_case(std::string_view text, std::string_view start) {
  return equal_ignoring_case(text.substr(0, start.size()), start);
}

/// The fields that Connection declares to be for the next hop only.
class Nominations {
 public:
  explicit Nominations(const Fields& fields) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const auto [name, value] = fields[i];
      if (name.size() == 10 && equal_ignoring_case(name, "connection")) {
        each_member(value, [this](std::string_view option) { add(option); });
      }
    }
  }

  bool contain(std::string_view name) const {
    for (std::size_t i = 0; i < size_; ++i) {
      if (equal_ignoring_case(names_[i], name)) return true;
    }
    return false;
  }

 private:
  void add(std::string_view option) {
    if (size_ < names_.size() && !kNotNominable.contains(option)) names_[size_++] = option;
  }

  std::array<std::string_view, kMostNominations> names_;
  std::size_t size_ = 0;
};

void add_via(Fields& fields, std::uint8_t minor_version, std::string_view via) {
  fields.begin();
  fields.extend_name("Via");
  fields.extend_value(minor_version == 0 ? "1.0 " : "1.1 ");
  fields.extend_value(via);
}

bool may_stop_here(std::string_view method) { return method == "OPTIONS" || method == "TRACE"; }

bool stays_in_request(std::string_view name) {
  return kNotInRequests.contains(name) || starts_with_ignoring_case(name, "proxy-") ||
         starts_with_ignoring_case(name, "penstock-");
}

bool passes_in_trailers(std::string_view name) {
  return !kNotInTrailers.contains(name) && !starts_with_ignoring_case(name, "proxy-") &&
         !starts_with_ignoring_case(name, "penstock-");
}

/// The text without its comments (RFC 9110 5.6.5).
std::string without_comments(std::string_view text) {
  std::string out;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (depth == 0) out += text[i];
    if (depth > 0 && text[i] == '\\') ++i;
    if (depth > 0 && text[i] == ')') --depth;
  }
  return out;
}

/// The `received-by` of one member of Via: `protocol RWS received-by`.
std::string_view received_by(std::string_view member) {
  const std::size_t blank = member.find_first_of(" \t");
  return blank == std::string_view::npos ? std::string_view() : trim(member.substr(blank));
}

/// True if a member of this `Proxy-Status` has our name.
bool claims_to_be(std::string_view proxy_status, std::string_view name) {
  bool claims = false;
  each_member(proxy_status, [&](std::string_view member) {
    std::string_view identity = trim(cut(member, ';'));
    if (identity.size() >= 2 && identity.starts_with('"') && identity.ends_with('"')) {
      identity = identity.substr(1, identity.size() - 2);
    }
    claims = claims || equal_ignoring_case(identity, name);
  });
  return claims;
}

}  // namespace

std::string server_timing(Duration wait) {
  const auto micros = static_cast<long long>(wait.count());
  std::array<char, 64> text{};
  const int size =
      std::snprintf(text.data(), text.size(), "penstock-wait;dur=%lld.%03lld", micros / 1000, micros % 1000);
  return {text.data(), static_cast<std::size_t>(size)};
}

std::expected<RequestHints, Refusal> read_hints(const Fields& fields) {
  RequestHints hints;
  if (const auto text = fields.find(kMaxWait)) {
    hints.max_wait = parse_duration(*text);
    if (!hints.max_wait || fields.count(kMaxWait) > 1)
      return malformed("Penstock-Max-Wait is not one duration such as 2s or 500ms");
  }
  if (const auto text = fields.find(kWeight)) {
    const auto weight = parse_digits(*text);
    if (!weight || *weight < 1 || *weight > kHeaviest || fields.count(kWeight) > 1)
      return malformed("Penstock-Weight is not one whole number from 1 to 1000000");
    hints.weight = static_cast<int>(*weight);
  }
  return hints;
}

bool wants_id(const Fields& fields) { return fields.find(kRequestId).has_value(); }

bool has_hints(const Fields& fields) { return fields.find(kMaxWait) || fields.find(kWeight); }

bool via_names(const Fields& fields, std::string_view name) {
  bool named = false;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto line = fields[i];
    if (!equal_ignoring_case(line.name, "via")) continue;
    each_member(without_comments(line.value),
                [&](std::string_view member) { named = named || equal_ignoring_case(received_by(member), name); });
  }
  return named;
}

std::optional<Refusal> answer_here(const RequestHead& head) {
  if (!may_stop_here(head.method)) return std::nullopt;
  const bool trace = head.method == "TRACE";
  for (std::size_t i = 0; trace && i < head.fields.size(); ++i) {
    if (!may_be_credentials(head.fields[i].name)) continue;
    return Refusal{.why = Reason::max_forwards,
                   .details = "TRACE with credentials is not forwarded: the answer would show them",
                   .allow = std::string(kMethods)};
  }
  const auto value = head.fields.find(kMaxForwards);
  if (!value) return std::nullopt;
  const auto hops = parse_digits(*value);
  if (!hops || head.fields.count(kMaxForwards) > 1) return malformed("Max-Forwards is not one decimal number").error();
  if (*hops > 0) return std::nullopt;
  if (trace) {
    return Refusal{.why = Reason::max_forwards,
                   .details = "Max-Forwards is 0, and this proxy does not echo requests",
                   .allow = std::string(kMethods)};
  }
  return Refusal{.why = Reason::max_forwards,
                 .details = "Max-Forwards is 0, so the proxy itself answers",
                 .status = 200,
                 .allow = std::string(kMethods)};
}

std::optional<Refusal> check_expectation(const RequestHead& head) {
  bool unknown = false;
  for (std::size_t i = 0; i < head.fields.size(); ++i) {
    const auto [name, value] = head.fields[i];
    if (!equal_ignoring_case(name, "expect")) continue;
    each_member(value,
                [&](std::string_view member) { unknown = unknown || !equal_ignoring_case(member, "100-continue"); });
  }
  if (!unknown) return std::nullopt;
  return Refusal{.why = Reason::expectation_unknown, .details = "the only expectation supported is 100-continue"};
}

Fields request_fields(const RequestHead& head, const Target& target, std::string_view via) {
  const Nominations nominations(head.fields);
  const bool counts_hops = may_stop_here(head.method);
  Fields out;
  out.reserve(head.fields.bytes() + target.host.size() + kOwnText, head.fields.size() + 2);
  out.add("Host", target.host_field());
  for (std::size_t i = 0; i < head.fields.size(); ++i) {
    const auto [name, value] = head.fields[i];
    if (stays_in_request(name) || nominations.contain(name)) continue;
    const auto hops = counts_hops && equal_ignoring_case(name, kMaxForwards) ? parse_digits(value) : std::nullopt;
    if (hops && *hops > 0) {
      out.add(name, std::to_string(*hops - 1));
    } else {
      out.add(name, value);
    }
  }
  add_via(out, head.minor_version, via);
  return out;
}

Fields response_fields(const ResponseHead& head, const Target& target, std::string_view via,
                       std::optional<Duration> wait) {
  const Nominations nominations(head.fields);
  Fields out;
  out.reserve(head.fields.bytes() + via.size() + kOwnText, head.fields.size() + 2);
  std::string room;
  for (std::size_t i = 0; i < head.fields.size(); ++i) {
    const auto [name, value] = head.fields[i];
    if (kNotInResponses.contains(name) || nominations.contain(name)) continue;
    if (equal_ignoring_case(name, "proxy-status") && claims_to_be(value, via)) continue;
    if (!has_front(target)) {
      out.add(name, value);
    } else if (const auto said = said_in_front({name, value}, target, room)) {
      out.add(name, *said);
    }
  }
  add_via(out, head.minor_version, via);
  if (wait) out.add("Server-Timing", server_timing(*wait));
  return out;
}

Fields trailer_fields(const Fields& trailers) {
  Fields out;
  for (std::size_t i = 0; i < trailers.size(); ++i) {
    if (passes_in_trailers(trailers[i].name)) out.add(trailers[i].name, trailers[i].value);
  }
  return out;
}

Fields response_trailers(const Fields& trailers, const Target& target) {
  if (!has_front(target)) return trailer_fields(trailers);
  Fields out;
  std::string room;
  for (std::size_t i = 0; i < trailers.size(); ++i) {
    if (!passes_in_trailers(trailers[i].name)) continue;
    if (const auto said = said_in_front(trailers[i], target, room)) out.add(trailers[i].name, *said);
  }
  return out;
}

}  // namespace penstock::http
