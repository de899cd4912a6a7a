// SPDX-License-Identifier: Apache-2.0
// One client of /live or /events, and the connection that it came by, on which server-sent events go out until it
// leaves. What it does not read is kept up to kMostHeld bytes; the rest it misses. For viewers.cc only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "loop/loop.h"
#include "loop/stream.h"

namespace penstock::observe {

/// A text that several viewers are sent.
using SharedText = std::shared_ptr<const std::string>;

class Viewer final : loop::StreamEvents {
 public:
  /// What it asked for.
  struct Wish {
    bool live = true;      ///< /live; else /events
    bool details = false;  ///< may see paths, ids, users, clients, groups and events
    std::string upstream;  ///< of /live: of which details are wanted; of /events: the only one; empty: none; all
    std::string event;     ///< of /events: the only kind; empty: all
  };

  /// Kept for a client that does not read, what the stream has queued included.
  static constexpr std::size_t kMostHeld = 256 * 1024;
  /// A client of /live that has left a text unread for so long (µs) is to be cut.
  static constexpr std::int64_t kPatience = 10'000'000;

  /// `on_gone` must destroy the viewer.
  Viewer(loop::Loop& loop, std::unique_ptr<loop::Stream> stream, Wish wish, std::function<void(Viewer&)> on_gone);

  const Wish& wish() const { return wish_; }
  /// Sends all or, if what is held would become too much, nothing.
  bool show(const SharedText& text);
  /// One event of /events as server-sent event. If it has no room it is counted, which is told as soon as there is
  /// room.
  void tell(std::string_view event);
  /// For a connection on which nothing else happens: its end would not be noticed.
  void beat();

  /// It has got all that it was sent, as far as this process can know.
  bool is_up_to_date() const { return texts_.empty() && !waits_; }
  bool is_stalled() const;
  std::size_t held() const;

  /// It needs all upstreams again: it is new, or has missed a text.
  bool needs_all = true;
  std::uint64_t missed_events = 0;  ///< of /live, which it has not been told of

 private:
  void on_read(std::string_view) override {}
  void on_gone() override { on_gone_(*this); }
  void on_drained() override;
  void pump();

  loop::Loop& loop_;
  std::unique_ptr<loop::Stream> stream_;
  const Wish wish_;
  std::function<void(Viewer&)> on_gone_;
  std::deque<SharedText> texts_;  // sent in pieces, so that the stream copies little
  std::size_t at_ = 0;            // in the first text
  std::uint64_t missed_ = 0;      // events, not told yet
  std::int64_t moved_ = 0;        // when something was last taken, or all had been
  bool waits_ = false;            // on_drained() will come
};

}  // namespace penstock::observe
