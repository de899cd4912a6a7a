// SPDX-License-Identifier: Apache-2.0
// The comparison for people: a table for each upstream.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>

#include "replay/comparison.h"

namespace penstock::replay {

namespace {

constexpr std::size_t kShownUpstreams = 50;
constexpr std::size_t kLabel = 30, kColumn = 16;  // characters

std::string number(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, " ");
  return digits;
}

std::string decimal(double value, int places) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", places, value);
  return text.data();
}

std::string span(Time microseconds) {
  const auto value = static_cast<double>(microseconds);
  return microseconds < 1'000'000 ? decimal(value / 1e3, 1) + " ms" : decimal(value / 1e6, 2) + " s";
}

std::string share(double value) { return decimal(100 * value, 1) + " %"; }

/// "2026-11-21 09:30:00"
std::string moment(Time at) {
  namespace chrono = std::chrono;
  const auto seconds = chrono::floor<chrono::seconds>(chrono::sys_time<chrono::microseconds>{chrono::microseconds{at}});
  const auto day = chrono::floor<chrono::days>(seconds);
  const chrono::year_month_day date{day};
  const chrono::hh_mm_ss time{seconds - day};
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02u %02d:%02d:%02d", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return text.data();
}

/// What stands in the label's place, padded by blanks on the right; cells are padded on the left.
class Table {
 public:
  explicit Table(std::string& out) : out_(out) {}
  void begin_line(std::string label) {
    label.resize(std::max(label.size(), kLabel), ' ');
    out_ += "  " + label;
  }
  void cell(const std::string& text) {
    out_.append(text.size() < kColumn ? kColumn - text.size() : 1, ' ').append(text);
  }
  void end_line() { out_ += '\n'; }

 private:
  std::string& out_;
};

class UpstreamTable {
 public:
  UpstreamTable(const ComparedUpstream& upstream, std::string& out) : upstream_(upstream), table_(out) {}

  void write() {
    heads();
    line("sent", [](const Figures& one) { return number(one.of(Fate::sent)); });
    line_if_any(
        "sendings, with repeats", [](const Figures& one) { return one.sendings - one.of(Fate::sent); },
        [](const Figures& one) { return number(one.sendings); });
    fates();
    waits();
    line("longest queue", [](const Figures& one) { return number(one.longest_queue); });
    line("most in flight", [](const Figures& one) { return number(one.most_in_flight); });
    line("of " + std::to_string(upstream_.max_concurrent) + " slots, on average",
         [](const Figures& one) { return share(one.slots_used); });
    limits();
    refused_by_api();
  }

 private:
  template <typename Cell>
  void line(const std::string& label, Cell cell) {
    table_.begin_line(label);
    table_.cell(cell(upstream_.logged));
    if (upstream_.by_old) table_.cell(cell(*upstream_.by_old));
    table_.cell(cell(upstream_.by_new));
    table_.end_line();
  }
  template <typename Count, typename Cell>
  void line_if_any(const std::string& label, Count count, Cell cell) {
    const bool old_has = upstream_.by_old && count(*upstream_.by_old) > 0;
    if (old_has || count(upstream_.logged) > 0 || count(upstream_.by_new) > 0) line(label, cell);
  }

  void heads() {
    table_.begin_line("");
    table_.cell("as logged");
    if (upstream_.by_old) table_.cell("old settings");
    table_.cell("new settings");
    table_.end_line();
  }
  void fates() {
    for (std::size_t i = 1; i < kFateNames.size(); ++i) {
      const auto fate = static_cast<Fate>(i);
      const auto count = [fate](const Figures& one) { return one.of(fate); };
      const std::string label = fate == Fate::gone ? "client left the queue" : "refused: " + std::string(kFateNames[i]);
      line_if_any(label, count, [&](const Figures& one) { return number(count(one)); });
    }
  }
  void waits() {
    line("wait p50", [](const Figures& one) { return span(one.waits.p50); });
    line("wait p95", [](const Figures& one) { return span(one.waits.p95); });
    line("wait p99", [](const Figures& one) { return span(one.waits.p99); });
    line("wait max", [](const Figures& one) { return span(one.waits.max); });
  }
  /// All courses are measured by the same limits.
  void limits() {
    for (std::size_t i = 0; i < upstream_.by_new.limits.size(); ++i) {
      const auto& limit = upstream_.by_new.limits[i];
      const std::string whose = limit.limit + (limit.per_group ? ", fullest group" : "");
      line("of " + whose + ", on average", [i](const Figures& one) { return share(one.limits[i].mean); });
      line("of " + whose + ", busiest", [i](const Figures& one) { return share(one.limits[i].most); });
    }
  }
  void refused_by_api() {
    table_.begin_line("answered 429 by the API");
    table_.cell(number(upstream_.answered_429));
    if (upstream_.by_old) table_.cell("not known");
    table_.cell("not known");
    table_.end_line();
    if (!upstream_.quota) return;
    line("beyond its quota", [](const Figures& one) { return number(one.api_refused.value_or(0)); });
  }

  const ComparedUpstream& upstream_;
  Table table_;
};

void write_head(std::string& out, const RequestLog& log) {
  out += number(log.events) + " events of " + number(log.size()) + " requests";
  if (log.events > 0) out += ", " + moment(log.first) + " to " + moment(log.last) + " UTC";
  out += '\n';
  if (log.bad_lines == 0) return;
  out += number(log.bad_lines) + (log.bad_lines == 1 ? " bad line: " : " bad lines: ");
  for (const auto& bad : log.first_bad_lines)
    out.append(&bad == log.first_bad_lines.data() ? "" : ", ")
        .append(printable(bad.file))
        .append(":" + std::to_string(bad.line));
  out += log.bad_lines > log.first_bad_lines.size() ? " ...\n" : "\n";
}

}  // namespace

std::string in_words(const Comparison& comparison, const RequestLog& log) {
  std::string out;
  write_head(out, log);
  const auto shown = std::min(comparison.upstreams.size(), kShownUpstreams);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& upstream = comparison.upstreams[i];
    out += "\n" + printable(upstream.name) + ", " + number(upstream.requests) + " requests\n";
    UpstreamTable(upstream, out).write();
  }
  if (shown < comparison.upstreams.size())
    out += "\n" + number(comparison.upstreams.size() - shown) + " more upstreams; --json has them\n";
  out += "\nnot known:\n";
  for (const auto& sentence : comparison.unknown) out += "  " + printable(sentence, 1000) + "\n";
  return out;
}

}  // namespace penstock::replay
