// SPDX-License-Identifier: Apache-2.0
// The table from reason to status, token and label; and refusal texts made safe for where they are written.
#include "http/refusal.h"

#include <algorithm>
#include <array>
#include <utility>

#include "http/grammar.h"

namespace penstock::http {
namespace {

constexpr std::size_t kLongestReason = 200;
constexpr std::size_t kLongestDetails = 500;

struct Row {
  Reason why;
  Wording wording;
};

// In the order of the enumeration, so that a reason is its own index.
constexpr std::array kRows = {
    Row{Reason::queue_full, {503, "connection_limit_reached", "queue_full"}},
    Row{Reason::wait_over, {503, "connection_limit_reached", "wait_over"}},
    Row{Reason::draining, {503, "connection_limit_reached", "draining"}},
    Row{Reason::pending_memory, {503, "connection_limit_reached", "pending_memory"}},
    Row{Reason::too_many_clients, {503, "connection_limit_reached", "too_many_clients"}},
    Row{Reason::limit_refused, {429, "http_request_denied", "limit_refused"}},
    Row{Reason::limit_too_heavy, {400, "http_request_error", "limit_too_heavy"}},
    Row{Reason::limiter_down, {503, "destination_unavailable", "limiter_down"}},
    Row{Reason::client_denied, {403, "http_request_denied", "client_denied"}},
    Row{Reason::credentials, {407, "http_request_denied", "credentials"}},
    Row{Reason::credentials_busy, {503, "connection_limit_reached", "credentials_busy"}},
    Row{Reason::page_denied, {403, "http_request_denied", "page_denied"}},
    Row{Reason::destination_denied, {403, "destination_ip_prohibited", "destination_denied"}},
    Row{Reason::destination_unnamed, {403, "http_request_denied", "destination_unnamed"}},
    Row{Reason::port_denied, {403, "http_request_denied", "port_denied"}},
    Row{Reason::gateway_unknown, {404, "destination_not_found", "gateway_unknown"}},
    Row{Reason::permit_method, {405, "http_request_denied", "permit_method"}},
    Row{Reason::malformed, {400, "http_request_error", "malformed"}},
    Row{Reason::head_timeout, {408, "http_request_error", "head_timeout"}},
    Row{Reason::body_timeout, {408, "http_request_error", "body_timeout"}},
    Row{Reason::target_too_long, {414, "http_request_error", "target_too_long"}},
    Row{Reason::expectation_unknown, {417, "http_request_error", "expectation_unknown"}},
    Row{Reason::misdirected, {421, "http_request_error", "misdirected"}},
    Row{Reason::head_too_large, {431, "http_request_error", "head_too_large"}},
    Row{Reason::not_implemented, {501, "http_request_error", "not_implemented"}},
    Row{Reason::version_unsupported, {505, "http_request_error", "version_unsupported"}},
    Row{Reason::max_forwards, {405, "http_request_denied", "max_forwards"}},
    Row{Reason::loop, {502, "proxy_loop_detected", "loop"}},
    Row{Reason::dns_error, {502, "dns_error", "dns_error"}},
    Row{Reason::dns_timeout, {504, "dns_timeout", "dns_timeout"}},
    Row{Reason::connection_refused, {502, "connection_refused", "connection_refused"}},
    Row{Reason::connection_timeout, {504, "connection_timeout", "connection_timeout"}},
    Row{Reason::connection_terminated, {502, "connection_terminated", "connection_terminated"}},
    Row{Reason::destination_unroutable, {502, "destination_ip_unroutable", "destination_unroutable"}},
    Row{Reason::response_timeout, {504, "http_response_timeout", "response_timeout"}},
    Row{Reason::read_timeout, {504, "connection_read_timeout", "read_timeout"}},
    Row{Reason::response_incomplete, {502, "http_response_incomplete", "response_incomplete"}},
    Row{Reason::response_head_too_large, {502, "http_response_header_section_size", "response_head_too_large"}},
    Row{Reason::response_coding, {502, "http_response_transfer_coding", "response_coding"}},
    Row{Reason::protocol_error, {502, "http_protocol_error", "protocol_error"}},
    Row{Reason::upgrade_failed, {502, "http_upgrade_failed", "upgrade_failed"}},
    Row{Reason::tls_protocol_error, {502, "tls_protocol_error", "tls_protocol_error"}},
    Row{Reason::tls_certificate_error, {502, "tls_certificate_error", "tls_certificate_error"}},
    Row{Reason::destination_unavailable, {503, "destination_unavailable", "destination_unavailable"}},
    Row{Reason::unreachable, {502, "destination_unavailable", "unreachable"}},
    Row{Reason::lease_lost, {503, "destination_unavailable", "lease_lost"}},
    Row{Reason::unconfigured, {500, "proxy_configuration_error", "unconfigured"}},
    Row{Reason::internal_error, {500, "proxy_internal_error", "internal_error"}},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].why) != i) return false;
  }
  return kRows.size() == static_cast<std::size_t>(Reason::internal_error) + 1;
}
static_assert(in_order(), "one row for each reason, in the order of the enumeration");

/// Printable ASCII only; a '?' replaces every other byte.
std::string printable(std::string_view text, std::size_t longest) {
  std::string clean(text.substr(0, longest));
  for (char& c : clean) {
    if (c != ' ' && !is_visible(c)) c = '?';
  }
  return clean;
}

/// An RFC 8941 string.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : printable(text, kLongestDetails)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out += '"';
}

/// An RFC 8941 token where the name can be one, otherwise a string.
std::string item(std::string_view name) {
  const bool token = is_token(name) && (is_letter(name.front()) || name.front() == '*');
  return token ? std::string(name) : in_quotes(name);
}

/// "7s", "2m 5s", "14h 2m", "6d 23h": the two largest units, rounded up.
std::string in_words(Duration wait) {
  struct Unit {
    std::int64_t seconds;
    const char* name;
  };
  constexpr std::array kUnits = {Unit{86'400, "d"}, Unit{3'600, "h"}, Unit{60, "m"}, Unit{1, "s"}};
  const std::int64_t seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
  std::size_t large = 0;
  while (large + 1 < kUnits.size() && seconds < kUnits[large].seconds) ++large;
  const Unit small = kUnits[std::min(large + 1, kUnits.size() - 1)];
  const std::int64_t parts = (seconds + small.seconds - 1) / small.seconds;
  const std::int64_t per = kUnits[large].seconds / small.seconds;
  std::string words = std::to_string(parts / per) + kUnits[large].name;
  if (parts % per > 0) words += " " + std::to_string(parts % per) + small.name;
  return words;
}

}  // namespace

Wording wording(Reason why) { return kRows[static_cast<std::size_t>(why)].wording; }

std::unexpected<Refusal> malformed(const char* details) {
  return std::unexpected(Refusal{.why = Reason::malformed, .details = details});
}

std::string reason_phrase(const Refusal& refusal) {
  const std::string_view words = refusal.details.empty() ? standard_reason(refusal.status_code()) : refusal.details;
  return printable("Penstock: " + std::string(words), kLongestReason);
}

Refusal refusal_until(Reason why, std::string what, Duration wait) {
  return {.why = why, .details = std::move(what) + ", retry in " + in_words(wait), .retry_after = wait};
}

std::string retry_after_seconds(Duration wait) {
  return std::to_string(std::chrono::ceil<std::chrono::seconds>(wait).count());
}

std::string retry_after_milliseconds(Duration wait) {
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(wait).count() + 1);
}

std::string proxy_status(const Refusal& refusal, std::string_view name) {
  std::string out = item(name);
  if (refusal.status_code() >= 400) out.append("; error=").append(wording(refusal.why).token);
  if (!refusal.rcode.empty()) out.append("; rcode=").append(in_quotes(refusal.rcode));
  if (!refusal.details.empty()) out.append("; details=").append(in_quotes(refusal.details));
  if (refusal.attempts > 1) out.append("; attempts=").append(std::to_string(refusal.attempts));
  return out;
}

std::string proxy_status(int attempts, std::string_view name) {
  return item(name).append("; attempts=").append(std::to_string(attempts));
}

std::string_view standard_reason(int status) {
  switch (status) {
    case 100: return "Continue";
    case 101: return "Switching Protocols";
    case 102: return "Processing";
    case 103: return "Early Hints";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 203: return "Non-Authoritative Information";
    case 204: return "No Content";
    case 205: return "Reset Content";
    case 206: return "Partial Content";
    case 300: return "Multiple Choices";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 402: return "Payment Required";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 407: return "Proxy Authentication Required";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 411: return "Length Required";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 416: return "Range Not Satisfiable";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 426: return "Upgrade Required";
    case 428: return "Precondition Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 451: return "Unavailable For Legal Reasons";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    case 511: return "Network Authentication Required";
    default: return {};
  }
}

}  // namespace penstock::http
