// SPDX-License-Identifier: Apache-2.0
// libcurl looks at the socket of a kept connection only, and there a ticket, the end and an answer that nobody asked
// for look alike. OpenSSL can tell them apart; it is lent a way to the socket for that, as libcurl's own works only
// inside libcurl.
#include "tls/connection.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <cerrno>

namespace penstock::tls {

namespace {
bool is_quiet(int fd) {
  char byte = 0;
  return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

/// Where an SSL keeps what is attached to it, and whether a good-bye has come.
struct Places {
  int attached = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  int goodbye = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
};
const Places& places() {
  static const Places ours;
  return ours;
}

/// OpenSSL's own note of it is gone once libcurl has closed the connection.
void note_goodbye(const SSL* ssl, int what, int alert) {
  if (what != SSL_CB_READ_ALERT || (alert & 0xff) != SSL_AD_CLOSE_NOTIFY) return;
  auto* said = const_cast<SSL*>(ssl);
  SSL_set_ex_data(said, places().goodbye, said);
}

/// Our own way to the socket, and nobody told of tickets, for as long as this lives.
class Lent {
 public:
  Lent(SSL* ssl, int fd)
      : ssl_(ssl),
        in_(SSL_get_rbio(ssl)),
        out_(SSL_get_wbio(ssl)),
        on_session_(SSL_CTX_sess_get_new_cb(SSL_get_SSL_CTX(ssl))) {
    BIO_up_ref(in_);
    BIO_up_ref(out_);
    BIO* own = BIO_new_socket(fd, BIO_NOCLOSE);
    BIO_up_ref(own);
    SSL_set0_rbio(ssl_, own);
    SSL_set0_wbio(ssl_, own);
    SSL_CTX_sess_set_new_cb(SSL_get_SSL_CTX(ssl_), nullptr);
  }
  ~Lent() {
    SSL_CTX_sess_set_new_cb(SSL_get_SSL_CTX(ssl_), on_session_);
    SSL_set0_rbio(ssl_, in_);
    SSL_set0_wbio(ssl_, out_);
  }
  Lent(const Lent&) = delete;

 private:
  SSL* const ssl_;
  BIO* const in_;
  BIO* const out_;
  int (*const on_session_)(SSL*, SSL_SESSION*);
};
}  // namespace

void harden(void* ssl_ctx) {
  SSL_CTX_set_keylog_callback(static_cast<SSL_CTX*>(ssl_ctx), nullptr);
  SSL_CTX_clear_options(static_cast<SSL_CTX*>(ssl_ctx), SSL_OP_IGNORE_UNEXPECTED_EOF);
}

Kept keep(void* ssl) {
  if (!ssl) return nothing();
  SSL_up_ref(static_cast<SSL*>(ssl));
  SSL_set_info_callback(static_cast<SSL*>(ssl), note_goodbye);
  return {ssl, [](void* kept) { SSL_free(static_cast<SSL*>(kept)); }};
}

bool has_said_goodbye(void* ssl) { return SSL_get_ex_data(static_cast<SSL*>(ssl), places().goodbye) != nullptr; }

void attach(void* ssl, void* what) { SSL_set_ex_data(static_cast<SSL*>(ssl), places().attached, what); }
void* attached(void* ssl) { return SSL_get_ex_data(static_cast<SSL*>(ssl), places().attached); }

bool holds_bytes(void* ssl) { return SSL_has_pending(static_cast<SSL*>(ssl)) == 1; }

bool speaks_unasked(void* ssl, int fd) {
  SSL* const connection = static_cast<SSL*>(ssl);
  if (!holds_bytes(ssl) && is_quiet(fd)) return false;
  const Lent lent(connection, fd);
  ERR_clear_error();
  char byte = 0;
  const int count = SSL_peek(connection, &byte, 1);
  const bool silent = count <= 0 && SSL_get_error(connection, count) == SSL_ERROR_WANT_READ;
  ERR_clear_error();
  return !silent || SSL_in_init(connection) == 1;  // a new handshake is more than nothing
}

}  // namespace penstock::tls
