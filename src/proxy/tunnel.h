// SPDX-License-Identifier: Apache-2.0
// A CONNECT between take-off and landing: look up the name, judge the addresses, dial one after the other, say 200,
// then pass bytes both ways until both sides have closed. Copies nothing that the kernel takes at once, and keeps at
// most one read of each direction. Reads along until the end of the client's hello, and changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "loop/resolver.h"
#include "loop/stream.h"
#include "loop/timer.h"
#include "penstock/snapshot.h"
#include "proxy/exchange.h"
#include "proxy/journey.h"
#include "proxy/services.h"
#include "tls/client_hello.h"

namespace penstock::proxy {

class Dispatcher;

class Tunnel final : public Journey {
 public:
  /// Counts itself and its bytes in `all`.
  Tunnel(const Services& services, Dispatcher& dispatcher, Exchange& exchange, TunnelTotals& all);
  ~Tunnel() override;

  void take_off() override;
  void break_off(const http::Refusal& refusal) override;
  bool answered() const override { return open_; }
  int status() const override { return open_ ? 200 : 0; }
  void describe(Event& event) const override;

 private:
  struct Side final : loop::StreamEvents {
    explicit Side(Tunnel& its_tunnel) : tunnel(its_tunnel) {}
    void on_read(std::string_view more) override { tunnel.pass(*this, more); }
    void on_gone() override { tunnel.gone(*this); }
    void on_drained() override { tunnel.drained(*this); }
    void on_connected() override { tunnel.open(); }
    void on_end() override { tunnel.ended(*this); }

    Tunnel& tunnel;
    std::unique_ptr<loop::Stream> stream;
    std::uint64_t bytes = 0;  // that came from it
    bool has_ended = false;   // it sends no more
  };

  void judge_addresses(const loop::Addresses& addresses);
  void dial();
  void not_connected(loop::DialFailure failure);
  void open();
  void pass(Side& from, std::string_view bytes);
  void drained(Side& side);
  void ended(Side& side);
  void gone(Side& side);
  void end(bool client_first);
  void fail(http::Why why, const std::string& details);
  void cut();
  Side& other(const Side& side) { return &side == &client_ ? upstream_ : client_; }
  void moved();
  bool stalls();
  void keep_time();
  void on_time();
  std::int64_t deadline() const;

  const Services& services_;
  Dispatcher& dispatcher_;
  Exchange& exchange_;
  TunnelTotals& all_;
  loop::Timer timer_;
  std::unique_ptr<loop::Resolver::Question> question_;
  loop::Addresses addresses_;  // that may be dialled
  std::size_t dialled_ = 0;    // so many of them have been
  std::int64_t connect_by_;
  std::int64_t attempt_ends_;
  std::int64_t moved_ = 0;  // when a byte last did
  std::size_t untaken_;     // by both sides, when last looked at since then
  bool open_ = false;       // 200 was said
  tls::ClientHello hello_;
  bool hello_wanted_ = true;
  Side client_, upstream_;
};

}  // namespace penstock::proxy
