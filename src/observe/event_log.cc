// SPDX-License-Identifier: Apache-2.0
// The event log on spdlog's asynchronous logger. The lines of one iteration of the loop travel as one message; the
// queue holds a fixed number of messages, and the oldest is dropped. Only this file uses spdlog.
#include "observe/event_log.h"

#include <pthread.h>
#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/sinks/sink.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <system_error>
#include <utility>

#include "observe/event_output.h"

namespace penstock::observe {
namespace {

constexpr std::size_t kQueuedMessages = 1024;
constexpr std::size_t kMessageBytes = 64 * 1024;
constexpr std::chrono::seconds kPatienceAtTheEnd{2};        // for a slow reader
constexpr std::chrono::milliseconds kSilenceAtTheEnd{400};  // for a reader that reads nothing

// Each message carries, in place of the source line, how often the file had been reopened before it: so a rotation is
// not lost, even if the message that announced it is.
class Sink final : public spdlog::sinks::sink {
 public:
  explicit Sink(EventOutput& output) : output_(output) {}

  void log(const spdlog::details::log_msg& message) override {
    if (message.source.line != opened_) {
      opened_ = message.source.line;
      output_.reopen();
    }
    if (message.payload.size() > 0) output_.write({message.payload.data(), message.payload.size()});
  }
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

 private:
  EventOutput& output_;
  int opened_ = 0;
};

// Signals belong to the program's own threads; here a broken pipe is an error code.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

struct EventLog::Impl {
  explicit Impl(std::unique_ptr<EventOutput> destination) : output(std::move(destination)) {
    pool = std::make_shared<spdlog::details::thread_pool>(kQueuedMessages, 1, block_signals);
    logger = std::make_shared<spdlog::async_logger>("events", std::make_shared<Sink>(*output), pool,
                                                    spdlog::async_overflow_policy::overrun_oldest);
  }
  ~Impl() {
    output->hurry(kPatienceAtTheEnd, kSilenceAtTheEnd);
    pool.reset();
  }

  void post();
  void count_overrun();

  std::unique_ptr<EventOutput> output;
  std::shared_ptr<spdlog::details::thread_pool> pool;
  std::shared_ptr<spdlog::async_logger> logger;

  std::string lines;  // of this iteration
  std::uint32_t line_count = 0;
  int opened = 0;
  // How many lines each of the last messages had. The queue is contiguous: the number of messages posted tells which
  // one an overrun dropped, so lost lines are counted exactly, and at once.
  std::array<std::uint32_t, kQueuedMessages + 1> recent{};
  std::uint64_t posted = 0;
  std::size_t overruns = 0;
  std::atomic<std::uint64_t> overrun_lines{0};
};

void EventLog::Impl::post() {
  logger->log(spdlog::source_loc{"", opened, ""}, spdlog::level::info, spdlog::string_view_t{lines});
  recent[posted++ % recent.size()] = line_count;
  lines.clear();
  line_count = 0;
  count_overrun();
}

void EventLog::Impl::count_overrun() {
  const std::size_t now = pool->overrun_counter();
  if (std::exchange(overruns, now) == now) return;
  const std::uint32_t lost = recent[posted % recent.size()];
  overrun_lines.fetch_add(lost, std::memory_order_relaxed);
}

std::expected<std::unique_ptr<EventLog>, Error> EventLog::open(const std::string& target) try {
  if (target == "off") return std::unique_ptr<EventLog>{new EventLog(nullptr)};
  auto output = EventOutput::open(target);
  if (!output) return std::unexpected(std::move(output.error()));
  return std::unique_ptr<EventLog>{new EventLog(std::make_unique<Impl>(std::move(*output)))};
} catch (const std::system_error& failure) {
  return std::unexpected(Error{.token = "", .message = "cannot start the event log: " + std::string{failure.what()}});
}

EventLog::EventLog(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

EventLog::~EventLog() { flush(); }

void EventLog::record(const Event& event) {
  if (!impl_) return;
  write_json(impl_->lines, event);
  ++impl_->line_count;
  if (impl_->lines.size() >= kMessageBytes) impl_->post();
}

void EventLog::flush() {
  if (impl_ && impl_->line_count > 0) impl_->post();
}

std::expected<base::UniqueFd, Error> EventLog::open_anew(const std::string& target) {
  if (target == "off") return base::UniqueFd{};
  return EventOutput::open_anew(target);
}

void EventLog::reopen(base::UniqueFd file) {
  if (!impl_ || !file) return;
  flush();
  impl_->output->offer(std::move(file));
  ++impl_->opened;
  impl_->post();
}

std::uint64_t EventLog::dropped() const {
  if (!impl_) return 0;
  return impl_->overrun_lines.load(std::memory_order_relaxed) + impl_->output->unwritten();
}

}  // namespace penstock::observe
