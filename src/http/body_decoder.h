// SPDX-License-Identifier: Apache-2.0
// An answer's body as it stands on the wire behind its head: by length, in chunks with trailers, or up to the end of
// the connection (RFC 9112 sections 6 and 7). Copies nothing, and takes chunks only as the grammar has them. Pure.
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
    more,   ///< all bytes were taken, and more are needed
    piece,  ///< some were taken: call again
    whole,  ///< the body is complete; what follows it is left alone
    bad,    ///< see why()
  };

  /// `reader` holds the final head, of the answer to a request of this method, and judges the trailers.
  BodyDecoder(ResponseHeadReader& reader, std::string_view method);

  /// Takes bytes from the front of `bytes`; a part of the body that was among them is in `piece`.
  State next(std::string_view& bytes, std::string_view& piece);
  /// Whether a body that is not whole yet may end with the connection.
  bool ends_with_connection() const { return phase_ == Phase::to_end; }

  Why why() const { return why_; }
  /// A sentence for people about what is wrong.
  const std::string& details() const { return details_; }

 private:
  enum class Phase : std::uint8_t { over, length, to_end, chunks, trailers };

  void take(std::string_view& bytes, std::string_view& piece);
  bool take_chunks(std::string_view& bytes, std::string_view& piece);
  bool take_trailer(std::string_view& bytes);
  bool fail(Why why, std::string details);

  ResponseHeadReader& reader_;
  ChunkDecoder chunks_;
  LineBuffer lines_;        // of the trailers
  std::uint64_t left_ = 0;  // of a body with a length
  Phase phase_ = Phase::over;
  bool bad_ = false;
  Why why_{};
  std::string details_;
};

}  // namespace penstock::http
