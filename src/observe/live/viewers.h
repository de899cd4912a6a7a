// SPDX-License-Identifier: Apache-2.0
// All clients of /live and /events. Only while there is one of /live does a timer run that takes a snapshot a second;
// its text is made once for all, by the loop's worker. On the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/weak_self.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "observe/live/event_feed.h"
#include "observe/live/live_texts.h"
#include "observe/live/viewer.h"
#include "penstock/event.h"
#include "penstock/snapshot.h"

namespace penstock::observe {

class Viewers {
 public:
  /// Where viewers have their places, which other clients cannot take.
  static constexpr std::size_t kMost = 8;

  /// The state of an upstream that takes a walk along its queue; nullopt: there is none of that name.
  using DetailsSource = std::function<std::optional<UpstreamDetails>(std::string_view upstream)>;
  /// How an upstream is limited, in a sentence.
  using Explanation = std::function<std::string(std::string_view upstream)>;
  /// Calls back when a snapshot says how things stand in all processes: at once, or within 50 ms.
  using Prepare = std::function<void(std::function<void()> prepared)>;
  struct Sources {
    std::function<Snapshot()> snapshot;
    Prepare prepare = {};  ///< empty: a snapshot may be taken at any time
    DetailsSource details;
    Explanation explain;
  };

  Viewers(loop::Loop& loop, Sources sources);
  ~Viewers();

  void look_by(Sources sources) { sources_ = std::move(sources); }
  Snapshot snapshot() const { return sources_.snapshot(); }
  /// What snapshots say beside the state.
  void change(LiveFacts facts) { facts_ = std::move(facts); }

  bool has_room() const { return viewers_.size() < kMost; }
  std::size_t count() const { return viewers_.size(); }
  bool any() const { return !viewers_.empty(); }
  /// The head of the answer has been written to the stream.
  void add(std::unique_ptr<loop::Stream> stream, Viewer::Wish wish);
  void end_all() { viewers_.clear(), timer_.stop(); }
  /// Events go to those who may see them. Call only if there are any().
  void record(const Event& event);

  std::size_t held() const;  ///< by all viewers together, in bytes

 private:
  struct Writing;

  void second();
  void look();
  void write();
  void show(const Writing& written);
  void show(Viewer& viewer, const Writing& written, const EventFeed::Second& events);
  void remove(const Viewer& viewer);
  template <class Do>
  void each_live(const Do& action);

  loop::Loop& loop_;
  Sources sources_;
  LiveFacts facts_;
  loop::Timer timer_;
  EventFeed feed_;
  std::vector<std::unique_ptr<Viewer>> viewers_;
  std::shared_ptr<LiveTexts> texts_ = std::make_shared<LiveTexts>();  // used by the worker alone
  std::string line_;                                                  // its memory is kept
  std::uint64_t seconds_ = 0;
  std::int64_t looked_ = 0;
  bool writing_ = false;  // a text is being made
  base::WeakSelf<Viewers> self_{this};
};

}  // namespace penstock::observe
