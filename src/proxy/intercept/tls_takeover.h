// SPDX-License-Identifier: Apache-2.0
// A TLS takeover: TLS with one client in the place of the host of its CONNECT. Waits for the leaf certificate and a
// handshake slot, shakes hands within `timeouts.header`, and gives back the stream, with requests in the clear; or
// reports why not.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "loop/iteration_end.h"
#include "loop/stream.h"
#include "loop/timer.h"
#include "proxy/exchange/services.h"
#include "proxy/intercept/certificate_rejections.h"
#include "proxy/intercept/interception_service.h"
#include "tls/client_hello.h"

namespace penstock::proxy {

/// Texts for people: the client rejected our certificate with an alert; the client just left.
std::string rejection(const std::string& host, const std::string& words);
std::string departure(const std::string& host);

/// The result of a TlsTakeover: one of these is called, once. It may destroy the TlsTakeover.
class TlsTakeoverEvents {
 public:
  virtual void on_intercepted(std::unique_ptr<loop::Stream> stream) = 0;
  /// The client speaks HTTP/2 and not HTTP/1.1, so it gets a tunnel. Nothing was answered yet; `early` is all that was
  /// read.
  virtual void on_h2_only(std::unique_ptr<loop::Stream> stream, std::string early) = 0;
  /// The client's connection is closed.
  virtual void on_not_intercepted(Handshake result, const std::string& details) = 0;

 protected:
  ~TlsTakeoverEvents() = default;
};

class TlsTakeover final : private loop::StreamEvents {
 public:
  TlsTakeover(const Services& services, std::string host, CertificateRejections::Client client,
              TlsTakeoverEvents& events);

  /// The client has begun its handshake with these bytes.
  void begin(std::unique_ptr<loop::Stream> stream, std::string early);

 private:
  void on_read(std::string_view bytes) override;
  void on_gone() override;
  void on_drained() override {}
  void on_connected() override;

  /// Before the client's first bytes; then, where it decides what follows, while its hello is read; then in the wait
  /// for a certificate, a pause and a slot; then in the handshake.
  enum class Phase : std::uint8_t { before, hello, waiting, handshake };

  bool is_whole(std::string_view bytes);
  void end_hello();
  void queue_up();
  void leaf_came(const std::shared_ptr<const tls::Leaf>& leaf);
  void take_slot();
  void shake_hands();
  std::string without_leaf() const;
  void out_of_time();
  void fail(Handshake result, const std::string& details);

  const Services& services_;
  InterceptionService& interception_;
  const std::string host_;
  const CertificateRejections::Client client_;
  TlsTakeoverEvents& events_;
  std::unique_ptr<tls::CertificateCache::Question> lookup_;  // until it is known whether there is a leaf
  std::shared_ptr<const tls::Leaf> leaf_;                    // null then: there is none
  std::unique_ptr<CertificateRejections::Place> place_;
  std::unique_ptr<InterceptionService::HandshakeSlot> slot_;
  tls::ClientHello hello_;
  loop::IterationEnd whole_;  // ends the hello after on_read(), since that may destroy the stream
  loop::Timer pause_;         // before the handshake of a client that keeps rejecting our certificate
  loop::Timer deadline_;      // for the hello, then for the wait, then for the handshake
  std::unique_ptr<loop::Stream> stream_;
  std::string early_;
  std::int64_t began_ = 0;  // when the hello began
  std::int64_t took_ = 0;   // how long the hello took, of timeouts.header
  Phase phase_ = Phase::before;
};

}  // namespace penstock::proxy
