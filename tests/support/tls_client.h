// SPDX-License-Identifier: Apache-2.0
// The client side of TLS, in memory: the test puts in the server's bytes and takes out the bytes for the server, so
// that it decides which bytes go when. Also the same as a layer on a socket, for tests that only want to talk.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "support/layer.h"

struct ssl_st;
struct ssl_session_st;

namespace penstock::test {

/// How a client performs the handshake.
struct Shaking {
  std::string ca{};    ///< PEM file of the only CAs that it trusts; empty: it trusts none
  std::string host{};  ///< the name or address that the certificate must be for
  std::string sni{};   ///< the SNI that it sends; empty: `host`, if that is a name
  bool says_sni = true;
  std::string alpn = "h2,http/1.1";           ///< separated by commas; empty: it offers none
  int least = 12, most = 13;                  ///< TLS versions: 10 to 13
  bool looks_later = false;                   ///< checks the certificate only after the handshake
  std::shared_ptr<ssl_session_st> resumes{};  ///< an earlier session
};

class TlsClient {
 public:
  explicit TlsClient(const Shaking& how);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;

  /// Bytes from the server.
  void put_in(std::string_view encrypted);
  /// The server's stream has ended.
  void put_end();
  /// Takes all pending bytes for the server.
  std::string take_out();

  enum class State { under_way, done, failed };
  /// Goes on with the handshake as far as the bytes put in allow.
  State shake();
  /// Encrypts all of `text` for the server; only after the handshake.
  void write(std::string_view text);
  ssl_st* ssl() const { return ssl_; }
  /// OpenSSL's error text, once something has failed.
  const std::string& words() const { return words_; }
  void note_words();

  // Only after the handshake:
  std::string version() const;
  std::string alpn() const;
  bool resumed() const;
  /// The issuer of the server's certificate: a common name.
  std::string issuer() const;
  /// The names and addresses in the server's certificate: "DNS:a, IP Address:127.0.0.1".
  std::string subject() const;
  /// When the server's certificate expires, in seconds since 1970.
  std::int64_t ends() const;
  std::shared_ptr<ssl_session_st> session() const;

 private:
  ssl_st* ssl_;
  std::string words_;
};

/// TLS over a connected socket; shake() comes first. send() and receive() do not block; several threads may call them.
class TlsClientLayer final : public Layer {
 public:
  TlsClientLayer(TlsClient& client, int fd) : client_(client), fd_(fd) {}

  /// False: the handshake failed, or took longer than kTlsPatience.
  bool shake();

  /// Bytes count as sent when their whole record is with the kernel, since nothing would flush the rest of the last
  /// record. Until then send() fails with EAGAIN, and the caller retries with the same bytes, as with OpenSSL.
  ssize_t send(const char* bytes, std::size_t size) override;
  ssize_t receive(char* room, std::size_t space) override;
  bool has_more() const override { return more_; }
  void say_goodbye() override;
  void speak_aside() override;
  std::string peer() const override { return client_.subject(); }
  /// Sends what OpenSSL has for the server, without waiting. False: some of it could not be sent yet.
  bool flush();

 private:
  bool await(short what);
  /// Reads from the socket into the client; like ::recv.
  ssize_t hear();
  ssize_t judge(int why);

  TlsClient& client_;
  const int fd_;
  mutable std::mutex mutex_;
  std::string to_say_;
  ssize_t waited_ = 0;              // bytes of a record that is encrypted but was not sent at once
  std::atomic<bool> more_ = false;  // bytes can be had without reading the socket
};

}  // namespace penstock::test
