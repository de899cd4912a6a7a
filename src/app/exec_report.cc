// SPDX-License-Identifier: Apache-2.0
// See exec_report.h.
#include "app/exec_report.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/atomic_file.h"
#include "observe/event_log.h"
#include "observe/live/page.h"
#include "observe/status_json.h"

namespace penstock::app {

/// A link, a pipe or a device would be replaced by a file.
std::optional<std::string> ExecReport::wrong_with(const std::string& file) {
  if (file.empty()) return "--report needs a file's name";
  struct stat there {};
  if (::lstat(file.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) return file + " is there, and is no plain file";
  const auto parent = std::filesystem::path(file).parent_path().string();
  const auto folder = parent.empty() ? std::string(".") : parent;
  if (::stat(folder.c_str(), &there) != 0) return "cannot make " + file + ": " + std::strerror(errno);
  if (!S_ISDIR(there.st_mode)) return "cannot make " + file + ": " + folder + " is no folder";
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return "cannot make " + file + ": " + std::strerror(errno);
  return std::nullopt;
}

void ExecReport::add(const Event& event) {
  if (event.kind == EventKind::dispatch) return sent_.add(event.upstream, event.wall);
  if (ends_.size() == kMostRequests) {
    ends_.pop_front();
    ++forgotten_;
  }
  observe::write_json(ends_.emplace_back(), event);
}

void ExecReport::keep(const Snapshot& last, const Config& config, const std::string& title) {
  using Json = nlohmann::ordered_json;
  const observe::Details details{.shown = true, .why = ""};
  Json upstreams = Json::array(), history = Json::object();
  for (const auto& one : last.upstreams) {
    upstreams.push_back(observe::upstream_json(one, last.taken_at, details));
    history[one.name] = sent_.of(one.name, last.taken_at);
  }
  Json json{{"full", true}, {"now", last.taken_at / 1000}};
  json.update(observe::process_json(last, config, details));
  json["upstreams"] = std::move(upstreams);
  json["notShown"] = 0;
  snapshot_ = observe::json_text(json);
  history_ = observe::json_text(history);
  title_ = observe::json_text(Json(title));
}

/// Each line is a JSON object already.
std::string ExecReport::json() const {
  std::string text = R"({"title":)" + title_ + R"(,"snapshot":)" + snapshot_ + R"(,"history":)" + history_;
  text += R"(,"events":[)";
  for (const auto& end : ends_) text.append(&end == &ends_.front() ? "" : ",").append(end);
  return text + R"(],"dropped":)" + std::to_string(forgotten_) + "}";
}

std::expected<void, std::string> ExecReport::write(const std::string& file) const {
  if (snapshot_.empty()) return {};
  if (auto wrong = wrong_with(file)) return std::unexpected(*std::move(wrong));
  return replace_file(file, observe::frozen_page(json()), S_IRUSR | S_IWUSR);
}

}  // namespace penstock::app
