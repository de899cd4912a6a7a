// SPDX-License-Identifier: Apache-2.0
// An iteration of the loop: libuv's callbacks, then the IterationEnds asked for, then the tasks of every iteration,
// then the timers are armed.
#include "loop/loop.h"

#include <uv.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "loop/hangup_watcher.h"
#include "loop/iteration_ends.h"
#include "loop/timer_queue.h"
#include "loop/worker.h"

namespace penstock::loop {

using Task = std::move_only_function<void()>;

struct Loop::Impl {
  uv_loop_t uv;
  uv_async_t wake;
  uv_prepare_t iteration_end;
  uv_tcp_t first_stream;  // never used: libuv opens a spare descriptor with its first stream, so it does so here
  std::mutex mutex;
  std::vector<Task> posted;
  IterationEnds iteration_ends;
  struct EveryIteration {
    std::function<void()> task;
    std::weak_ptr<const void> owner;
  };
  std::deque<EveryIteration> every_iteration;  // a deque: tasks stay in place while one of them adds another
  const std::shared_ptr<const bool> ourselves = std::make_shared<const bool>(true);
  std::unordered_map<SelfOwned*, std::unique_ptr<SelfOwned>> self_owned;
  std::unique_ptr<TimerQueue> timers;
  std::unique_ptr<HangupWatcher> hangup_watcher;
  std::unique_ptr<char[]> read_buffer = std::make_unique<char[]>(kReadBuffer);
  std::optional<Worker> worker;
  std::uint64_t iteration = 1;

  void run_posted() {
    std::vector<Task> tasks;
    {
      const std::lock_guard lock(mutex);
      tasks.swap(posted);
    }
    for (auto& task : tasks) task();
  }

  /// A task may add others, and may destroy another's owner.
  void run_every_iteration() {
    bool some_ownerless = false;
    for (std::size_t i = 0; i < every_iteration.size(); ++i) {
      if (every_iteration[i].owner.expired()) {
        some_ownerless = true;
      } else {
        every_iteration[i].task();
      }
    }
    if (some_ownerless) std::erase_if(every_iteration, [](const EveryIteration& each) { return each.owner.expired(); });
  }

  bool has_work() {
    const std::lock_guard lock(mutex);
    return !posted.empty() || iteration_ends.any();
  }

  void end_iteration() {
    do {
      iteration_ends.run();
      run_every_iteration();
    } while (!iteration_ends.empty());
    timers->arm();
    ++iteration;
  }
};

Loop::Loop(const Clock* clock) : clock_(clock), impl_(std::make_unique<Impl>()) {
  auto& in = *impl_;
  uv_loop_init(&in.uv);
  uv_async_init(&in.uv, &in.wake, [](uv_async_t* wake) { static_cast<Impl*>(wake->data)->run_posted(); });
  uv_prepare_init(&in.uv, &in.iteration_end);
  uv_tcp_init(&in.uv, &in.first_stream);
  in.wake.data = &in;
  in.iteration_end.data = this;
  uv_prepare_start(&in.iteration_end, [](uv_prepare_t* end) {
    auto& loop = *static_cast<Loop*>(end->data);
    loop.impl_->end_iteration();
    loop.expensive_time_ = 0;
  });
  in.timers = clock ? std::make_unique<TimerQueue>(*clock) : std::make_unique<TimerQueue>(&in.uv);
  in.hangup_watcher = std::make_unique<HangupWatcher>(&in.uv);
}

Loop::~Loop() {
  auto& in = *impl_;
  in.worker.reset();
  in.run_posted();
  in.self_owned.clear();
  in.iteration_ends.run();
  in.timers->close();
  in.hangup_watcher->close();
  uv_close(reinterpret_cast<uv_handle_t*>(&in.wake), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&in.iteration_end), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&in.first_stream), nullptr);
  // Runs again if a late stop() has cut the run short.
  while (uv_loop_close(&in.uv) == UV_EBUSY) uv_run(&in.uv, UV_RUN_DEFAULT);
}

void Loop::run() { uv_run(&impl_->uv, UV_RUN_DEFAULT); }

void Loop::stop() {
  post([this] { uv_stop(&impl_->uv); });
}

void Loop::step() {
  impl_->run_posted();
  impl_->timers->fire();
  impl_->end_iteration();
  expensive_time_ = 0;
}

std::optional<std::int64_t> Loop::next_step() const {
  if (impl_->has_work()) return now();
  return impl_->timers->next();
}

void Loop::post(Task task) {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->posted.push_back(std::move(task));
  }
  uv_async_send(&impl_->wake);
}

void Loop::run_posted() { impl_->run_posted(); }
void Loop::run_iteration_ends() { impl_->iteration_ends.run(); }

void Loop::offload(Task work, Task done) {
  if (!impl_->worker) impl_->worker.emplace();
  impl_->worker->run([this, work = std::move(work), done = std::move(done)]() mutable {
    work();
    post(std::move(done));
  });
}

void Loop::at_iteration_end(std::function<void()> task) { at_iteration_end(std::move(task), impl_->ourselves); }

void Loop::at_iteration_end(std::function<void()> task, std::weak_ptr<const void> owner) {
  impl_->every_iteration.push_back({.task = std::move(task), .owner = std::move(owner)});
}

void Loop::adopt(std::unique_ptr<SelfOwned> resident) {
  SelfOwned* const place = resident.get();
  impl_->self_owned.emplace(place, std::move(resident));
}

void Loop::dismiss(SelfOwned* resident) {
  const auto leaving = impl_->self_owned.extract(resident);  // removed from the map first, then destroyed
}

std::size_t Loop::self_owned() const { return impl_->self_owned.size(); }

std::uint64_t Loop::iteration() const { return impl_->iteration; }

uv_loop_s* Loop::uv() { return &impl_->uv; }
IterationEnds& Loop::iteration_ends() { return impl_->iteration_ends; }
TimerQueue& Loop::timers() { return *impl_->timers; }
HangupWatcher& Loop::hangup_watcher() { return *impl_->hangup_watcher; }
char* Loop::read_buffer() { return impl_->read_buffer.get(); }

}  // namespace penstock::loop
