// SPDX-License-Identifier: Apache-2.0
// See easy.h. Turns off all conveniences of libcurl that a proxy must not have.
#include "transfer/easy.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "access/address.h"
#include "loop/fd_limit.h"
#include "loop/notsent_lowat.h"
#include "tls/authorities.h"
#include "tls/error_text.h"
#include "tls/openssl_peek.h"
#include "transfer/socket.h"

namespace penstock::transfer {

namespace {
constexpr long kBufferBytes = 16 * 1024;
constexpr std::size_t kTakenAtOnce = 8 * 1024;  // bytes that the kernel takes at once on an idle connection
constexpr long kKeptSeconds = 300;
constexpr long kAuthoritiesSeconds = std::chrono::seconds(tls::Authorities::kGoodFor).count();
constexpr long kNoTimeoutMs = 24L * 3600 * 1000;  // zero would mean libcurl's 300 s

/// libcurl frees the trailer list, so the list is made with libcurl's functions. In trailers libcurl does not know the
/// form "Name;".
curl_slist* copy_of(HeaderLines& lines) {
  curl_slist* list = nullptr;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string line = lines.line(i);
    if (line.find(':') == std::string::npos) line.replace(line.size() - 1, 1, ": ");
    list = curl_slist_append(list, line.c_str());
  }
  return list;
}
}  // namespace

Easy::Easy(EasyOwner& owner, const access::DialGuard& guard, const TlsConfig& identity, const Trust& trust,
           std::chrono::seconds idle)
    : handle_(curl_easy_init()), owner_(owner), guard_(guard), trust_(trust) {
  set_fixed_options();
  set_callbacks();
  curl_easy_setopt(handle_, CURLOPT_MAXAGE_CONN, static_cast<long>(idle.count()));
  set_tls(identity);
}

Easy::~Easy() {
  curl_easy_cleanup(handle_);
  curl_slist_free_all(pins_);
}

void Easy::set_fixed_options() {
  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(handle_, option, value); };
  set(CURLOPT_PRIVATE, static_cast<void*>(this));
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_HTTP09_ALLOWED, 0L);
  set(CURLOPT_FOLLOWLOCATION, 0L);
  // Proxy variables in the environment are not meant for Penstock itself.
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NOPROXY, "*");
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_HTTP_CONTENT_DECODING, 0L);
  set(CURLOPT_HTTP_TRANSFER_DECODING, 0L);  // libcurl would read on and on while it has nothing to hand out
  set(CURLOPT_KEEP_SENDING_ON_ERROR, 0L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);
  set(CURLOPT_TCP_NODELAY, 1L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_BUFFERSIZE, kBufferBytes);
  set(CURLOPT_MAXLIFETIME_CONN, kKeptSeconds);
  set(CURLOPT_DNS_CACHE_TIMEOUT, 0L);  // of addresses that are not pinned: literal ones
  set(CURLOPT_ERRORBUFFER, said_.data());
}

void Easy::set_callbacks() {
  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(handle_, option, value); };
  set(CURLOPT_HEADERFUNCTION, header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(CURLOPT_WRITEFUNCTION, write);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(CURLOPT_READFUNCTION, read);
  set(CURLOPT_READDATA, static_cast<void*>(this));
  set(CURLOPT_TRAILERFUNCTION, trailers);
  set(CURLOPT_TRAILERDATA, static_cast<void*>(this));
  set(CURLOPT_PREREQFUNCTION, before_request);
  set(CURLOPT_PREREQDATA, static_cast<void*>(this));
  set(CURLOPT_OPENSOCKETFUNCTION, open_socket);
  set(CURLOPT_OPENSOCKETDATA, static_cast<void*>(this));
}

void Easy::set_tls(const TlsConfig& identity) {
  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(handle_, option, value); };
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_CAINFO, trust_.borrows ? nullptr : identity.ca.c_str());
  // libcurl would read all files of its built-in CA directory again for each connection.
  set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  set(CURLOPT_CA_CACHE_TIMEOUT, trust_.borrows ? 0L : kAuthoritiesSeconds);
  if (!identity.client_cert.empty()) {
    set(CURLOPT_SSLCERT, identity.client_cert.c_str());
    set(CURLOPT_SSLKEY, identity.client_key.c_str());
  }
  const auto on_ssl_ctx = [](CURL* whose, void* ssl_ctx, void*) {
    tls::harden(ssl_ctx);
    const Easy* self = nullptr;
    curl_easy_getinfo(whose, CURLINFO_PRIVATE, &self);
    const Trust& whom = self->trust_;
    if (whom.borrows) whom.authorities->lend(static_cast<ssl_ctx_st*>(ssl_ctx));
    return CURLE_OK;
  };
  set(CURLOPT_SSL_CTX_FUNCTION, static_cast<curl_ssl_ctx_callback>(on_ssl_ctx));
}

void Easy::set_method(const Request& request) {
  const bool upload = request.body != BodyKind::none;
  const curl_off_t size = request.body == BodyKind::length ? static_cast<curl_off_t>(request.length) : -1;
  curl_easy_setopt(handle_, CURLOPT_NOBODY, 0L);
  curl_easy_setopt(handle_, CURLOPT_UPLOAD, upload ? 1L : 0L);
  if (!upload) curl_easy_setopt(handle_, CURLOPT_HTTPGET, 1L);
  curl_easy_setopt(handle_, CURLOPT_INFILESIZE_LARGE, size);
  curl_easy_setopt(handle_, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (request.method == "HEAD" && !upload) curl_easy_setopt(handle_, CURLOPT_NOBODY, 1L);
}

void Easy::link_lines(bool expect_continue) {
  const auto link = [this](const char* line) { links_.push_back({.data = const_cast<char*>(line), .next = nullptr}); };
  links_.clear();
  if (!lines_.has_accept()) link("Accept:");
  // libcurl looks only at the first line of a name. An empty first Expect makes it send the later one without acting on
  // it: it neither waits for the 100 nor repeats the request after a 417.
  link("Expect:");
  for (std::size_t i = 0; i < lines_.size(); ++i) link(lines_.line(i));
  if (expect_continue) link("Expect: 100-continue");
  for (std::size_t i = 1; i < links_.size(); ++i) links_[i - 1].next = &links_[i];
  curl_easy_setopt(handle_, CURLOPT_HTTPHEADER, links_.data());
}

void Easy::prepare(Request&& request, TransferEvents& events, Pins& pins) {
  state_ = TransferState(request, events);
  use_ = Use::running;
  lines_ = std::move(request.lines);
  link_lines(request.expect_continue);
  make_room_for_head(request);
  set_method(request);
  curl_easy_setopt(handle_, CURLOPT_FORBID_REUSE, request.own_connection ? 1L : 0L);
  curl_easy_setopt(handle_, CURLOPT_FRESH_CONNECT, request.fresh_connection || request.own_connection ? 1L : 0L);
  curl_easy_setopt(handle_, CURLOPT_URL, request.origin.c_str());
  curl_easy_setopt(handle_, CURLOPT_REQUEST_TARGET, request.resource.c_str());
  const auto connect_ms = (request.connect_timeout.count() + 999) / 1000;
  curl_easy_setopt(handle_, CURLOPT_CONNECTTIMEOUT_MS, connect_ms > 0 ? static_cast<long>(connect_ms) : kNoTimeoutMs);
  pin(request.pin, pins);
}

void Easy::finish(bool well) { use_ = well && state_.leaves_handle_sound() ? Use::fit : Use::unfit; }

bool Easy::reset(Pins& pins) {
  if (!pinned_.empty()) pins.leave(std::exchange(pinned_, {}));
  state_ = TransferState();
  return std::exchange(use_, Use::unfit) == Use::fit;
}

/// libcurl 7.88 considers a request without a body sent once one upload buffer of its head has been sent after the part
/// that the kernel (over TLS: the first buffer) took at once. So the buffer must hold the whole head.
void Easy::make_room_for_head(const Request& request) {
  constexpr std::size_t kOfLibcurl = 256;  // the HTTP version, and header lines that libcurl adds
  const std::size_t head = request.method.size() + request.resource.size() + lines_.bytes_on_wire() + kOfLibcurl;
  head_at_once_ = head <= kTakenAtOnce;
  const long wanted = std::max(kBufferBytes, static_cast<long>(head));
  if (wanted != upload_room_) curl_easy_setopt(handle_, CURLOPT_UPLOAD_BUFFERSIZE, wanted);
  upload_room_ = wanted;
}

void Easy::pin(const std::string& addresses, Pins& all_pins) {
  pinned_ = addresses.substr(0, addresses.find(':', addresses.find(':') + 1));
  if (!pinned_.empty()) all_pins.use(pinned_);
  const auto left = all_pins.take_left();
  if (pinned_.empty() && left.empty() && !pins_) return;
  curl_slist_free_all(std::exchange(pins_, nullptr));
  for (const auto& name : left) pins_ = curl_slist_append(pins_, ("-" + name).c_str());
  if (!pinned_.empty()) pins_ = curl_slist_append(pins_, addresses.c_str());
  curl_easy_setopt(handle_, CURLOPT_RESOLVE, pins_);
}

void Easy::resume(int direction) {
  if (running() && state_.resume(direction)) curl_easy_pause(handle_, state_.paused());
}

void Easy::end_connection() { curl_easy_setopt(handle_, CURLOPT_FORBID_REUSE, 1L); }

void Easy::call_again() {
  curl_easy_pause(handle_, CURLPAUSE_ALL);
  curl_easy_pause(handle_, CURLPAUSE_CONT);
}

std::size_t Easy::header(char* line, std::size_t, std::size_t size, void* self) {
  auto& easy = *static_cast<Easy*>(self);
  auto& state = easy.state_;
  state.head_sent();
  state.answered();
  // After such a response libcurl would use HTTP/1.0 for later requests on this connection.
  if (std::string_view(line, size).starts_with("HTTP/1.0")) easy.end_connection();
  if (!state.events().on_line({line, size})) return 0;
  if (!easy.ends_with_head({line, size})) return size;
  state.end();
  return 0;
}

bool Easy::ends_with_head(std::string_view line) const {
  if (!state_.asks_head_with_body() || (line != "\r\n" && line != "\n")) return false;
  long status = 0;
  curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
  return status >= 200;
}

std::size_t Easy::write(char* bytes, std::size_t, std::size_t size, void* self) {
  auto& state = static_cast<Easy*>(self)->state_;
  switch (state.events().on_body({bytes, size})) {
    case TransferEvents::Taken::all: return size;
    case TransferEvents::Taken::none: state.pause(CURLPAUSE_RECV); return CURL_WRITEFUNC_PAUSE;
    case TransferEvents::Taken::stop: break;
  }
  return size + 1;
}

std::size_t Easy::read(char* room, std::size_t, std::size_t space, void* self) {
  auto& state = static_cast<Easy*>(self)->state_;
  state.head_sent();
  std::size_t size = 0;
  switch (state.events().give_body(room, space, size)) {
    case TransferEvents::Given::bytes: return size;
    case TransferEvents::Given::none: state.pause(CURLPAUSE_SEND); return CURL_READFUNC_PAUSE;
    case TransferEvents::Given::end: return 0;
    case TransferEvents::Given::stop: break;
  }
  return CURL_READFUNC_ABORT;
}

int Easy::trailers(curl_slist** list, void* self) {
  HeaderLines lines;
  static_cast<Easy*>(self)->state_.events().give_trailers(lines);
  *list = copy_of(lines);
  return CURL_TRAILERFUNC_OK;
}

int Easy::before_request(void* self, char* address, char*, int port, int local_port) {
  auto& easy = *static_cast<Easy*>(self);
  auto& state = easy.state_;
  const bool kept = !state.connected();
  // libcurl repeats a request by itself, whatever its method, if a kept connection turns out dead. That decision is not
  // libcurl's.
  if (!state.send_once()) return CURL_PREREQFUNC_ABORT;
  const auto place = access::parse_address(address);
  const bool allowed = place && easy.guard_.may_dial(*place, static_cast<std::uint16_t>(port), state.host());
  state.judged_again(allowed, kept);
  if (!allowed) return CURL_PREREQFUNC_ABORT;
  // The loop watches kept connections, but only the kernel knows what has come since the loop last looked.
  if (!easy.may_use(kept) || (kept && !easy.owner_.wake(easy, address, port, local_port))) {
    state.distrust();
    return CURL_PREREQFUNC_ABORT;
  }
  state.events().on_connected();
  state.begin_head();
  if (easy.head_at_once_) easy.owner_.writes(&easy);
  return CURL_PREREQFUNC_OK;
}

/// libcurl has checked the kept socket, but not what came over TLS.
bool Easy::may_use(bool kept) {
  if (!state_.is_secure()) return true;
  const curl_tlssessioninfo* session = nullptr;
  curl_easy_getinfo(handle_, CURLINFO_TLS_SSL_PTR, &session);
  auto& secured = state_.carrier.tls;
  secured = session && session->internals ? tls::OpensslPeek::of(session->internals) : nullptr;
  if (secured && !kept && trust_.authorities && !trust_.borrows) {
    trust_.authorities->take(static_cast<const ssl_st*>(session->internals));
  }
  return !kept || (secured && !Socket::is_disturbed(*secured));
}

curl_socket_t Easy::open_socket(void* self, curlsocktype, curl_sockaddr* to) {
  auto& easy = *static_cast<Easy*>(self);
  const curl_socket_t fd = easy.dial(*to);
  easy.state_.dialled();
  easy.owner_.opened(easy, fd);
  return fd;
}

namespace {
bool is_allowed(const access::DialGuard& guard, const curl_sockaddr& to, std::string_view host) {
  if (to.family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&to.addr);
    return guard.may_dial(access::address_of_v4(&v4->sin_addr), ntohs(v4->sin_port), host);
  }
  if (to.family != AF_INET6) return false;
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&to.addr);
  return guard.may_dial(access::address_of_v6(&v6->sin6_addr), ntohs(v6->sin6_port), host);
}
}  // namespace

curl_socket_t Easy::dial(const curl_sockaddr& to) {
  if (state_.was_sent()) return CURL_SOCKET_BAD;  // libcurl wants to repeat the request
  const bool allowed = is_allowed(guard_, to, state_.host());
  state_.judged(allowed);
  if (!allowed) return CURL_SOCKET_BAD;
  const curl_socket_t fd = socket(to.family, to.socktype | SOCK_CLOEXEC, to.protocol);
  const bool short_of = fd < 0 ? errno == EMFILE || errno == ENFILE : fd >= loop::ceiling_of_dials();
  state_.found_descriptor(!short_of);
  if (fd >= 0 && short_of) ::close(fd);
  if (fd < 0 || short_of) return CURL_SOCKET_BAD;
  loop::limit_unsent(fd);
  return fd;
}

bool Easy::answered_without_body() const {
  long status = 0;
  curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
  return state_.has_no_body(status);
}

std::string Easy::words(Failure why, CURLcode code) const {
  if (why == Failure::none) return {};
  if (why == Failure::tls) return tls::failed_handshake(said_.data());
  if (why == Failure::certificate) {
    long verdict = 0;
    curl_easy_getinfo(handle_, CURLINFO_SSL_VERIFYRESULT, &verdict);
    return tls::wrong_certificate(verdict);
  }
  if (code == CURLE_SSL_CACERT_BADFILE) return "the certificates of the authorities cannot be read (tls.ca)";
  if (code == CURLE_SSL_CERTPROBLEM) return "the client certificate cannot be read (tls.clientCert, tls.clientKey)";
  return curl_easy_strerror(code);
}

Result Easy::result(CURLcode code) const {
  long error = 0;
  curl_easy_getinfo(handle_, CURLINFO_OS_ERRNO, &error);
  const Failure why = state_.failure(code, error, said_.data());
  const auto& secured = state_.carrier.tls;
  return {.failure = why, .details = words(why, code), .without_goodbye = secured && !secured->has_said_goodbye()};
}

}  // namespace penstock::transfer
