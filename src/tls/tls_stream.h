// SPDX-License-Identifier: Apache-2.0
// A Stream of plain bytes over TLS over another Stream, as client or server. It counts as connected when the handshake
// is done and the peer that must prove its identity has done so. Only close_notify is an end (on_end()); a connection
// that ends without it was cut (on_gone()).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "loop/iteration_end.h"
#include "loop/loop.h"
#include "loop/stream.h"
#include "loop/timer.h"
#include "penstock/config.h"
#include "tls/authority.h"
#include "tls/client_identity.h"
#include "tls/codec.h"

namespace penstock::tls {

class Stream final : public loop::Stream, private loop::StreamEvents {
 public:
  /// Connects to a literal address, where the peer must prove to be `host`, a name or an address.
  static std::unique_ptr<loop::Stream> dial(loop::Loop& loop, const Endpoint& there, const ClientIdentity& identity,
                                            const std::string& host, loop::StreamEvents& events,
                                            loop::DialFor whom = loop::DialFor::peer);
  /// Serves a client on the existing connection `inner`; `early` are the bytes already read from it. A handshake longer
  /// than 64 KiB fails.
  static std::unique_ptr<loop::Stream> accept(loop::Loop& loop, const Leaf& leaf, std::unique_ptr<loop::Stream> inner,
                                              std::string early, loop::StreamEvents& events);
  ~Stream() override;

  void read_on() override;
  void read_off() override;
  void keep_half_open() override;
  void touch() override;
  bool send(std::string_view bytes) override;
  void end_writing() override;
  std::size_t queued() const override { return out_.size() + inner_->queued(); }
  std::size_t unread_by_peer() const override { return out_.size() + inner_->unread_by_peer(); }
  bool is_read_out() const override { return inner_->is_read_out(); }
  Endpoint peer() const override { return inner_->peer(); }
  loop::DialFailure dial_failure() const override;
  int error() const override { return inner_->error(); }
  std::string failure_words() const override { return codec_.failure_words(); }

 private:
  Stream(loop::Loop& loop, Ssl ssl, std::string early = {});
  void on_read(std::string_view bytes) override;
  void on_gone() override;
  void on_drained() override;
  void on_connected() override { shake_hands(); }
  void on_end() override;
  void end_gently(std::unique_ptr<loop::Stream> self) override;
  void end_with_reset() override;

  bool has_failed() const { return codec_.failure() != loop::DialFailure::none; }
  void shake_hands();
  Codec::Step handshake_step();
  void read();
  void take_breath();
  void breathe();
  void inner_has_ended();
  void end_iteration();
  void seal(std::string_view bytes);
  void say_goodbye();
  bool deliver();
  void ended();
  void gone();

  loop::Loop& loop_;
  Codec codec_;
  std::unique_ptr<loop::Stream> inner_;
  loop::IterationEnd iteration_end_;
  loop::Timer breath_;  // resumes in the next iteration, when the peer has used up its share of this one
  bool connected_ = false;
  bool more_ = false;         // there may be more to report
  bool inner_ended_ = false;  // the inner stream has ended
};

}  // namespace penstock::tls
