// SPDX-License-Identifier: Apache-2.0
// See tls_stream.h. The codec's encrypted bytes are sent before a call returns.
#include "tls/tls_stream.h"

#include <array>
#include <utility>

#include "loop/expensive_work.h"

namespace penstock::tls {

namespace {
constexpr std::size_t kOneRead = 64 * 1024;
}

Stream::Stream(loop::Loop& loop, Ssl ssl, std::string early)
    : loop_(loop),
      codec_(std::move(ssl), std::move(early)),
      iteration_end_(loop, [this] { end_iteration(); }),
      breath_(loop, [this] { breathe(); }) {}

Stream::~Stream() = default;

std::unique_ptr<loop::Stream> Stream::dial(loop::Loop& loop, const Endpoint& there, const ClientIdentity& identity,
                                           const std::string& host, loop::StreamEvents& events, loop::DialFor whom) {
  std::unique_ptr<Stream> stream(new Stream(loop, identity.connection_to(host)));
  stream->set_events(events);
  stream->inner_ = loop::Stream::dial(loop, there, *stream, whom);
  return stream;
}

std::unique_ptr<loop::Stream> Stream::accept(loop::Loop& loop, const Leaf& leaf, std::unique_ptr<loop::Stream> inner,
                                             std::string early, loop::StreamEvents& events) {
  std::unique_ptr<Stream> stream(new Stream(loop, leaf.connection(), std::move(early)));
  stream->set_events(events);
  stream->inner_ = std::move(inner);
  stream->inner_->set_events(*stream);
  stream->iteration_end_.ask();
  return stream;
}

loop::DialFailure Stream::dial_failure() const { return has_failed() ? codec_.failure() : inner_->dial_failure(); }

// Reading.

void Stream::on_read(std::string_view bytes) {
  if (directions_.gone() || directions_.input_ended()) return;
  codec_.offer(bytes);
  connected_ ? read() : shake_hands();
}

void Stream::shake_hands() {
  if (!loop::ExpensiveWork::may_begin(loop_)) {
    codec_.keep();
    return take_breath();
  }
  inner_->read_on();
  const auto step = handshake_step();
  deliver();
  codec_.keep();
  if (step == Codec::Step::needs_more) return;
  if (step == Codec::Step::failed) return gone();
  connected_ = true;
  if (!directions_.reading()) inner_->read_off();
  more_ = true;
  iteration_end_.ask();
  events_->on_connected();
}

Codec::Step Stream::handshake_step() {
  const loop::ExpensiveWork work(loop_);
  return codec_.shake_hands();
}

/// Reports one event only, because this stream may be destroyed in it; the rest comes at the end of the iteration.
void Stream::read() {
  std::array<char, kOneRead> room;
  const auto [size, next] = codec_.decrypt(room);
  deliver();
  codec_.keep();
  const bool chatters = next == Codec::Next::chatter;
  const bool hungry = next == Codec::Next::needs_more && !inner_ended_;
  more_ = !hungry;
  if (chatters) take_breath();
  if (size > 0 && more_ && !chatters) iteration_end_.ask();
  if (size > 0) return events_->on_read({room.data(), size});
  if (hungry || chatters) return;
  next == Codec::Next::end ? ended() : gone();
}

/// Leaves the rest for the next iteration; nothing more is read from the peer until then.
void Stream::take_breath() {
  inner_->read_off();
  breath_.start(loop_.now());
}

void Stream::breathe() {
  if (!connected_) {
    codec_.offer_kept();
    return shake_hands();
  }
  if (!directions_.reading()) return;
  inner_->read_on();
  end_iteration();
}

void Stream::ended() {
  directions_.end_input();
  more_ = false;
  if (!directions_.half_open()) return gone();
  events_->on_end();
}

void Stream::gone() {
  if (!directions_.go()) return;
  more_ = false;
  iteration_end_.cancel();
  breath_.stop();
  inner_->read_off();
  events_->on_gone();
}

void Stream::on_end() { inner_has_ended(); }

void Stream::on_gone() {
  if (directions_.input_ended()) return gone();
  inner_has_ended();
}

/// After close_notify this is expected. Before it the connection was cut, which is reported after the data that came
/// complete.
void Stream::inner_has_ended() {
  inner_ended_ = true;
  if (directions_.input_ended() || directions_.gone()) return;
  if (!connected_ && inner_->dial_failure() == loop::DialFailure::none) codec_.note_cut_handshake();
  if (!connected_ || !directions_.reading() || !more_) return gone();
}

void Stream::read_on() {
  if (!directions_.start_reading()) return;
  inner_->read_on();
  more_ = more_ || inner_ended_ || codec_.holds_bytes();
  if (more_) iteration_end_.ask();
}

void Stream::read_off() {
  if (directions_.stop_reading() && connected_) inner_->read_off();
}

void Stream::keep_half_open() {
  directions_.keep_half_open();
  inner_->keep_half_open();
}

// Writing.

void Stream::on_drained() {
  if (connected_ && !directions_.gone()) events_->on_drained();
}

void Stream::touch() {
  if (out_.size() >= kSendAtOnce) send({});
  iteration_end_.ask();
}

bool Stream::send(std::string_view bytes) {
  if (directions_.gone()) return true;
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
  if (!directions_.output_ended() && !codec_.encrypt(bytes)) iteration_end_.ask();
}

bool Stream::deliver() {
  std::string& sealed = codec_.sealed();
  if (sealed.empty()) return inner_->queued() == 0;
  const bool all = inner_->send(sealed);
  sealed.clear();
  if (!directions_.half_open() && sealed.capacity() > kKeptCapacity) sealed.shrink_to_fit();
  return all;
}

void Stream::end_writing() {
  say_goodbye();
  inner_->end_writing();
}

void Stream::say_goodbye() {
  if (directions_.gone() || !connected_ || directions_.output_ended()) return;
  seal(out_);
  out_.clear();
  codec_.say_goodbye();
  directions_.end_output();
  deliver();
}

void Stream::end_iteration() {
  if (!connected_ && codec_.serves() && !directions_.gone()) {
    codec_.offer_kept();
    return shake_hands();
  }
  if (connected_ && has_failed()) return gone();
  if (connected_ && !out_.empty()) send({});
  if (connected_ && directions_.reading() && more_) {
    codec_.offer_kept();
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
