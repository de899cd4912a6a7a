// SPDX-License-Identifier: Apache-2.0
// One state per part of the line. Method and target are taken in runs, the few other bytes one by one.
#include "http/request_line.h"

#include <algorithm>

#include "http/grammar.h"

namespace penstock::http {
namespace {

constexpr char kTlsHandshake = 0x16;

template <class Belongs>
std::string_view run_of(std::string_view bytes, Belongs belongs) {
  const auto end = std::find_if_not(bytes.begin(), bytes.end(), belongs);
  return bytes.substr(0, static_cast<std::size_t>(end - bytes.begin()));
}

/// `HTTP/d.d`, with any digits.
bool is_version(std::string_view text) {
  return text.size() == 8 && text.starts_with("HTTP/") && is_digit(text[5]) && text[6] == '.' && is_digit(text[7]);
}

}  // namespace

std::size_t RequestLine::consume(std::string_view bytes, std::size_t longest_target, RequestHead& head) {
  std::size_t taken = 0;
  while (taken < bytes.size() && !complete() && fault_ == Fault::none) {
    taken += take(bytes.substr(taken), longest_target, head);
  }
  return taken;
}

std::size_t RequestLine::take(std::string_view bytes, std::size_t longest_target, RequestHead& head) {
  switch (part_) {
    case Part::start: return take_start(bytes.front());
    case Part::blank_line: return take_line_feed(bytes.front(), Part::start);
    case Part::method: return take_method(bytes, head);
    case Part::target: return take_target(bytes, longest_target, head);
    case Part::version: return take_version(bytes.front(), head);
    case Part::line_end: return take_line_feed(bytes.front(), Part::complete);
    case Part::complete: break;
  }
  return 0;
}

std::size_t RequestLine::take_start(char c) {
  if (c == '\r') {
    part_ = Part::blank_line;
    return 1;
  }
  part_ = Part::method;
  if (c == kTlsHandshake) return fail(Fault::tls);
  return is_token_char(c) ? 0 : fail(Fault::method);
}

std::size_t RequestLine::take_method(std::string_view bytes, RequestHead& head) {
  const std::string_view run = run_of(bytes, is_token_char);
  head.method.append(run);
  if (head.method.size() > kLongestMethod) return fail(Fault::method_too_long);
  if (run.size() == bytes.size()) return run.size();
  if (bytes[run.size()] != ' ') return fail(Fault::method);
  part_ = Part::target;
  return run.size() + 1;
}

std::size_t RequestLine::take_target(std::string_view bytes, std::size_t longest, RequestHead& head) {
  const std::string_view run = run_of(bytes, is_visible);
  if (head.target.size() + run.size() > longest) return fail(Fault::target_too_long);
  head.target.append(run);
  if (run.size() == bytes.size()) return run.size();
  if (bytes[run.size()] != ' ' || head.target.empty()) return fail(Fault::target);
  part_ = Part::version;
  return run.size() + 1;
}

std::size_t RequestLine::take_version(char c, RequestHead& head) {
  if (c != '\r') {
    if (version_size_ == version_.size()) return fail(Fault::version);
    version_[version_size_++] = c;
    return 1;
  }
  const std::string_view version(version_.data(), version_size_);
  if (!is_version(version)) return fail(Fault::version);
  if (!version.starts_with("HTTP/1.")) return fail(Fault::version_unsupported);
  head.minor_version = version.back() == '0' ? 0 : 1;  // RFC 9110 2.5: a later version is read as the latest known one
  part_ = Part::line_end;
  return 1;
}

std::size_t RequestLine::take_line_feed(char c, Part next) {
  if (c != '\n') return fail(Fault::line_end);
  part_ = next;
  return 1;
}

std::size_t RequestLine::fail(Fault fault) {
  fault_ = fault;
  return 0;
}

Refusal refusal_for(RequestLine::Fault fault) {
  using Fault = RequestLine::Fault;
  switch (fault) {
    case Fault::none: break;
    case Fault::method:
      return {.why = Reason::malformed, .details = "the request does not begin with a method and one space"};
    case Fault::method_too_long:
      return {.why = Reason::not_implemented, .details = "the method is longer than 32 bytes"};
    case Fault::tls:
      return {.why = Reason::malformed,
              .details = "this port speaks HTTP, not TLS: the proxy's own URL begins with http://"};
    case Fault::target:
      return {.why = Reason::malformed,
              .details = "the target is empty, has a character that must be percent-encoded, or no version follows"};
    case Fault::target_too_long:
      return {.why = Reason::target_too_long, .details = "the target is longer than caps.targetBytes"};
    case Fault::version:
      return {.why = Reason::malformed, .details = "the request line does not end with HTTP/1.1 or HTTP/1.0"};
    case Fault::version_unsupported:
      return {.why = Reason::version_unsupported, .details = "only HTTP/1 is spoken here"};
    case Fault::line_end: return {.why = Reason::malformed, .details = "a carriage return without a line feed"};
  }
  return {};
}

}  // namespace penstock::http
