// SPDX-License-Identifier: Apache-2.0
// TLS with one client in the place of the host that its CONNECT leads to: waits for the leaf and for its turn, shakes
// hands within `timeouts.header`, and gives the connection back, with requests in the clear; or says why not.
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

/// In words: of a client that has said that it does not take our certificate, and of one that has just left.
std::string rejection(const std::string& host, const std::string& words);
std::string departure(const std::string& host);

/// What an TlsTakeover comes to: one of these, once. It may be destroyed in either.
class TlsTakeoverEvents {
 public:
  virtual void on_intercepted(std::unique_ptr<loop::Stream> stream) = 0;
  /// The client speaks HTTP/2 and not HTTP/1.1, and gets a tunnel for that: nothing was answered yet, and all that it
  /// has said is `early`. Nothing more is read.
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
  bool begun() const { return begun_; }

 private:
  void on_read(std::string_view bytes) override;
  void on_gone() override;
  void on_drained() override {}
  void on_connected() override;

  bool is_whole(std::string_view bytes);
  void end_hello();
  void queue_up();
  void leaf_came(const std::shared_ptr<const tls::Leaf>& leaf);
  void take_turn();
  void shake_hands();
  std::string without_leaf() const;
  void out_of_time();
  void fail(Handshake result, const std::string& details);

  const Services& services_;
  InterceptionService& interceptor_;
  const std::string host_;
  const CertificateRejections::Client client_;
  TlsTakeoverEvents& events_;
  std::shared_ptr<const tls::Leaf> leaf_;
  std::unique_ptr<tls::CertificateCache::Question> lookup_;
  std::unique_ptr<CertificateRejections::Place> place_;
  std::unique_ptr<InterceptionService::Turn> turn_;
  tls::ClientHello hello_;
  loop::IterationEnd whole_;  // behind the last bytes of the hello, for what comes then may end the stream
  loop::Timer pause_;         // of a client that rejects us again and again
  loop::Timer deadline_;      // of the hello, of the waiting, then of the handshake
  std::unique_ptr<loop::Stream> stream_;
  std::string early_;
  std::int64_t began_ = 0;  // the hello
  std::int64_t took_ = 0;   // it did, of the client's time
  bool begun_ = false;
  bool hearing_ = false;  // the hello
  bool shaking_ = false;
  bool leafless_ = false;
};

}  // namespace penstock::proxy
