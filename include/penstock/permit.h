// SPDX-License-Identifier: Apache-2.0
// A permit of an upstream with `permits: true`, held in this process: Proxy::acquire() gives it, and dropping it
// returns it. Header-only.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "penstock/duration.h"

namespace penstock {

/// What may be said of one permit; the same as fields of a request over HTTP.
struct PermitOptions {
  int weight = 1;                    ///< units that it costs in limits of units; a semaphore counts permits
  std::optional<Duration> max_wait;  ///< Penstock-Max-Wait; nullopt: queue.maxWait
  std::string group;                 ///< Penstock-Group, for `group: header:Penstock-Group`; empty: no such field
};

/// Why there is no permit.
struct PermitRefusal {
  int status = 0;                       ///< that a client over HTTP gets: 503, 429, 404, 400; 0: the proxy does not run
  std::string message;                  ///< one line, no trailing full stop: "db queue full, retry in 7s"
  std::optional<Duration> retry_after;  ///< when it may be tried again, as far as known
};

/// Holds a slot and permits of semaphores until it is released or destroyed. Any thread may hold it; two may not use
/// one at the same time. It may outlive the proxy, whose end takes all permits back.
class Permit {
 public:
  /// Holds nothing.
  Permit() = default;
  /// For Proxy. `held`: false once it is lost; `let_go`: is called once, at the release.
  Permit(std::string id, std::shared_ptr<const std::atomic<bool>> held, std::move_only_function<void()> let_go)
      : id_(std::move(id)), held_(std::move(held)), let_go_(std::move(let_go)) {}
  ~Permit() { release(); }
  Permit(Permit&& other) noexcept
      : id_(std::exchange(other.id_, {})),
        held_(std::move(other.held_)),
        let_go_(std::exchange(other.let_go_, nullptr)) {}
  Permit& operator=(Permit&& other) noexcept {
    if (this == &other) return *this;
    release();
    id_ = std::exchange(other.id_, {});
    held_ = std::move(other.held_);
    let_go_ = std::exchange(other.let_go_, nullptr);
    return *this;
  }

  /// Returns it. Never blocks; a second call does nothing.
  void release() {
    held_.reset();
    if (let_go_) std::exchange(let_go_, nullptr)();
  }
  /// False once it is released or lost: the proxy has ended, or its lease at Redis could not be renewed. Others may
  /// have it then, so what it guards should end.
  bool held() const { return held_ && *held_; }
  /// As in the events of it, also once it is released; empty: it has never held anything, or was moved away.
  const std::string& id() const { return id_; }

 private:
  std::string id_;
  std::shared_ptr<const std::atomic<bool>> held_;
  std::move_only_function<void()> let_go_;
};

}  // namespace penstock
