// SPDX-License-Identifier: Apache-2.0
// TLS without a socket: encrypted bytes of the peer go in and plain ones come out, and the other way round, by OpenSSL
// in memory. It bounds what a peer can make us do, and says for people why it failed. Only for tls_stream.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "loop/stream.h"
#include "tls/settings.h"

namespace penstock::tls {

class Codec {
 public:
  /// `early`: encrypted bytes of the peer that are there already. A client's handshake longer than 64 KiB fails.
  explicit Codec(Ssl ssl, std::string early = {});
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;

  bool serves() const { return serves_; }

  // From the peer.

  /// Offers encrypted bytes behind those kept, until keep().
  void offer(std::string_view bytes);
  void offer_kept() { offered_ = kept_; }
  /// Keeps the bytes that OpenSSL has not taken.
  void keep();
  /// Whether decrypt() may yield something without further bytes.
  bool holds_bytes() const;

  enum class Step : std::uint8_t { done, needs_more, failed };
  Step shake_hands();

  enum class Next : std::uint8_t {
    more,        ///< there may be more
    needs_more,  ///< nothing, until there are further encrypted bytes
    chatter,     ///< too many records without application data: the rest should wait
    end,         ///< the peer has said that it ends its side
    failed,
  };
  struct Decrypted {
    std::size_t size = 0;
    Next next = Next::more;
  };
  /// Decrypts as much as `room` holds.
  Decrypted decrypt(std::span<char> room);

  // For the peer.

  /// False: that failed.
  bool encrypt(std::string_view bytes);
  void say_goodbye();
  /// What was encrypted: to be sent, and then taken out.
  std::string& sealed() { return sealed_; }

  // Why it failed.

  void note_cut_handshake();
  loop::DialFailure failure() const { return failure_; }
  const std::string& failure_words() const { return words_; }

 private:
  struct Bio;  // the BIO through which OpenSSL reads and writes

  bool is_endless_handshake(std::size_t taken);
  bool holds_more() const;
  void note(loop::DialFailure failure, std::string words);
  void note_failure(int error);
  void note_failure_of_client(int error);

  Ssl ssl_;
  std::string_view offered_;  // encrypted, for OpenSSL to take in this call
  std::string kept_;          // encrypted, not yet taken
  std::string sealed_;        // encrypted by OpenSSL, not yet sent
  std::string words_;         // describes the failure
  loop::DialFailure failure_ = loop::DialFailure::none;
  std::size_t shaken_ = 0;  // bytes of the handshake so far
  const bool serves_;
  bool answered_ = false;  // there was something to send to the peer
};

}  // namespace penstock::tls
