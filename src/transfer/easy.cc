// SPDX-License-Identifier: Apache-2.0
// See easy.h. Turns off all conveniences of libcurl that a proxy must not have.
#include "transfer/easy.h"

#include <arpa/inet.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "access/address.h"
#include "loop/fd_limit.h"
#include "loop/notsent_lowat.h"
#include "tls/authorities.h"
#include "tls/error_text.h"

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

void HeaderLines::reserve(std::size_t bytes, std::size_t lines) {
  text_.reserve(bytes);
  starts_.reserve(lines);
}

void HeaderLines::add(std::string_view name, std::string_view value) {
  starts_.push_back(static_cast<std::uint32_t>(text_.size()));
  text_.append(name);
  if (value.empty()) {
    text_.push_back(';');
  } else {
    text_.append(": ").append(value);
  }
  text_.push_back('\0');
  if (name.size() == 6 && strncasecmp(name.data(), "Accept", 6) == 0) has_accept_ = true;
}

Easy::Easy(const access::DialGuard& guard_of_dials, const TlsConfig& identity, const Trust& whom,
           std::chrono::seconds idle, Opened when_opened, Woken when_woken, Writes when_writing)
    : handle(curl_easy_init()),
      guard(guard_of_dials),
      trust(whom),
      opened(std::move(when_opened)),
      woken(std::move(when_woken)),
      writes(std::move(when_writing)) {
  set_fixed_options();
  curl_easy_setopt(handle, CURLOPT_MAXAGE_CONN, static_cast<long>(idle.count()));
  set_tls(identity);
}

Easy::~Easy() {
  curl_easy_cleanup(handle);
  curl_slist_free_all(pins);
}

void Easy::set_fixed_options() {
  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(handle, option, value); };
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
  set(CURLOPT_ERRORBUFFER, said.data());
}

void Easy::set_tls(const TlsConfig& identity) {
  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(handle, option, value); };
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_CAINFO, trust.borrows ? nullptr : identity.ca.c_str());
  // libcurl would read all files of its built-in CA directory again for each connection.
  set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  set(CURLOPT_CA_CACHE_TIMEOUT, trust.borrows ? 0L : kAuthoritiesSeconds);
  if (!identity.client_cert.empty()) {
    set(CURLOPT_SSLCERT, identity.client_cert.c_str());
    set(CURLOPT_SSLKEY, identity.client_key.c_str());
  }
  const auto on_ssl_ctx = [](CURL* whose, void* ssl_ctx, void*) {
    tls::harden(ssl_ctx);
    const Easy* self = nullptr;
    curl_easy_getinfo(whose, CURLINFO_PRIVATE, &self);
    const Trust& whom = self->trust;
    if (whom.borrows) whom.authorities->lend(static_cast<ssl_ctx_st*>(ssl_ctx));
    return CURLE_OK;
  };
  set(CURLOPT_SSL_CTX_FUNCTION, static_cast<curl_ssl_ctx_callback>(on_ssl_ctx));
}

void Easy::set_method(const Request& request) {
  const bool upload = request.body != BodyKind::none;
  asks_head = request.method == "HEAD";
  const curl_off_t size = request.body == BodyKind::length ? static_cast<curl_off_t>(request.length) : -1;
  curl_easy_setopt(handle, CURLOPT_NOBODY, 0L);
  curl_easy_setopt(handle, CURLOPT_UPLOAD, upload ? 1L : 0L);
  if (!upload) curl_easy_setopt(handle, CURLOPT_HTTPGET, 1L);
  curl_easy_setopt(handle, CURLOPT_INFILESIZE_LARGE, size);
  curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  // libcurl cannot both send a body and expect none in return.
  if (asks_head && !upload) curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
  head_only = asks_head && upload;
  chunked = request.body == BodyKind::chunked;
}

void Easy::link_lines(bool expect_continue) {
  const auto link = [this](const char* line) { links.push_back({.data = const_cast<char*>(line), .next = nullptr}); };
  links.clear();
  if (!lines.has_accept()) link("Accept:");
  // libcurl looks only at the first line of a name. An empty first Expect makes it send the later one without acting on
  // it: it neither waits for the 100 nor repeats the request after a 417.
  link("Expect:");
  for (std::size_t i = 0; i < lines.size(); ++i) link(lines.line(i));
  if (expect_continue) link("Expect: 100-continue");
  for (std::size_t i = 1; i < links.size(); ++i) links[i - 1].next = &links[i];
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, links.data());
}

void Easy::prepare(Request&& request, TransferEvents& whose, Pins& all_pins) {
  events = &whose;
  sends = 0;
  sound = dials = false;
  head_on_its_way = answered = ended = dialled = denied = no_descriptors = distrusted = download_paused =
      upload_paused = false;
  secure = request.origin.starts_with("https:");
  lines = std::move(request.lines);
  host = request.host;
  link_lines(request.expect_continue);
  make_room_for_head(request);
  set_method(request);
  curl_easy_setopt(handle, CURLOPT_FORBID_REUSE, request.own_connection ? 1L : 0L);
  curl_easy_setopt(handle, CURLOPT_FRESH_CONNECT, request.fresh_connection || request.own_connection ? 1L : 0L);
  curl_easy_setopt(handle, CURLOPT_URL, request.origin.c_str());
  curl_easy_setopt(handle, CURLOPT_REQUEST_TARGET, request.resource.c_str());
  const auto connect_ms = (request.connect_timeout.count() + 999) / 1000;
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, connect_ms > 0 ? static_cast<long>(connect_ms) : kNoTimeoutMs);
  pin(request.pin, all_pins);
}

/// libcurl 7.88 considers a request without a body sent once one upload buffer of its head has been sent after the part
/// that the kernel (over TLS: the first buffer) took at once. So the buffer must hold the whole head.
void Easy::make_room_for_head(const Request& request) {
  constexpr std::size_t kOfLibcurl = 256;  // the HTTP version, and header lines that libcurl adds
  const std::size_t head = request.method.size() + request.resource.size() + lines.bytes_on_wire() + kOfLibcurl;
  head_at_once = head <= kTakenAtOnce;
  const long wanted = std::max(kBufferBytes, static_cast<long>(head));
  if (wanted != upload_room) curl_easy_setopt(handle, CURLOPT_UPLOAD_BUFFERSIZE, wanted);
  upload_room = wanted;
}

void Easy::pin(const std::string& addresses, Pins& all_pins) {
  pinned = addresses.substr(0, addresses.find(':', addresses.find(':') + 1));
  if (!pinned.empty()) all_pins.use(pinned);
  const auto left = all_pins.take_left();
  if (pinned.empty() && left.empty() && !pins) return;
  curl_slist_free_all(std::exchange(pins, nullptr));
  for (const auto& name : left) pins = curl_slist_append(pins, ("-" + name).c_str());
  if (!pinned.empty()) pins = curl_slist_append(pins, addresses.c_str());
  curl_easy_setopt(handle, CURLOPT_RESOLVE, pins);
}

void Easy::apply_pauses() {
  curl_easy_pause(handle, (download_paused ? CURLPAUSE_RECV : 0) | (upload_paused ? CURLPAUSE_SEND : 0));
}

void Easy::call_again() {
  curl_easy_pause(handle, CURLPAUSE_ALL);
  curl_easy_pause(handle, CURLPAUSE_CONT);
}

/// Reports that the head was sent. If the kernel did not take the head at once, this is known only when libcurl asks
/// for the body, or a response comes.
void Easy::head_sent() {
  if (std::exchange(head_on_its_way, false)) events->on_head_sent();
}

std::size_t Easy::header(char* line, std::size_t, std::size_t size, void* self) {
  auto* easy = static_cast<Easy*>(self);
  easy->head_sent();
  easy->answered = true;
  // After such a response libcurl would use HTTP/1.0 for later requests on this connection.
  if (std::string_view(line, size).starts_with("HTTP/1.0")) curl_easy_setopt(easy->handle, CURLOPT_FORBID_REUSE, 1L);
  if (!easy->events->on_line({line, size})) return 0;
  easy->ended = easy->ends_with_head({line, size});
  return easy->ended ? 0 : size;
}

bool Easy::ends_with_head(std::string_view line) const {
  if (!head_only || (line != "\r\n" && line != "\n")) return false;
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  return status >= 200;
}

std::size_t Easy::write(char* bytes, std::size_t, std::size_t size, void* self) {
  auto* easy = static_cast<Easy*>(self);
  switch (easy->events->on_body({bytes, size})) {
    case TransferEvents::Taken::all: return size;
    case TransferEvents::Taken::none: easy->download_paused = true; return CURL_WRITEFUNC_PAUSE;
    case TransferEvents::Taken::stop: break;
  }
  return size + 1;
}

std::size_t Easy::read(char* room, std::size_t, std::size_t space, void* self) {
  auto* easy = static_cast<Easy*>(self);
  easy->head_sent();
  std::size_t size = 0;
  switch (easy->events->give_body(room, space, size)) {
    case TransferEvents::Given::bytes: return size;
    case TransferEvents::Given::none: easy->upload_paused = true; return CURL_READFUNC_PAUSE;
    case TransferEvents::Given::end: return 0;
    case TransferEvents::Given::stop: break;
  }
  return CURL_READFUNC_ABORT;
}

int Easy::trailers(curl_slist** list, void* self) {
  HeaderLines lines;
  static_cast<Easy*>(self)->events->give_trailers(lines);
  *list = copy_of(lines);
  return CURL_TRAILERFUNC_OK;
}

int Easy::before_request(void* self, char* address, char*, int port, int local_port) {
  auto* easy = static_cast<Easy*>(self);
  // libcurl repeats a request by itself, whatever its method, if a kept connection turns out dead. That decision is not
  // libcurl's.
  const bool kept = !std::exchange(easy->dials, false);
  if (++easy->sends > 1) return CURL_PREREQFUNC_ABORT;
  const auto place = access::parse_address(address);
  easy->dialled = place && easy->guard.may_dial(*place, static_cast<std::uint16_t>(port), easy->host);
  easy->denied = !easy->dialled;
  // The address of the kept connection is no longer allowed: another may be, or a fresh attempt reports the denial.
  if (kept && easy->denied) easy->distrusted = true;
  if (easy->denied) return CURL_PREREQFUNC_ABORT;
  // The loop watches kept connections, but only the kernel knows what has come since the loop last looked.
  easy->distrusted = !easy->may_use(kept) || (kept && !easy->woken(*easy, address, port, local_port));
  if (easy->distrusted) return CURL_PREREQFUNC_ABORT;
  easy->events->on_connected();
  easy->head_on_its_way = true;
  if (easy->head_at_once) easy->writes(*easy);
  return CURL_PREREQFUNC_OK;
}

/// libcurl has checked the kept socket, but not what came over TLS.
bool Easy::may_use(bool kept) {
  if (!secure) return true;
  const curl_tlssessioninfo* session = nullptr;
  curl_easy_getinfo(handle, CURLINFO_TLS_SSL_PTR, &session);
  secured = session && session->internals ? tls::OpensslPeek::of(session->internals) : nullptr;
  if (secured && !kept && trust.authorities && !trust.borrows) {
    trust.authorities->take(static_cast<const ssl_st*>(session->internals));
  }
  return !kept || (secured && !Multi::is_disturbed(*secured));
}

curl_socket_t Easy::open_socket(void* self, curlsocktype, curl_sockaddr* to) {
  auto* easy = static_cast<Easy*>(self);
  const curl_socket_t fd = easy->dial(*to);
  easy->dials = true;
  easy->opened(*easy, fd);
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
  if (sends > 0) return CURL_SOCKET_BAD;  // libcurl wants to repeat the request
  if (!is_allowed(guard, to, host)) {
    denied = true;
    return CURL_SOCKET_BAD;
  }
  dialled = true;
  const curl_socket_t fd = socket(to.family, to.socktype | SOCK_CLOEXEC, to.protocol);
  no_descriptors = fd < 0 ? errno == EMFILE || errno == ENFILE : fd >= loop::ceiling_of_dials();
  if (fd >= 0 && no_descriptors) ::close(fd);
  if (fd < 0 || no_descriptors) return CURL_SOCKET_BAD;
  loop::limit_unsent(fd);
  return fd;
}

namespace {
Failure connect_failure(long error) {
  switch (error) {
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EADDRNOTAVAIL: return Failure::unroutable;
    case ETIMEDOUT: return Failure::connect_timeout;
    default: return Failure::refused;
  }
}

}  // namespace

Failure Easy::broken() const {
  long error = 0;
  curl_easy_getinfo(handle, CURLINFO_OS_ERRNO, &error);
  if (!answered) return secure && tls::is_alert(said.data()) ? Failure::tls : Failure::terminated;
  // Without a system or TLS error, libcurl's complaint is about the chunks.
  const bool of_tls = std::string_view(said.data()).find("SSL") != std::string_view::npos;
  return error != 0 || (secure && of_tls) ? Failure::incomplete : Failure::coding;
}

Failure Easy::failure(CURLcode code) const {
  long error = 0;
  curl_easy_getinfo(handle, CURLINFO_OS_ERRNO, &error);
  if (denied && !dialled && !answered && !distrusted) return Failure::denied;
  if (no_descriptors && sends == 0) return Failure::no_descriptors;
  switch (code) {
    case CURLE_OK: return Failure::none;
    case CURLE_ABORTED_BY_CALLBACK:
      if (distrusted) return Failure::not_sent;
      return sends > 1 && !answered ? Failure::stale_connection : Failure::stopped;
    case CURLE_COULDNT_CONNECT: return sends > 0 ? Failure::stale_connection : connect_failure(error);
    case CURLE_OPERATION_TIMEDOUT: return Failure::connect_timeout;
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_FAIL_REWIND: return Failure::terminated;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR: return broken();
    case CURLE_PARTIAL_FILE: return Failure::incomplete;
    case CURLE_BAD_CONTENT_ENCODING: return Failure::coding;
    case CURLE_OUT_OF_MEMORY: return sends > 0 && !ended ? Failure::head_too_large : Failure::internal;
    case CURLE_WRITE_ERROR: return ended ? Failure::none : Failure::stopped;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_HTTP2:
    case CURLE_UPLOAD_FAILED: return Failure::protocol;
    case CURLE_PEER_FAILED_VERIFICATION: return Failure::certificate;
    case CURLE_SSL_CONNECT_ERROR: return Failure::tls;
    default: return Failure::internal;
  }
}

bool Easy::answered_without_body() const {
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  return asks_head || status == 204 || status == 304;
}

std::string Easy::words(Failure why, CURLcode code) const {
  if (why == Failure::none) return {};
  if (why == Failure::tls) return tls::failed_handshake(said.data());
  if (why == Failure::certificate) {
    long verdict = 0;
    curl_easy_getinfo(handle, CURLINFO_SSL_VERIFYRESULT, &verdict);
    return tls::wrong_certificate(verdict);
  }
  if (code == CURLE_SSL_CACERT_BADFILE) return "the certificates of the authorities cannot be read (tls.ca)";
  if (code == CURLE_SSL_CERTPROBLEM) return "the client certificate cannot be read (tls.clientCert, tls.clientKey)";
  return curl_easy_strerror(code);
}

Result Easy::result(CURLcode code) const {
  const Failure why = failure(code);
  return {.failure = why, .details = words(why, code), .without_goodbye = secured && !secured->has_said_goodbye()};
}

}  // namespace penstock::transfer
