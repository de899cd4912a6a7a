// SPDX-License-Identifier: Apache-2.0
// The text of a pause in messages between processes: "<whom> <microseconds> <by>". `whom` is the hash of a group, `-`
// for the whole upstream, or a scope of credentials; `by` is the id of the process that sends the message. For
// pause_messages and shared_pauses.
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "flow/group_hash.h"
#include "flow/limit.h"
#include "redis/limits/group_key.h"

namespace penstock::redis {

inline constexpr std::string_view kWholeUpstream = "-";
inline constexpr flow::Time kLongestToldPause = 24LL * 3600 * 1'000'000;

/// The empty group stands for the whole upstream.
inline std::string pause_name(const flow::GroupHash& hash, std::string_view group) {
  return std::string(group.empty() ? kWholeUpstream : std::string_view(GroupKey(hash, group)));
}

struct ToldPause {
  std::string_view whom;
  flow::Time length;    ///< at most kLongestToldPause
  std::string_view by;  ///< empty: it is not said
};

/// Begins a message of a pause of the upstream or of a group.
inline constexpr std::string_view kPauseWord = "pause ";
inline std::string told_pause(std::string_view whom, flow::Time length, std::string_view by) {
  return std::string(whom) + " " + std::to_string(length) + " " + std::string(by);
}

/// `by` may be missing. Nothing if the words are malformed.
inline std::optional<ToldPause> read_told_length(std::string_view words) {
  const auto gap = words.find(' ');
  if (gap == std::string_view::npos) return std::nullopt;
  flow::Time length = -1;
  const char* const end = words.data() + words.size();
  const char* const rest = std::from_chars(words.data() + gap + 1, end, length).ptr;
  if (length < 0) return std::nullopt;
  return ToldPause{words.substr(0, gap), std::min(length, kLongestToldPause),
                   rest == end ? std::string_view{} : std::string_view(rest + 1, end)};
}

/// The same for a pause, which is longer than 0.
inline std::optional<ToldPause> read_told_pause(std::string_view words) {
  const auto told = read_told_length(words);
  return told && told->length > 0 ? told : std::nullopt;
}

}  // namespace penstock::redis
