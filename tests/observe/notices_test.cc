// SPDX-License-Identifier: Apache-2.0
// Diagnostics on stderr: what is written, and that nothing breaks out of its line.
#include "observe/notices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::observe {
namespace {

using testing::EndsWith;
using testing::MatchesRegex;

std::string written(LogLevel level, const Notice& notice) {
  const NoticeSink sink = notices_to_stderr(level);
  testing::internal::CaptureStderr();
  sink(notice);
  return testing::internal::GetCapturedStderr();
}

TEST(Notices, have_a_time_a_level_and_a_text) {
  EXPECT_THAT(written(LogLevel::info, {LogLevel::warn, "disk full"}),
              MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z warn disk full\n"));
}

TEST(Notices, below_the_level_are_dropped) {
  EXPECT_EQ(written(LogLevel::warn, {LogLevel::info, "x"}), "");
  EXPECT_EQ(written(LogLevel::off, {LogLevel::error, "x"}), "");
  EXPECT_THAT(written(LogLevel::debug, {LogLevel::debug, "x"}), EndsWith(" debug x\n"));
}

TEST(Notices, are_one_line_whatever_a_peer_put_into_them) {
  EXPECT_THAT(written(LogLevel::info, {LogLevel::error, "bad\r\nfake\x1b[2J"}), EndsWith(" error bad  fake [2J\n"));
}

}  // namespace
}  // namespace penstock::observe
