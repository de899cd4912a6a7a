// SPDX-License-Identifier: Apache-2.0
// What belongs to the whole process, and is not a library's to change: signals, masks, the environment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <future>
#include <iterator>
#include <mutex>
#include <set>

#include "origin.h"
#include "stage.h"

namespace {
std::atomic<bool> watching = false;
std::mutex asking;
std::set<std::string> asked_for;

char* look_up(const char* name) {
  if (watching) {
    const std::lock_guard lock(asking);
    asked_for.insert(name);
  }
  const std::size_t size = std::strlen(name);
  for (char** variable = environ; variable && *variable; ++variable) {
    if (std::strncmp(*variable, name, size) == 0 && (*variable)[size] == '=') return *variable + size + 1;
  }
  return nullptr;
}
}  // namespace

/// Those of the C library give way to these, in every library of this process.
extern "C" char* getenv(const char* name) noexcept { return look_up(name); }
extern "C" char* secure_getenv(const char* name) noexcept { return look_up(name); }

namespace embedding {
namespace {

using penstock::EventKind;
using penstock::Outcome;
using penstock::Proxy;
using testing::EndsWith;

/// Everything that the kernel keeps about a signal, as bytes: the handler, its flags, its mask.
std::vector<std::string> dispositions() {
  std::vector<std::string> all;
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    struct sigaction now;
    std::memset(&now, 0, sizeof now);
    if (sigaction(signal, nullptr, &now) != 0) continue;
    const auto handler = reinterpret_cast<std::uintptr_t>(now.sa_handler);
    std::string words = std::to_string(signal) + " " + std::to_string(handler) + " " + std::to_string(now.sa_flags);
    for (int other = 1; other <= SIGRTMAX; ++other) words += sigismember(&now.sa_mask, other) == 1 ? '1' : '0';
    all.push_back(words);
  }
  return all;
}

std::vector<int> blocked_here() {
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  std::vector<int> all;
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    if (sigismember(&mask, signal) == 1) all.push_back(signal);
  }
  return all;
}

std::vector<std::string> environment() {
  std::vector<std::string> all;
  for (char** variable = environ; *variable; ++variable) all.emplace_back(*variable);
  return all;
}

/// An environment variable for the life of this object.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

void vanish_in_the_middle_of_an_answer(const Proxy& proxy, const Origin& origin) {
  auto client = connect(proxy.url());
  client.send("GET " + origin.url("/big") + " HTTP/1.1\r\nHost: any\r\n\r\n");
  ASSERT_FALSE(client.read_some().empty());
  client.reset();
}

// docs/embedding.md has the list. libcurl and OpenSSL look at theirs once in a process, for the proxy of another test
// maybe; OPENSSL_ia32cap says what the processor can.
TEST(Process, reads_the_variables_that_the_manual_lists_and_no_other) {
  Origin origin;
  asked_for.clear();
  watching = true;
  {
    auto config = narrow(2);
    Proxy proxy{config};
    ASSERT_TRUE(proxy.start());
    for (const std::string& url :
         {origin.url("/"), std::string("https://localhost:1/"), std::string("http://nobody.invalid/")}) {
      auto answer = submit(proxy, {.url = url});
      ASSERT_TRUE(wait_for(answer));
    }
  }
  watching = false;
  const std::set<std::string> listed{"LOCALDOMAIN", "OPENSSL_CONF",  "OPENSSL_ia32cap",
                                     "RES_OPTIONS", "SSLKEYLOGFILE", "SSL_CERT_FILE"};
  std::vector<std::string> others;
  std::ranges::set_difference(asked_for, listed, std::back_inserter(others));
  EXPECT_THAT(others, testing::IsEmpty());
  EXPECT_THAT(asked_for, testing::IsSupersetOf({"LOCALDOMAIN", "RES_OPTIONS", "SSL_CERT_FILE"}));
}

TEST(Process, signals_and_environment_are_left_alone) {
  const auto dispositions_before = dispositions();
  const auto environment_before = environment();
  const auto blocked_before = blocked_here();
  ASSERT_GT(dispositions_before.size(), 30u);
  Origin origin;
  {
    Proxy proxy(quiet());
    ASSERT_TRUE(proxy.start());
    ASSERT_THAT(get(proxy.url(), origin.url("/")), EndsWith(Origin::echo("GET", "/")));
    EXPECT_EQ(dispositions(), dispositions_before);
    EXPECT_EQ(environment(), environment_before);
    EXPECT_EQ(blocked_here(), blocked_before);
    EXPECT_TRUE(proxy.drain(kPatience));
  }
  EXPECT_EQ(dispositions(), dispositions_before);
  EXPECT_EQ(environment(), environment_before);
  EXPECT_EQ(blocked_here(), blocked_before);
}

TEST(Process, only_the_proxys_own_thread_blocks_sigpipe) {
  Origin origin;
  Proxy proxy(quiet());
  std::promise<std::vector<int>> promise;
  auto blocked_there = promise.get_future();
  proxy.observe([&promise](const penstock::Event& event) {
    if (event.kind == EventKind::dispatch) promise.set_value(blocked_here());
  });
  ASSERT_TRUE(proxy.start());
  auto answer = submit(proxy, {.url = origin.url("/")});
  ASSERT_EQ(wait_for(answer).value()->status, 200);
  auto expected = blocked_here();
  ASSERT_THAT(expected, testing::Not(testing::Contains(SIGPIPE)));
  expected.push_back(SIGPIPE);
  std::ranges::sort(expected);
  EXPECT_EQ(blocked_there.get(), expected);
}

TEST(Process, survives_clients_that_vanish) {
  struct sigaction pipe;
  ASSERT_EQ(sigaction(SIGPIPE, nullptr, &pipe), 0);
  ASSERT_EQ(pipe.sa_handler, SIG_DFL) << "otherwise this test could not fail";
  Origin origin;
  Observer told;
  Proxy proxy(quiet());
  told.observe(proxy);
  ASSERT_TRUE(proxy.start());
  constexpr std::size_t kClients = 20;
  for (std::size_t i = 0; i < kClients; ++i) {
    ASSERT_NO_FATAL_FAILURE(vanish_in_the_middle_of_an_answer(proxy, origin));
  }
  ASSERT_TRUE(told.wait_for(EventKind::error, kClients));
  for (const auto& event : told.all()) {
    EXPECT_EQ(event.outcome, event.kind == EventKind::dispatch ? Outcome::none : Outcome::client_gone);
  }
  EXPECT_THAT(get(proxy.url(), origin.url("/after")), EndsWith(Origin::echo("GET", "/after")));
}

TEST(Process, the_environments_proxy_is_for_others) {
  const char* const nobody_listens = "http://127.0.0.1:1";
  const Variable lower("http_proxy", nobody_listens), upper("HTTP_PROXY", nobody_listens);
  const Variable all("all_proxy", nobody_listens), all_upper("ALL_PROXY", nobody_listens);
  Origin origin;
  Proxy proxy(quiet());
  ASSERT_TRUE(proxy.start());
  auto answer = submit(proxy, {.url = origin.url("/direct")});
  const auto given = wait_for(answer);
  ASSERT_TRUE(given && *given);
  EXPECT_EQ((*given)->body, Origin::echo("GET", "/direct"));
}

}  // namespace
}  // namespace embedding
