// SPDX-License-Identifier: Apache-2.0
// An upstream's answer on its way to whoever asked, whichever connection it comes by: its heads are read line by line
// and passed on in our words, its body as it is. A client that reads slowly is told from one that has stopped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "http/body_decoder.h"
#include "http/refusal.h"
#include "http/response_head.h"
#include "penstock/event.h"
#include "proxy/exchange/attempt_events.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/services.h"

namespace penstock::proxy {

class ResponseRelay {
 public:
  /// Of a head, beyond which there is no answer.
  static constexpr std::size_t kHeadBytes = 256 * 1024;

  ResponseRelay(const Services& services, AttemptEvents& events, Exchange& exchange);

  http::ResponseHeadReader& reader() { return reader_; }
  const http::ResponseHead& head() const { return reader_.head(); }
  /// The next line of a head. What it ends is for pass_interim() or pass_head().
  http::ResponseHeadReader::Verdict on_line(std::string_view line);
  void pass_interim();
  void pass_head();
  void pass_body(std::string_view bytes);
  /// The same of bytes as they stand on the wire; what follows a whole body is left in `bytes`.
  http::BodyDecoder::State pass_encoded(http::BodyDecoder& decoder, std::string_view& bytes);
  /// Until when nothing more is to be read for pass_encoded(), on the loop's clock.
  std::int64_t rests_until() const { return rests_until_; }
  /// A 101 counts as the final head: what comes behind it is no answer.
  void note_switch() { answered_ = true; }

  /// The last call is one of these: the exchange may be gone behind it.
  void complete();
  void abort(const http::Refusal& refusal);

  bool has_begun() const { return begun_; }    ///< a line has come
  bool answered() const { return answered_; }  ///< the final head was passed on
  int status() const { return answered_ ? head().status : 0; }
  std::uint64_t bytes() const { return bytes_; }
  void describe(Event& event) const;

  /// It has no room: nothing more is passed until resume(), which is false where nobody waits.
  void wait_for_client();
  bool waits_for_client() const { return waiting_; }
  bool resume();
  /// Whether a client for which we wait has taken anything since this was asked, or the waiting began. The kernel tells
  /// of room only when there is a lot of it.
  bool client_reads_on();

 private:
  const Services& services_;
  AttemptEvents& events_;
  Exchange& exchange_;
  http::ResponseHeadReader reader_;
  std::optional<std::int64_t> first_byte_;  // from take-off, in microseconds
  std::uint64_t bytes_ = 0;
  std::size_t untaken_ = 0;  // by the client, when last looked at
  std::int64_t rests_until_ = 0;
  bool begun_ = false;
  bool answered_ = false;
  bool waiting_ = false;
};

}  // namespace penstock::proxy
