// SPDX-License-Identifier: Apache-2.0
// One libcurl easy handle with the options that a proxy must set, and the callbacks behind them. It serves one request
// after another. Internal to transfer/.
#pragma once

#include <curl/curl.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "access/dial_guard.h"
#include "penstock/config.h"
#include "transfer/pins.h"
#include "transfer/request.h"
#include "transfer/transfer_events.h"
#include "transfer/transfer_state.h"
#include "transfer/trust.h"

namespace penstock::transfer {

class Easy;

/// The multi handle of an Easy, which knows the sockets. All calls but give_back() come from inside libcurl.
class EasyOwner {
 public:
  /// A socket was opened; CURL_SOCKET_BAD: it could not be.
  virtual void opened(Easy& easy, curl_socket_t fd) = 0;
  /// A kept connection is about to be used; returns whether it may be.
  virtual bool wake(Easy& easy, std::string_view address, int port, int local_port) = 0;
  /// libcurl is about to write a head small enough for the kernel to take at once: the head has been sent when libcurl
  /// returns or calls back for another transfer.
  virtual void writes(Easy* easy) = 0;
  /// Its transfer is over, or dropped.
  virtual void give_back(std::unique_ptr<Easy> easy) = 0;

 protected:
  ~EasyOwner() = default;
};

class Easy {
 public:
  /// `owner` and `guard` must outlive it.
  Easy(EasyOwner& owner, const access::DialGuard& guard, const TlsConfig& identity, const Trust& trust,
       std::chrono::seconds idle);
  ~Easy();
  Easy(const Easy&) = delete;
  Easy& operator=(const Easy&) = delete;

  CURL* handle() const { return handle_; }
  TransferState& state() { return state_; }
  const TransferState& state() const { return state_; }

  /// Makes the handle ready for one request, and counts it as running from here on.
  void prepare(Request&& request, TransferEvents& events, Pins& pins);
  /// It is in the multi handle.
  bool running() const { return use_ == Use::running; }
  /// It has been taken out of the multi handle; `well`: libcurl reported no error.
  void finish(bool well);
  /// Forgets the request. False: libcurl may keep something of it in the handle, so it cannot serve another.
  bool reset(Pins& pins);

  /// Translates libcurl's result.
  Result result(CURLcode code) const;
  bool answered_without_body() const;
  /// After a pause, in a direction as CURLPAUSE_RECV or CURLPAUSE_SEND.
  void resume(int direction);
  /// Its connection is not reused.
  void end_connection();
  /// Makes libcurl handle this transfer soon, when nothing else would.
  void call_again();

 private:
  enum class Use : std::uint8_t { unfit, running, fit };  ///< fit: has served one request, and may serve another

  void set_fixed_options();
  void set_callbacks();
  void set_tls(const TlsConfig& identity);
  void set_method(const Request& request);
  void link_lines(bool expect_continue);
  void make_room_for_head(const Request& request);
  void pin(const std::string& addresses, Pins& all_pins);
  std::string words(Failure why, CURLcode code) const;
  bool may_use(bool kept);
  curl_socket_t dial(const curl_sockaddr& to);
  bool ends_with_head(std::string_view line) const;

  static std::size_t header(char* line, std::size_t one, std::size_t size, void* self);
  static std::size_t write(char* bytes, std::size_t one, std::size_t size, void* self);
  static std::size_t read(char* room, std::size_t one, std::size_t space, void* self);
  static int trailers(curl_slist** list, void* self);
  static int before_request(void* self, char* address, char* local, int port, int local_port);
  static curl_socket_t open_socket(void* self, curlsocktype purpose, curl_sockaddr* to);

  CURL* const handle_;
  EasyOwner& owner_;
  const access::DialGuard& guard_;
  const Trust trust_;
  TransferState state_;
  Use use_ = Use::unfit;
  HeaderLines lines_;
  std::vector<curl_slist> links_;  // libcurl reads this list of `lines_` in place
  std::string pinned_;             // `name:port` whose addresses are pinned; empty: a literal address
  curl_slist* pins_ = nullptr;
  long upload_room_ = 0;
  bool head_at_once_ = true;                  // the kernel takes the head in one piece
  std::array<char, CURL_ERROR_SIZE> said_{};  // libcurl's error text
};

}  // namespace penstock::transfer
