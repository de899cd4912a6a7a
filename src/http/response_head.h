// SPDX-License-Identifier: Apache-2.0
// Judges the upstream's response head, line by line as libcurl delivers it: libcurl is lenient, this is strict (RFC
// 9112 sections 4 to 6). Trailers, delivered the same way, are judged too. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "http/fields.h"
#include "http/refusal.h"

namespace penstock::http {

struct ResponseHead {
  int status = 0;
  std::string reason;
  Fields fields;
  std::uint64_t content_length = 0;
  bool has_length = false;    ///< one valid Content-Length and no Transfer-Encoding
  bool chunked = false;       ///< Transfer-Encoding: chunked
  bool framed_twice = false;  ///< chunked, with a Content-Length beside it
  std::uint8_t minor_version = 1;

  /// Whether a body follows, after a request of this method (RFC 9112 6.3).
  bool has_body(std::string_view method) const;
};

class ResponseHeadReader {
 public:
  enum class Verdict : std::uint8_t {
    more,      ///< go on
    interim,   ///< a 1xx head is complete: head() holds it until the next line
    final,     ///< the final head is complete: head() holds it
    switched,  ///< a 101 is complete, after let_switch(): another protocol follows
    bad,       ///< see why(): answer 502
  };

  /// `max_bytes` and `max_lines` cap each section (folded lines count too), `max_interim` the number of 1xx heads,
  /// `max_interim_bytes` their total size.
  ResponseHeadReader(std::size_t max_bytes, std::size_t max_lines, std::size_t max_interim = 100,
                     std::size_t max_interim_bytes = 256 * 1024);

  /// The request asked for another protocol. Without this call a 101 is bad.
  void let_switch() { may_switch_ = true; }
  /// Takes one line as it came, with its line end. After the final head, lines are trailer fields; bad ones fail too.
  Verdict on_line(std::string_view line);

  const ResponseHead& head() const { return head_; }
  const Fields& trailers() const { return trailers_; }
  Reason why() const { return why_; }
  /// A human-readable sentence about the fault.
  const std::string& details() const { return details_; }

 private:
  Verdict fail(Reason why, std::string details);
  Verdict status_line(std::string_view line);
  Verdict field_line(std::string_view line, Fields& fields);
  Verdict folded_line(std::string_view line, Fields& fields);
  Verdict end_of_head();
  Verdict end_of_interim(std::size_t bytes);
  Verdict judge_framing();

  ResponseHead head_;
  Fields trailers_;
  std::string details_;
  std::size_t max_bytes_, max_lines_, max_interim_, max_interim_bytes_;
  std::size_t bytes_ = 0, folds_ = 0;  // of the current section
  std::size_t interims_ = 0, interim_bytes_ = 0;
  bool may_switch_ = false;
  Reason why_{};
  enum class Section : std::uint8_t { status, fields, trailers } section_ = Section::status;
};

}  // namespace penstock::http
