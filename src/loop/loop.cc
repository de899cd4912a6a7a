// SPDX-License-Identifier: Apache-2.0
// The loop's turn: libuv's callbacks, then what asked for the turn's end, then the tasks of every turn, then the timers
// are armed.
#include "loop/loop.h"

#include <uv.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "loop/leavers.h"
#include "loop/timer_queue.h"
#include "loop/turn_end.h"
#include "loop/worker.h"

namespace penstock::loop {

using Task = std::move_only_function<void()>;

struct Loop::Inside {
  uv_loop_t uv;
  uv_async_t wake;
  uv_prepare_t turn_end;
  uv_tcp_t first_stream;  // never used: libuv opens a descriptor of its own with the first, and not when one comes
  std::mutex mutex;
  std::vector<Task> posted;
  std::vector<TurnEnd*> turn_ends;  // cancelled ones are null
  struct EveryTurn {
    std::function<void()> task;
    std::weak_ptr<const void> owner;
  };
  std::deque<EveryTurn> every_turn;  // which stay where they are while one of them adds another
  const std::shared_ptr<const bool> ourselves = std::make_shared<const bool>(true);
  std::unordered_map<Resident*, std::unique_ptr<Resident>> residents;
  std::unique_ptr<TimerQueue> timers;
  std::unique_ptr<Leavers> leavers;
  std::unique_ptr<char[]> read_buffer = std::make_unique<char[]>(kReadBuffer);
  std::optional<Worker> worker;
  std::uint64_t turn = 1;

  void run_posted() {
    std::vector<Task> tasks;
    {
      const std::lock_guard lock(mutex);
      tasks.swap(posted);
    }
    for (auto& task : tasks) task();
  }

  void run_turn_ends() {
    for (std::size_t i = 0; i < turn_ends.size(); ++i) {
      TurnEnd* end = turn_ends[i];
      if (!end) continue;
      end->place_ = TurnEnd::kNowhere;
      end->task_();
    }
    turn_ends.clear();
  }

  /// A task may add others, and be the end of another's owner.
  void run_every_turn() {
    bool some_ownerless = false;
    for (std::size_t i = 0; i < every_turn.size(); ++i) {
      if (every_turn[i].owner.expired()) {
        some_ownerless = true;
      } else {
        every_turn[i].task();
      }
    }
    if (some_ownerless) std::erase_if(every_turn, [](const EveryTurn& each) { return each.owner.expired(); });
  }

  bool has_work() {
    const std::lock_guard lock(mutex);
    return !posted.empty() || std::ranges::any_of(turn_ends, [](const TurnEnd* end) { return end != nullptr; });
  }

  void end_turn() {
    do {
      run_turn_ends();
      run_every_turn();
    } while (!turn_ends.empty());
    timers->arm();
    ++turn;
  }
};

Loop::Loop(const Clock* clock) : clock_(clock), inside_(std::make_unique<Inside>()) {
  auto& in = *inside_;
  uv_loop_init(&in.uv);
  uv_async_init(&in.uv, &in.wake, [](uv_async_t* wake) { static_cast<Inside*>(wake->data)->run_posted(); });
  uv_prepare_init(&in.uv, &in.turn_end);
  uv_tcp_init(&in.uv, &in.first_stream);
  in.wake.data = &in;
  in.turn_end.data = this;
  uv_prepare_start(&in.turn_end, [](uv_prepare_t* end) {
    auto& loop = *static_cast<Loop*>(end->data);
    loop.inside_->end_turn();
    loop.dear_time_ = 0;
  });
  in.timers = clock ? std::make_unique<TimerQueue>(*clock) : std::make_unique<TimerQueue>(&in.uv);
  in.leavers = std::make_unique<Leavers>(&in.uv);
}

Loop::~Loop() {
  auto& in = *inside_;
  in.worker.reset();
  in.run_posted();
  in.residents.clear();
  in.run_turn_ends();
  in.timers->close();
  in.leavers->close();
  uv_close(reinterpret_cast<uv_handle_t*>(&in.wake), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&in.turn_end), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&in.first_stream), nullptr);
  // Again where a late stop() has made the run a short one.
  while (uv_loop_close(&in.uv) == UV_EBUSY) uv_run(&in.uv, UV_RUN_DEFAULT);
}

void Loop::run() { uv_run(&inside_->uv, UV_RUN_DEFAULT); }

void Loop::stop() {
  post([this] { uv_stop(&inside_->uv); });
}

void Loop::step() {
  inside_->run_posted();
  inside_->timers->fire();
  inside_->end_turn();
  dear_time_ = 0;
}

std::optional<std::int64_t> Loop::next_step() const {
  if (inside_->has_work()) return now();
  return inside_->timers->next();
}

void Loop::post(Task task) {
  {
    const std::lock_guard lock(inside_->mutex);
    inside_->posted.push_back(std::move(task));
  }
  uv_async_send(&inside_->wake);
}

void Loop::run_posted() { inside_->run_posted(); }
void Loop::run_turn_ends() { inside_->run_turn_ends(); }

void Loop::offload(Task work, Task done) {
  if (!inside_->worker) inside_->worker.emplace();
  inside_->worker->run([this, work = std::move(work), done = std::move(done)]() mutable {
    work();
    post(std::move(done));
  });
}

void Loop::at_end_of_turn(std::function<void()> task) { at_end_of_turn(std::move(task), inside_->ourselves); }

void Loop::at_end_of_turn(std::function<void()> task, std::weak_ptr<const void> owner) {
  inside_->every_turn.push_back({.task = std::move(task), .owner = std::move(owner)});
}

void Loop::adopt(std::unique_ptr<Resident> resident) {
  Resident* const place = resident.get();
  inside_->residents.emplace(place, std::move(resident));
}

void Loop::dismiss(Resident* resident) {
  const auto leaving = inside_->residents.extract(resident);  // destroyed when it is no longer among them
}

std::size_t Loop::residents() const { return inside_->residents.size(); }

std::uint64_t Loop::turn() const { return inside_->turn; }

TurnEnd::TurnEnd(Loop& loop, Task task) : loop_(loop), task_(std::move(task)) {}

void TurnEnd::ask() {
  if (asked()) return;
  auto& all = loop_.inside_->turn_ends;
  place_ = all.size();
  all.push_back(this);
}

void TurnEnd::cancel() {
  if (!asked()) return;
  loop_.inside_->turn_ends[place_] = nullptr;
  place_ = kNowhere;
}

uv_loop_s* Loop::uv() { return &inside_->uv; }
TimerQueue& Loop::timers() { return *inside_->timers; }
Leavers& Loop::leavers() { return *inside_->leavers; }
char* Loop::read_buffer() { return inside_->read_buffer.get(); }

}  // namespace penstock::loop
