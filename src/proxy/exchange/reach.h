// SPDX-License-Identifier: Apache-2.0
// Whether an upstream can be reached. If too many connections in a row fail, nothing is sent to it for a while; then
// one request tries it, as after a pause that an answer asked for. Meanwhile newcomers are refused. In the queue of a
// quota others must not wait for that: a request whose turn comes is refused too, unless it is time for a try.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "flow/scheduler.h"
#include "http/refusal.h"
#include "loop/loop.h"
#include "penstock/config.h"
#include "proxy/exchange/breaker.h"
#include "proxy/exchange/upstream_queue.h"

namespace penstock::proxy {

class Reach {
 public:
  /// All must outlive this. `queue` is the upstream's, in which all requests wait that are meant for it.
  Reach(const loop::Loop& loop, const std::string& upstream, const BreakerConfig& settings,
        const std::shared_ptr<UpstreamQueue>& queue)
      : loop_(loop), upstream_(upstream), settings_(settings), queue_(queue) {}

  /// A request was sent.
  void connected() { breaker_.connected(), stops_ = 0; }
  /// A request took off then, and failed before it was sent. To be called before it lands. The ticket is dead where it
  /// is of another queue.
  void failed(flow::Ticket ticket, flow::Time took_off, http::Reason why);
  /// Too many connections failed, and none has come about since.
  bool lost() const { return breaker_.broken() && settings_.failures > 0; }
  /// The refusal of a newcomer while others find out when the upstream is back; nullopt: it may come in.
  std::optional<http::Refusal> judge() const;
  /// The refusal of a request whose turn has come; nullopt: it may leave, as a try if there is need of one.
  std::optional<http::Refusal> judge_start() { return lost() && queue_->is_of_quota ? judge_try() : std::nullopt; }
  /// While it is lost: from then on a request may try it.
  flow::Time next_try() const { return queue_->is_of_quota ? next_try_ : queue_->scheduler().gates().until({}); }

 private:
  std::optional<http::Refusal> judge_try();

  const loop::Loop& loop_;
  const std::string& upstream_;
  const BreakerConfig& settings_;
  const std::shared_ptr<UpstreamQueue>& queue_;
  Breaker breaker_;
  // Where the queue is not stopped.
  int stops_ = 0;  // since a connection came about
  flow::Time next_try_ = 0;
};

}  // namespace penstock::proxy
