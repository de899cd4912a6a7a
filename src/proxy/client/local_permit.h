// SPDX-License-Identifier: Apache-2.0
// A permit that is held in this process: asks for it as a client's connection would, and holds it until it is released
// or lost. Owned by the loop until then.
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/refusal.h"
#include "loop/iteration_end.h"
#include "loop/loop.h"
#include "penstock/permit.h"
#include "proxy/dispatch/dispatcher.h"
#include "proxy/exchange/response_sink.h"

namespace penstock::proxy {

class LocalPermit final : public loop::SelfOwned, private ResponseSink {
 public:
  /// What the permit has in common with its holder, on another thread.
  struct Hold {
    std::atomic<bool> held = true;  ///< false: released, or lost
    LocalPermit* permit = nullptr;  ///< for the loop's thread alone; null: it has ended
  };
  struct Granted {
    std::string id;
    std::shared_ptr<Hold> hold;
  };
  using OnAnswer = std::move_only_function<void(std::expected<Granted, http::Refusal>)>;

  /// To be called on the loop's thread, as all of these. `on_answer` is called once, maybe before this returns.
  static void acquire(loop::Loop& loop, Dispatcher& dispatcher, const std::string& upstream,
                      const PermitOptions& options, OnAnswer on_answer);
  /// If it has been lost, nothing happens.
  static void release(const Hold& hold);
  ~LocalPermit() override;

 private:
  LocalPermit(loop::Loop& loop, OnAnswer on_answer);

  void answer_interim(int, std::string_view, const http::Fields&) override {}
  void answer_head(int status, std::string_view reason, const http::Fields& fields,
                   std::optional<std::uint64_t>) override;
  bool has_room() const override { return true; }
  std::size_t untaken() const override { return 0; }
  void answer_body(std::string_view) override {}
  void body_wanted() override {}
  std::unique_ptr<loop::Stream> hand_over(std::string&) override { return nullptr; }
  std::unique_ptr<loop::Stream> give_away(std::string&) override { return nullptr; }
  void answer_end(const http::Fields&) override { end(); }
  void answer_broken() override { end(); }
  void answer_refusal(const http::Refusal& refusal) override;
  void end();

  OnAnswer on_answer_;  // empty: it has been called
  const std::shared_ptr<Hold> hold_ = std::make_shared<Hold>();
  std::move_only_function<void()> let_go_;  // empty: there is no exchange
  loop::IterationEnd ending_;
};

}  // namespace penstock::proxy
