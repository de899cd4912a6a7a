// SPDX-License-Identifier: Apache-2.0
// One thread that runs tasks in order: for the few things that would stall the loop. libuv's pool is the process's, and
// an embedded proxy leaves that alone.
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
  ~Worker();  ///< finishes what was given

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
