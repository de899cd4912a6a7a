// SPDX-License-Identifier: Apache-2.0
// One libcurl easy handle with the options that a proxy must set, and the callbacks behind them. Internal to transfer/.
#pragma once

#include <curl/curl.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/config.h"
#include "tls/openssl_peek.h"
#include "transfer/multi.h"
#include "transfer/pins.h"
#include "transfer/request.h"
#include "transfer/transfer.h"

namespace penstock::transfer {

struct Socket;

struct Easy {
  using Opened = std::function<void(Easy&, curl_socket_t)>;
  /// A kept connection is about to be used; returns whether it may be.
  using Woken = std::function<bool(Easy&, std::string_view address, int port, int local_port)>;
  /// libcurl is about to write a head small enough for the kernel to take at once: the head has been sent when libcurl
  /// returns or calls back for another transfer.
  using Writes = std::function<void(Easy&)>;
  Easy(const access::DialGuard& guard_of_dials, const TlsConfig& identity, const Trust& whom, std::chrono::seconds idle,
       Opened when_opened, Woken when_woken, Writes when_writing);
  ~Easy();
  Easy(const Easy&) = delete;
  Easy& operator=(const Easy&) = delete;

  /// Makes the handle ready for one request.
  void prepare(Request&& request, TransferEvents& whose, Pins& all_pins);
  /// Translates libcurl's result.
  Result result(CURLcode code) const;
  bool answered_without_body() const;
  /// Tells libcurl which directions are paused now.
  void apply_pauses();
  /// Makes libcurl handle this transfer soon, when nothing else would.
  void call_again();
  /// The head has been sent; reported once.
  void head_sent();
  /// Whether the handle can be used for another request: after a chunked body libcurl frames the next one wrongly.
  bool reusable() const { return !chunked; }

  CURL* handle;
  TransferEvents* events = nullptr;
  bool download_paused = false;
  bool upload_paused = false;
  bool running = false;                       // is in the multi handle
  bool sound = false;                         // has served one request without an error, and may serve another
  bool dials = false;                         // has tried an address and is not connected yet
  bool secure = false;                        // https
  std::shared_ptr<tls::OpensslPeek> secured;  // its TLS connection, until the result is known
  Socket* carrier = nullptr;                  // the kept connection in use
  curl_socket_t dialer = CURL_SOCKET_BAD;     // the socket opened last
  std::string pinned;                         // `name:port` whose addresses are pinned; empty: a literal address

 private:
  void set_fixed_options();
  void set_tls(const TlsConfig& identity);
  void set_method(const Request& request);
  void link_lines(bool expect_continue);
  void make_room_for_head(const Request& request);
  void pin(const std::string& addresses, Pins& all_pins);
  Failure failure(CURLcode code) const;
  Failure broken() const;
  std::string words(Failure why, CURLcode code) const;
  bool may_use(bool kept);
  static std::size_t header(char* line, std::size_t one, std::size_t size, void* self);
  static std::size_t write(char* bytes, std::size_t one, std::size_t size, void* self);
  static std::size_t read(char* room, std::size_t one, std::size_t space, void* self);
  static int trailers(curl_slist** list, void* self);
  static int before_request(void* self, char* address, char* local, int port, int local_port);
  static curl_socket_t open_socket(void* self, curlsocktype purpose, curl_sockaddr* address);

  curl_socket_t dial(const curl_sockaddr& to);
  bool ends_with_head(std::string_view line) const;

  const access::DialGuard& guard;
  const Trust trust;
  const Opened opened;
  const Woken woken;
  const Writes writes;
  HeaderLines lines;
  std::string_view host;
  std::vector<curl_slist> links;  // libcurl reads this list in place
  curl_slist* pins = nullptr;
  long upload_room = 0;
  int sends = 0;
  bool asks_head = false;
  bool chunked = false;          // the request's body is chunked
  bool head_at_once = true;      // the kernel takes the head in one piece
  bool head_on_its_way = false;  // on_head_sent() is still to be called
  bool head_only = false;        // libcurl does not know that no response body follows
  bool answered = false;         // a line of a response has come
  bool ended = false;            // stopped by us, because nothing more will come
  bool dialled = false;          // the guard allowed an address
  bool denied = false;           // the guard refused an address
  bool no_descriptors = false;
  bool distrusted = false;                   // the kept connection is unfit for use
  std::array<char, CURL_ERROR_SIZE> said{};  // libcurl's error text
};

}  // namespace penstock::transfer
