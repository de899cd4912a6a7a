// SPDX-License-Identifier: Apache-2.0
// See openssl_peek.h. libcurl checks only the socket of a kept connection, where a ticket, the end and an unasked
// response look alike. OpenSSL can tell them apart, but libcurl's BIO works only inside libcurl, so OpenSSL gets
// another BIO for the check.
#include "tls/openssl_peek.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <cerrno>

#include "tls/bounds.h"

namespace penstock::tls {

namespace {
bool is_quiet(int fd) {
  char byte = 0;
  return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

/// While this lives, `ssl` uses our own socket BIO, and new tickets are not reported to libcurl.
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
  bound_costs(static_cast<SSL_CTX*>(ssl_ctx));
  SSL_CTX_set_keylog_callback(static_cast<SSL_CTX*>(ssl_ctx), nullptr);
  SSL_CTX_clear_options(static_cast<SSL_CTX*>(ssl_ctx), SSL_OP_IGNORE_UNEXPECTED_EOF);
}

/// How OpenSSL's call-backs find the OpensslPeek: a shared pointer in the SSL's extra data.
struct OpensslPeek::Notes {
  using Place = std::shared_ptr<OpensslPeek>;

  static Place* find(const SSL* ssl) { return static_cast<Place*>(SSL_get_ex_data(ssl, index())); }
  static int index() {
    static const int ours = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, ssl_freed);
    return ours;
  }
  static void ssl_freed(void*, void* place, CRYPTO_EX_DATA*, int, long, void*) {
    const std::unique_ptr<Place> last(static_cast<Place*>(place));
    if (last) (*last)->ssl_ = nullptr;
  }
  /// Recorded here because OpenSSL's own flag is gone once libcurl has closed the connection.
  static void note(const SSL* ssl, int what, int alert) {
    if (what == SSL_CB_READ_ALERT && (alert & 0xff) == SSL_AD_CLOSE_NOTIFY) (*find(ssl))->has_said_goodbye_ = true;
  }
};

std::shared_ptr<OpensslPeek> OpensslPeek::of(void* ssl) {
  SSL* const theirs = static_cast<SSL*>(ssl);
  if (const auto* known = Notes::find(theirs)) return *known;
  auto made = std::make_shared<OpensslPeek>();
  made->ssl_ = ssl;
  SSL_set_ex_data(theirs, Notes::index(), new Notes::Place(made));
  SSL_set_info_callback(theirs, Notes::note);
  return made;
}

bool OpensslPeek::holds_bytes() const { return ssl_ && SSL_has_pending(static_cast<SSL*>(ssl_)) == 1; }

bool OpensslPeek::speaks_unasked(int fd) const {
  if (!ssl_) return true;
  if (!holds_bytes() && is_quiet(fd)) return false;
  SSL* const ssl = static_cast<SSL*>(ssl_);
  const Lent lent(ssl, fd);
  ERR_clear_error();
  char byte = 0;
  const int count = SSL_peek(ssl, &byte, 1);
  const bool silent = count <= 0 && SSL_get_error(ssl, count) == SSL_ERROR_WANT_READ;
  ERR_clear_error();
  // A new handshake does not count as silence, nor does an endless stream of records.
  return !silent || SSL_in_init(ssl) == 1 || has_chattered(ssl);
}

}  // namespace penstock::tls
