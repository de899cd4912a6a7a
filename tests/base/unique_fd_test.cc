// SPDX-License-Identifier: Apache-2.0
// When it closes what it has, and when it does not.
#include "base/unique_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <utility>

namespace penstock::base {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

TEST(UniqueFd, closes_what_it_owns) {
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  {
    UniqueFd first(fd), second(std::move(first));
    EXPECT_FALSE(first);
    EXPECT_EQ(second.get(), fd);
    EXPECT_TRUE(is_open(fd));
  }
  EXPECT_FALSE(is_open(fd));
}

TEST(UniqueFd, closes_nothing_that_was_released) {
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(UniqueFd(fd).release(), fd);
  EXPECT_TRUE(is_open(fd));
  UniqueFd owner(fd);
  owner.reset();
  EXPECT_FALSE(owner);
  EXPECT_FALSE(is_open(fd));
}

}  // namespace
}  // namespace penstock::base
