// SPDX-License-Identifier: Apache-2.0
// The state of one transfer on a libcurl handle: what was asked for, how far it has come, and what its failure means. A
// value: the handle, which is used again, is assigned a new one for each request. Internal to transfer/.
#pragma once

#include <curl/curl.h>
#include <algorithm>

#include <cstdint>
#include <memory>
#include <string_view>

#include "tls/openssl_peek.h"
#include "transfer/request.h"
#include "transfer/transfer_events.h"

namespace penstock::transfer {

struct Socket;

class TransferState {
 public:
  TransferState() = default;  ///< of a handle without a request
  /// `events` and `request.host` must outlive it.
  TransferState(const Request& request, TransferEvents& events);

  TransferEvents& events() const { return *events_; }
  std::string_view host() const { return host_; }
  bool is_secure() const { return secure_; }
  /// Whether the handle can be used for another request: after a chunked body libcurl frames the next one wrongly.
  bool leaves_handle_sound() const { return body_ != BodyKind::chunked; }
  /// libcurl cannot both send a body and expect none in return, so it does not know that the response has none.
  bool asks_head_with_body() const { return asks_head_ && body_ != BodyKind::none; }
  bool has_no_body(long status) const { return asks_head_ || status == 204 || status == 304; }

  // Connecting.

  /// Notes the guard's verdict on an address that is to be dialled; one that is allowed makes up for others.
  void judged(bool allowed);
  /// libcurl has asked for a socket.
  void dialled() { dials_ = dials_ == Dials::none ? Dials::yes : dials_; }
  /// Whether there was a descriptor for the socket.
  void found_descriptor(bool found) { dials_ = found ? Dials::yes : Dials::without_descriptor; }
  /// True: it has tried an address and is not connected yet.
  bool dials() const { return dials_ != Dials::none; }
  /// It is connected, and libcurl is about to send the request. False: over a kept connection, not a dialled one.
  bool connected();
  /// Notes that the request is sent. False: it was before, and libcurl repeats it.
  bool send_once() { return ++sends_ == 1; }
  bool was_sent() const { return sends_ > 0; }
  /// Notes the verdict on the address of the connection that stands.
  void judged_again(bool allowed, bool kept);
  /// The kept connection is unfit for use.
  void distrust() { stage_ = Stage::distrusted; }

  // The request and its response.

  /// libcurl writes the head next.
  void begin_head() { stage_ = Stage::head_on_its_way; }
  /// The head has been sent; reported once.
  void head_sent();
  void answered() { stage_ = std::max(stage_, Stage::answered); }
  /// Stopped by us, because nothing more will come.
  void end() { stage_ = Stage::ended; }

  /// Directions as libcurl's bits: CURLPAUSE_RECV, CURLPAUSE_SEND.
  void pause(int direction) { paused_ |= direction; }
  /// False: it was not paused.
  bool resume(int direction);
  int paused() const { return paused_; }

  /// Translates libcurl's result, an errno and libcurl's text.
  Failure failure(CURLcode code, long error, std::string_view said) const;

  /// What carries it, as far as known.
  struct Carrier {
    curl_socket_t dialled = CURL_SOCKET_BAD;  ///< the socket opened last
    Socket* kept = nullptr;                   ///< the kept connection in use
    std::shared_ptr<tls::OpensslPeek> tls;    ///< its TLS, until the result is known
  };
  Carrier carrier;

 private:
  enum class Dials : std::uint8_t { none, yes, without_descriptor };
  enum class Verdict : std::uint8_t { none, denied, allowed };
  /// In the order in which they come.
  enum class Stage : std::uint8_t { connecting, distrusted, head_on_its_way, head_sent, answered, ended };

  Failure broken(long error, std::string_view said) const;
  bool has_answer() const { return stage_ >= Stage::answered; }

  TransferEvents* events_ = nullptr;
  std::string_view host_;
  BodyKind body_ = BodyKind::none;
  bool secure_ = false;
  bool asks_head_ = false;
  Dials dials_ = Dials::none;
  Verdict verdict_ = Verdict::none;
  Stage stage_ = Stage::connecting;
  int sends_ = 0;
  int paused_ = 0;
};

}  // namespace penstock::transfer
