// SPDX-License-Identifier: Apache-2.0
// The text of a pause in messages between processes: "<target> <microseconds> <sender>". `target` is the hash of a
// group, `-` for the whole upstream, or a scope of credentials; `sender` is the name of the process that sends the
// message. For pause_messages and shared_pauses.
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
inline constexpr flow::Time kLongestPauseMessage = 24LL * 3600 * 1'000'000;

/// The empty group stands for the whole upstream.
inline std::string pause_name(const flow::GroupHash& hash, std::string_view group) {
  return std::string(group.empty() ? kWholeUpstream : std::string_view(GroupKey(hash, group)));
}

struct PauseMessage {
  std::string_view target;
  flow::Time length;        ///< at most kLongestPauseMessage
  std::string_view sender;  ///< empty: it is not said
};

/// Begins a message of a pause of the upstream or of a group.
inline constexpr std::string_view kPauseWord = "pause ";
inline std::string pause_message(std::string_view target, flow::Time length, std::string_view sender) {
  return std::string(target) + " " + std::to_string(length) + " " + std::string(sender);
}

/// `sender` may be missing. Nothing if the words are malformed.
inline std::optional<PauseMessage> read_pause_length(std::string_view words) {
  const auto gap = words.find(' ');
  if (gap == std::string_view::npos) return std::nullopt;
  flow::Time length = -1;
  const char* const end = words.data() + words.size();
  const char* const rest = std::from_chars(words.data() + gap + 1, end, length).ptr;
  if (length < 0) return std::nullopt;
  return PauseMessage{words.substr(0, gap), std::min(length, kLongestPauseMessage),
                      rest == end ? std::string_view{} : std::string_view(rest + 1, end)};
}

/// The same for a pause, which is longer than 0.
inline std::optional<PauseMessage> read_pause(std::string_view words) {
  const auto read = read_pause_length(words);
  return read && read->length > 0 ? read : std::nullopt;
}

}  // namespace penstock::redis
