// SPDX-License-Identifier: Apache-2.0
// `penstock reload` with a daemon, and with admin ports that have nothing to reload.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <string>
#include <thread>

#include "app/program.h"
#include "support/sockets.h"

namespace penstock::app {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

void write(const TemporaryFile& file, const std::string& text) { std::ofstream(file.path()) << text; }

/// What the command says of an admin port that answers so.
Ended told_of(const std::string& answer) {
  test::ListeningSocket admin;
  std::thread serving([&] { serve_one(admin, answer); });
  auto ended = penstock({"reload", "--admin", "127.0.0.1:" + std::to_string(admin.port())});
  serving.join();
  return ended;
}

std::string status(const std::string& reload) { return "HTTP/1.1 200 OK\r\n\r\n{\"reload\": " + reload + "}"; }

class ReloadCommand : public testing::Test {
 protected:
  ReloadCommand() { EXPECT_TRUE(running_.says("admin on http://")); }
  Ended reload() const { return penstock({"reload", "--admin", "http://" + running_.said_after("admin on http://")}); }

  TemporaryFile file_{kAnywhere};
  Program running_{{"run", file_.path()}};
};

TEST_F(ReloadCommand, returns_once_the_new_file_is_in_force) {
  write(file_, kAnywhere + "proxy2: 1\n");
  const auto faulty = reload();
  EXPECT_EQ(faulty.code, 1);
  EXPECT_EQ(faulty.out, "");
  EXPECT_THAT(faulty.err, HasSubstr(file_.path() + ":5:1: "));
  EXPECT_THAT(faulty.err, HasSubstr("proxy2"));
  EXPECT_THAT(faulty.err, EndsWith("penstock: " + file_.path() + " not loaded: the configuration stays as it was\n"));

  write(file_, kAnywhere + "upstreams: { mine: { match: a.example } }\n");
  for (int times = 0; times < 3; ++times) {
    const auto fine = reload();
    EXPECT_EQ(fine.code, 0);
    EXPECT_EQ(fine.out + fine.err, "reloaded " + file_.path() + "\n");
  }
  running_.send(SIGTERM);
  EXPECT_EQ(running_.wait().code, 0);
}

TEST_F(ReloadCommand, takes_the_port_from_a_file) {
  const auto port = running_.said_after("admin on http://127.0.0.1:");
  const TemporaryFile same(kAnywhere.substr(0, kAnywhere.find("admin")) + "admin: { listen: 127.0.0.1:" + port +
                           " }\n");
  EXPECT_EQ(penstock({"reload", "--config", same.path()}).out, "reloaded " + file_.path() + "\n");
  EXPECT_THAT(penstock({"reload", "--config", file_.path()}).err, HasSubstr("port 0"));
}

/// SIGHUP would end a program which a proxy is only a part of.
TEST(Reload, sends_nothing_to_a_process_that_reads_no_file) {
  for (const auto* reload : {"null", "7", "{}", "{\"pid\": \"1\", \"file\": \"f\", \"count\": 1, \"errors\": []}"}) {
    const auto ended = told_of(status(reload));
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.err, HasSubstr("nothing to reload: it was not started by `penstock run FILE`"));
  }
}

std::string status_of(pid_t pid) {
  return status("{\"pid\": " + std::to_string(pid) + ", \"file\": \"f\", \"count\": 1, \"errors\": []}");
}

TEST(Reload, sends_nothing_to_what_is_no_penstock) {
  Program other({"exec", "--", "sh", "-c", "echo $$; exec sleep 60"});
  ASSERT_TRUE(other.says("\n"));
  const auto pid = static_cast<pid_t>(std::stoi(other.said_after("")));
  for (const pid_t of : {pid_t{0}, pid_t{-1}, pid_t{1}, pid}) {
    const auto ended = told_of(status_of(of));
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.err, HasSubstr("is no Penstock of this machine: send it SIGHUP there"));
  }
  EXPECT_EQ(::kill(pid, 0), 0) << "it still runs";
  other.send(SIGTERM);
  other.wait();
}

TEST(Reload, waits_for_nothing_that_is_shutting_down) {
  EXPECT_THAT(told_of("HTTP/1.1 200 OK\r\n\r\n{\"draining\": true, \"reload\": null}").err,
              HasSubstr("it is shutting down"));
}

TEST(Reload, says_that_nothing_answers) {
  EXPECT_THAT(penstock({"reload", "--admin", "http://127.0.0.1:1"}).err,
              HasSubstr("127.0.0.1:1: Connection refused; is this the admin port of a running Penstock?"));
  EXPECT_THAT(told_of("HTTP/1.1 404 Not Found\r\n\r\n").err, HasSubstr("HTTP/1.1 404 Not Found; this is not"));
  EXPECT_THAT(penstock({"reload", "--admin", "nonsense"}).err, HasSubstr("write it as in http://127.0.0.1:9128"));
}

}  // namespace
}  // namespace penstock::app
