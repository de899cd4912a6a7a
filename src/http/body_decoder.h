// SPDX-License-Identifier: Apache-2.0
// Decodes a response body as it arrives behind its head: by length, in chunks with trailers, or up to the end of the
// connection (RFC 9112 sections 6 and 7). Copies no body bytes, and accepts chunks only in strict grammar. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/chunk_decoder.h"
#include "http/line_buffer.h"
#include "http/refusal.h"
#include "http/response_head.h"

namespace penstock::http {

class BodyDecoder {
 public:
  enum class State : std::uint8_t {
    more,   ///< all bytes were consumed; more are needed
    piece,  ///< some bytes were consumed: call again
    whole,  ///< the body is complete; the bytes behind it are left alone
    bad,    ///< see why()
  };

  /// `reader` holds the final head, of the response to a request of this method, and also judges the trailers.
  BodyDecoder(ResponseHeadReader& reader, std::string_view method);

  /// Consumes bytes from the front of `bytes`; `piece` is the part of the body among them, a view, or empty.
  State next(std::string_view& bytes, std::string_view& piece);
  /// True if the body runs to the end of the connection, so that closing the connection completes it.
  bool ends_with_connection() const { return phase_ == Phase::to_end; }

  Reason why() const { return why_; }
  /// A human-readable sentence about the fault.
  const std::string& details() const { return details_; }

 private:
  enum class Phase : std::uint8_t { over, length, to_end, chunks, trailers };

  void take(std::string_view& bytes, std::string_view& piece);
  bool take_chunks(std::string_view& bytes, std::string_view& piece);
  bool take_trailer(std::string_view& bytes);
  bool fail(Reason why, std::string details);

  ResponseHeadReader& reader_;
  ChunkDecoder chunks_;
  LineBuffer lines_;        // of the trailers
  std::uint64_t left_ = 0;  // body bytes left, unless chunked
  Phase phase_ = Phase::over;
  bool bad_ = false;
  Reason why_{};
  std::string details_;
};

}  // namespace penstock::http
