// SPDX-License-Identifier: Apache-2.0
// Cleans up what HTTP allows to clean up (blanks before a colon, folded lines), and refuses everything else that could
// be read in two ways.
#include "http/response_head.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "http/grammar.h"

namespace penstock::http {
namespace {
/// True for fields by which libcurl frames a response. It reads these lines as they came, and understands neither folds
/// nor blanks before a colon: to clean them up would leave two opinions of where the response ends.
bool frames(std::string_view name) {
  return equal_ignoring_case(name, "content-length") || equal_ignoring_case(name, "transfer-encoding") ||
         equal_ignoring_case(name, "connection");
}
constexpr const char* kDisputedFraming = "the upstream folded a framing field, or put a blank before its colon";

constexpr std::string_view kVersion = "HTTP/1.";

std::string_view without_line_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// The one number on which all Content-Length lines and their members agree.
std::optional<std::uint64_t> agreed_length(const Fields& fields) {
  std::optional<std::uint64_t> agreed;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto [name, value] = fields[i];
    if (!equal_ignoring_case(name, "content-length")) continue;
    std::string_view rest = value;
    for (bool more = true; more;) {
      more = rest.contains(',');
      const auto length = parse_digits(trim(cut(rest, ',')));
      if (!length || (agreed && *agreed != *length)) return std::nullopt;
      agreed = length;
    }
  }
  return agreed;
}

std::size_t count_nominations(const Fields& fields) {
  std::size_t nominations = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto [name, value] = fields[i];
    if (equal_ignoring_case(name, "connection")) each_member(value, [&](std::string_view) { ++nominations; });
  }
  return nominations;
}

}  // namespace

bool ResponseHead::has_body(std::string_view method) const {
  if (method == "HEAD" || status < 200 || status == 204 || status == 304) return false;
  return !has_length || content_length > 0;
}

ResponseHeadReader::ResponseHeadReader(std::size_t max_bytes, std::size_t max_lines, std::size_t max_interim,
                                       std::size_t max_interim_bytes)
    : max_bytes_(max_bytes), max_lines_(max_lines), max_interim_(max_interim), max_interim_bytes_(max_interim_bytes) {}

ResponseHeadReader::Verdict ResponseHeadReader::on_line(std::string_view line) {
  bytes_ += line.size();
  if (bytes_ > max_bytes_) return fail(Reason::response_head_too_large, "the upstream's header section is too large");
  line = without_line_end(line);
  if (!is_field_value(line))
    return fail(Reason::protocol_error, "the upstream sent a control character in its header section");
  switch (section_) {
    case Section::status: return status_line(line);
    case Section::fields: return line.empty() ? end_of_head() : field_line(line, head_.fields);
    case Section::trailers: return line.empty() ? Verdict::more : field_line(line, trailers_);
  }
  return Verdict::more;
}

ResponseHeadReader::Verdict ResponseHeadReader::fail(Reason why, std::string details) {
  why_ = why;
  details_ = std::move(details);
  return Verdict::bad;
}

ResponseHeadReader::Verdict ResponseHeadReader::status_line(std::string_view line) {
  constexpr std::size_t kCodeAt = kVersion.size() + 2;
  const std::string_view code = line.size() > kCodeAt ? line.substr(kCodeAt, 3) : std::string_view();
  const auto status = code.size() == 3 ? parse_digits(code) : std::nullopt;
  const bool whole = line.size() == kCodeAt + 3 || (line.size() > kCodeAt + 3 && line[kCodeAt + 3] == ' ');
  // libcurl reads no later HTTP/1, so the code that reads without libcurl refuses it too: an upstream works in all ways
  // or in none.
  const bool known =
      line.starts_with(kVersion) && line.size() > kCodeAt && std::string_view("01").contains(line[kVersion.size()]);
  if (!known || !status || !whole || line[kCodeAt - 1] != ' ') {
    return fail(Reason::protocol_error, "the upstream's status line is not HTTP/1.1 or HTTP/1.0");
  }
  if (*status < 100 || *status > 599)
    return fail(Reason::protocol_error, "the upstream's status is not from 100 to 599");

  head_ = ResponseHead{};
  head_.status = static_cast<int>(*status);
  head_.minor_version = line[kVersion.size()] == '0' ? 0 : 1;
  head_.reason = line.substr(std::min(line.size(), kCodeAt + 4));
  section_ = Section::fields;
  return Verdict::more;
}

ResponseHeadReader::Verdict ResponseHeadReader::field_line(std::string_view line, Fields& fields) {
  if (is_blank(line.front())) return folded_line(line, fields);
  if (fields.size() == max_lines_) {
    return fail(Reason::response_head_too_large, "the upstream's header section has too many lines");
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos)
    return fail(Reason::protocol_error, "the upstream sent a field line without a colon");
  const std::string_view name = trim_right(line.substr(0, colon));
  if (!is_token(name)) return fail(Reason::protocol_error, "the upstream sent a field whose name is not a token");
  if (name.size() < colon && frames(name)) return fail(Reason::protocol_error, kDisputedFraming);
  fields.add(name, trim(line.substr(colon + 1)));
  return Verdict::more;
}

/// RFC 9112 5.2: a fold is read as a blank.
ResponseHeadReader::Verdict ResponseHeadReader::folded_line(std::string_view line, Fields& fields) {
  // libcurl copies the field again for each of its folds.
  if (++folds_ > max_lines_) {
    return fail(Reason::response_head_too_large, "the upstream's header section has too many folded lines");
  }
  if (fields.empty()) return fail(Reason::protocol_error, "the upstream's first field line begins with a blank");
  if (frames(fields[fields.size() - 1].name)) return fail(Reason::protocol_error, kDisputedFraming);
  const std::string_view more = trim(line);
  if (more.empty()) return Verdict::more;
  if (!fields[fields.size() - 1].value.empty()) fields.extend_value(" ");
  fields.extend_value(more);
  return Verdict::more;
}

ResponseHeadReader::Verdict ResponseHeadReader::end_of_head() {
  const std::size_t bytes = std::exchange(bytes_, 0);
  folds_ = 0;
  if (count_nominations(head_.fields) > kMostNominations) {
    return fail(Reason::protocol_error, "the upstream nominates more than 32 fields in Connection");
  }
  if (head_.status < 200) return end_of_interim(bytes);
  if (head_.status == 407)
    return fail(Reason::protocol_error, "the upstream asks for credentials as if it were the proxy");
  section_ = Section::trailers;
  return judge_framing();
}

ResponseHeadReader::Verdict ResponseHeadReader::end_of_interim(std::size_t bytes) {
  if (head_.status == 101 && may_switch_) return Verdict::switched;
  if (head_.status == 101)
    return fail(Reason::upgrade_failed, "the upstream switched protocols, which nobody asked for");
  if (++interims_ > max_interim_) {
    return fail(Reason::response_head_too_large, "the upstream sent too many interim responses");
  }
  interim_bytes_ += bytes;
  if (interim_bytes_ > max_interim_bytes_) {
    return fail(Reason::response_head_too_large, "the upstream's interim responses are too large together");
  }
  section_ = Section::status;
  return Verdict::interim;
}

/// RFC 9112 6.1 and 6.3.
ResponseHeadReader::Verdict ResponseHeadReader::judge_framing() {
  const std::size_t codings = head_.fields.count("transfer-encoding");
  if (codings > 0 && head_.minor_version == 0) {
    return fail(Reason::protocol_error, "the upstream sent Transfer-Encoding in HTTP/1.0");
  }
  if (codings > 1 || (codings == 1 && !equal_ignoring_case(*head_.fields.find("transfer-encoding"), "chunked"))) {
    return fail(Reason::response_coding, "the upstream's Transfer-Encoding is not exactly 'chunked'");
  }
  const bool has_length = head_.fields.find("content-length").has_value();
  const auto length = agreed_length(head_.fields);
  if (has_length && !length)
    return fail(Reason::protocol_error, "the upstream's Content-Length is not one decimal number");

  head_.chunked = codings == 1;
  head_.has_length = has_length && !head_.chunked;
  head_.framed_twice = has_length && head_.chunked;
  head_.content_length = head_.has_length ? *length : 0;
  return Verdict::final;
}

}  // namespace penstock::http
