// SPDX-License-Identifier: Apache-2.0
// The README's example, run: it and its child get their answers, through the proxy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "origin.h"

namespace embedding {
namespace {

struct Finished {
  int status = -1;
  std::string output;
};

Finished run(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "re");
  Finished finished;
  for (int c; pipe && (c = std::fgetc(pipe)) != EOF;) finished.output += static_cast<char>(c);
  if (pipe) finished.status = pclose(pipe);
  return finished;
}

/// The one built with this program, or another that the environment names.
std::string program() {
  const char* other = std::getenv("EXAMPLE");
  return other ? other : EXAMPLE;
}

TEST(Example, sends_its_childs_requests_and_its_own_through_the_proxy) {
  Origin origin;
  const Finished example = run(program() + " " + origin.url("/news"));
  EXPECT_EQ(example.status, 0);
  EXPECT_EQ(origin.requests(), 2u);
  const std::string told = origin.authority() + " answered 200 after [0-9]+ us\n";
  EXPECT_THAT(example.output, testing::MatchesRegex(told + told + "in-process: 200\n" + origin.authority() +
                                                    ": 0 pending, 0 in flight, 2 successes\n"));
}

}  // namespace
}  // namespace embedding
