// SPDX-License-Identifier: Apache-2.0
// A Stream of plain bytes over TLS over another Stream, as client or server. It counts as connected when the handshake
// is done and the peer that must prove its identity has done so. Only close_notify is an end (on_end()); a connection
// that ends without it was cut (on_gone()).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "loop/iteration_end.h"
#include "loop/loop.h"
#include "loop/stream.h"
#include "loop/timer.h"
#include "penstock/config.h"
#include "tls/authority.h"
#include "tls/client_identity.h"

struct bio_st;

namespace penstock::tls {

class Stream final : public loop::Stream, private loop::StreamEvents {
 public:
  /// Connects to a literal address, where the peer must prove to be `host`, a name or an address.
  static std::unique_ptr<loop::Stream> dial(loop::Loop& loop, const Endpoint& there, const ClientIdentity& identity,
                                            const std::string& host, loop::StreamEvents& events);
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
  std::string failure_words() const override { return words_; }

 private:
  struct Bio;  // the BIO through which OpenSSL reads and writes
  Stream(loop::Loop& loop, Ssl ssl);
  void on_read(std::string_view bytes) override;
  void on_gone() override;
  void on_drained() override;
  void on_connected() override { shake_hands(); }
  void on_end() override;
  void end_gently(std::unique_ptr<loop::Stream> self) override;
  void end_with_reset() override;

  void shake_hands();
  int handshake_step(int& error);
  bool is_no_handshake(std::size_t taken);
  void read();
  std::size_t decrypt(std::span<char> room, int& error);
  void take_breath();
  void breathe();
  void keep_unread();
  void inner_has_ended();
  void end_iteration();
  void seal(std::string_view bytes);
  void say_goodbye();
  bool deliver();
  void note_failure(int error);
  void note_failure_of_client(int error);
  void note_chatter();
  void ended();
  void gone();

  loop::Loop& loop_;
  Ssl ssl_;
  std::unique_ptr<loop::Stream> inner_;
  loop::IterationEnd iteration_end_;
  loop::Timer breath_;        // resumes in the next iteration, when the peer has used up its share of this one
  std::string_view offered_;  // encrypted, for OpenSSL to take in this call
  std::string unread_;        // encrypted, not yet taken
  std::string sealed_;        // encrypted by OpenSSL in this call
  std::string words_;         // describes the failure
  loop::DialFailure failure_ = loop::DialFailure::none;
  std::size_t shaken_ = 0;  // bytes of the handshake so far
  const bool serves_;
  bool answered_ = false;  // something was sent to the peer
  bool connected_ = false;
  bool reading_ = false;
  bool more_ = false;         // there may be more to report
  bool inner_ended_ = false;  // the inner stream has ended
  bool peer_ended_ = false;
  bool goodbye_said_ = false;
  bool half_open_ = false;
  bool gone_ = false;
};

}  // namespace penstock::tls
