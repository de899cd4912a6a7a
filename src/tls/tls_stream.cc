// SPDX-License-Identifier: Apache-2.0
// See tls_stream.h. OpenSSL never sees a socket: it reads encrypted bytes from the read under way, and writes its own
// into a string that is sent before the call returns.
#include "tls/tls_stream.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "loop/expensive_work.h"
#include "tls/bounds.h"
#include "tls/error_text.h"

namespace penstock::tls {

namespace {
constexpr std::size_t kOneRead = 64 * 1024;
constexpr std::size_t kRecord = 16 * 1024;
constexpr std::size_t kLongestHandshake = 64 * 1024;
constexpr int kChatterPerIteration = 16;  // records without application data; a key update takes some 20 µs
constexpr std::size_t kRecordExtra = 64;  // at most what encryption adds to a record

std::string last_error() {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_peek_error(), text.data(), text.size());
  return ERR_peek_error() == 0 ? std::string() : text.data();
}
}  // namespace

struct Stream::Bio {
  static Stream& of(BIO* bio) { return *static_cast<Stream*>(BIO_get_data(bio)); }

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
    return size;
  }

  static BIO* make(Stream& stream) {
    static BIO_METHOD* const kMethod = [] {
      BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stream");
      BIO_meth_set_read(method, &read);
      BIO_meth_set_write(method, &write);
      BIO_meth_set_ctrl(method, [](BIO*, int what, long, void*) -> long { return what == BIO_CTRL_FLUSH; });
      return method;
    }();
    BIO* bio = BIO_new(kMethod);
    BIO_set_data(bio, &stream);
    BIO_set_init(bio, 1);
    return bio;
  }
};

Stream::Stream(loop::Loop& loop, Ssl ssl)
    : loop_(loop),
      ssl_(std::move(ssl)),
      iteration_end_(loop, [this] { end_iteration(); }),
      breath_(loop, [this] { breathe(); }),
      serves_(SSL_is_server(ssl_.get()) == 1) {
  BIO* bio = Bio::make(*this);
  SSL_set_bio(ssl_.get(), bio, bio);
}

Stream::~Stream() = default;

std::unique_ptr<loop::Stream> Stream::dial(loop::Loop& loop, const Endpoint& there, const ClientIdentity& identity,
                                           const std::string& host, loop::StreamEvents& events) {
  std::unique_ptr<Stream> stream(new Stream(loop, identity.connection_to(host)));
  stream->set_events(events);
  stream->inner_ = loop::Stream::dial(loop, there, *stream);
  return stream;
}

std::unique_ptr<loop::Stream> Stream::accept(loop::Loop& loop, const Leaf& leaf, std::unique_ptr<loop::Stream> inner,
                                             std::string early, loop::StreamEvents& events) {
  std::unique_ptr<Stream> stream(new Stream(loop, leaf.connection()));
  stream->set_events(events);
  stream->inner_ = std::move(inner);
  stream->inner_->set_events(*stream);
  stream->unread_ = std::move(early);
  stream->iteration_end_.ask();
  return stream;
}

loop::DialFailure Stream::dial_failure() const {
  return failure_ != loop::DialFailure::none ? failure_ : inner_->dial_failure();
}

// Reading.

void Stream::on_read(std::string_view bytes) {
  if (gone_ || peer_ended_) return;
  if (!unread_.empty()) bytes = unread_.append(bytes);
  offered_ = bytes;
  connected_ ? read() : shake_hands();
}

/// Keeps the bytes that OpenSSL has not taken.
void Stream::keep_unread() {
  if (unread_.empty() && offered_.empty()) return;
  unread_ = std::string(std::exchange(offered_, {}));
}

/// Bounds what an unknown client can make us buffer in its handshake. Bytes behind the handshake do not count.
bool Stream::is_no_handshake(std::size_t taken) {
  shaken_ += taken;
  if (!serves_ || shaken_ <= kLongestHandshake) return false;
  failure_ = loop::DialFailure::handshake;
  words_ = "its TLS handshake is longer than 64 KiB";
  return true;
}

void Stream::shake_hands() {
  if (!loop::ExpensiveWork::may_begin(loop_)) {
    keep_unread();
    return take_breath();
  }
  inner_->read_on();
  const std::size_t offered = offered_.size();
  int error = SSL_ERROR_NONE;
  const int done = handshake_step(error);
  const bool endless = is_no_handshake(offered - offered_.size());
  deliver();
  keep_unread();
  if (error == SSL_ERROR_WANT_READ) return endless ? gone() : void();
  if (done != 1) {
    note_failure(error);
    return gone();
  }
  connected_ = true;
  if (!reading_) inner_->read_off();
  more_ = true;
  iteration_end_.ask();
  events_->on_connected();
}

int Stream::handshake_step(int& error) {
  const loop::ExpensiveWork work(loop_);
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl_.get());
  error = SSL_get_error(ssl_.get(), done);
  return done;
}

/// Reports one event only, because this stream may be destroyed in it; the rest comes at the end of the iteration.
void Stream::read() {
  std::array<char, kOneRead> room;
  ERR_clear_error();
  int error = SSL_ERROR_NONE;
  const std::size_t size = decrypt(room, error);
  if (error != SSL_ERROR_NONE && error != SSL_ERROR_WANT_READ && error != SSL_ERROR_ZERO_RETURN) note_failure(error);
  const bool chatters = error == SSL_ERROR_WANT_READ && !offered_.empty();
  deliver();
  keep_unread();
  const bool hungry = error == SSL_ERROR_WANT_READ && !chatters && !inner_ended_;
  more_ = !hungry;
  if (chatters) take_breath();
  if (size > 0 && more_ && !chatters) iteration_end_.ask();
  if (size > 0) return events_->on_read({room.data(), size});
  if (hungry || chatters) return;
  error == SSL_ERROR_ZERO_RETURN ? ended() : gone();
}

/// Decrypts as much as `room` holds. OpenSSL reports WANT_READ after a record without application data even if more
/// follows; only so many such records are taken in a row.
std::size_t Stream::decrypt(std::span<char> room, int& error) {
  std::size_t size = 0;
  for (int chatter = 0; size < room.size() && error == SSL_ERROR_NONE;) {
    const int taken = SSL_read(ssl_.get(), room.data() + size, static_cast<int>(room.size() - size));
    if (taken > 0) {
      size += static_cast<std::size_t>(taken);
      continue;
    }
    error = SSL_get_error(ssl_.get(), taken);
    if (error == SSL_ERROR_WANT_READ && !offered_.empty() && ++chatter < kChatterPerIteration) error = SSL_ERROR_NONE;
  }
  return size;
}

/// Leaves the rest for the next iteration; nothing more is read from the peer until then.
void Stream::take_breath() {
  inner_->read_off();
  breath_.start(loop_.now());
}

void Stream::breathe() {
  if (!connected_) {
    offered_ = unread_;
    return shake_hands();
  }
  if (!reading_) return;
  inner_->read_on();
  end_iteration();
}

void Stream::note_failure(int error) {
  if (failure_ != loop::DialFailure::none) return;
  if (has_chattered(ssl_.get())) return note_chatter();
  if (serves_) return note_failure_of_client(error);
  const long verdict = SSL_get_verify_result(ssl_.get());
  const bool distrusted = verdict != X509_V_OK;
  failure_ = distrusted ? loop::DialFailure::certificate : loop::DialFailure::handshake;
  words_ = distrusted ? wrong_certificate(verdict) : failed_handshake(error == SSL_ERROR_SSL ? last_error() : "");
  ERR_clear_error();
}

void Stream::note_chatter() {
  failure_ = loop::DialFailure::handshake;
  words_ = "it sends TLS records without end that carry nothing";
  ERR_clear_error();
}

void Stream::note_failure_of_client(int error) {
  const unsigned long said = error == SSL_ERROR_SSL ? ERR_peek_error() : 0;
  const bool left = (said == 0 || is_end(said)) && answered_;
  failure_ = is_rejection(said) ? loop::DialFailure::certificate
             : left             ? loop::DialFailure::abandoned
                                : loop::DialFailure::handshake;
  words_ = failure_of_client(said);
  ERR_clear_error();
}

void Stream::ended() {
  peer_ended_ = true;
  reading_ = more_ = false;
  if (!half_open_) return gone();
  events_->on_end();
}

void Stream::gone() {
  if (gone_) return;
  gone_ = true;
  reading_ = more_ = false;
  iteration_end_.cancel();
  breath_.stop();
  inner_->read_off();
  events_->on_gone();
}

void Stream::on_end() { inner_has_ended(); }

void Stream::on_gone() {
  if (peer_ended_) return gone();
  inner_has_ended();
}

/// After close_notify this is expected. Before it the connection was cut, which is reported after the data that came
/// complete.
void Stream::inner_has_ended() {
  inner_ended_ = true;
  if (peer_ended_ || gone_) return;
  if (!connected_ && inner_->dial_failure() == loop::DialFailure::none) note_failure(SSL_ERROR_SYSCALL);
  if (!connected_ || !reading_ || !more_) return gone();
}

void Stream::read_on() {
  if (reading_ || gone_ || peer_ended_) return;
  reading_ = true;
  inner_->read_on();
  more_ = more_ || !unread_.empty() || SSL_has_pending(ssl_.get()) == 1 || inner_ended_;
  if (more_) iteration_end_.ask();
}

void Stream::read_off() {
  if (!reading_) return;
  reading_ = false;
  if (connected_) inner_->read_off();
}

void Stream::keep_half_open() {
  half_open_ = true;
  inner_->keep_half_open();
}

// Writing.

void Stream::on_drained() {
  if (connected_ && !gone_) events_->on_drained();
}

void Stream::touch() {
  if (out_.size() >= kSendAtOnce) send({});
  iteration_end_.ask();
}

bool Stream::send(std::string_view bytes) {
  if (gone_) return true;
  if (!connected_) {
    out_.append(bytes);
    return false;
  }
  seal(out_);
  out_.clear();
  if (out_.capacity() > kKeptCapacity) out_.shrink_to_fit();
  seal(bytes);
  return deliver();
}

void Stream::seal(std::string_view bytes) {
  if (bytes.empty() || goodbye_said_) return;
  sealed_.reserve(sealed_.size() + bytes.size() + (bytes.size() / kRecord + 1) * kRecordExtra);
  ERR_clear_error();
  const int taken = SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
  if (taken > 0) return;
  note_failure(SSL_get_error(ssl_.get(), taken));
  iteration_end_.ask();
}

bool Stream::deliver() {
  if (sealed_.empty()) return inner_->queued() == 0;
  answered_ = true;
  const bool all = inner_->send(sealed_);
  sealed_.clear();
  if (!half_open_ && sealed_.capacity() > kKeptCapacity) sealed_.shrink_to_fit();
  return all;
}

void Stream::end_writing() {
  say_goodbye();
  inner_->end_writing();
}

void Stream::say_goodbye() {
  if (gone_ || !connected_ || goodbye_said_) return;
  seal(out_);
  out_.clear();
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  ERR_clear_error();
  goodbye_said_ = true;
  deliver();
}

void Stream::end_iteration() {
  if (!connected_ && serves_ && !gone_) {
    offered_ = unread_;
    return shake_hands();
  }
  if (connected_ && failure_ != loop::DialFailure::none) return gone();
  if (connected_ && !out_.empty()) send({});
  if (connected_ && reading_ && more_) {
    offered_ = unread_;
    read();
  }
}

void Stream::end_gently(std::unique_ptr<loop::Stream>) {
  say_goodbye();
  loop::Stream::close_lingering(std::move(inner_));
}

void Stream::end_with_reset() {
  if (connected_ && !out_.empty()) send({});
  loop::Stream::close_with_reset(std::move(inner_));
}

}  // namespace penstock::tls
