// SPDX-License-Identifier: Apache-2.0
// The client's side of TLS, in memory: what comes from the server is put in, what is for it is taken out, so that a
// test decides which bytes go when. And the same as a layer on a socket, for tests that only want to talk.
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

/// How a client shakes hands.
struct Shaking {
  std::string ca{};    ///< PEM: whom it trusts, and nobody else; empty: nobody at all
  std::string host{};  ///< whom it wants to meet, a name or an address
  std::string sni{};   ///< whom it says it wants; empty: `host`, if that is a name
  bool says_sni = true;
  std::string alpn = "h2,http/1.1";           ///< with commas between; empty: it offers none
  int least = 12, most = 13;                  ///< versions: 10 to 13
  bool looks_later = false;                   ///< at the certificate, when the handshake is over
  std::shared_ptr<ssl_session_st> resumes{};  ///< a session of before
};

class TlsClient {
 public:
  explicit TlsClient(const Shaking& how);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;

  /// From the server.
  void put_in(std::string_view encrypted);
  /// The server says no more.
  void put_end();
  /// Everything that is for the server so far.
  std::string take_out();

  enum class State { under_way, done, failed };
  /// As far as it goes with what was put in.
  State shake();
  /// For the server, all of it, once the handshake is done.
  void write(std::string_view text);
  ssl_st* ssl() const { return ssl_; }
  /// OpenSSL's words, once something has failed.
  const std::string& words() const { return words_; }
  void note_words();

  // Once the handshake is done:
  std::string version() const;
  std::string alpn() const;
  bool resumed() const;
  /// Who has signed the server's certificate: a common name.
  std::string issuer() const;
  /// The names and addresses that it is for: "DNS:a, IP Address:127.0.0.1".
  std::string subject() const;
  /// When it ends, in seconds since 1970.
  std::int64_t ends() const;
  std::shared_ptr<ssl_session_st> session() const;

 private:
  ssl_st* ssl_;
  std::string words_;
};

/// Over a connected socket, without blocking, by `shake()`n hands. Several threads may send and receive.
class TlsClientLayer final : public Layer {
 public:
  TlsClientLayer(TlsClient& client, int fd) : client_(client), fd_(fd) {}

  /// False: it came to nothing, or took longer than patience allows.
  bool shake();

  /// Bytes are sent when all of their record is with the kernel: nobody would look after the rest of the last one.
  /// Until then it is EAGAIN, and who tries again does so with the same bytes, as with OpenSSL.
  ssize_t send(const char* bytes, std::size_t size) override;
  ssize_t receive(char* room, std::size_t space) override;
  bool has_more() const override { return more_; }
  void say_goodbye() override;
  void speak_aside() override;
  std::string peer() const override { return client_.subject(); }
  /// What OpenSSL has for the server, without waiting. False: some of it has to.
  bool flush();

 private:
  bool await(short what);
  /// As ::recv, into the client.
  ssize_t hear();
  ssize_t judge(int why);

  TlsClient& client_;
  const int fd_;
  mutable std::mutex mutex_;
  std::string to_say_;
  ssize_t waited_ = 0;              // bytes of a record that was made, and did not go at once
  std::atomic<bool> more_ = false;  // can be had without the socket
};

}  // namespace penstock::test
