// SPDX-License-Identifier: Apache-2.0
// A Dispatcher on a loop, requesters that record what they are told, and the events that it tells the world.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proxy/dispatch/dispatcher.h"
#include "proxy/exchange/local_limiters.h"
#include "support/origin.h"
#include "support/test_loop.h"

namespace penstock::proxy {

/// An event with strings of its own.
struct Told {
  EventKind kind{};
  Outcome outcome{};
  std::string id, upstream, group, route, client, trace_id, method, host, path, limited_by, would_wait_for, error,
      detail, refusal;
  std::size_t entry = 0, pending = 0, in_flight = 0;
  std::int64_t at = 0;
  int status = 0;
  int attempts = 0;
  int weight = 0, estimated = 0;
  std::string estimated_by;
  std::optional<int> cost;
  std::optional<Duration> wait, flight, first_byte;
  Duration would_wait;
  std::uint64_t bytes_in = 0, bytes_out = 0;
  std::vector<int> refusals;
  int unreadable_fields = 0;
  bool waited_again = false, permit = false;

  explicit Told(const Event& event)
      : kind(event.kind),
        outcome(event.outcome),
        id(event.id),
        upstream(event.upstream),
        group(event.group),
        route(event.route),
        client(event.client),
        trace_id(event.trace_id),
        method(event.method),
        host(event.host),
        path(event.path),
        limited_by(event.limited_by),
        would_wait_for(event.would_wait_for),
        error(event.error),
        detail(event.detail),
        refusal(event.refusal),
        entry(event.entry),
        pending(event.pending),
        in_flight(event.in_flight),
        at(event.at),
        status(event.status),
        attempts(event.attempts),
        weight(event.weight),
        estimated(event.estimated),
        estimated_by(event.estimated_by),
        cost(event.cost),
        wait(event.wait),
        flight(event.flight),
        first_byte(event.first_byte),
        would_wait(event.would_wait),
        bytes_in(event.bytes_in),
        bytes_out(event.bytes_out),
        refusals(event.refusals.begin(), event.refusals.end()),
        unreadable_fields(event.unreadable_fields),
        waited_again(event.waited_again),
        permit(event.permit) {}
};

class Asker final : public ResponseSink {
 public:
  bool room = true;
  std::size_t left = 0;  ///< of the answer, not taken yet
  Exchange* exchange = nullptr;
  PinnedPools* own = nullptr;  ///< that outlive it
  HeldBytes client;            ///< whose it is; nothing: the program's own
  std::string address;         ///< and where it is
  std::string id;              ///< that its answer is to have; empty: none

  std::vector<int> interims;
  int status = 0;
  std::string fields, body, trailers;
  std::optional<std::uint64_t> length;
  int wanted = 0;
  int ends = 0, breaks = 0;
  std::vector<http::Refusal> refusals;

  bool over() const { return ends + breaks + static_cast<int>(refusals.size()) > 0; }
  int outcomes() const { return ends + breaks + static_cast<int>(refusals.size()); }

 private:
  static std::string text_of(const http::Fields& fields) {
    std::string text;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      text.append(fields[i].name).append(": ").append(fields[i].value).append("\n");
    }
    return text;
  }
  void answer_interim(int what, std::string_view, const http::Fields&) override { interims.push_back(what); }
  void answer_head(int what, std::string_view, const http::Fields& lines, std::optional<std::uint64_t> size) override {
    status = what;
    fields = text_of(lines);
    length = size;
  }
  bool has_room() const override { return room; }
  std::size_t untaken() const override { return left; }
  void answer_body(std::string_view bytes) override { body.append(bytes); }
  void body_wanted() override { ++wanted; }
  PinnedPools* pinned_pools() override { return own; }
  const HeldBytes& held() const override { return client; }
  std::string_view client_name() const override { return address; }
  void tell_id(std::string_view its_id) override { id = its_id; }

  std::unique_ptr<loop::Stream> hand_over(std::string&) override {
    ADD_FAILURE() << "an asker has no connection to give away";
    return nullptr;
  }
  std::unique_ptr<loop::Stream> give_away(std::string& early) override { return hand_over(early); }
  void answer_end(const http::Fields& lines) override {
    ++ends;
    trailers = text_of(lines);
    exchange = nullptr;
  }
  void answer_broken() override {
    ++breaks;
    exchange = nullptr;
  }
  void answer_refusal(const http::Refusal& refusal) override {
    refusals.push_back(refusal);
    exchange = nullptr;
  }
};

class DispatcherTest : public testing::Test {
 protected:
  ~DispatcherTest() override { dispatcher_.reset(); }

  /// With what config_ says by then.
  Dispatcher& dispatcher() {
    if (dispatcher_) return *dispatcher_;
    verdict_.emplace(config_, own_);
    resolver_.emplace(run_.loop, config_.dns);
    pools_.emplace(run_.loop, config_, *verdict_);
    dispatcher_.emplace(
        Services{.loop = run_.loop,
                 .resolver = *resolver_,
                 .connections = *pools_,
                 .verdict = *verdict_,
                 .config = config_,
                 .events = [this](const Event& event) { told_.emplace_back(event); },
                 // whatever these are by then
                 .make_limiter = [this](const auto& of, auto& events,
                                        auto former) { return make_limiter_(of, events, std::move(former)); },
                 .fits_limiter = fits_limiter_,
                 .notices = [this](const Notice& notice) { notices_.push_back(notice.text); }});
    return *dispatcher_;
  }

  static http::RequestHead head(const std::string& method, const std::string& target) {
    http::RequestHead made;
    made.method = method;
    made.target = target;
    return made;
  }
  static http::RequestHead with_length(http::RequestHead made, std::uint64_t length) {
    made.body = http::BodyKind::length;
    made.content_length = length;
    return made;
  }
  static http::RequestHead in_chunks(http::RequestHead made) {
    made.body = http::BodyKind::chunked;
    return made;
  }

  void ask(Asker& asker, http::RequestHead&& what) {
    Exchange* exchange = dispatcher().accept(asker, std::move(what));
    asker.exchange = asker.over() ? nullptr : exchange;
    EXPECT_EQ(exchange == nullptr, asker.over());
  }
  void get(Asker& asker, const std::string& host, const std::string& path = "/") {
    ask(asker, head("GET", "http://" + host + path));
  }
  void give(Asker& asker, std::string_view bytes, bool whole = true) {
    asker.exchange->body.append(bytes);
    asker.exchange->body.whole = whole;
    dispatcher_->body_came(*asker.exchange);
  }
  void leave(Asker& asker) { dispatcher_->abandon(*std::exchange(asker.exchange, nullptr)); }
  bool finish(const Asker& asker) {
    return run_.run_until([&] { return asker.over(); });
  }

  Snapshot snapshot() {
    Snapshot now;
    dispatcher().snapshot(now);
    return now;
  }
  UpstreamSnapshot upstream(const std::string& name) {
    for (const auto& one : snapshot().upstreams) {
      if (one.name == name) return one;
    }
    ADD_FAILURE() << "no upstream " << name;
    return {};
  }
  /// "dispatch complete …"
  std::string course() const {
    std::string all;
    for (const auto& one : told_) all += (all.empty() ? "" : " ") + std::string(name_of(one.kind));
    return all;
  }
  /// Whatever happened, nothing may be left of it.
  void expect_at_rest() {
    const Snapshot now = snapshot();
    EXPECT_EQ(now.pending_bytes, 0u);
    for (const auto& one : now.upstreams) {
      EXPECT_EQ(one.pending, 0u) << one.name;
      EXPECT_EQ(one.in_flight, 0u) << one.name;
    }
  }

  test::TestLoop run_;
  Config config_;
  MakeLimiter make_limiter_ = local_limiters(run_.loop);
  FitsLimiter fits_limiter_;
  std::vector<Endpoint> own_;
  std::vector<Told> told_;
  std::vector<std::string> notices_;
  std::optional<access::Verdict> verdict_;
  std::optional<loop::Resolver> resolver_;
  std::optional<UpstreamPools> pools_;
  std::optional<Dispatcher> dispatcher_;
};

inline const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// 429 for /busy, nothing for /silent, 200 for all else.
inline test::Origin::Script busy_or_silent() {
  return [](test::Origin& origin, test::Socket& peer, int) {
    for (std::string head = peer.read_until("\r\n\r\n"); !head.empty(); head = peer.read_until("\r\n\r\n")) {
      origin.note(head.substr(0, head.find(" HTTP")));
      if (head.contains("/silent")) return void(peer.read_to_end());
      peer.send(head.contains("/busy") ? "HTTP/1.1 429 Busy\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\nno" : kOk);
    }
  };
}

}  // namespace penstock::proxy
