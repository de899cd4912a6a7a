// SPDX-License-Identifier: Apache-2.0
// Colours are of a middle lightness, to be read on a light page and on a dark one.
#include "pictures/drawing.h"

#include <algorithm>
#include <cstdio>

namespace penstock::pictures {
namespace {

using flow::Time;

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

std::string drawn(const Story& story, const std::vector<Request>& requests) { return Drawing(story).of(requests); }

}  // namespace penstock::pictures
