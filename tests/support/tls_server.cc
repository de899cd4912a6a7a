// SPDX-License-Identifier: Apache-2.0
// OpenSSL over a socket that another object owns.
#include "support/tls_server.h"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>
#include <mutex>
#include <utility>

namespace penstock::test {

namespace {

/// OpenSSL writes without MSG_NOSIGNAL.
void block_sigpipe() {
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
}

/// Reads until the peer closes: a close with unread bytes sends a reset, in which the alert would be lost.
void await_end(int fd) {
  ::shutdown(fd, SHUT_WR);
  char ignored[1024];
  while (::recv(fd, ignored, sizeof ignored, 0) > 0) {
  }
}

std::string common_name(const X509* certificate) {
  char name[256] = "";
  if (certificate) X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof name);
  return name;
}

class TlsLayer final : public Layer {
 public:
  TlsLayer(SSL_CTX* options, int fd) : ssl_(SSL_new(options)) { SSL_set_fd(ssl_, fd); }
  ~TlsLayer() override { SSL_free(ssl_); }
  TlsLayer(const TlsLayer&) = delete;

  Handshake shake() {
    Handshake seen;
    SSL_set_app_data(ssl_, &seen);
    seen.whole = sound_ = SSL_accept(ssl_) == 1;
    SSL_set_app_data(ssl_, nullptr);
    ERR_clear_error();
    const char* sni = SSL_get_servername(ssl_, TLSEXT_NAMETYPE_host_name);
    seen.sni = sni ? sni : "";
    seen.version = SSL_get_version(ssl_);
    seen.resumed = SSL_session_reused(ssl_) == 1;
    seen.peer = peer();
    return seen;
  }

  ssize_t send(const char* bytes, std::size_t size) override {
    return judge(SSL_write(ssl_, bytes, static_cast<int>(size)));
  }
  ssize_t receive(char* room, std::size_t space) override {
    return judge(SSL_read(ssl_, room, static_cast<int>(space)));
  }
  bool has_more() const override { return SSL_pending(ssl_) > 0; }
  void say_goodbye() override {
    if (std::exchange(sound_, false)) SSL_shutdown(ssl_);
    ERR_clear_error();
  }
  void speak_aside() override {
    EXPECT_EQ(SSL_new_session_ticket(ssl_), 1) << "of TLS 1.3 only";
    EXPECT_EQ(SSL_do_handshake(ssl_), 1);
  }
  std::string peer() const override { return common_name(SSL_get0_peer_certificate(ssl_)); }

 private:
  ssize_t judge(int count) {
    if (count > 0) return count;
    const int why = SSL_get_error(ssl_, count);
    const bool cut = ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
    ERR_clear_error();
    if (why == SSL_ERROR_ZERO_RETURN || cut) return 0;
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
      errno = EAGAIN;
    } else {
      sound_ = false;
      errno = ECONNRESET;
    }
    return -1;
  }

  SSL* ssl_;
  bool sound_ = false;
};

/// Records what the client offered, and selects the protocol that the server speaks.
int choose_alpn(SSL* ssl, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                unsigned int offered_size, void* speaks) {
  const std::string& wanted = *static_cast<const std::string*>(speaks);
  auto* seen = static_cast<Handshake*>(SSL_get_app_data(ssl));
  int verdict = SSL_TLSEXT_ERR_NOACK;
  for (unsigned int at = 0; at < offered_size; at += 1u + offered[at]) {
    const std::string name(reinterpret_cast<const char*>(offered) + at + 1, offered[at]);
    if (seen) seen->offered.append(seen->offered.empty() ? "" : ",").append(name);
    if (wanted.empty() || name != wanted) continue;
    *chosen = offered + at + 1;
    *size = offered[at];
    verdict = SSL_TLSEXT_ERR_OK;
  }
  return verdict;
}

}  // namespace

int tls_version(int number) {
  constexpr int kVersions[] = {TLS1_VERSION, TLS1_1_VERSION, TLS1_2_VERSION, TLS1_3_VERSION};
  return kVersions[number - 10];
}

struct TlsServer::Impl {
  explicit Impl(TlsOptions how) : options(std::move(how)), ssl(SSL_CTX_new(TLS_server_method())) {}
  ~Impl() { SSL_CTX_free(ssl); }

  const TlsOptions options;
  SSL_CTX* ssl;
  mutable std::mutex mutex;
  std::vector<Handshake> handshakes;
};

TlsServer::TlsServer(const Issued& shown, TlsOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {
  SSL_CTX* ssl = impl_->ssl;
  const auto& how = impl_->options;
  if (how.most < 12) SSL_CTX_set_security_level(ssl, 0);  // OpenSSL 3 speaks older versions at security level 0 only
  SSL_CTX_set_min_proto_version(ssl, tls_version(how.least));
  if (!how.ciphers.empty()) {
    EXPECT_EQ(SSL_CTX_set_cipher_list(ssl, how.ciphers.c_str()), 1);
  }
  if (!how.groups.empty()) {
    EXPECT_EQ(SSL_CTX_set1_groups_list(ssl, how.groups.c_str()), 1);
  }
  SSL_CTX_set_dh_auto(ssl, 1);
  SSL_CTX_set_max_proto_version(ssl, tls_version(how.most));
  SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_num_tickets(ssl, how.tickets);
  constexpr unsigned char kOurs[] = "tests";
  SSL_CTX_set_session_id_context(ssl, kOurs, sizeof kOurs - 1);
  EXPECT_EQ(SSL_CTX_use_certificate_chain_file(ssl, shown.certificate.c_str()), 1);
  EXPECT_EQ(SSL_CTX_use_PrivateKey_file(ssl, shown.key.c_str(), SSL_FILETYPE_PEM), 1);
  SSL_CTX_set_alpn_select_cb(ssl, choose_alpn, const_cast<std::string*>(&how.alpn));
  if (how.client_ca.empty()) return;
  EXPECT_EQ(SSL_CTX_load_verify_file(ssl, how.client_ca.c_str()), 1);
  SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
}

TlsServer::~TlsServer() = default;

Wrap TlsServer::wrap() {
  return [in = impl_.get()](int fd) -> std::unique_ptr<Layer> {
    block_sigpipe();
    auto layer = std::make_unique<TlsLayer>(in->ssl, fd);
    const Handshake seen = layer->shake();
    {
      const std::lock_guard lock(in->mutex);
      in->handshakes.push_back(seen);
    }
    if (!seen.whole) await_end(fd);
    return seen.whole ? std::move(layer) : nullptr;
  };
}

std::vector<Handshake> TlsServer::handshakes() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->handshakes;
}

}  // namespace penstock::test
