// SPDX-License-Identifier: Apache-2.0
// As a service: what systemd is told and when, and the sockets that it hands over. Here a socket and this process stand
// in for it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <mutex>

#include "system/stage.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;

/// Where a service says how it is: $NOTIFY_SOCKET.
class NotifySocket {
 public:
  NotifySocket() : folder_(new_folder()), socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un place{.sun_family = AF_UNIX, .sun_path = {}};
    path().copy(place.sun_path, sizeof place.sun_path - 1);
    EXPECT_EQ(::bind(socket_.fd(), reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
  }
  ~NotifySocket() { std::filesystem::remove_all(folder_); }
  NotifySocket(const NotifySocket&) = delete;

  std::string path() const { return folder_ + "/notify"; }
  /// The next that is said; empty where nothing is within that time.
  std::string next(std::chrono::milliseconds patience = kPatience) const {
    pollfd waiting{.fd = socket_.fd(), .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, static_cast<int>(patience.count())) != 1) return {};
    char bytes[4096];
    const ssize_t count = ::recv(socket_.fd(), bytes, sizeof bytes, 0);
    return {bytes, static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
  }
  /// The next but for heartbeats.
  std::string next_state() const {
    std::string said = next();
    while (said == "WATCHDOG=1") said = next();
    return said;
  }

 private:
  std::string folder_;
  Socket socket_;
};

Given told_to(const NotifySocket& systemd, std::map<std::string, std::string> more = {}) {
  more["NOTIFY_SOCKET"] = systemd.path();
  return {.grace = "20s", .environment = more};
}

std::size_t lines_in(const std::string& file) {
  std::ifstream in(file);
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(in), {}, '\n'));
}

TEST(Rotation, that_fails_is_told_and_goes_on_in_the_old_file) {
  const NotifySocket systemd;
  const std::string folder = new_folder(), log = folder + "/logs/events", moved = folder + "/moved";
  std::filesystem::create_directory(folder + "/logs");
  Given given = told_to(systemd);
  given.events = log;
  {
    Stage stage(given);
    systemd.next_state();
    EXPECT_EQ(stage.fetch("/").status, 200);
    std::filesystem::rename(folder + "/logs", moved);
    ASSERT_TRUE(stage.daemon.reloads()) << "with the configuration all is well";
    systemd.next_state();
    const std::string why = "cannot write events to " + log + ": No such file or directory";
    EXPECT_THAT(systemd.next_state(), AllOf(testing::StartsWith("READY=1\n"), HasSubstr(why)));
    EXPECT_TRUE(eventually([&] {
      return stage.daemon.diagnostics().find("warn " + why + ": it goes on in the old file") != std::string::npos;
    })) << stage.daemon.diagnostics();
    EXPECT_EQ(stage.fetch("/").status, 200);
    EXPECT_TRUE(eventually([&] { return lines_in(moved + "/events") == 4; })) << "two for each request";
    std::filesystem::create_directory(folder + "/logs");
    ASSERT_TRUE(stage.daemon.reloads());
    systemd.next_state();
    EXPECT_THAT(systemd.next_state(), testing::Not(HasSubstr(why)));
    EXPECT_EQ(stage.fetch("/").status, 200);
    EXPECT_TRUE(eventually([&] { return lines_in(log) == 2; }));
  }
  std::filesystem::remove_all(folder);
}

TEST(Service, says_that_it_is_ready_reloads_and_stops) {
  const NotifySocket systemd;
  Stage stage(told_to(systemd));
  EXPECT_EQ(systemd.next(), "READY=1\nSTATUS=listening on http://" + stage.daemon.host() +
                                ", admin on http://127.0.0.1:" + std::to_string(stage.daemon.admin_port()));
  ASSERT_TRUE(stage.daemon.reloads());
  EXPECT_THAT(systemd.next(), testing::MatchesRegex("RELOADING=1\nMONOTONIC_USEC=[1-9][0-9]+"));
  EXPECT_THAT(systemd.next(), testing::StartsWith("READY=1\nSTATUS=listening on "));
  EXPECT_FALSE(stage.daemon.reloads("nonsense: 1\n"));
  EXPECT_THAT(systemd.next(), HasSubstr("RELOADING=1"));
  EXPECT_THAT(systemd.next(), AllOf(testing::StartsWith("READY=1\n"), HasSubstr("not loaded")));
  stage.origin.otherwise(scripts::held());
  Client client(stage.daemon.port());
  client.send(get(stage.url()));
  ASSERT_TRUE(stage.origin.await(1));
  stage.daemon.signal(SIGTERM);
  EXPECT_EQ(systemd.next(), "STOPPING=1\nSTATUS=draining") << "while it still has something to do";
  stage.origin.release_all();
  EXPECT_EQ(client.reply().status, 200);
  EXPECT_EQ(stage.daemon.exit_code(), 0);
}

TEST(Service, is_not_ready_before_both_ports_are_bound) {
  const NotifySocket systemd;
  std::uint16_t taken = 0;
  const Socket listener = Socket::listen(1, &taken);
  const std::string folder = new_folder(), file = folder + "/penstock.yaml";
  std::ofstream(file) << "version: 1\nproxy: { listen: 127.0.0.1:0 }\nadmin: { listen: 127.0.0.1:" << taken << " }\n";
  const auto ended = run_program({"run", "--config", file}, {{"NOTIFY_SOCKET", systemd.path()}});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(systemd.next(0ms), "");
  std::filesystem::remove_all(folder);
}

TEST(Service, has_a_heartbeat_where_one_is_wanted_to_the_end_of_its_drain) {
  const NotifySocket systemd;
  Stage stage(told_to(systemd, {{"WATCHDOG_USEC", "100000"}}));
  EXPECT_THAT(systemd.next_state(), HasSubstr("READY=1"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(systemd.next(), "WATCHDOG=1");
  stage.origin.otherwise(scripts::held());
  Client client(stage.daemon.port());
  client.send(get(stage.url()));
  ASSERT_TRUE(stage.origin.await(1));
  stage.daemon.signal(SIGTERM);
  EXPECT_THAT(systemd.next_state(), HasSubstr("STOPPING=1"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(systemd.next(), "WATCHDOG=1");
  stage.origin.release_all();
  EXPECT_EQ(client.reply().status, 200);
  client.close();
  // Somebody has to listen: who speaks to systemd waits for it.
  EXPECT_TRUE(eventually([&] { return systemd.next(1ms).empty() && stage.daemon.exit_code(0ms); }));
  EXPECT_EQ(stage.daemon.exit_code(), 0);
}

TEST(Service, has_no_heartbeat_for_another_process) {
  const NotifySocket systemd;
  Stage stage(told_to(systemd, {{"WATCHDOG_USEC", "1000"}, {"WATCHDOG_PID", "1"}}));
  EXPECT_THAT(systemd.next(), HasSubstr("READY=1"));
  EXPECT_EQ(stage.fetch("/").status, 200);
  stage.daemon.signal(SIGTERM);
  EXPECT_THAT(systemd.next(), HasSubstr("STOPPING=1")) << "and nothing between the two";
  EXPECT_EQ(stage.daemon.exit_code(), 0);
}

/// A listening socket on a free port of loopback, and a program that is to have it.
struct SharedSockets {
  Given given() const { return {.grace = "20s", .listen = "127.0.0.1:" + std::to_string(port), .sockets = sockets()}; }
  HandOver sockets() const { return {.fds = {listener.fd()}, .names = "proxy"}; }

  std::uint16_t port = 0;
  Socket listener = Socket::listen(4096, &port);
};

TEST(HandedOver, sockets_are_listened_on) {
  const SharedSockets shared;
  Stage stage(shared.given());
  EXPECT_EQ(stage.daemon.port(), shared.port);
  EXPECT_EQ(stage.fetch("/").status, 200);
  EXPECT_EQ(stage.daemon.admin("/readyz").status, 200) << "it has bound its other port itself";
  ASSERT_TRUE(stage.daemon.reloads("defaults: { maxConcurrent: 1 }\n"));
  EXPECT_EQ(stage.fetch("/").status, 200);
}

TEST(HandedOver, sockets_are_known_by_their_names) {
  std::uint16_t admin = 0, proxy = 0;
  const Socket first = Socket::listen(16, &admin), second = Socket::listen(16, &proxy);
  const std::string folder = new_folder(), file = folder + "/penstock.yaml";
  const auto run = [&](const std::string& names, std::uint16_t proxy_port) {
    std::ofstream(file) << "version: 1\nproxy: { listen: 127.0.0.1:" << proxy_port << " }\n"
                        << "admin: { listen: 127.0.0.1:" << admin << " }\n";
    return run_program({"run", "--config", file}, {}, {.fds = {first.fd(), second.fd()}, .names = names});
  };
  EXPECT_THAT(run("proxy:admin", proxy).err,
              HasSubstr("the socket handed over listens on 127.0.0.1:" + std::to_string(admin)));
  EXPECT_THAT(run("admin:proxy", 1).err, HasSubstr("cannot listen on 127.0.0.1:1: the socket handed over listens on "
                                                   "127.0.0.1:" +
                                                   std::to_string(proxy)));
  EXPECT_THAT(run("proxy:proxy", proxy).err, HasSubstr("more than one is named proxy"));
  EXPECT_THAT(run("proxy:penstock.socket", proxy).err, HasSubstr("one is named 'penstock.socket'"));
  std::filesystem::remove_all(folder);
}

TEST(HandedOver, sockets_for_another_process_are_left_alone) {
  const SharedSockets shared;
  Given given = shared.given();
  given.listen = "127.0.0.1:0";
  given.sockets.to_another = true;
  const Stage stage(given);
  EXPECT_NE(stage.daemon.port(), shared.port);
  EXPECT_EQ(stage.fetch("/").status, 200);
}

/// What the program says of this one at 127.0.0.1:1, and that it ends.
std::string complaint_of(int fd) {
  const std::string folder = new_folder(), file = folder + "/penstock.yaml";
  std::ofstream(file) << "version: 1\nproxy: { listen: 127.0.0.1:1 }\nadmin: { listen: 127.0.0.1:0 }\n";
  const auto ended = run_program({"run", "--config", file}, {}, {.fds = {fd}, .names = "proxy"});
  EXPECT_EQ(ended.code, 1);
  std::filesystem::remove_all(folder);
  return ended.err;
}

TEST(HandedOver, things_that_will_not_do_are_refused_in_words) {
  std::uint16_t port = 0;
  const Socket elsewhere = Socket::listen(1, &port);
  const Socket silent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Socket datagrams(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const Socket local(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Socket file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_THAT(complaint_of(elsewhere.fd()), HasSubstr("listens on 127.0.0.1:" + std::to_string(port)));
  EXPECT_THAT(complaint_of(silent.fd()), HasSubstr("the socket handed over does not listen"));
  EXPECT_THAT(complaint_of(datagrams.fd()), HasSubstr("the socket handed over is not for TCP"));
  EXPECT_THAT(complaint_of(local.fd()), HasSubstr("what was handed over is no socket of IP"));
  EXPECT_THAT(complaint_of(file.fd()), HasSubstr("what was handed over is no socket of IP"));
  EXPECT_THAT(complaint_of(-1), HasSubstr("sockets handed over: Bad file descriptor"));
}

TEST(HandedOver, sockets_do_not_reach_the_command_of_exec) {
  const SharedSockets shared;
  const auto ended = run_program(
      {"exec", "--", "/bin/sh", "-c", "echo \"[$LISTEN_FDS$LISTEN_PID$LISTEN_FDNAMES]\"; readlink /proc/self/fd/3"},
      {{"PATH", "/usr/bin:/bin"}}, shared.sockets());
  EXPECT_EQ(ended.out, "[]\n") << ended.err;
}

bool await_draining(const Daemon& daemon) {
  return eventually([&] { return daemon.admin("/readyz").status == 503; });
}

TEST(Restart, serves_once_more_whom_it_has_accepted_and_nobody_else) {
  const SharedSockets shared;
  Stage stage(shared.given());
  stage.origin.on("/held", scripts::held());
  Client held(shared.port), early(shared.port);
  held.send(get(stage.url("/held")));
  ASSERT_TRUE(stage.origin.await(1));
  ASSERT_TRUE(eventually([&] { return stage.daemon.metric("penstock_connections") == 2; }));
  stage.daemon.signal(SIGTERM);
  ASSERT_TRUE(await_draining(stage.daemon));
  Client late(shared.port);
  late.send(get(stage.url("/late")));
  early.send(get(stage.url("/early")));
  const Reply reply = early.reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(same_name(reply.field("connection"), "close"));
  EXPECT_TRUE(early.closed());
  stage.origin.release();
  EXPECT_EQ(held.reply().status, 200);
  EXPECT_EQ(stage.daemon.exit_code(), 0);
  EXPECT_EQ(stage.origin.count(), 2u);
  const Daemon next(shared.given());
  EXPECT_EQ(late.reply().status, 200) << "it has waited in the kernel";
  EXPECT_EQ(stage.origin.count(), 3u);
}

TEST(Restart, does_not_wait_for_long_for_who_says_nothing) {
  const SharedSockets shared;
  Stage stage(shared.given());
  Client silent(shared.port), kept(shared.port);
  kept.send(get(stage.url()));
  EXPECT_EQ(kept.reply().status, 200);
  ASSERT_TRUE(eventually([&] { return stage.daemon.metric("penstock_connections") == 2; }));
  const auto start = Clock::now();
  stage.daemon.signal(SIGTERM);
  EXPECT_EQ(stage.daemon.exit_code(), 0);
  EXPECT_TRUE(within(5s + kLate + (is_sanitized() ? 8s : 0s), start)) << "of its 20 seconds";
  EXPECT_TRUE(silent.closed());
  EXPECT_TRUE(kept.closed());
}

/// Clients that ask one request each, one client after the other, until they shall stop.
struct Newcomers {
  explicit Newcomers(const Stage& stage) : stage_(stage) {
    for (int i = 0; i < 8; ++i) clients_.push_back(std::async(std::launch::async, [this] { ask(); }));
  }
  ~Newcomers() { stop(); }
  Newcomers(const Newcomers&) = delete;
  /// What went wrong.
  std::string stop() {
    stopping_ = true;
    for (auto& client : clients_) client.wait();
    return wrong_;
  }
  std::atomic<std::size_t> served = 0;

 private:
  void ask() {
    while (!stopping_) {
      try {
        Client client(stage_.daemon.port());
        client.send(get(stage_.url()));
        const Reply reply = client.reply();
        if (reply.status == 200 && reply.whole) {
          ++served;
        } else {
          note(std::to_string(reply.status) + reply.reason);
        }
      } catch (const std::exception& error) {
        note(error.what());
      }
    }
  }
  void note(const std::string& what) {
    const std::lock_guard lock(mutex_);
    wrong_ += what + "\n";
  }

  const Stage& stage_;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::string wrong_;
  std::vector<std::future<void>> clients_;
};

TEST(Restart, under_load_refuses_resets_and_fails_nobody) {
  const SharedSockets shared;
  Stage stage(shared.given());
  stage.origin.otherwise([](Visit& visit) {
    std::this_thread::sleep_for(2ms);
    visit.answer(200, "served");
  });
  Newcomers load(stage);
  Daemon* running = &stage.daemon;
  std::deque<Daemon> next;
  for (int i = 0; i < 4; ++i) {
    const std::size_t before = load.served;
    EXPECT_TRUE(eventually([&] { return load.served > before + 50; })) << "restart " << i;
    running->signal(SIGTERM);
    EXPECT_EQ(running->exit_code(), 0);
    running = &next.emplace_back(shared.given());
  }
  EXPECT_EQ(load.stop(), "");
  EXPECT_EQ(stage.origin.count(), load.served);
}

}  // namespace
}  // namespace penstock::trial
