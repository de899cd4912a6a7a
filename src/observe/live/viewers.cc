// SPDX-License-Identifier: Apache-2.0
// See viewers.h.
#include "observe/live/viewers.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "observe/event_log.h"

namespace penstock::observe {
namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kSoonest = 200'000;  // µs between two snapshots, however many viewers come
constexpr std::uint64_t kAllEvery = 30;     // seconds; so often a viewer gets all upstreams
constexpr std::uint64_t kBeatEvery = 15;

bool wants(const Viewer& viewer, const Event& event) {
  const auto& wish = viewer.wish();
  return (wish.upstream.empty() || wish.upstream == event.upstream) &&
         (wish.event.empty() || wish.event == name_of(event.kind));
}

const std::vector<GroupSnapshot>& groups_of(const Snapshot& snapshot, const std::string& upstream) {
  static const std::vector<GroupSnapshot> none;
  const auto found = std::ranges::find(snapshot.upstreams, upstream, &UpstreamSnapshot::name);
  return found == snapshot.upstreams.end() ? none : found->groups;
}

}  // namespace

/// What the worker is given, and what it makes of that.
struct Viewers::Writing {
  struct Asked {
    std::optional<UpstreamDetails> found;
    std::string explain;
  };

  void write(LiveTexts& live) {
    for (auto& [upstream, its] : details) {
      events[upstream] = std::make_shared<const std::string>(
          details_event(upstream, its.found, groups_of(snapshot, upstream), its.explain));
    }
    texts = live.write(std::move(snapshot), facts, wanted);
  }

  SharedText details_of(const std::string& upstream) const {
    const auto found = events.find(upstream);
    return found == events.end() ? nullptr : found->second;
  }

  Snapshot snapshot;
  LiveFacts facts;
  LiveTexts::Wanted wanted;
  std::unordered_map<std::string, Asked> details;  // by upstream
  LiveTexts::Texts texts;
  std::unordered_map<std::string, SharedText> events;  // of details, by upstream
};

Viewers::Viewers(loop::Loop& loop, Sources sources)
    : loop_(loop), sources_(std::move(sources)), timer_(loop, [this] { second(); }) {}

Viewers::~Viewers() = default;

template <class Do>
void Viewers::each_live(const Do& action) {
  for (const auto& viewer : viewers_) {
    if (viewer->wish().live) action(*viewer);
  }
}

void Viewers::add(std::unique_ptr<loop::Stream> stream, Viewer::Wish wish) {
  viewers_.push_back(
      std::make_unique<Viewer>(loop_, std::move(stream), std::move(wish), [this](Viewer& gone) { remove(gone); }));
  if (viewers_.back()->wish().live) {
    timer_.start(std::max(loop_.now(), looked_ + kSoonest));
  } else if (!timer_.running()) {
    timer_.start(loop_.now() + kSecond);
  }
}

void Viewers::remove(const Viewer& viewer) {
  std::erase_if(viewers_, [&](const auto& one) { return one.get() == &viewer; });
  if (viewers_.empty()) timer_.stop();
}

void Viewers::second() {
  ++seconds_;
  std::erase_if(viewers_, [](const auto& one) { return one->wish().live && one->is_stalled(); });
  if (viewers_.empty()) return;
  timer_.start(loop_.now() + kSecond);
  for (const auto& viewer : viewers_) {
    if (!viewer->wish().live && seconds_ % kBeatEvery == 0) viewer->beat();
  }
  look();
}

void Viewers::look() {
  if (writing_ || std::ranges::none_of(viewers_, [](const auto& one) { return one->wish().live; })) return;
  writing_ = true;
  if (!sources_.prepare) return write();
  sources_.prepare([self = self_.ref()] {
    if (self) self->write();
  });
}

/// The only place where a snapshot is asked for.
void Viewers::write() {
  auto writing = std::make_shared<Writing>();
  bool any = false;
  each_live([&](Viewer& viewer) {
    any = true;
    if (seconds_ % kAllEvery == 0) viewer.needs_all = true;
    const auto& [live, details, upstream, event] = viewer.wish();
    writing->wanted.add(viewer.needs_all, details);
    if (!details || upstream.empty() || writing->details.contains(upstream)) return;
    writing->details[upstream] = {.found = sources_.details ? sources_.details(upstream) : std::nullopt,
                                  .explain = sources_.explain ? sources_.explain(upstream) : ""};
  });
  writing_ = any;
  if (!any) return;
  looked_ = loop_.now();
  writing->snapshot = sources_.snapshot();
  writing->facts = facts_;
  writing->snapshot.taken_at = loop_.wall();
  loop_.offload([writing, texts = texts_] { writing->write(*texts); },
                [self = self_.ref(), writing] {
                  if (self) self->show(*writing);
                });
}

void Viewers::show(const Writing& written) {
  writing_ = false;
  const auto events = feed_.take();
  bool newcomer = false;
  each_live([&](Viewer& viewer) {
    show(viewer, written, events);
    newcomer = newcomer || (viewer.needs_all && viewer.is_up_to_date());
  });
  if (newcomer) timer_.start(std::max(loop_.now(), looked_ + kSoonest));
}

/// What is not up to date misses this text, and gets all upstreams once it has read what it was sent.
void Viewers::show(Viewer& viewer, const Writing& written, const EventFeed::Second& events) {
  const auto text = written.texts.of(viewer.needs_all, viewer.wish().details);
  viewer.needs_all = !text || !viewer.is_up_to_date() || !viewer.show(text);
  if (!viewer.wish().details) return;
  if (viewer.needs_all || (events.text && !viewer.show(events.text))) viewer.missed_events += events.count;
  if (viewer.needs_all) return;
  if (const auto missed = std::exchange(viewer.missed_events, 0); missed > 0)
    viewer.show(std::make_shared<const std::string>(EventFeed::dropped(missed)));
  const auto details = written.details_of(viewer.wish().upstream);
  if (details) viewer.show(details);
}

void Viewers::record(const Event& event) {
  bool to_live = false;
  line_.clear();
  for (const auto& viewer : viewers_) {
    if (!viewer->wish().details) continue;
    if (viewer->wish().live) {
      to_live = true;
    } else if (wants(*viewer, event)) {
      if (line_.empty()) {
        line_ = "data: ";
        write_json(line_, event);
        line_ += '\n';
      }
      viewer->tell(line_);
    }
  }
  if (to_live) feed_.record(event);
}

std::size_t Viewers::held() const {
  std::size_t sum = 0;
  for (const auto& viewer : viewers_) sum += viewer->held();
  return sum;
}

}  // namespace penstock::observe
