// SPDX-License-Identifier: Apache-2.0
// The steps of a TLS takeover: hello, pause, handshake slot, handshake. The leaf certificate is requested when the
// CONNECT comes, and is mostly ready by the client's hello. The hello shows, before anything is answered, whether the
// client speaks only HTTP/2.
#include "proxy/intercept/tls_takeover.h"

#include <utility>

#include "http/grammar.h"
#include "proxy/exchange/address_check.h"
#include "tls/tls_stream.h"

namespace penstock::proxy {

namespace {
/// The longest wait for a leaf certificate and a slot, which are ours to give; timeouts.header is the client's time.
constexpr std::int64_t kLongestWait = 30'000'000;
/// A longer hello, record headers included, is left to OpenSSL to reject.
constexpr std::size_t kLongestHello = 64 * 1024;

bool speaks_h2_alone(std::string_view alpn) {
  bool h2 = false, http1 = false;
  http::each_member(alpn, [&](std::string_view name) {
    h2 = h2 || name == "h2";
    http1 = http1 || name.starts_with("http/1.");
  });
  return h2 && !http1;
}
}  // namespace

std::string rejection(const std::string& host, const std::string& words) {
  return "client rejected our certificate for " + host + ": " + words;
}

std::string departure(const std::string& host) {
  return "client left when it had our certificate for " + host + ", without a word: it may not trust it";
}

TlsTakeover::TlsTakeover(const Services& services, std::string host, CertificateRejections::Client client,
                         TlsTakeoverEvents& events)
    : services_(services),
      interception_(*services.interception),
      host_(std::move(host)),
      client_(std::move(client)),
      events_(events),
      whole_(services.loop, [this] { end_hello(); }),
      pause_(services.loop, [this] { take_slot(); }),
      deadline_(services.loop, [this] { out_of_time(); }) {
  lookup_ = interception_.leaves.ask(host_, [this](const auto& leaf) { leaf_came(leaf); });
}

void TlsTakeover::leaf_came(const std::shared_ptr<const tls::Leaf>& leaf) {
  lookup_.reset();
  leaf_ = leaf;
  if (phase_ == Phase::waiting) take_slot();
}

void TlsTakeover::begin(std::unique_ptr<loop::Stream> stream, std::string early) {
  stream_ = std::move(stream);
  early_ = std::move(early);
  stream_->set_events(*this);
  began_ = services_.loop.now();
  if (services_.config.intercept.h2_only != H2Only::tunnel) return queue_up();
  phase_ = Phase::hello;
  const auto limit = services_.config.connection.header;
  if (limit > Duration{0}) deadline_.start(began_ + limit.count());
  if (is_whole(early_)) return end_hello();
  stream_->read_on();
}

void TlsTakeover::on_read(std::string_view bytes) {
  early_.append(bytes);
  if (!is_whole(bytes)) return;
  stream_->read_off();
  whole_.ask();
}

/// True if these bytes complete the hello, or show that it is none.
bool TlsTakeover::is_whole(std::string_view bytes) { return !hello_.feed(bytes) || early_.size() >= kLongestHello; }

void TlsTakeover::end_hello() {
  took_ = services_.loop.now() - began_;
  deadline_.stop();
  if (!speaks_h2_alone(hello_.alpn())) return queue_up();
  interception_.tell_of_h2(host_);
  events_.on_h2_only(std::move(stream_), std::move(early_));
}

void TlsTakeover::queue_up() {
  phase_ = Phase::waiting;
  stream_->read_off();
  const auto now = services_.loop.now(), begin = interception_.rejections.pause_ends(client_, host_, now);
  deadline_.start(begin + kLongestWait);
  begin > now ? pause_.start(begin) : take_slot();
}

/// A client that keeps rejecting our certificate pauses first, then queues with its other handshakes to that host.
void TlsTakeover::take_slot() {
  if (lookup_ || pause_.running() || slot_) return;
  auto& rejections = interception_.rejections;
  if (!place_) place_ = rejections.queue_up(client_, host_);
  const auto now = services_.loop.now(), begin = rejections.ask_slot(client_, host_, place_.get(), now);
  if (begin > now) return pause_.start(begin);
  place_.reset();
  slot_ = std::make_unique<InterceptionService::HandshakeSlot>(interception_, [this] { shake_hands(); });
}

void TlsTakeover::shake_hands() {
  if (!leaf_) return fail(Handshake::impossible, without_leaf());
  phase_ = Phase::handshake;
  const auto limit = services_.config.connection.header;
  limit > Duration{0} ? deadline_.start(services_.loop.now() + limit.count() - took_) : deadline_.stop();
  stream_ = tls::Stream::accept(services_.loop, *leaf_, std::move(stream_), std::exchange(early_, {}), *this);
}

void TlsTakeover::on_connected() { events_.on_intercepted(std::move(stream_)); }

void TlsTakeover::on_gone() {
  const bool shaking = phase_ == Phase::handshake;
  const auto words = shaking ? stream_->failure_words() : "it left before the TLS handshake";
  switch (shaking ? stream_->dial_failure() : loop::DialFailure::none) {
    case loop::DialFailure::certificate: return fail(Handshake::rejected, rejection(host_, words));
    case loop::DialFailure::abandoned: return fail(Handshake::left, departure(host_));
    default: return fail(Handshake::failed, "no TLS with the client for " + host_ + ": " + words);
  }
}

std::string TlsTakeover::without_leaf() const {
  return "there is no certificate for " + host_ +
         (interception_.leaves.authority_has_expired() ? ": the authority has expired (intercept.ca)" : "");
}

void TlsTakeover::out_of_time() {
  if (phase_ == Phase::waiting)
    return fail(Handshake::overdue, "too many TLS handshakes wait: it has had no turn within 30s");
  const auto limit = services_.config.connection.header;
  fail(Handshake::timed_out, "the TLS handshake took longer than " + seconds(limit) + " (timeouts.header)");
}

/// Closes with lingering: an alert of ours may be on its way, which tells the client more than a mere close.
void TlsTakeover::fail(Handshake result, const std::string& details) {
  deadline_.stop();
  loop::Stream::close_lingering(std::move(stream_));
  events_.on_not_intercepted(result, details);
}

}  // namespace penstock::proxy
