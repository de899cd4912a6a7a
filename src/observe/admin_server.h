// SPDX-License-Identifier: Apache-2.0
// The admin port: GET and HEAD of /metrics, /healthz, /readyz, /status, /ahead?url=URL, of the page / with its streams
// /live and /events, and POST of /resume?upstream=NAME, from this machine only; all else gets 404 or 405. Runs on the
// loop's thread; the slow texts (/metrics, /status, what /live says) are made by the loop's worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "http/refusal.h"
#include "loop/loop.h"
#include "observe/live/viewers.h"
#include "observe/metrics.h"
#include "penstock/ahead.h"
#include "penstock/config.h"
#include "penstock/error.h"
#include "penstock/event.h"
#include "penstock/snapshot.h"

namespace penstock::observe {

class AdminServer {
 public:
  /// Taken once per request, on the loop's thread.
  using SnapshotSource = std::function<Snapshot(const SnapshotExtent&)>;

  /// /status shows `config.proxy.listen` as given: pass it with the port that was really bound. `metrics` must outlive
  /// the server. `handed_over` as in Listener.
  static std::expected<std::unique_ptr<AdminServer>, Error> listen(loop::Loop& loop, const Config& config,
                                                                   Metrics& metrics, SnapshotSource snapshot,
                                                                   std::function<std::uint64_t()> events_dropped,
                                                                   int handed_over = -1);
  ~AdminServer();  ///< closes its connections; waits for a text under way

  /// Ends the pauses of the upstream or quota of that name. False: there are none; nullopt: there is no such upstream.
  using EndPauses = std::function<std::optional<bool>(std::string_view upstream)>;
  /// What POST of /resume does. Call before the loop runs.
  void on_resume(EndPauses end_pauses);
  /// Is told when a request would leave; the error is what it would be told.
  using OnAhead = std::move_only_function<void(std::expected<Ahead, http::Refusal> ahead)>;
  /// Calls `told` once: at once, or later.
  using Foretell = std::function<void(const AheadQuery& query, OnAhead told)>;
  /// What GET of /ahead does. Call before the loop runs.
  void on_ahead(Foretell foretell);
  /// From what all that is shown is made; without it from the snapshots of listen(). Call before the loop runs.
  void look_by(Viewers::Sources sources);
  /// Somebody looks at /live or /events.
  bool is_watched() const { return viewers_.any(); }
  /// Call only if it is_watched().
  void record(const Event& event) { viewers_.record(event); }
  std::size_t viewers() const { return viewers_.count(); }
  std::size_t held_by_viewers() const { return viewers_.held(); }  ///< bytes that wait to be sent to them
  /// What /status shows from now on; `config.proxy.listen` as in listen().
  void change(const Config& config);
  Endpoint bound() const;  ///< with the port that was really bound

 private:
  struct Impl;
  explicit AdminServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
  Viewers& viewers_;
};

}  // namespace penstock::observe
