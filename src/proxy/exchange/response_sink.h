// SPDX-License-Identifier: Apache-2.0
// Whoever asked: a client's connection, or a caller in this process. An exchange tells it the answer, piece by piece.
// After answer_end, answer_broken or answer_refusal the exchange is over and must not be touched any more.
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

/// These are called from inside libcurl too: a requester only appends to what it will send, and never ends an exchange
/// in them.
class ResponseSink {
 public:
  virtual void answer_interim(int status, std::string_view reason, const http::Fields& fields) = 0;
  virtual void answer_head(int status, std::string_view reason, const http::Fields& fields,
                           std::optional<std::uint64_t> length) = 0;
  /// Whether body bytes may come now; otherwise the exchange waits for Dispatcher::resume().
  virtual bool has_room() const = 0;
  /// Bytes of the answer that it has not taken yet, as far as can be seen: whether that shrinks tells a slow reader
  /// from one that has stopped.
  virtual std::size_t untaken() const = 0;
  virtual void answer_body(std::string_view bytes) = 0;

  /// The request's body is wanted on: more of it was passed on, or the request took off.
  virtual void body_wanted() = 0;

  /// UpstreamPools that nobody else shall use; they outlive its exchanges. Nothing: it keeps none.
  virtual PinnedPools* pinned_pools() { return nullptr; }

  /// Whom it has proved to be, where that is asked for; empty: it is not.
  virtual std::string_view user() const { return {}; }

  /// Where what its client holds of caps.pendingMemory is counted. Nothing: it counts for all together only.
  virtual const HeldBytes& held() const {
    static const HeldBytes none;
    return none;
  }

  /// Whether its `Penstock-*` fields count.
  virtual bool gives_hints() const { return true; }

  /// Says 200 to a CONNECT and gives its connection away, with the bytes that came behind the CONNECT in `early`.
  /// Like answer_end, the last call. Nothing: there is no connection.
  virtual std::unique_ptr<loop::Stream> hand_over(std::string& early) = 0;

  /// The same behind a 101, which was said by answer_interim().
  virtual std::unique_ptr<loop::Stream> give_away(std::string& early) = 0;

  virtual void answer_end(const http::Fields& trailers) = 0;
  /// The answer breaks off in the middle.
  virtual void answer_broken() = 0;
  virtual void answer_refusal(const http::Refusal& refusal) = 0;

 protected:
  ~ResponseSink() = default;
};

}  // namespace penstock::proxy
