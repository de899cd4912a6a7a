// SPDX-License-Identifier: Apache-2.0
// See program.h.
#include "app/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <thread>

namespace penstock::app {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

constexpr auto kPatience = 10s;

std::string new_folder() {
  std::string path = (fs::temp_directory_path() / "penstock-app-XXXXXX").string();
  if (!mkdtemp(path.data())) throw std::runtime_error("mkdtemp " + path);
  return path;
}

std::vector<char*> pointers(Texts& texts) {
  std::vector<char*> all;
  for (auto& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The first of two equal names counts; of the test's own environment those that are not among them. A name alone takes
// the variable away.
Texts environment_with(Texts entries) {
  for (char** entry = environ; *entry; ++entry) entries.emplace_back(*entry);
  Texts all;
  std::set<std::string> names;
  for (auto& entry : entries) {
    const bool first = names.insert(entry.substr(0, entry.find('='))).second;
    if (first && entry.contains('=')) all.push_back(std::move(entry));
  }
  return all;
}

}  // namespace

Program::Program(Texts arguments, Texts environment) : folder_(new_folder()) {
  arguments.insert(arguments.begin(), PENSTOCK_BINARY);
  environment = environment_with(std::move(environment));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kFresh = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, 1, (folder_ + "/out").c_str(), kFresh, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, (folder_ + "/err").c_str(), kFresh, 0600);
  const int error =
      posix_spawn(&pid_, PENSTOCK_BINARY, &actions, nullptr, pointers(arguments).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("cannot start " PENSTOCK_BINARY);
}

Program::~Program() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, &status_, 0);
  }
  fs::remove_all(folder_);
}

void Program::send(int signal) const { kill(pid_, signal); }

std::string Program::output(const char* of) const { return file_text(folder_ + "/" + of); }

bool Program::says(const std::string& text) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < until) {
    if ((output("out") + output("err")).find(text) != std::string::npos) return true;
    siginfo_t ended{};
    if (waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == pid_) break;
    std::this_thread::sleep_for(2ms);
  }
  return (output("out") + output("err")).find(text) != std::string::npos;
}

std::string Program::said_after(const std::string& text) const {
  const std::string all = output("out") + output("err");
  const auto at = all.find(text);
  if (at == std::string::npos) return {};
  return all.substr(at + text.size(), all.find('\n', at) - at - text.size());
}

Ended Program::wait() {
  waitpid(pid_, &status_, 0);
  pid_ = 0;
  const int code = WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
  return {code, output("out"), output("err")};
}

Ended penstock(const Texts& arguments, const Texts& environment) { return Program(arguments, environment).wait(); }

TemporaryFile::TemporaryFile(const std::string& text) : path_(new_folder() + "/penstock.yaml") {
  std::ofstream(path_) << text;
}

TemporaryFile::~TemporaryFile() { fs::remove_all(fs::path(path_).parent_path()); }

std::string serve_one(test::ListeningSocket& listener, const std::string& answer) {
  pollfd waiting{listener.fd(), POLLIN, 0};
  if (poll(&waiting, 1, std::chrono::milliseconds(kPatience).count()) != 1) return "nobody came";
  test::Socket client = listener.accept();
  const std::string head = client.read_until("\r\n\r\n");
  client.send(answer);
  return head;
}

}  // namespace penstock::app
