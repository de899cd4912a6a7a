// SPDX-License-Identifier: Apache-2.0
// One thread that runs tasks in order, for the few things that would stall the loop. libuv's thread pool belongs to the
// whole process, so an embedded proxy does not use it.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace penstock::loop {

class Worker {
 public:
  Worker();
  ~Worker();  ///< runs all tasks given so far, and waits for them

  void run(std::move_only_function<void()> task);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::move_only_function<void()>> tasks_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace penstock::loop
