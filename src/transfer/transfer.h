// SPDX-License-Identifier: Apache-2.0
// One request on its way to an upstream and its answer on the way back, by libcurl. Dropping a Transfer cancels it.
// Bytes pass through unjudged; http/ judges them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "transfer/request.h"

namespace penstock::transfer {

enum class Failure : std::uint8_t {
  none,
  stale_connection,  ///< a kept connection died before a line of the answer: the request may be sent once more
  not_sent,          ///< a kept connection was found unfit in time: the request may be sent, whatever it is
  denied,            ///< the judge refused every address
  refused,
  unroutable,
  connect_timeout,
  no_descriptors,
  terminated,  ///< closed before the answer was whole
  incomplete,  ///< shorter than it said
  coding,      ///< broken chunks
  head_too_large,
  protocol,     ///< not HTTP
  certificate,  ///< the upstream's is not acceptable
  tls,          ///< there is no TLS with it, for another reason
  stopped,      ///< one of TransferEvents asked for it
  internal,
};

struct Result {
  Failure failure = Failure::none;
  std::string details;  ///< libcurl's words; of TLS a sentence for people; empty on success
  /// Of https: the upstream has not said that it has ended. A body that ends with its connection may have been longer.
  bool without_goodbye = false;
};

/// What a transfer tells and asks. All but on_done() come from inside libcurl: they must not start, drop or resume a
/// transfer.
class TransferEvents {
 public:
  enum class Taken : std::uint8_t { all, none, stop };  ///< none: pause; the same bytes come again after resume
  enum class Given : std::uint8_t { bytes, none, end, stop };

  /// A connection stands and the request is about to be sent.
  virtual void on_connected() = 0;
  /// The kernel has the whole head by now. Once, after on_connected() and before the first line.
  virtual void on_head_sent() = 0;
  /// A line of the head as it came, 1xx heads included. False: stop.
  virtual bool on_line(std::string_view line) = 0;
  /// Body bytes as they came, chunks with their sizes and trailers: at least once for each that are read.
  virtual Taken on_body(std::string_view bytes) = 0;
  /// Body bytes for the upstream: `size` of at most `room`.
  virtual Given give_body(char* room, std::size_t space, std::size_t& size) = 0;
  /// After the last chunk of a chunked body.
  virtual void give_trailers(HeaderLines& trailers) = 0;
  /// The end, once, from the loop. The transfer may be dropped in it.
  virtual void on_done(const Result& result) = 0;

 protected:
  ~TransferEvents() = default;
};

class Multi;
struct Easy;

class Transfer {
 public:
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// After Taken::none: on_body() is called again, perhaps inside this call.
  void resume_download();
  /// After Given::none.
  void resume_upload();
  /// Nobody shall use its connection after it. Also from inside TransferEvents, but on_done().
  void end_connection();

 private:
  friend class Multi;
  friend struct Easy;
  Transfer(Multi& multi, std::unique_ptr<Easy> easy);

  Multi& multi_;
  std::unique_ptr<Easy> easy_;
};

}  // namespace penstock::transfer
