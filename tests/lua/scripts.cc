// SPDX-License-Identifier: Apache-2.0
// EVALSHA, and loading what Redis does not know.
#include "lua/scripts.h"

#include <gtest/gtest.h>

#include "timed/scripts.h"

namespace penstock::lua {

Scripts::Scripts(test::RedisServer& server, Clock clock) : server_(server), clock_(clock) { load(); }

void Scripts::load() {
  for (std::size_t i = 0; i < shas_.size(); ++i) {
    const auto reply = server_.run({"SCRIPT", "LOAD", (tells_time() ? timed::kScripts : redis::kScripts)[i]});
    EXPECT_FALSE(reply.is_error()) << reply.text;
    shas_[i] = reply.text;
  }
}

test::RedisReply Scripts::call(Script script, std::int64_t instant, const Texts& keys, Texts arguments) {
  if (tells_time()) arguments.push_back(std::to_string(instant));
  const std::string count = std::to_string(keys.size());
  std::vector<std::string_view> words{"EVALSHA", shas_[static_cast<std::size_t>(script)], count};
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), arguments.begin(), arguments.end());
  test::RedisReply reply = server_.run(words);
  if (!reply.text.starts_with("NOSCRIPT")) return reply;
  load();
  return server_.run(words);
}

}  // namespace penstock::lua
