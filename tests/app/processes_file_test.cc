// SPDX-License-Identifier: Apache-2.0
// How many processes were seen, kept over restarts.
#include "app/processes_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "app/home.h"
#include "app/systemd.h"
#include "support/test_loop.h"

namespace penstock::app {
namespace {

class ProcessesFileTest : public testing::Test {
 protected:
  ProcessesFile opened() {
    return {run_.loop, path_, [this](const Notice& notice) { notices_.push_back(notice.text); }};
  }
  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool comes_to_have(const std::string& number) {
    return run_.run_until([&] { return text() == number + "\n"; });
  }
  void write(const std::string& text) const { std::ofstream(path_) << text; }

  static constexpr std::int64_t kMinute = 60'000'000;
  test::TestLoop run_;
  Home home_;
  std::string path_ = home_.path("processes");
  std::vector<std::string> notices_;
};

TEST_F(ProcessesFileTest, has_nothing_before_any_were_seen) { EXPECT_EQ(opened().kept(), 0); }

TEST_F(ProcessesFileTest, keeps_more_at_once) {
  ProcessesFile file = opened();
  file.seen(1, 2);
  EXPECT_TRUE(comes_to_have("2"));
  file.seen(2, 5);
  EXPECT_TRUE(comes_to_have("5"));
  EXPECT_EQ(opened().kept(), 5);
}

/// Where all are stopped one after the other the last is alone, for a while.
TEST_F(ProcessesFileTest, keeps_fewer_when_there_were_no_more_for_ten_minutes) {
  write("5\n");
  ProcessesFile file = opened();
  for (std::int64_t minute = 0; minute < 10; ++minute) file.seen(minute * kMinute, minute == 4 ? 3 : 1);
  EXPECT_EQ(file.kept(), 5);
  file.seen(10 * kMinute, 1);
  EXPECT_EQ(file.kept(), 3) << "the most of these minutes";
  EXPECT_TRUE(comes_to_have("3"));
}

TEST_F(ProcessesFileTest, forgets_that_there_were_fewer_when_all_are_back) {
  write("5\n");
  ProcessesFile file = opened();
  file.seen(0, 1);
  file.seen(9 * kMinute, 5);
  file.seen(10 * kMinute, 1);
  file.seen(19 * kMinute, 1);
  EXPECT_EQ(file.kept(), 5);
}

TEST_F(ProcessesFileTest, with_anything_but_a_number_has_none) {
  for (const char* text : {"", "x\n", "-1\n", "0\n", "3 4\n", "99999999999999999999\n", "10001\n", "\n5\n"}) {
    write(text);
    EXPECT_EQ(opened().kept(), 0) << text;
  }
}

TEST_F(ProcessesFileTest, that_cannot_be_written_is_said_once) {
  write("a file, and no folder");
  path_ += "/processes";
  ProcessesFile file = opened();
  file.seen(1, 2);
  EXPECT_TRUE(run_.run_until([&] { return notices_.size() == 1; }));
  file.seen(2, 3);
  run_.run_for(50'000);
  EXPECT_EQ(notices_.size(), 1u);
}

TEST_F(ProcessesFileTest, is_none_without_a_path) {
  path_.clear();
  ProcessesFile file = opened();
  file.seen(1, 2);
  EXPECT_EQ(file.kept(), 0);
}

TEST(StateFolder, is_where_systemd_says_and_nowhere_else) {
  ::unsetenv("STATE_DIRECTORY");
  EXPECT_EQ(state_folder(), "");
  ::setenv("STATE_DIRECTORY", "/var/lib/penstock:/var/lib/other", 1);
  EXPECT_EQ(state_folder(), "/var/lib/penstock");
  ::setenv("STATE_DIRECTORY", "relative", 1);
  EXPECT_EQ(state_folder(), "");
  ::unsetenv("STATE_DIRECTORY");
}

}  // namespace
}  // namespace penstock::app
