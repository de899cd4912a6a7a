// SPDX-License-Identifier: Apache-2.0
// See key_table.h.
#include "config/key_table.h"

#include "config/hints.h"
#include "config/suggestion.h"

namespace penstock::config {

namespace {

std::string listed(std::span<const std::string_view> names) {
  std::string text;
  for (const auto name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

}  // namespace

std::vector<const Entry*> unique_entries(Reading& reading, const Spot& spot, std::string_view expected) {
  std::vector<const Entry*> entries;
  if (spot.node.kind != Node::Kind::map) {
    const bool open = spot.node.kind == Node::Kind::null || spot.node.kind == Node::Kind::broken;
    if (open) return entries;
    const auto hint = spot.node.kind == Node::Kind::scalar ? hint_for_text(spot.path, spot.node.text) : "";
    reading.complain(spot.node, (spot.path.empty() ? "the file" : named(spot.path)) + std::string(expected) + hint);
    reading.excuse(spot.path);
    return entries;
  }
  for (const auto& entry : spot.node.entries) {
    const auto same = [&](const Entry* earlier) { return earlier->key.text == entry.key.text; };
    const auto earlier = std::find_if(entries.begin(), entries.end(), same);
    if (entry.key.kind != Node::Kind::scalar) continue;
    if (entry.key.text == "<<") {
      reading.complain(entry.key, "merge keys are not supported");
    } else if (earlier == entries.end()) {
      entries.push_back(&entry);
    } else {
      reading.complain(entry.key, "duplicate key '" + entry.key.text + "'" +
                                      (spot.path.empty() ? "" : " in " + shown(spot.path)) + "; the first is in line " +
                                      std::to_string((*earlier)->key.line));
    }
  }
  return entries;
}

void complain_unknown(Reading& reading, const Spot& spot, const Node& key, std::span<const std::string_view> known) {
  std::string message = "unknown key '" + key.text + "'" + (spot.path.empty() ? "" : " in " + shown(spot.path));
  if (const auto hint = hint_for_key(shown(spot.path), key.text); !hint.empty()) {
    message += hint;
  } else if (const auto meant = nearest(key.text, known)) {
    message += "; did you mean '" + std::string(*meant) + "'?";
  } else {
    message += "; known here: " + listed(known);
  }
  reading.complain(key, std::move(message));
}

std::string below(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

Node at_key_if_null(const Entry& entry) {
  if (entry.value.kind != Node::Kind::null) return entry.value;
  return {.kind = Node::Kind::null, .line = entry.key.line, .column = entry.key.column};
}

}  // namespace penstock::config
