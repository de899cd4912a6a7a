// SPDX-License-Identifier: Apache-2.0
// `penstock doctor`, with a few programs in reach: real ones, and ones that their user has led astray.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "app/home.h"
#include "app/program.h"
#include "support/machine.h"

namespace penstock::app {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

/// A home, and who looks after it.
class Patient {
 public:
  Patient() { std::filesystem::create_directories(home_.path("tmp")); }

  void make_authority() { home_.penstock({"ca", "init"}); }
  /// Makes a program of this machine the only one in reach, besides others that are.
  void offer(const std::string& name) {
    std::istringstream folders(std::getenv("PATH"));
    for (std::string folder; std::getline(folders, folder, ':');) {
      if (!Home::is_there(folder + "/" + name)) continue;
      std::filesystem::create_directories(home_.path("bin"));
      return std::filesystem::create_symlink(folder + "/" + name, home_.path("bin/" + name));
    }
    FAIL() << "there is no " << name;
  }
  /// Has a process of its own that would stay, whose number it leaves.
  std::string that_waits() const { return "echo waiting; /bin/sleep 600 & echo $! >" + home_.path("child") + "; wait"; }
  /// Whether that process has ended; its parent may not know so yet.
  bool child_has_ended() const {
    std::istringstream number(Home::read(home_.path("child")));
    int pid = 0;
    if (!(number >> pid)) return false;
    for (const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
         std::chrono::steady_clock::now() < until; std::this_thread::sleep_for(std::chrono::milliseconds(2))) {
      const auto status = Home::read("/proc/" + std::to_string(pid) + "/stat");
      if (status.empty() || status.contains(") Z ")) return true;
    }
    return false;
  }
  Ended doctor(const Texts& more = {}) {
    auto environment = more;
    environment.push_back("PATH=" + home_.path("bin"));
    environment.push_back("TMPDIR=" + home_.path("tmp"));
    return home_.penstock({"doctor"}, environment);
  }
  /// There is an authority, and `curl` is a script: what it does when it is asked for something, or for its version.
  void install_curl_that(const std::string& does, const std::string& as_version = "echo curl 1.2.3") {
    make_authority();
    const auto path =
        home_.write("bin/curl", "#!/bin/sh\nif [ $1 = --version ]; then " + as_version + "; else " + does + "; fi\n");
    ::chmod(path.c_str(), 0755);
  }
  /// What is found fault with.
  std::string blame() {
    const auto ended = doctor();
    EXPECT_EQ(ended.code, 1);
    return ended.out;
  }
  std::string blame_of_curl_that(const std::string& does, const std::string& as_version = "echo curl 1.2.3") {
    install_curl_that(does, as_version);
    return blame();
  }

  const Home home_;
};

/// One that every user can read.
class OpenFolder {
 public:
  OpenFolder() : path_((std::filesystem::temp_directory_path() / "penstock-open-XXXXXX").string()) {
    if (!mkdtemp(path_.data()) || ::chmod(path_.c_str(), 0755) != 0) throw std::runtime_error("mkdtemp " + path_);
  }
  ~OpenFolder() { std::filesystem::remove_all(path_); }
  OpenFolder(const OpenFolder&) = delete;
  OpenFolder& operator=(const OpenFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class DoctorTest : public testing::Test, protected Patient {};

TEST_F(DoctorTest, is_content_with_programs_that_obey_their_environment) {
  make_authority();
  for (const auto* name : {"curl", "wget", "git"}) offer(name);
  const auto ended = doctor();
  EXPECT_EQ(ended.code, 0) << ended.err;
  for (const auto* name : {"curl", "wget", "git"}) {
    EXPECT_THAT(ended.out, ContainsRegex(std::string(name) + " [0-9.]+: ok\n"));
  }
  EXPECT_THAT(ended.out, HasSubstr("not installed: rclone for S3, apt, python urllib, "));
  EXPECT_EQ(ended.err, "");
}

// All that script/packages/test installs; what else this machine has may do as it likes.
TEST_F(DoctorTest, is_content_with_every_program_that_the_tests_install) {
  make_authority();
  std::filesystem::create_directories(home_.path("bin"));
  std::filesystem::create_symlink("/usr/bin/python3", home_.path("bin/python3"));  // the one that packages are for
  const OpenFolder for_apt;
  const auto since = test::MachineClock::now();
  const auto ended =
      doctor({"PATH=" + home_.path("bin") + ":" + std::getenv("PATH"), "CACHE_DIRECTORY=" + for_apt.path()});
  const bool too_late = ended.out.contains("within 10 seconds");
  if (too_late && test::not_judged(since, std::chrono::seconds(5), "a program had no time to answer")) return;
  for (const auto* name :
       {"curl [0-9.]+", "wget [0-9.]+", "git [0-9.]+", "rclone [0-9.]+ for S3", "apt [0-9.]+", "python [0-9.]+ urllib",
        "python requests [0-9.]+", "python httpx [0-9.]+", "python httplib2 [0-9.]+", "python boto3 [0-9.]+",
        "python aiohttp [0-9.]+", "node [0-9.]+ with an agent", "java [0-9.]+ of a JDK", "ruby [0-9.]+",
        "php [0-9.]+ curl", "perl LWP [0-9.]+"}) {
    EXPECT_THAT(ended.out, ContainsRegex("(^|\n)" + std::string(name) + ": ok\n"));
  }
  EXPECT_THAT(ended.out, ContainsRegex("\nnode [0-9.]+ fetch: (ok|not tried: it obeys no variable before .*)\n"));
  EXPECT_EQ(ended.err, "");
}

TEST_F(DoctorTest, says_of_rclone_what_keeps_it_from_asking) {
  make_authority();
  offer("rclone");
  const auto ended = doctor({"AWS_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt"});
  EXPECT_THAT(ended.out, ContainsRegex("rclone [0-9.]+ for S3: does not ask the proxy: .*AWS_CA_BUNDLE"));
}

TEST_F(DoctorTest, leaves_nothing_behind_but_what_exec_would) {
  make_authority();
  offer("curl");
  doctor();
  EXPECT_TRUE(std::filesystem::is_empty(home_.path("tmp")));
}

TEST_F(DoctorTest, says_of_a_program_that_it_does_not_ask_the_proxy) {
  const auto out = blame_of_curl_that("PATH=/usr/bin:/bin exec curl --noproxy '*' \"$@\"");
  EXPECT_THAT(out, HasSubstr("curl 1.2.3: does not ask the proxy: it reads https_proxy"));
  EXPECT_THAT(out, HasSubstr("Could not resolve host: doctor.invalid"));
}

TEST_F(DoctorTest, says_of_a_program_that_it_does_not_trust_the_authority) {
  const auto out =
      blame_of_curl_that("PATH=/usr/bin:/bin exec curl --cacert /etc/ssl/certs/ca-certificates.crt \"$@\"");
  EXPECT_THAT(out, HasSubstr("curl 1.2.3: does not trust the authority: it reads CURL_CA_BUNDLE"));
}

TEST_F(DoctorTest, is_not_content_with_an_answer_that_did_not_come_through_the_proxy) {
  const auto out = blame_of_curl_that("echo penstock-doctor-is-content");
  EXPECT_THAT(out, HasSubstr("curl 1.2.3: does not ask the proxy"));
}

// Of those three each has a doctor of its own: they wait side by side. All scripts are written first: whoever starts a
// program while another thread writes a script holds that open for a moment, and nobody may execute it then.
TEST_F(DoctorTest, waits_for_no_program_longer_than_ten_seconds) {
  const auto began = test::MachineClock::now();
  Patient closing, silent;
  closing.install_curl_that("echo waiting; exec /bin/sleep 600 >/dev/null 2>&1");
  silent.install_curl_that("exit 1", silent.that_waits());
  install_curl_that(that_waits());
  auto of_closing = std::async(std::launch::async, [&] { return closing.blame(); });
  auto of_silent = std::async(std::launch::async, [&] { return silent.blame(); });
  EXPECT_THAT(blame(), HasSubstr("curl 1.2.3: no answer within 10 seconds\n    waiting\n"));
  EXPECT_TRUE(child_has_ended());
  EXPECT_THAT(of_closing.get(), HasSubstr("curl 1.2.3: no answer within 10 seconds\n    waiting\n"))
      << "though it closes its output";
  const auto of_one_without_a_version = of_silent.get();
  EXPECT_THAT(of_one_without_a_version, HasSubstr("curl: did not say its version within 10 seconds\n"));
  EXPECT_THAT(of_one_without_a_version, HasSubstr("not installed: wget")) << "and it is";
  EXPECT_TRUE(silent.child_has_ended());
  EXPECT_TRUE(test::within(std::chrono::seconds(test::kSanitized ? 18 : 12), began)) << "once, not twice";
}

TEST_F(DoctorTest, wants_an_authority_first) {
  offer("curl");
  const auto ended = doctor();
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("`penstock ca init` makes one"));
  make_authority();
  ::chmod(home_.key().c_str(), 0644);
  EXPECT_THAT(doctor().err, HasSubstr("can be read by others"));
}

TEST_F(DoctorTest, takes_the_authority_of_the_configuration) {
  offer("curl");
  const auto config = home_.write("penstock.yaml", "version: 1\nintercept: { ca: " + home_.path("a/ca.pem") +
                                                       ", key: " + home_.path("a/key.pem") + " }\n");
  home_.penstock({"ca", "init", "--config", config});
  const auto ended = home_.penstock({"doctor", "--config", config}, {"PATH=" + home_.path("bin")});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, ContainsRegex("curl [0-9.]+: ok\n"));
}

}  // namespace
}  // namespace penstock::app
