// SPDX-License-Identifier: Apache-2.0
// Each format is a sequence of pieces; reading stops at the first piece that does not fit.
#include "http/date.h"

#include <chrono>
#include <span>

#include "http/grammar.h"

namespace penstock::http {
namespace {

constexpr std::string_view kDays[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
constexpr std::string_view kLongDays[] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
constexpr std::string_view kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool fits(std::string_view piece) {
    if (!rest_.starts_with(piece)) return false;
    rest_.remove_prefix(piece.size());
    return true;
  }
  bool number(std::size_t digits, int& into) {
    const auto value = rest_.size() < digits ? std::nullopt : parse_digits(rest_.substr(0, digits));
    if (!value) return false;
    into = static_cast<int>(*value);
    rest_.remove_prefix(digits);
    return true;
  }
  /// Reads one of these words and gives its number, from 1.
  bool word(std::span<const std::string_view> words, int& into) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (!fits(words[i])) continue;
      into = static_cast<int>(i) + 1;
      return true;
    }
    return false;
  }
  bool ended() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

struct Moment {
  int weekday, year, month, day, hour, minute, second;  // the weekday is read but not used
};

bool read_time(Reader& reader, Moment& m) {
  return reader.number(2, m.hour) && reader.fits(":") && reader.number(2, m.minute) && reader.fits(":") &&
         reader.number(2, m.second);
}

/// Sun, 06 Nov 1994 08:49:37 GMT
bool read_usual(Reader reader, Moment& m) {
  return reader.word(kDays, m.weekday) && reader.fits(", ") && reader.number(2, m.day) && reader.fits(" ") &&
         reader.word(kMonths, m.month) && reader.fits(" ") && reader.number(4, m.year) && reader.fits(" ") &&
         read_time(reader, m) && reader.fits(" GMT") && reader.ended();
}

/// Sunday, 06-Nov-94 08:49:37 GMT
bool read_rfc_850(Reader reader, Moment& m) {
  return reader.word(kLongDays, m.weekday) && reader.fits(", ") && reader.number(2, m.day) && reader.fits("-") &&
         reader.word(kMonths, m.month) && reader.fits("-") && reader.number(2, m.year) && reader.fits(" ") &&
         read_time(reader, m) && reader.fits(" GMT") && reader.ended();
}

/// Sun Nov  6 08:49:37 1994
bool read_asctime(Reader reader, Moment& m) {
  return reader.word(kDays, m.weekday) && reader.fits(" ") && reader.word(kMonths, m.month) && reader.fits(" ") &&
         (reader.fits(" ") ? reader.number(1, m.day) : reader.number(2, m.day)) && reader.fits(" ") &&
         read_time(reader, m) && reader.fits(" ") && reader.number(4, m.year) && reader.ended();
}

/// A leap second (60) counts as the first second of the next minute.
std::optional<std::int64_t> seconds_of(const Moment& m) {
  using namespace std::chrono;
  const year_month_day date{year{m.year}, month{static_cast<unsigned>(m.month)}, day{static_cast<unsigned>(m.day)}};
  if (!date.ok() || m.hour > 23 || m.minute > 59 || m.second > 60) return std::nullopt;
  const auto midnight = sys_seconds{sys_days{date}}.time_since_epoch().count();
  return midnight + m.hour * 3600 + m.minute * 60 + m.second;
}

int year_of(std::int64_t now) {
  using namespace std::chrono;
  return static_cast<int>(year_month_day{floor<days>(sys_seconds{seconds{now}})}.year());
}

/// The year with these last two digits that is at most 50 years ahead, and less than 50 behind.
int with_century(int year, int this_year) {
  const int ahead = ((year - this_year) % 100 + 100) % 100;
  return this_year + (ahead > 50 ? ahead - 100 : ahead);
}

}  // namespace

std::optional<std::int64_t> parse_date(std::string_view text, std::int64_t now) {
  const Reader reader{text};
  Moment moment{};
  if (read_usual(reader, moment) || read_asctime(reader, moment)) return seconds_of(moment);
  if (!read_rfc_850(reader, moment)) return std::nullopt;
  moment.year = with_century(moment.year, year_of(now));
  return seconds_of(moment);
}

}  // namespace penstock::http
