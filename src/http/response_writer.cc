// SPDX-License-Identifier: Apache-2.0
// Chooses the framing by what is known: a length, chunks, or the end of the connection. The upstream's framing never
// comes here.
#include "http/response_writer.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "http/credentials.h"
#include "http/grammar.h"

namespace penstock::http {
namespace {

void add_number(std::string& out, std::uint64_t value, int base = 10) {
  char digits[20];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value, base).ptr);
}

/// Control characters in a reason become blanks: they could end the line.
void add_status_line(std::string& out, int status, std::string_view reason) {
  out += "HTTP/1.1 ";
  add_number(out, static_cast<std::uint64_t>(status));
  out += ' ';
  const std::size_t at = out.size();
  out += reason;
  std::replace_if(
      out.begin() + static_cast<std::ptrdiff_t>(at), out.end(),
      [](char c) {
        return !is_field_value({&c, 1});
      },
      ' ');
  out += "\r\n";
}

void add_line(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  out += value;
  out += "\r\n";
}

void add_fields(std::string& out, const Fields& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) add_line(out, fields[i].name, fields[i].value);
}

void add_length(std::string& out, std::uint64_t length) {
  out += "Content-Length: ";
  add_number(out, length);
  out += "\r\n";
}

/// HTTP/1.1 keeps the connection unless told otherwise, HTTP/1.0 closes it unless told otherwise.
void add_connection(std::string& out, bool keeps, std::uint8_t minor_version) {
  if (!keeps) out += "Connection: close\r\n";
  if (keeps && minor_version == 0) out += "Connection: keep-alive\r\n";
}

}  // namespace

void add_id_line(std::string& out, std::string_view id) {
  if (!id.empty()) add_line(out, "Penstock-Request-Id", id);
}

void ResponseWriter::interim(std::string& out, int status, std::string_view reason, const Fields& fields) {
  if (request_.minor_version == 0) return;
  add_status_line(out, status, reason);
  add_fields(out, fields);
  if (status == 101) add_id_line(out, request_.id);
  out += "\r\n";
}

void ResponseWriter::head(std::string& out, int status, std::string_view reason, const Fields& fields,
                          std::optional<std::uint64_t> length) {
  bodyless_ = request_.head_method || status == 204 || status == 304;
  chunked_ = !bodyless_ && !length && request_.minor_version == 1;
  const bool until_close = !bodyless_ && !length && !chunked_;
  keeps_connection_ = request_.keep_alive && !until_close;
  left_ = until_close || chunked_ ? std::numeric_limits<std::uint64_t>::max() : length.value_or(0);

  add_status_line(out, status, reason);
  add_fields(out, fields);
  add_id_line(out, request_.id);
  if (length && status != 204) add_length(out, *length);
  if (chunked_) out += "Transfer-Encoding: chunked\r\n";
  add_connection(out, keeps_connection_, request_.minor_version);
  out += "\r\n";
}

void ResponseWriter::body(std::string& out, std::string_view bytes) {
  bytes = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left_)));
  if (bodyless_ || bytes.empty()) return;
  if (!chunked_) {
    left_ -= bytes.size();
    out += bytes;
    return;
  }
  add_number(out, bytes.size(), 16);
  out += "\r\n";
  out += bytes;
  out += "\r\n";
}

void ResponseWriter::end(std::string& out, const Fields& trailers) {
  if (chunked_) {
    out += "0\r\n";
    add_fields(out, trailers);
    out += "\r\n";
  } else if (!bodyless_ && left_ > 0) {
    keeps_connection_ = false;  // the body is shorter than announced: only closing tells
  }
}

void write_refusal(std::string& out, const Refusal& refusal, std::string_view name, AnswerTo request) {
  const std::string reason = reason_phrase(refusal);
  const std::string body = reason + "\n";
  Fields fields;
  fields.add("Proxy-Status", proxy_status(refusal, name));
  if (refusal.retry_after) {
    fields.add("Retry-After", retry_after_seconds(*refusal.retry_after));
    fields.add("Retry-After-Ms", retry_after_milliseconds(*refusal.retry_after));
  }
  if (!refusal.allow.empty()) fields.add("Allow", refusal.allow);
  if (refusal.status_code() == 407) fields.add("Proxy-Authenticate", kChallenge);
  fields.add("Content-Type", "text/plain; charset=utf-8");

  ResponseWriter writer(request);
  writer.head(out, refusal.status_code(), reason, fields, body.size());
  writer.body(out, body);
}

}  // namespace penstock::http
