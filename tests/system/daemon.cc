// SPDX-License-Identifier: Apache-2.0
// The program under test, as a child process.
#include "system/daemon.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace penstock::trial {

namespace fs = std::filesystem;

namespace {

/// Of stderr, in bytes: the program drops what does not fit, and a reload can have hundreds of lines in a moment.
constexpr int kPipe = 1024 * 1024;

/// What a child is started with, laid out before the fork: between fork and exec nothing may allocate.
struct Launch {
  std::vector<std::string> arguments, environment;
  int out = -1, err = -1;
  std::size_t files = 0;
  HandOver sockets{};

  pid_t start() {
    std::string for_whom = "LISTEN_PID=" + std::string(20, '\0');
    if (!sockets.fds.empty()) {
      environment.push_back("LISTEN_FDS=" + std::to_string(sockets.fds.size()));
      environment.push_back("LISTEN_FDNAMES=" + sockets.names);
    }
    std::vector<char*> argv, envp;
    for (auto& text : arguments) argv.push_back(text.data());
    for (auto& text : environment) envp.push_back(text.data());
    if (!sockets.fds.empty()) envp.push_back(for_whom.data());
    argv.push_back(nullptr), envp.push_back(nullptr);
    const pid_t pid = fork();
    if (pid != 0) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const rlimit limit{files, files};
    if (files > 0) setrlimit(RLIMIT_NOFILE, &limit);
    sigset_t nothing;  // whatever a thread of the test has blocked, for itself
    sigemptyset(&nothing);
    sigprocmask(SIG_SETMASK, &nothing, nullptr);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    hand_over(for_whom);
    execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }

 private:
  /// In the child, for itself. None is in the way of another once they are out of it.
  void hand_over(std::string& for_whom) {
    constexpr int kFirst = 3, kOutOfTheWay = 100;
    char* const pid = for_whom.data() + for_whom.find('=') + 1;
    std::to_chars(pid, for_whom.data() + for_whom.size(), sockets.to_another ? getppid() : getpid());
    for (int& fd : sockets.fds) fd = fcntl(fd, F_DUPFD, kOutOfTheWay);
    for (std::size_t i = 0; i < sockets.fds.size(); ++i) {
      if (sockets.fds[i] >= 0)
        dup2(sockets.fds[i], kFirst + static_cast<int>(i));
      else
        ::close(kFirst + static_cast<int>(i));
      ::close(sockets.fds[i]);
    }
  }
};

// Another build of the same program: script/test has those with sanitizers tried by tests that are built without.
constexpr const char* kBinary = "PENSTOCK_BINARY";

const char* program() {
  const char* tried = std::getenv(kBinary);
  return tried ? tried : PENSTOCK_BINARY;
}

std::vector<std::string> environment_of(const std::map<std::string, std::string>& more) {
  // A small quarantine keeps AddressSanitizer from hiding how much memory the program itself holds. ThreadSanitizer
  // would wait for a second at the program's end.
  std::vector<std::string> lines{"ASAN_OPTIONS=quarantine_size_mb=8:verify_asan_link_order=0",
                                 "UBSAN_OPTIONS=print_stacktrace=1",
                                 "TSAN_OPTIONS=atexit_sleep_ms=0:suppressions=" PENSTOCK_TSAN_SUPPRESSIONS};
  for (const auto& [name, value] : more) lines.push_back(name + "=" + value);
  return lines;
}

std::string read_all(int fd) {
  std::string text;
  char bytes[4096];
  for (ssize_t count; (count = ::read(fd, bytes, sizeof bytes)) > 0;)
    text.append(bytes, static_cast<std::size_t>(count));
  return text;
}

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

std::uint16_t port_after(const std::string& text, const std::string& words) {
  const auto at = text.find(words);
  if (at == std::string::npos) return 0;
  const auto place = text.substr(at + words.size(), text.find_first_of(",\n", at) - at - words.size());
  const auto colon = place.rfind(':');
  return colon == std::string::npos ? 0 : static_cast<std::uint16_t>(std::stoi(place.substr(colon + 1)));
}

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

bool is_sanitized() { return std::getenv(kBinary) != nullptr; }

std::string new_folder() {
  std::string path = (fs::temp_directory_path() / "penstock-test-XXXXXX").string();
  if (!mkdtemp(path.data())) throw std::runtime_error("mkdtemp " + path);
  return path;
}

Daemon::Daemon(const Given& given) : given_(given), folder_(new_folder()), file_(folder_ + "/penstock.yaml") {
  events_ = given.events.empty() ? folder_ + "/events" : given.events;
  spawn();
  if (!await_listening()) {
    finish();
    throw std::runtime_error("the program does not listen:\n" + diagnostics());
  }
}

Daemon::~Daemon() {
  if (!reap(false)) signal(SIGTERM);
  const auto code = exit_code();
  finish();
  const std::string said = diagnostics();
  EXPECT_EQ(said.find("Sanitizer"), std::string::npos) << said;
  EXPECT_EQ(said.find("runtime error"), std::string::npos) << said;
  if (given_.is_clean) {
    EXPECT_EQ(code, 0) << "the program's exit code\n" << said;
  }
  fs::remove_all(folder_);
}

void Daemon::finish() {
  if (pid_ > 0 && !reap(false)) {
    ADD_FAILURE() << "the program does not end on SIGTERM\n" << diagnostics();
    kill(pid_, SIGKILL);
    reap(true);
  }
  {
    const std::lock_guard lock(mutex_);
    is_deaf_ = false;
    said_.notify_all();
  }
  if (stderr_reader_.joinable()) stderr_reader_.join();
}

std::string Daemon::text_with(const std::string& yaml) const {
  return "version: 1\nproxy: { listen: \"" + given_.listen + "\", grace: " + given_.grace + ", via: " + given_.via +
         " }\nadmin: { listen: \"" + given_.admin + "\" }\nlog: { events: \"" + events_ + "\" }\n" + yaml;
}

void Daemon::write_file(const std::string& text) const { std::ofstream(file_, std::ios::binary) << text; }

void Daemon::spawn() {
  write_file(text_with(given_.yaml));
  int err[2];
  if (pipe2(err, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  fcntl(err[1], F_SETPIPE_SZ, kPipe);
  const Socket nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  Launch launch{{program(), "run", "--config", file_},
                environment_of(given_.environment),
                -1,
                err[1],
                given_.files,
                given_.sockets};
  launch.out = given_.stdout_fd >= 0 ? given_.stdout_fd : nowhere.fd();
  pid_ = launch.start();
  ::close(err[1]);
  fcntl(err[0], F_SETFL, O_NONBLOCK);
  stderr_pipe_ = Socket(err[0]);
  stderr_reader_ = std::thread([this] { listen_to_stderr(); });
}

/// With the lock. All that the program has written by now: it is in the pipe, if the reader has not had it yet.
void Daemon::hear() const {
  char bytes[4096];
  while (!is_deaf_ && !stderr_ended_) {
    const ssize_t count = ::read(stderr_pipe_.fd(), bytes, sizeof bytes);
    if (count < 0) return;
    stderr_ended_ = count == 0;
    stderr_.append(bytes, static_cast<std::size_t>(count));
    said_.notify_all();
  }
}

void Daemon::listen_to_stderr() {
  for (;;) {
    pollfd watched{stderr_pipe_.fd(), POLLIN, 0};
    ::poll(&watched, 1, -1);
    std::unique_lock lock(mutex_);
    said_.wait(lock, [this] { return !is_deaf_; });
    hear();
    if (stderr_ended_) return;
  }
}

void Daemon::block_stderr() {
  const std::string itself = "/proc/self/fd/" + std::to_string(stderr_pipe_.fd());
  const Socket pipe(::open(itself.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  const std::lock_guard lock(mutex_);
  hear();
  is_deaf_ = true;
  const std::string page(4096, '\n');
  for (const auto size : {page.size(), 1UL}) {
    while (::write(pipe.fd(), page.data(), size) == static_cast<ssize_t>(size)) {
    }
  }
}

bool Daemon::await_listening() {
  std::unique_lock lock(mutex_);
  const auto is_there = [this] {
    const auto at = stderr_.find("listening on http://");
    return stderr_ended_ || (at != std::string::npos && stderr_.find('\n', at) != std::string::npos);
  };
  if (!said_.wait_for(lock, kPatience, is_there) || stderr_ended_) return false;
  port_ = port_after(stderr_, "listening on http://");
  admin_port_ = port_after(stderr_, "admin on http://");
  return port_ != 0 && admin_port_ != 0;
}

bool Daemon::reap(bool block) {
  if (exit_code_) return true;
  int status = 0;
  if (waitpid(pid_, &status, block ? 0 : WNOHANG) != pid_) return false;
  exit_code_ = code_of(status);
  return true;
}

std::optional<int> Daemon::exit_code(Clock::duration patience) {
  eventually([this] { return reap(false); }, patience);
  return exit_code_;
}

void Daemon::signal(int number) const { kill(pid_, number); }

bool Daemon::stands_still() const {
  signal(SIGSTOP);
  return eventually([this] {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
    const std::string stat(std::istreambuf_iterator<char>(file), {});
    return stat.substr(stat.rfind(')') + 2, 1) == "T";
  });
}

/// A whole line behind what was said `so_far`, with stderr_ under the lock.
bool Daemon::speaks_of_reload(std::size_t so_far) const {
  return std::ranges::any_of(std::array{"reloaded " + file_ + "\n", file_ + " not loaded: "}, [&](const auto& words) {
    const auto at = stderr_.find(words, so_far);
    return at != std::string::npos && stderr_.find('\n', at) != std::string::npos;
  });
}

bool Daemon::reloads() const {
  std::unique_lock lock(mutex_);
  hear();
  const std::size_t so_far = stderr_.size();
  signal(SIGHUP);
  const bool said = said_.wait_for(lock, kPatience, [&] { return speaks_of_reload(so_far); });
  EXPECT_TRUE(said) << "no word of a reload\n" << stderr_;
  return stderr_.find("reloaded " + file_, so_far) != std::string::npos;
}

bool Daemon::reloads(const std::string& yaml) const {
  write_file(text_with(yaml));
  return reloads();
}

std::string Daemon::diagnostics() const {
  const std::lock_guard lock(mutex_);
  hear();
  return stderr_;
}

std::vector<Json> Daemon::events() const {
  std::vector<Json> events;
  std::istringstream lines(file_text(events_));
  for (std::string line; std::getline(lines, line) && !lines.eof();) events.push_back(Json::parse(line));
  return events;
}

std::vector<Json> Daemon::await_events(std::size_t count, const std::function<bool(const Json&)>& wanted) const {
  std::vector<Json> found;
  eventually([&] {
    found = events();
    std::erase_if(found, [&](const Json& event) { return !wanted(event); });
    return found.size() >= count;
  });
  return found;
}

std::vector<Json> Daemon::await_events(std::size_t count, const std::string& kind) const {
  return await_events(count, [&](const Json& event) { return event.at("event") == kind; });
}

Json Daemon::await_event(const std::string& kind) const {
  const auto found = await_events(1, kind);
  EXPECT_EQ(found.size(), 1u) << kind;
  return found.empty() ? Json::object() : found[0];
}

Reply Daemon::ask(std::string_view bytes) const {
  Client client(port_);
  client.send(bytes);
  return client.reply();
}

Reply Daemon::admin(const std::string& path, const std::string& method) const {
  Client client(admin_port_);
  client.send(method + " " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
  return client.reply(method == "HEAD");
}

Json Daemon::status(const std::string& upstream) const {
  const Json all = Json::parse(admin("/status").body);
  for (const Json& entry : all.at("upstreams")) {
    if (entry.at("name") == upstream) return entry;
  }
  return nullptr;
}

bool Daemon::await_pending(const std::string& upstream, std::size_t count) const {
  return eventually([&] {
    const Json entry = status(upstream);
    return entry.is_null() ? count == 0 : entry.at("pending") == count;
  });
}

bool Daemon::await_in_flight(const std::string& upstream, std::size_t count) const {
  return eventually([&] {
    const Json entry = status(upstream);
    return entry.is_null() ? count == 0 : entry.at("inFlight") == count;
  });
}

double Daemon::metric(const std::string& name, const std::string& labels) const {
  double sum = 0;
  std::istringstream lines(admin("/metrics").body);
  for (std::string line; std::getline(lines, line);) {
    const auto end = line.find_first_of("{ ");
    if (line.substr(0, end) != name || line.find(labels) == std::string::npos) continue;
    sum += std::stod(line.substr(line.rfind(' ') + 1));
  }
  return sum;
}

std::size_t Daemon::resident_kib() const {
  std::istringstream lines(file_text("/proc/" + std::to_string(pid_) + "/status"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6));
  }
  return 0;
}

double Daemon::cpu_seconds() const {
  const std::string stat = file_text("/proc/" + std::to_string(pid_) + "/stat");
  std::istringstream fields(stat.substr(stat.rfind(')') + 2));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  double user = 0, kernel = 0;
  fields >> user >> kernel;
  return (user + kernel) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::size_t Daemon::descriptors() const {
  const fs::directory_iterator folder("/proc/" + std::to_string(pid_) + "/fd");
  return static_cast<std::size_t>(std::distance(begin(folder), end(folder)));
}

Finished run_program(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment,
                     const HandOver& sockets) {
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  Launch launch{{program()}, environment_of(environment), out[1], err[1], 0, sockets};
  launch.arguments.insert(launch.arguments.end(), arguments.begin(), arguments.end());
  const pid_t pid = launch.start();
  ::close(out[1]), ::close(err[1]);
  Finished finished;
  std::thread reader([&] { finished.err = read_all(err[0]); });
  finished.out = read_all(out[0]);
  reader.join();
  ::close(out[0]), ::close(err[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  finished.code = code_of(status);
  return finished;
}

}  // namespace penstock::trial
