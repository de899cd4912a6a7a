// SPDX-License-Identifier: Apache-2.0
// How an amount is read from a body: the entries of `cost.estimate` and `cost.actual`, compiled when a configuration is
// read. Shared by the readers of many requests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/json_paths.h"

namespace penstock::cost {

class JsonScanner;

/// Which body an amount is read from.
enum class Side : std::uint8_t { request, response };

class Amount {
 public:
  struct Found {
    double units = 0;
    std::size_t entry = 0;  ///< the number of the entry that it was read by
    bool operator==(const Found&) const = default;
  };

  /// Adds an entry, which counts where those before it find nothing. `json:PATH` is a number of a JSON body, as
  /// JsonPaths::add() has it. `bytes/N`, of requests alone, is the size of the body divided by N, which is over 0.
  /// `openai`, `anthropic` and `gemini` are what these vendors count. An error is a sentence's end: "is not ...".
  std::expected<void, std::string> add(std::string_view entry, Side side);
  /// The text at this path is kept by scanners, too. False: as JsonPaths::add_text().
  bool keep_text(std::string_view path) { return paths_.add_text(path).has_value(); }

  /// What the scanner has found so far. `bytes` is the size of the request's body, nothing for a response. Numbers of a
  /// request that are below 0, by which some say that there is no bound, are as if absent.
  std::optional<Found> in(const JsonScanner& scanner, std::optional<std::uint64_t> bytes) const;

  const JsonPaths& paths() const { return paths_; }
  bool empty() const { return entries_.empty(); }
  /// Whether the size of a body may decide.
  bool counts_bytes() const {
    return std::ranges::any_of(entries_, [](const Entry& entry) { return entry.bytes_per_unit > 0; });
  }

 private:
  /// The largest of these numbers: a vendor's APIs have one thing under several names, and streams tell it more than
  /// once.
  using Largest = std::vector<std::size_t>;
  struct Entry {
    std::vector<Largest> sum;   // found if one of these is
    double bytes_per_unit = 0;  // over 0: the body's size is added
  };

  std::expected<void, std::string> add_json(std::string_view text);
  std::expected<void, std::string> add_bytes(std::string_view divisor, Side side);
  bool add_preset(std::string_view name, Side side);
  std::optional<double> units_of(const Entry& entry, const JsonScanner& scanner,
                                 std::optional<std::uint64_t> bytes) const;

  JsonPaths paths_;
  std::vector<Entry> entries_;
};

}  // namespace penstock::cost
