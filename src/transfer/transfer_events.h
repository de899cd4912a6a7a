// SPDX-License-Identifier: Apache-2.0
// What a transfer reports and asks for while it is under way, and its result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "transfer/request.h"

namespace penstock::transfer {

enum class Failure : std::uint8_t {
  none,
  stale_connection,  ///< a kept connection died before any line of the response; the request may be sent once more
  not_sent,          ///< a kept connection was found unfit in time; any request may be sent again
  denied,            ///< the guard refused every address
  refused,
  unroutable,
  connect_timeout,
  no_descriptors,
  terminated,  ///< closed before the response was complete
  incomplete,  ///< the body is shorter than announced
  coding,      ///< broken chunks
  head_too_large,
  protocol,     ///< not HTTP
  certificate,  ///< the upstream's certificate is not acceptable
  tls,          ///< TLS failed for another reason
  stopped,      ///< a TransferEvents call asked for it
  internal,
};

struct Result {
  Failure failure = Failure::none;
  std::string details;  ///< libcurl's words; for TLS failures a sentence for people; empty on success
  /// https only: the upstream sent no close_notify. A body that ends with its connection may have been cut off.
  bool without_goodbye = false;
};

/// What a transfer reports and asks for. All calls but on_done() come from inside libcurl: they must not start, drop or
/// resume a transfer.
class TransferEvents {
 public:
  enum class Taken : std::uint8_t { all, none, stop };  ///< none: pause; the same bytes come again after resume
  enum class Given : std::uint8_t { bytes, none, end, stop };

  /// The connection is established and the request is about to be sent.
  virtual void on_connected() = 0;
  /// The kernel has accepted the whole head. Called once, after on_connected() and before the first on_line().
  virtual void on_head_sent() = 0;
  /// A header line as received, those of 1xx heads included. False: stop the transfer.
  virtual bool on_line(std::string_view line) = 0;
  /// Body bytes as received, with chunk sizes and trailers. Called at least once per read.
  virtual Taken on_body(std::string_view bytes) = 0;
  /// Body bytes for the upstream: write at most `space` bytes to `room` and set `size`.
  virtual Given give_body(char* room, std::size_t space, std::size_t& size) = 0;
  /// Called after the last chunk of a chunked body.
  virtual void give_trailers(HeaderLines& trailers) = 0;
  /// The end; called once, from the loop. The transfer may be dropped in it.
  virtual void on_done(const Result& result) = 0;

 protected:
  ~TransferEvents() = default;
};

}  // namespace penstock::transfer
