// SPDX-License-Identifier: Apache-2.0
// See codec.h. OpenSSL never sees a socket: it reads what is offered, and writes into a string.
#include "tls/codec.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "tls/bounds.h"
#include "tls/error_text.h"

namespace penstock::tls {

namespace {
constexpr std::size_t kRecord = 16 * 1024;
constexpr std::size_t kRecordExtra = 64;  // at most what encryption adds to a record
constexpr std::size_t kLongestHandshake = 64 * 1024;
constexpr int kChatterInARow = 16;  // records without application data in one call; a key update takes some 20 µs

std::string last_error() {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_peek_error(), text.data(), text.size());
  return ERR_peek_error() == 0 ? std::string() : text.data();
}
}  // namespace

struct Codec::Bio {
  static Codec& of(BIO* bio) { return *static_cast<Codec*>(BIO_get_data(bio)); }

  static int read(BIO* bio, char* room, int space) {
    auto& offered = of(bio).offered_;
    const std::size_t size = std::min(offered.size(), static_cast<std::size_t>(space));
    BIO_clear_retry_flags(bio);
    if (size == 0) BIO_set_retry_read(bio);
    if (size == 0) return -1;
    std::memcpy(room, offered.data(), size);
    offered.remove_prefix(size);
    return static_cast<int>(size);
  }

  static int write(BIO* bio, const char* bytes, int size) {
    of(bio).sealed_.append(bytes, static_cast<std::size_t>(size));
    of(bio).answered_ = true;
    return size;
  }

  static BIO* make(Codec& codec) {
    static BIO_METHOD* const kMethod = [] {
      BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "codec");
      BIO_meth_set_read(method, &read);
      BIO_meth_set_write(method, &write);
      BIO_meth_set_ctrl(method, [](BIO*, int what, long, void*) -> long { return what == BIO_CTRL_FLUSH; });
      return method;
    }();
    BIO* bio = BIO_new(kMethod);
    BIO_set_data(bio, &codec);
    BIO_set_init(bio, 1);
    return bio;
  }
};

Codec::Codec(Ssl ssl, std::string early)
    : ssl_(std::move(ssl)), kept_(std::move(early)), serves_(SSL_is_server(ssl_.get()) == 1) {
  BIO* bio = Bio::make(*this);
  SSL_set_bio(ssl_.get(), bio, bio);
}

// From the peer.

void Codec::offer(std::string_view bytes) {
  if (!kept_.empty()) bytes = kept_.append(bytes);
  offered_ = bytes;
}

void Codec::keep() {
  if (kept_.empty() && offered_.empty()) return;
  kept_ = std::string(std::exchange(offered_, {}));
}

bool Codec::holds_bytes() const { return !kept_.empty() || SSL_has_pending(ssl_.get()) == 1; }

/// Bounds what an unknown client can make us buffer in its handshake. Bytes behind the handshake do not count.
bool Codec::is_endless_handshake(std::size_t taken) {
  shaken_ += taken;
  if (!serves_ || shaken_ <= kLongestHandshake) return false;
  note(loop::DialFailure::handshake, "its TLS handshake is longer than 64 KiB");
  return true;
}

Codec::Step Codec::shake_hands() {
  const std::size_t offered = offered_.size();
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl_.get());
  const int error = SSL_get_error(ssl_.get(), done);
  const bool endless = is_endless_handshake(offered - offered_.size());
  if (error == SSL_ERROR_WANT_READ) return endless ? Step::failed : Step::needs_more;
  if (done == 1) return Step::done;
  note_failure(error);
  return Step::failed;
}

/// If not, SSL_read() would find nothing, which takes as long as to find a short reply of Redis.
bool Codec::holds_more() const { return !offered_.empty() || SSL_has_pending(ssl_.get()) == 1; }

/// OpenSSL reports WANT_READ after a record without application data even if more follows; only so many such records
/// are taken in a row.
Codec::Decrypted Codec::decrypt(std::span<char> room) {
  ERR_clear_error();
  std::size_t size = 0;
  int error = SSL_ERROR_NONE;
  for (int chatter = 0; size < room.size() && error == SSL_ERROR_NONE;) {
    const int taken = SSL_read(ssl_.get(), room.data() + size, static_cast<int>(room.size() - size));
    if (taken > 0) {
      size += static_cast<std::size_t>(taken);
      if (!holds_more()) error = SSL_ERROR_WANT_READ;
      continue;
    }
    error = SSL_get_error(ssl_.get(), taken);
    if (error == SSL_ERROR_WANT_READ && !offered_.empty() && ++chatter < kChatterInARow) error = SSL_ERROR_NONE;
  }
  switch (error) {
    case SSL_ERROR_NONE: return {size, Next::more};
    case SSL_ERROR_WANT_READ: return {size, offered_.empty() ? Next::needs_more : Next::chatter};
    case SSL_ERROR_ZERO_RETURN: return {size, Next::end};
    default: note_failure(error); return {size, Next::failed};
  }
}

// For the peer.

bool Codec::encrypt(std::string_view bytes) {
  if (bytes.empty()) return true;
  sealed_.reserve(sealed_.size() + bytes.size() + (bytes.size() / kRecord + 1) * kRecordExtra);
  ERR_clear_error();
  const int taken = SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
  if (taken > 0) return true;
  note_failure(SSL_get_error(ssl_.get(), taken));
  return false;
}

void Codec::say_goodbye() {
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

// Why it failed.

void Codec::note(loop::DialFailure failure, std::string words) {
  failure_ = failure;
  words_ = std::move(words);
  ERR_clear_error();
}

void Codec::note_cut_handshake() { note_failure(SSL_ERROR_SYSCALL); }

/// The first failure is the cause of later ones.
void Codec::note_failure(int error) {
  if (failure_ != loop::DialFailure::none) return;
  if (has_chattered(ssl_.get()))
    return note(loop::DialFailure::handshake, "it sends TLS records without end that carry nothing");
  if (serves_) return note_failure_of_client(error);
  const long verdict = SSL_get_verify_result(ssl_.get());
  if (verdict != X509_V_OK) return note(loop::DialFailure::certificate, wrong_certificate(verdict));
  note(loop::DialFailure::handshake, failed_handshake(error == SSL_ERROR_SSL ? last_error() : ""));
}

void Codec::note_failure_of_client(int error) {
  const unsigned long said = error == SSL_ERROR_SSL ? ERR_peek_error() : 0;
  const bool left = (said == 0 || is_end(said)) && answered_;
  const auto failure = is_rejection(said) ? loop::DialFailure::certificate
                       : left             ? loop::DialFailure::abandoned
                                          : loop::DialFailure::handshake;
  note(failure, failure_of_client(said));
}

}  // namespace penstock::tls
