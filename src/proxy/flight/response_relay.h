// SPDX-License-Identifier: Apache-2.0
// Passes an upstream's response on to the response sink, whichever connection it comes by: heads are read line by line
// and rewritten, the body passes unchanged. Tells a client that reads slowly from one that has stopped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/body_decoder.h"
#include "http/refusal.h"
#include "http/response_head.h"
#include "proxy/exchange/attempt.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/kept_answer.h"
#include "proxy/exchange/pausing.h"
#include "proxy/exchange/services.h"

namespace penstock::proxy {

class ResponseRelay {
 public:
  /// Heads larger than this many bytes are refused.
  static constexpr std::size_t kHeadBytes = 256 * 1024;

  ResponseRelay(const Services& services, Exchange& exchange);

  http::ResponseHeadReader& reader() { return reader_; }
  const http::ResponseHead& head() const { return reader_.head(); }
  /// The next line of a head. If it ends a head, call pass_interim() or pass_head() next.
  http::ResponseHeadReader::Verdict on_line(std::string_view line);
  void pass_interim();
  /// With a reason: the answer is held back as long as it is small enough to be kept.
  void pass_head(Again why = Again::no);
  bool holds() const { return held_ != nullptr; }
  /// The memory in bytes of what is held back.
  std::size_t held_bytes() const { return held_->bytes(); }
  /// Passes on what is held back, and what comes of it.
  void pass_held();
  /// For the attempt's timer: lose_patience() is to be called then, on the loop's clock.
  std::int64_t patient_until() const;
  /// What should have come to its end by now, and has not, counts as it is.
  void lose_patience();
  /// The answer will not come to its end: what its head says counts. Gives why it was held back, if it was.
  Again conclude();
  /// After the last byte of an answer that is held back. `bytes_out`: of the request's body.
  std::unique_ptr<KeptAnswer>& whole(std::uint64_t bytes_out);
  void pass_body(std::string_view bytes);
  /// Like pass_body(), but decodes the bytes from the wire; bytes behind a complete body are left in `bytes`.
  http::BodyDecoder::State pass_encoded(http::BodyDecoder& decoder, std::string_view& bytes);
  /// Nothing more may be read for pass_encoded() before this time, on the loop's clock.
  std::int64_t rests_until() const { return rests_until_; }
  /// A 101 counts as the final head; the bytes behind it are no response.
  void note_switch() { answered_ = true; }

  /// The last call must be one of these: the response is whole; or it ends with a refusal, or broken if it has begun.
  /// If nothing of it was passed on, and an answer of an earlier attempt is kept, the client gets that one.
  void end();
  void break_off(const http::Refusal& refusal);

  bool has_begun() const { return begun_; }    ///< a line of a head has come
  bool answered() const { return answered_; }  ///< the final head has come
  std::uint64_t bytes() const { return bytes_; }
  /// Without the bytes to the upstream.
  AttemptResult result() const;

  /// The sink has no room: nothing more is passed until resume(), which returns false if nothing was waiting.
  void wait_for_client();
  bool waits_for_client() const { return waiting_; }
  bool resume();
  /// While waiting: whether the client has taken any byte since the last call, or since the wait began. Needed because
  /// the kernel reports room only when there is a lot of it.
  bool client_reads_on();

 private:
  bool may_name_what_no_waiting_cures() const;
  void settle(bool incurable);
  void observe() { tell(Pausing::Known::curable); }
  void tell(Pausing::Known known);

  const Services& services_;
  Exchange& exchange_;
  http::ResponseHeadReader reader_;
  std::optional<std::int64_t> first_byte_;  // microseconds after take-off
  std::uint64_t bytes_ = 0;
  std::size_t untaken_ = 0;  // bytes that the client had not taken at the last check
  std::int64_t rests_until_ = 0;
  std::unique_ptr<KeptAnswer> held_;
  std::optional<std::string> passed_;  // the body so far, if that is to be judged and was passed on
  std::int64_t judged_until_ = 0;      // then the head alone counts; 0: the body is not to be judged
  bool begun_ = false;
  bool answered_ = false;
  UpstreamQueue* observer_;  // null: it has seen the head
  bool waiting_ = false;
};

}  // namespace penstock::proxy
