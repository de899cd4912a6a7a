// SPDX-License-Identifier: Apache-2.0
// pictures DIRECTORY: writes the pictures of docs/limits.md there, as script/pictures wants them: what one limit does
// to one queue of requests in simulated time. Above when requests arrive, below when they leave, and a line from the
// one to the other. Colours are of a middle lightness, to be read on a light page and on a dark one.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "flow/local_limiter.h"
#include "penstock/limits.h"

namespace penstock::pictures {
namespace {

using flow::Time;

struct Request {
  Time arrives;
  Time flies;        ///< how long it takes, once it has left
  Time leaves = -1;  ///< worked out by the simulation
};

/// What a picture shows: a limit, and requests that bring out its character.
struct Story {
  std::string file;   ///< below docs/pictures
  std::string title;  ///< as it would stand in a configuration
  LimitConfig limit;
  std::vector<Request> requests;
  Time lasts;
  Time grid = 0;         ///< the edges of what the limit counts in, where these are fixed
  bool flights = false;  ///< whether the time in flight matters
};

// ---- what happens ---------------------------------------------------------------------------------------------------

/// One lane over a local limiter: whoever waits asks at each event, and is told when asking is worth while again. Time
/// 0 is the edge of a window.
class Simulation {
 public:
  Simulation(const LimitConfig& limit, std::vector<Request> requests)
      : limiter_({limit}), requests_(std::move(requests)) {
    for (const Request& request : requests_) events_.insert(request.arrives);
  }

  std::vector<Request> run() {
    while (!events_.empty()) {
      const Time now = *events_.begin();
      events_.erase(events_.begin());
      for (; landings_.contains(now); landings_.erase(landings_.find(now))) limiter_.landed(now, {});
      while (arrived_ < requests_.size() && requests_[arrived_].arrives <= now) ++arrived_;
      if (left_ < arrived_) ask(now);
    }
    return std::move(requests_);
  }

 private:
  void ask(Time now) {
    booking_.clear();
    limiter_.ask(now, {.group = {}, .count = arrived_ - left_}, booking_);
    for (const flow::Departure& departure : booking_.departures) leave(departure.at);
    const bool told = left_ < arrived_ && booking_.stop == flow::Booking::Stop::turn;
    if (told && booking_.ask_again > now) events_.insert(booking_.ask_again);
  }

  void leave(Time at) {
    Request& request = requests_[left_++];
    request.leaves = at;
    landings_.insert(at + request.flies);
    events_.insert(at + request.flies);
  }

  flow::LocalLimiter limiter_;
  flow::Booking booking_;
  std::vector<Request> requests_;
  std::set<Time> events_;
  std::multiset<Time> landings_;
  std::size_t arrived_ = 0;
  std::size_t left_ = 0;
};

// ---- the stories ----------------------------------------------------------------------------------------------------

constexpr Time kMs = 1000;
constexpr Time kSecond = 1000 * kMs;
constexpr Time kShort = 20 * kMs;

/// `count` requests from `first` on, `apart` from each other.
std::vector<Request> row(Time first, int count, Time apart) {
  std::vector<Request> requests;
  for (int n = 0; n < count; ++n) requests.push_back({.arrives = first + n * apart, .flies = kShort});
  return requests;
}

std::vector<Request> together(std::vector<Request> first, const std::vector<Request>& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

/// Ten shortly before the edge of a window and a few in the next: where windows and sliding windows differ.
std::vector<Request> at_an_edge() {
  return together(row(100 * kMs, 2, 300 * kMs), together(row(850 * kMs, 10, 10 * kMs), row(2'500 * kMs, 3, 60 * kMs)));
}

std::vector<Request> of_various_lengths() {
  std::vector<Request> requests = row(100 * kMs, 10, 90 * kMs);
  constexpr Time kLengths[] = {700, 300, 500, 400, 250, 600, 350, 450, 300, 500};
  for (std::size_t n = 0; n < requests.size(); ++n) requests[n].flies = kLengths[n] * kMs;
  return requests;
}

std::vector<Story> stories() {
  using namespace std::chrono_literals;
  return {
      {.file = "pacer.svg",
       .title = "pacer: { qps: 10, maxBurst: 3 }",
       .limit = {PacerConfig{.qps = 10, .max_burst = 3}},
       .requests = together(row(100 * kMs, 12, 20 * kMs), row(2'000 * kMs, 8, 20 * kMs)),
       .lasts = 3 * kSecond},
      {.file = "window.svg",
       .title = "window: { reservoir: 5, interval: 1s }",
       .limit = {WindowConfig{.reservoir = 5, .interval = 1s}},
       .requests = at_an_edge(),
       .lasts = 3 * kSecond,
       .grid = kSecond},
      {.file = "sliding-window.svg",
       .title = "slidingWindow: { max: 5, interval: 1s }",
       .limit = {SlidingWindowConfig{.max = 5, .interval = 1s}},
       .requests = at_an_edge(),
       .lasts = 3 * kSecond},
      {.file = "token-bucket.svg",
       .title = "tokenBucket: { capacity: 5, refillAmount: 2, refillFrequency: 500ms }",
       .limit = {TokenBucketConfig{.capacity = 5, .refill_amount = 2, .refill_frequency = 500ms}},
       .requests = together(row(100 * kMs, 9, 20 * kMs), row(2'300 * kMs, 5, 20 * kMs)),
       .lasts = 3 * kSecond},
      {.file = "semaphore.svg",
       .title = "semaphore: { capacity: 3 }",
       .limit = {SemaphoreConfig{.capacity = 3}},
       .requests = of_various_lengths(),
       .lasts = 3 * kSecond,
       .flights = true},
      {.file = "counter.svg",
       .title = "counter: { max: 5, period: 1s }",
       .limit = {CounterConfig{.max = 5, .period = 1s}},
       .requests = row(300 * kMs, 14, 120 * kMs),
       .lasts = 3 * kSecond},
  };
}

// ---- the drawing ----------------------------------------------------------------------------------------------------

constexpr int kLeft = 70, kRight = 680, kWidth = 700;
constexpr int kArriving = 44, kLeaving = 104;
constexpr int kDot = 6, kBar = 12, kMargin = 18;
constexpr double kTooNear = 3.5;

constexpr const char* kStyle =
    "text { font: 12px system-ui, sans-serif; fill: #808890 } .title { font-family: ui-monospace, monospace }"
    " .name { text-anchor: end } .time { text-anchor: middle } .axis { stroke: #808890 }"
    " .edge { stroke: #808890; stroke-dasharray: 2 4 } .wait { stroke: #d98324; opacity: .6 }"
    " .come { fill: #808890 } .go { fill: #3b8fe0 } .fly { fill: #3b8fe0; opacity: .5 }";

std::string number(double value, int digits = 1) {
  char text[32];
  return {text, static_cast<std::size_t>(std::snprintf(text, sizeof text, "%.*f", digits, value))};
}

std::string seconds(Time time, int digits) { return number(static_cast<double>(time) / 1e6, digits) + " s"; }

/// ` name="value"`
std::string with(const char* name, const std::string& value) { return std::string(" ") + name + "=\"" + value + '"'; }
std::string with(const char* name, double value) { return with(name, number(value)); }

std::string line(const char* kind, double x1, double y1, double x2, double y2) {
  return "<line" + with("class", kind) + with("x1", x1) + with("y1", y1) + with("x2", x2) + with("y2", y2) + "/>\n";
}

std::string text(const char* kind, double x, double y, const std::string& words) {
  return "<text" + with("class", kind) + with("x", x) + with("y", y) + ">" + words + "</text>\n";
}

std::string dot(const char* kind, double x, double y) {
  return "<circle" + with("class", kind) + with("cx", x) + with("cy", y) + with("r", 3) + "/>\n";
}

std::string bar(double x, double y, double width, double height) {
  return "<rect class=\"fly\"" + with("x", x) + with("y", y) + with("width", width) + with("height", height) +
         " rx=\"3\"/>\n";
}

/// What a drawing says under the mouse about each request.
std::string told(const Request& request) {
  return "arrives at " + seconds(request.arrives, 3) + ", leaves at " + seconds(request.leaves, 3);
}

class Drawing {
 public:
  explicit Drawing(const Story& story) : story_(story) {}

  std::string of(const std::vector<Request>& requests) const {
    std::vector<Time> rows;
    const std::vector<int> depths = depths_of(requests);
    const int below = kLeaving + kMargin + kDot * std::ranges::max(depths);
    const std::string bars = story_.flights ? flights(requests, below, rows) : "";
    const int bottom = below + kBar * static_cast<int>(rows.size()) + kMargin;
    std::string svg = head(bottom) + axes(bottom);
    for (std::size_t at = 0; at < requests.size(); ++at) svg += way(requests[at], kLeaving + kDot * depths[at]);
    return svg + bars + "</svg>\n";
  }

 private:
  double x(Time at) const {
    return kLeft + (kRight - kLeft) * static_cast<double>(at) / static_cast<double>(story_.lasts);
  }

  std::string head(int bottom) const {
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 " + std::to_string(kWidth) + " " +
           std::to_string(bottom) + "\">\n<!-- SPDX-License-Identifier: Apache-2.0. Drawn by script/pictures. -->\n" +
           "<title>" + story_.title + "</title>\n<style>" + kStyle + "</style>\n" +
           text("title", kLeft, 18, story_.title);
  }

  std::string axes(int bottom) const {
    std::string svg;
    for (Time at = 0; story_.grid > 0 && at <= story_.lasts; at += story_.grid) {
      svg += line("edge", x(at), kArriving - 8, x(at), kLeaving + 8);
    }
    for (const auto& [y, name] : {std::pair(kArriving, "arrive"), std::pair(kLeaving, "leave")}) {
      svg += line("axis", kLeft, y, kRight, y) + text("name", kLeft - 10, y + 4, name);
    }
    for (Time at = 0; at <= story_.lasts; at += 500'000) svg += text("time", x(at), bottom - 6, seconds(at, 1));
    return svg;
  }

  std::string way(const Request& request, int leaving) const {
    const double from = x(request.arrives), to = x(request.leaves);
    return "<g><title>" + told(request) + "</title>\n" + line("wait", from, kArriving, to, kLeaving) +
           dot("come", from, kArriving) + dot("go", to, leaving) + "</g>\n";
  }

  /// Departures that would cover each other hang below the first of them.
  std::vector<int> depths_of(const std::vector<Request>& requests) const {
    std::vector<int> depths;
    double first = -kTooNear;
    for (const Request& request : requests) {
      const bool near = x(request.leaves) - first < kTooNear;
      if (!near) first = x(request.leaves);
      depths.push_back(near ? depths.back() + 1 : 0);
    }
    return depths;
  }

  /// Bars, each in the first row that is free: as many rows as were ever in flight together.
  std::string flights(const std::vector<Request>& requests, int top, std::vector<Time>& rows) const {
    std::string svg;
    for (const Request& request : requests) {
      auto row = std::ranges::find_if(rows, [&](Time free) { return free <= request.leaves; });
      if (row == rows.end()) row = rows.insert(row, 0);
      *row = request.leaves + request.flies;
      const auto y = static_cast<double>(top + kBar * (row - rows.begin()));
      svg += bar(x(request.leaves), y, x(*row) - x(request.leaves), kBar - 3);
    }
    return svg;
  }

  const Story& story_;
};

}  // namespace
}  // namespace penstock::pictures

int main(int count, char** words) {
  using namespace penstock::pictures;
  if (count != 2) return std::fputs("usage: pictures DIRECTORY\n", stderr), 2;
  for (const Story& story : stories()) {
    const std::string path = std::string(words[1]) + "/" + story.file;
    std::ofstream file(path);
    file << Drawing(story).of(Simulation(story.limit, story.requests).run());
    if (!file.flush()) return std::fprintf(stderr, "pictures: %s cannot be written\n", path.c_str()), 1;
  }
}
