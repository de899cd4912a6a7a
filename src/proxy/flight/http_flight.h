// SPDX-License-Identifier: Apache-2.0
// An HTTP request between take-off and landing: look up the name, judge the addresses, send the request through
// libcurl, pass the response on as it comes, and enforce the time-outs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/body_decoder.h"
#include "loop/iteration_end.h"
#include "loop/resolver.h"
#include "loop/timer.h"
#include "proxy/exchange/attempt.h"
#include "proxy/exchange/attempt_events.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/services.h"
#include "proxy/flight/response_relay.h"
#include "transfer/transfer.h"

namespace penstock::proxy {

class HttpFlight final : public Attempt, public transfer::TransferEvents {
 public:
  HttpFlight(const Services& services, AttemptEvents& events, Exchange& exchange);
  ~HttpFlight() override;

  void take_off() override;
  void body_came() override;
  void resume() override;
  void keep_time() override;
  void abort(const http::Refusal& refusal) override;
  AttemptResult result() const override;
  void conclude() override { answer_.conclude(); }

  void on_connected() override;
  void on_head_sent() override;
  bool on_line(std::string_view line) override;
  Taken on_body(std::string_view bytes) override;
  Given give_body(char* room, std::size_t space, std::size_t& size) override;
  void give_trailers(transfer::HeaderLines& trailers) override;
  void on_done(const transfer::Result& result) override;

 private:
  void dial(const loop::Addresses& addresses);
  void look_up();
  void send();
  transfer::Pool& connections(transfer::Request& order) const;
  void pass_interim();
  void pass_head();
  Taken pass_chunks(std::string_view bytes);
  bool answer_is_whole() const;
  void complete();
  void body_sent();
  void go_ahead();
  void end_iteration();
  void on_time();
  std::int64_t deadline() const;
  std::int64_t idle_deadline() const;
  bool answered() const { return answer_.answered(); }
  bool client_stalls() const;
  void breathe();
  void fail(http::Reason why, const std::string& details) { fail({.why = why, .details = details}); }
  void fail(const http::Refusal& refusal);
  void failed(const transfer::Result& result);

  const Services& services_;
  AttemptEvents& events_;
  Exchange& exchange_;
  ResponseRelay answer_;
  loop::Timer timer_;
  loop::Timer breath_;
  loop::IterationEnd iteration_end_;
  std::unique_ptr<loop::Resolver::Lookup> lookup_;
  std::string pin_;
  std::int64_t moved_ = 0;          // when the last body byte moved
  std::int64_t sent_ = 0;           // when the whole request had been sent; 0: not yet
  std::int64_t go_ahead_at_ = 0;    // when to send the client a 100 if the upstream has sent none; 0: not waiting
  std::size_t this_iteration_ = 0;  // response bytes passed in this iteration of the loop
  std::uint64_t bytes_out_ = 0;
  bool connected_ = false;
  bool bad_head_ = false;
  std::optional<http::BodyDecoder> chunks_;  // if the response is chunked
  http::BodyDecoder::State chunks_state_ = http::BodyDecoder::State::more;
  std::unique_ptr<transfer::Transfer> transfer_;  // last: cancelled before the members that its events use
};

}  // namespace penstock::proxy
