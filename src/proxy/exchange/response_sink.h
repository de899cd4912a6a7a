// SPDX-License-Identifier: Apache-2.0
// Where an exchange sends the response, piece by piece: a client's connection, or a caller in this process. After
// answer_end, answer_broken or answer_refusal the exchange is over and must not be touched any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/fields.h"
#include "http/refusal.h"
#include "loop/stream.h"
#include "proxy/exchange/held_bytes.h"
#include "proxy/exchange/upstream_pools.h"

namespace penstock::proxy {

/// Also called from inside libcurl: a sink only appends to its output, and never ends an exchange in these calls.
class ResponseSink {
 public:
  virtual void answer_interim(int status, std::string_view reason, const http::Fields& fields) = 0;
  virtual void answer_head(int status, std::string_view reason, const http::Fields& fields,
                           std::optional<std::uint64_t> length) = 0;
  /// Whether the sink can take body bytes now. If not, the exchange waits for Dispatcher::resume().
  virtual bool has_room() const = 0;
  /// Response bytes that the client has not taken yet, as far as known. Whether the number shrinks tells a slow reader
  /// from one that has stopped.
  virtual std::size_t untaken() const = 0;
  virtual void answer_body(std::string_view bytes) = 0;

  /// More of the request's body is wanted: some of it was passed on, or the request took off.
  virtual void body_wanted() = 0;

  /// Pools that only this sink uses; they outlive its exchanges. Null: it has none.
  virtual PinnedPools* pinned_pools() { return nullptr; }

  /// The authenticated user; empty: none.
  virtual std::string_view user() const { return {}; }

  /// The client's address and port, as `10.0.0.7:41234`; valid as long as the exchange. Empty: a caller in this
  /// process.
  virtual std::string_view client_name() const { return {}; }

  /// The answer is to carry this id, which is valid as long as the exchange, in `Penstock-Request-Id`.
  virtual void tell_id(std::string_view) {}

  /// Counts what the sink's client holds of caps.pendingMemory. Null: only the total of all clients counts.
  virtual const HeldBytes& held() const {
    static const HeldBytes none;
    return none;
  }

  /// Whether the request hints (`Penstock-*` fields) count.
  virtual bool gives_hints() const { return true; }

  /// Answers 200 to a CONNECT and gives the connection away, with the bytes that followed the CONNECT in `early`. Like
  /// answer_end, the last call. Null: there is no connection.
  virtual std::unique_ptr<loop::Stream> hand_over(std::string& early) = 0;

  /// The same after a 101, which was sent by answer_interim().
  virtual std::unique_ptr<loop::Stream> give_away(std::string& early) = 0;

  virtual void answer_end(const http::Fields& trailers) = 0;
  /// The response breaks off in the middle.
  virtual void answer_broken() = 0;
  virtual void answer_refusal(const http::Refusal& refusal) = 0;

 protected:
  ~ResponseSink() = default;
};

}  // namespace penstock::proxy
