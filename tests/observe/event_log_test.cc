// SPDX-License-Identifier: Apache-2.0
// The event log against real files, pipes and a full disk: order, rotation, counted losses, and never a stall.
#include "observe/event_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <thread>

#include "support/core_time.h"
#include "support/machine.h"

namespace penstock::observe {
namespace {

using Clock = std::chrono::steady_clock;

class EventLogTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "events-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }

  // A pipe with a name and a reader that reads nothing yet.
  int blocked_pipe() {
    EXPECT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    return ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  }

  std::filesystem::path folder_;
};

std::unique_ptr<EventLog> opened(const std::string& target) {
  auto log = EventLog::open(target);
  if (!log) ADD_FAILURE() << log.error().message;
  return log ? std::move(*log) : nullptr;
}

void record(EventLog& log, std::size_t number) {
  Event event;
  event.id = "x";
  event.pending = number;
  log.record(event);
}

// The `pending` of each line, where record() puts its number.
std::vector<std::size_t> numbers(std::istream& lines) {
  std::vector<std::size_t> found;
  for (std::string line; std::getline(lines, line);) found.push_back(nlohmann::json::parse(line)["pending"]);
  return found;
}

std::vector<std::size_t> numbers_in(const std::string& path) {
  std::ifstream file{path};
  return numbers(file);
}

std::vector<std::size_t> counting(std::size_t from, std::size_t to) {
  std::vector<std::size_t> all(to - from);
  std::iota(all.begin(), all.end(), from);
  return all;
}

/// All that a full pipe holds and is given. Returns when the reader is at it: the log waits for none that is late.
std::future<std::string> drain(int pipe) {
  ::fcntl(pipe, F_SETFL, ::fcntl(pipe, F_GETFL) & ~O_NONBLOCK);
  const auto begun = std::make_shared<std::promise<void>>();
  auto reader = std::async(std::launch::async, [pipe, begun] {
    std::string all(65536, '\0');
    all.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(pipe, all.data(), all.size()), 0)));
    begun->set_value();
    char piece[65536];
    for (ssize_t size = 0; (size = ::read(pipe, piece, sizeof piece)) > 0;) all.append(piece, size);
    return all;
  });
  begun->get_future().wait();
  return reader;
}

bool comes_true(const std::function<bool()>& condition) {
  for (const auto end = Clock::now() + 10s; Clock::now() < end; std::this_thread::yield()) {
    if (condition()) return true;
  }
  return false;
}

TEST_F(EventLogTest, lines_reach_the_file_whole_and_in_order) {
  auto log = opened(path("log"));
  for (std::size_t turn = 0; turn < 500; ++turn) {
    for (std::size_t i = 0; i < 10; ++i) record(*log, turn * 10 + i);
    log->flush();
  }
  log.reset();
  EXPECT_EQ(numbers_in(path("log")), counting(0, 5000));
}

TEST_F(EventLogTest, a_turn_with_more_than_a_message_holds_loses_nothing) {
  auto log = opened(path("log"));
  for (std::size_t i = 0; i < 5000; ++i) record(*log, i);
  log->flush();
  log.reset();
  EXPECT_EQ(numbers_in(path("log")), counting(0, 5000));
}

TEST_F(EventLogTest, what_was_recorded_but_not_flushed_is_written_at_the_end) {
  auto log = opened(path("log"));
  record(*log, 7);
  log.reset();
  EXPECT_EQ(numbers_in(path("log")), counting(7, 8));
}

TEST_F(EventLogTest, an_existing_file_is_appended_to) {
  for (const std::size_t number : {0, 1}) record(*opened(path("log")), number);
  EXPECT_EQ(numbers_in(path("log")), counting(0, 2));
}

TEST_F(EventLogTest, off_writes_nothing) {
  const auto log = opened("off");
  record(*log, 1);
  log->flush();
  log->reopen(*EventLog::open_anew("off"));
  EXPECT_EQ(log->dropped(), 0u);
}

TEST_F(EventLogTest, a_path_that_cannot_be_opened_is_an_error_with_the_reason) {
  const auto log = EventLog::open(path("missing/log"));
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().message, "cannot write events to " + path("missing/log") + ": No such file or directory");
}

TEST_F(EventLogTest, after_a_rotation_old_lines_are_in_the_old_file_and_new_ones_in_the_new) {
  auto log = opened(path("log"));
  record(*log, 0);
  std::filesystem::rename(path("log"), path("log.1"));
  log->reopen(*EventLog::open_anew(path("log")));
  EXPECT_TRUE(comes_true([&] { return std::filesystem::exists(path("log")); }));
  record(*log, 1);
  log.reset();
  EXPECT_EQ(numbers_in(path("log.1")), counting(0, 1));
  EXPECT_EQ(numbers_in(path("log")), counting(1, 2));
}

TEST_F(EventLogTest, a_rotation_into_nowhere_is_an_error_with_the_reason_and_goes_on_with_the_old_file) {
  std::filesystem::create_directory(path("folder"));
  auto log = opened(path("folder/log"));
  std::filesystem::rename(path("folder"), path("moved"));
  const auto anew = EventLog::open_anew(path("folder/log"));
  ASSERT_FALSE(anew);
  EXPECT_EQ(anew.error().message, "cannot write events to " + path("folder/log") + ": No such file or directory");
  record(*log, 0);
  log.reset();
  EXPECT_EQ(numbers_in(path("moved/log")), counting(0, 1));
}

TEST_F(EventLogTest, a_blocked_pipe_stalls_nobody_and_every_lost_line_is_counted) {
  const int pipe = blocked_pipe();
  auto log = opened(path("pipe"));
  constexpr std::size_t kTurns = 5000, kLines = 3;
  const auto start = Clock::now();
  const auto before = test::core_time_of().waited;
  for (std::size_t turn = 0; turn < kTurns; ++turn) {
    for (std::size_t i = 0; i < kLines; ++i) record(*log, turn * kLines + i);
    log->flush();
  }
  EXPECT_TRUE(test::within(1s + (test::core_time_of().waited - before), start));
  const std::uint64_t dropped = log->dropped();
  EXPECT_GT(dropped, (kTurns - 2000) * kLines);

  auto reader = drain(pipe);
  log.reset();
  std::istringstream lines{reader.get()};
  const auto read = numbers(lines);
  EXPECT_EQ(read.size() + dropped, kTurns * kLines);
  EXPECT_TRUE(std::ranges::is_sorted(read));
  EXPECT_EQ(read.back(), kTurns * kLines - 1);
  ::close(pipe);
}

TEST_F(EventLogTest, a_rotation_is_obeyed_even_when_its_message_was_overrun) {
  const int pipe = blocked_pipe();
  auto log = opened(path("pipe"));
  record(*log, 0);
  std::filesystem::remove(path("pipe"));
  log->reopen(*EventLog::open_anew(path("pipe")));
  for (std::size_t i = 1; i <= 5000; ++i) {
    record(*log, i);
    log->flush();
  }
  auto reader = drain(pipe);
  log.reset();
  reader.get();
  EXPECT_EQ(numbers_in(path("pipe")).back(), 5000u);
  ::close(pipe);
}

TEST_F(EventLogTest, the_end_waits_a_moment_for_a_blocked_pipe) {
  const int pipe = blocked_pipe();
  auto log = opened(path("pipe"));
  for (std::size_t i = 0; i < 5000; ++i) {
    record(*log, i);
    log->flush();
  }
  const auto start = Clock::now();
  log.reset();
  EXPECT_GE(Clock::now() - start, 400ms);
  EXPECT_TRUE(test::within(500ms, start));
  ::close(pipe);
}

TEST_F(EventLogTest, a_reader_that_has_gone_costs_lines_and_nothing_else) {
  const int pipe = blocked_pipe();
  auto log = opened(path("pipe"));
  ::close(pipe);
  for (std::size_t i = 0; i < 10; ++i) record(*log, i);
  log->flush();
  EXPECT_TRUE(comes_true([&] { return log->dropped() == 10; })) << log->dropped();
}

TEST_F(EventLogTest, lines_that_a_full_disk_refuses_are_counted) {
  auto log = opened("/dev/full");
  for (std::size_t i = 0; i < 10; ++i) record(*log, i);
  log->flush();
  EXPECT_TRUE(comes_true([&] { return log->dropped() == 10; })) << log->dropped();
}

TEST_F(EventLogTest, a_line_torn_by_a_full_disk_does_not_spoil_the_next) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto log = opened(path("log"));
  rlimit small = before;
  small.rlim_cur = 200;  // in the middle of the second line
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  record(*log, 0);
  record(*log, 1);
  log->flush();
  const bool torn = comes_true([&] { return log->dropped() == 1; });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_TRUE(torn);
  record(*log, 2);
  log.reset();
  std::ifstream file{path("log")};
  std::string first, second, third;
  std::getline(file, first), std::getline(file, second), std::getline(file, third);
  EXPECT_EQ(nlohmann::json::parse(first)["pending"], 0);
  EXPECT_FALSE(nlohmann::json::accept(second));
  EXPECT_EQ(nlohmann::json::parse(third)["pending"], 2);
}

// Descriptor 1 of this process is a pipe as long as one of these lives.
class StdoutIsAPipe {
 public:
  StdoutIsAPipe() : saved_(::dup(STDOUT_FILENO)) {
    EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0);
    ::dup2(ends_[1], STDOUT_FILENO);
    ::close(ends_[1]);
  }
  ~StdoutIsAPipe() { restore(), ::close(ends_[0]); }
  int restore() {
    if (saved_ >= 0) ::dup2(saved_, STDOUT_FILENO), ::close(saved_), saved_ = -1;
    return ends_[0];
  }

 private:
  int saved_;
  int ends_[2] = {-1, -1};
};

TEST_F(EventLogTest, a_blocked_stdout_stalls_nobody_and_its_mode_stays_as_it_was) {
  std::fflush(stdout);
  StdoutIsAPipe stdout_pipe;
  auto log = opened("stdout");
  const auto start = Clock::now();
  const auto before = test::core_time_of().waited;
  for (std::size_t i = 0; i < 5000; ++i) {
    record(*log, i);
    log->flush();
  }
  const auto end = Clock::now();
  const auto waited = test::core_time_of().waited - before;
  const int mode = ::fcntl(STDOUT_FILENO, F_GETFL);
  const int pipe = stdout_pipe.restore();
  const std::uint64_t dropped = log->dropped();
  auto reader = drain(pipe);
  log.reset();
  std::istringstream lines{reader.get()};
  EXPECT_TRUE(test::within(1s + waited, start, end));
  EXPECT_EQ(mode & O_NONBLOCK, 0);
  EXPECT_GT(dropped, 0u);
  EXPECT_EQ(numbers(lines).size() + dropped, 5000u);
}

}  // namespace
}  // namespace penstock::observe
