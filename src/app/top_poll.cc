// SPDX-License-Identifier: Apache-2.0
// See top_poll.h.
#include "app/top_poll.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "app/admin_client.h"

namespace penstock::app {

namespace {

using namespace std::chrono_literals;

constexpr auto kPollEach = 1s;
constexpr auto kKnockEach = 5ms;
constexpr int kKnock = SIGUSR1;

/// A signal without SA_RESTART ends the system call in which its thread is.
void let_knocks_in() {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  sigaction(kKnock, &action, nullptr);
}

}  // namespace

StatusBody ask_status(const Endpoint& admin) {
  auto answer = ask_admin(admin, "/status");
  const auto where = to_string(admin) + ": ";
  if (!answer) return std::unexpected(where + answer.error());
  if (!answer->fine()) {
    return std::unexpected(where + (answer->status.empty() ? "no answer in HTTP" : "answers " + answer->status));
  }
  return std::move(answer->body);
}

TopPoll::TopPoll(const Endpoint& admin) : admin_(admin), news_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  let_knocks_in();
  thread_ = std::thread([this] { run(); });
}

TopPoll::~TopPoll() {
  std::unique_lock lock(mutex_);
  stop_ = true;
  stop_wanted_.notify_all();
  // A knock just before a call is lost, so there is another one.
  while (!stopped_.wait_for(lock, kKnockEach, [this] { return ended_; })) pthread_kill(thread_.native_handle(), kKnock);
  lock.unlock();
  thread_.join();
}

std::optional<StatusBody> TopPoll::take() {
  eventfd_t count = 0;
  eventfd_read(news_.get(), &count);
  const std::scoped_lock lock(mutex_);
  return std::exchange(answer_, std::nullopt);
}

void TopPoll::run() {
  std::unique_lock lock(mutex_);
  while (!stop_wanted_.wait_for(lock, kPollEach, [this] { return stop_; })) {
    lock.unlock();
    auto answer = ask_status(admin_);
    lock.lock();
    answer_ = std::move(answer);
    eventfd_write(news_.get(), 1);
  }
  ended_ = true;
  stopped_.notify_all();
}

}  // namespace penstock::app
