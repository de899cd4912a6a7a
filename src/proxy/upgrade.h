// SPDX-License-Identifier: Apache-2.0
// A request that asks to change the protocol, between take-off and landing: dial, send its head, read the answer's. A
// 101 that names what was asked for makes a tunnel of it; any other answer passes as an answer. Its connection serves
// nobody else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/body_decoder.h"
#include "http/line_buffer.h"
#include "http/response_head.h"
#include "loop/stream.h"
#include "loop/timer.h"
#include "penstock/snapshot.h"
#include "proxy/dialling.h"
#include "proxy/exchange.h"
#include "proxy/journey.h"
#include "proxy/passage.h"
#include "proxy/services.h"

namespace penstock::proxy {

class Dispatcher;

class Upgrade final : public Journey, private DiallingEvents, private loop::StreamEvents {
 public:
  /// Counts itself and its bytes in `all` once it is a tunnel.
  Upgrade(const Services& services, Dispatcher& dispatcher, Exchange& exchange, TunnelTotals& all,
          tls::ClientIdentities& identities);

  void take_off() override { dialling_.start(); }
  void resume() override;
  void break_off(const http::Refusal& refusal) override;
  bool answered() const override { return answered_; }
  int status() const override { return answered_ ? reader_.head().status : 0; }
  void describe(Event& event) const override;

 private:
  void on_dialled(std::unique_ptr<loop::Stream> upstream) override;
  void on_not_dialled(const http::Refusal& refusal) override;
  void on_read(std::string_view bytes) override;
  void on_drained() override {}
  void on_end() override;
  void on_gone() override;

  std::string head() const;
  void read_head(std::string_view bytes);
  void read_body(std::string_view bytes);
  void pass_interim();
  void pass_head();
  void switch_protocols(std::string_view behind);
  void complete();
  void broken();
  void fail(http::Why why, const std::string& details);
  void keep_time();
  void on_time();
  std::int64_t deadline() const;
  void client_or_upstream_is_idle();

  const Services& services_;
  Dispatcher& dispatcher_;
  Exchange& exchange_;
  Dialling dialling_;
  Passage passage_;
  std::unique_ptr<loop::Stream> upstream_;  // until the passage has it
  http::LineBuffer lines_;
  http::ResponseHeadReader reader_;
  std::optional<http::BodyDecoder> decoder_;
  loop::Timer timer_;
  std::int64_t sent_ = 0;
  std::int64_t moved_ = 0;  // when a byte of the body last did
  std::optional<std::int64_t> first_byte_;
  std::uint64_t bytes_in_ = 0;
  std::size_t untaken_ = 0;  // by the client, when last looked at
  bool head_begun_ = false;
  bool answered_ = false;
  bool paused_by_client_ = false;
};

}  // namespace penstock::proxy
