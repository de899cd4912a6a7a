// SPDX-License-Identifier: Apache-2.0
// One libcurl easy handle with the options that a proxy must set, and the callbacks behind them. For this room.
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
  /// A kept connection is to be used: whether it may be.
  using Woken = std::function<bool(Easy&, std::string_view address, int port, int local_port)>;
  /// libcurl writes a head which the kernel takes at once, and is back when it has.
  using Writes = std::function<void(Easy&)>;
  Easy(const Multi::Judge& judge_of_addresses, const TlsConfig& identity, const Trust& whom, std::chrono::seconds idle,
       Opened when_opened, Woken when_woken, Writes when_writing);
  ~Easy();
  Easy(const Easy&) = delete;
  Easy& operator=(const Easy&) = delete;

  /// Makes the handle ready for one request.
  void prepare(Request&& request, TransferEvents& whose, Pins& all_pins);
  /// What libcurl's result means here.
  Result result(CURLcode code) const;
  bool answered_without_body() const;
  /// Tells libcurl what is paused now.
  void apply_pauses();
  /// Has libcurl look after this transfer soon, where nothing else would make it.
  void call_again();
  /// The head has been sent: it is told once.
  void head_sent();
  /// Whether libcurl can send any other request with this handle: after one chunked body it frames the next one
  /// wrongly.
  bool reusable() const { return !chunked; }

  CURL* handle;
  TransferEvents* events = nullptr;
  bool download_paused = false;
  bool upload_paused = false;
  bool running = false;                       // in the multi handle
  bool sound = false;                         // has served one request well, and may serve another
  bool dials = false;                         // has tried an address, and stands nowhere yet
  bool secure = false;                        // https
  std::shared_ptr<tls::OpensslPeek> secured;  // once there is one, until the end is known
  Socket* carrier = nullptr;                  // the kept connection that it uses
  curl_socket_t dialer = CURL_SOCKET_BAD;     // the socket for the last address
  std::string pinned;                         // the name and port whose addresses are; empty: it is an address itself

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

  const Multi::Judge& judge;
  const Trust trust;
  const Opened opened;
  const Woken woken;
  const Writes writes;
  HeaderLines lines;
  std::string_view host;
  std::vector<curl_slist> links;  // libcurl reads the list where it stands
  curl_slist* pins = nullptr;
  long upload_room = 0;
  int sends = 0;
  bool asks_head = false;
  bool chunked = false;          // the request's body
  bool head_at_once = true;      // the kernel takes it in one piece
  bool head_on_its_way = false;  // and has not been told of
  bool head_only = false;        // libcurl does not know that no body follows
  bool answered = false;         // a line of an answer has come
  bool ended = false;            // by us, for there is no more to come
  bool dialled = false;          // an address was allowed
  bool denied = false;           // another was not
  bool no_descriptors = false;
  bool distrusted = false;                   // the kept connection is not fit for use
  std::array<char, CURL_ERROR_SIZE> said{};  // by libcurl, of a failure
};

}  // namespace penstock::transfer
