// SPDX-License-Identifier: Apache-2.0
// OpenSSL between two BIOs in memory.
#include "support/tls_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <sstream>
#include <utility>

#include "support/tls_server.h"

namespace penstock::test {

namespace {

constexpr std::chrono::seconds kTlsPatience{20};

bool is_address(const std::string& host) {
  in6_addr room;
  return inet_pton(AF_INET, host.c_str(), &room) == 1 || inet_pton(AF_INET6, host.c_str(), &room) == 1;
}

/// The ALPN wire form: each name after its length.
std::string wire_form(const std::string& protocols) {
  std::string out;
  std::istringstream all(protocols);
  for (std::string one; std::getline(all, one, ',');) out += static_cast<char>(one.size()) + one;
  return out;
}

/// The SSL_CTX for one version range and one CA; shared by the thousands of connections of one test.
std::shared_ptr<SSL_CTX> options_of(const Shaking& how) {
  static thread_local std::pair<std::string, std::shared_ptr<SSL_CTX>> last;
  const std::string key = how.ca + '|' + std::to_string(how.least) + '|' + std::to_string(how.most);
  if (last.first == key) return last.second;
  std::shared_ptr<SSL_CTX> made(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  if (how.least < 12) SSL_CTX_set_security_level(made.get(), 0);
  SSL_CTX_set_min_proto_version(made.get(), tls_version(how.least));
  SSL_CTX_set_max_proto_version(made.get(), tls_version(how.most));
  SSL_CTX_set_options(made.get(), SSL_OP_ALLOW_UNSAFE_LEGACY_RENEGOTIATION);
  const bool trusts = how.ca.empty() || SSL_CTX_load_verify_file(made.get(), how.ca.c_str()) == 1;
  EXPECT_TRUE(trusts) << how.ca;
  last = {key, made};
  return made;
}

void expect_host(SSL* ssl, const Shaking& how) {
  SSL_set_verify(ssl, how.looks_later ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  if (is_address(how.host)) {
    EXPECT_EQ(X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), how.host.c_str()), 1);
  } else if (!how.host.empty()) {
    SSL_set1_host(ssl, how.host.c_str());
  }
  const std::string name = !how.sni.empty() ? how.sni : is_address(how.host) ? "" : how.host;
  if (how.says_sni && !name.empty()) SSL_set_tlsext_host_name(ssl, name.c_str());
}

}  // namespace

TlsClient::TlsClient(const Shaking& how) : ssl_(SSL_new(options_of(how).get())) {
  SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_connect_state(ssl_);
  expect_host(ssl_, how);
  const std::string protocols = wire_form(how.alpn);
  if (!protocols.empty()) {
    SSL_set_alpn_protos(ssl_, reinterpret_cast<const unsigned char*>(protocols.data()),
                        static_cast<unsigned int>(protocols.size()));
  }
  if (how.resumes) SSL_set_session(ssl_, how.resumes.get());
}

TlsClient::~TlsClient() { SSL_free(ssl_); }

void TlsClient::put_in(std::string_view encrypted) {
  if (!encrypted.empty()) BIO_write(SSL_get_rbio(ssl_), encrypted.data(), static_cast<int>(encrypted.size()));
}

void TlsClient::put_end() { BIO_set_mem_eof_return(SSL_get_rbio(ssl_), 0); }

std::string TlsClient::take_out() {
  char* bytes = nullptr;
  BIO* const out = SSL_get_wbio(ssl_);
  const long size = BIO_get_mem_data(out, &bytes);
  std::string taken(bytes, static_cast<std::size_t>(size));
  BIO_reset(out);
  return taken;
}

void TlsClient::note_words() {
  if (const unsigned long error = ERR_peek_error(); error != 0 && words_.empty()) {
    const char* why = ERR_reason_error_string(error);
    words_ = why ? why : "?";
  }
  ERR_clear_error();
}

TlsClient::State TlsClient::shake() {
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl_);
  if (done == 1) return State::done;
  if (SSL_get_error(ssl_, done) == SSL_ERROR_WANT_READ) return State::under_way;
  note_words();
  return State::failed;
}

void TlsClient::write(std::string_view text) {
  EXPECT_EQ(SSL_write(ssl_, text.data(), static_cast<int>(text.size())), static_cast<int>(text.size()));
}

std::string TlsClient::version() const { return SSL_get_version(ssl_); }

bool TlsClient::resumed() const { return SSL_session_reused(ssl_) == 1; }

std::string TlsClient::alpn() const {
  const unsigned char* name = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl_, &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

std::string TlsClient::issuer() const {
  char name[256] = "";
  if (const X509* shown = SSL_get0_peer_certificate(ssl_)) {
    X509_NAME_get_text_by_NID(X509_get_issuer_name(shown), NID_commonName, name, sizeof name);
  }
  return name;
}

std::string TlsClient::subject() const {
  const X509* shown = SSL_get0_peer_certificate(ssl_);
  const int place = shown ? X509_get_ext_by_NID(shown, NID_subject_alt_name, -1) : -1;
  if (place < 0) return {};
  BIO* text = BIO_new(BIO_s_mem());
  X509V3_EXT_print(text, X509_get_ext(shown, place), 0, 0);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(text, &bytes);
  std::string names(bytes, static_cast<std::size_t>(size));
  BIO_free(text);
  return names;
}

std::int64_t TlsClient::ends() const {
  const X509* const shown = SSL_get0_peer_certificate(ssl_);
  std::tm when{};
  if (shown) ASN1_TIME_to_tm(X509_get0_notAfter(shown), &when);
  return shown ? timegm(&when) : 0;
}

std::shared_ptr<SSL_SESSION> TlsClient::session() const { return {SSL_get1_session(ssl_), &SSL_SESSION_free}; }

// TLS on a socket.

bool TlsClientLayer::await(short what) {
  pollfd asked{.fd = fd_, .events = what, .revents = 0};
  return ::poll(&asked, 1, static_cast<int>(std::chrono::milliseconds(kTlsPatience).count())) > 0;
}

bool TlsClientLayer::flush() {
  to_say_ += client_.take_out();
  while (!to_say_.empty()) {
    const auto count = ::send(fd_, to_say_.data(), to_say_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    to_say_.erase(0, static_cast<std::size_t>(count));
  }
  return true;
}

ssize_t TlsClientLayer::hear() {
  char bytes[64 * 1024];
  const auto count = ::recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
  if (count > 0) client_.put_in({bytes, static_cast<std::size_t>(count)});
  return count;
}

bool TlsClientLayer::shake() {
  for (;;) {
    const auto state = client_.shake();
    while (!flush()) {
      if (errno != EAGAIN || !await(POLLOUT)) return false;
    }
    if (state != TlsClient::State::under_way) return state == TlsClient::State::done;
    if (!await(POLLIN)) return false;
    const auto count = hear();
    if (count == 0) client_.put_end();
    if (count < 0 && errno != EAGAIN && errno != EINTR) return false;
  }
}

ssize_t TlsClientLayer::send(const char* bytes, std::size_t size) {
  const std::lock_guard lock(mutex_);
  if (!flush()) return -1;
  EXPECT_LE(waited_, static_cast<ssize_t>(size)) << "the same bytes again";
  if (waited_ > 0) return std::exchange(waited_, 0);
  ERR_clear_error();
  constexpr std::size_t kRecord = 16 * 1024;
  const int taken = SSL_write(client_.ssl(), bytes, static_cast<int>(std::min(size, kRecord)));
  if (taken <= 0) {
    client_.note_words();
    errno = EPIPE;
    return -1;
  }
  if (flush()) return taken;
  waited_ = taken;
  return -1;
}

ssize_t TlsClientLayer::receive(char* room, std::size_t space) {
  const std::lock_guard lock(mutex_);
  for (;;) {
    std::size_t size = 0;
    int taken = 1;
    ERR_clear_error();
    while (size < space && taken > 0) {
      taken = SSL_read(client_.ssl(), room + size, static_cast<int>(space - size));
      if (taken > 0) size += static_cast<std::size_t>(taken);
    }
    const int why = taken > 0 ? SSL_ERROR_NONE : SSL_get_error(client_.ssl(), taken);
    flush();
    more_ = why != SSL_ERROR_WANT_READ;
    if (size > 0) return static_cast<ssize_t>(size);
    if (more_) return judge(why);
    const auto count = hear();
    if (count <= 0) return count;  // an end without close_notify is reported like a normal end
  }
}

/// The result when nothing could be read, by SSL_get_error()'s reason.
ssize_t TlsClientLayer::judge(int why) {
  more_ = false;
  if (why == SSL_ERROR_ZERO_RETURN) return 0;
  client_.note_words();
  errno = ECONNRESET;
  return -1;
}

void TlsClientLayer::say_goodbye() {
  const std::lock_guard lock(mutex_);
  SSL_shutdown(client_.ssl());
  ERR_clear_error();
  flush();
}

/// Sends a key update; TLS 1.3 only.
void TlsClientLayer::speak_aside() {
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(SSL_key_update(client_.ssl(), SSL_KEY_UPDATE_REQUESTED), 1);
  EXPECT_EQ(SSL_do_handshake(client_.ssl()), 1);
  flush();
}

}  // namespace penstock::test
