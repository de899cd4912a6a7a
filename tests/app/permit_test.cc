// SPDX-License-Identifier: Apache-2.0
// `penstock permit`: a command runs while a permit is held, and not longer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "app/program.h"
#include "penstock/proxy.h"
#include "support/sockets.h"

namespace penstock::app {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

/// A proxy with upstreams of permits: `db` has one, `full` has one and no queue, and `api` leads to a host.
struct Permitting {
  Permitting() : proxy(settings()) {
    if (!proxy.start()) ADD_FAILURE() << "the proxy does not start";
  }
  static Config settings() {
    Config config;
    config.proxy.listen = {"127.0.0.1", 0};
    config.admin.listen = {};
    config.log.events = "off";
    for (const std::string name : {"db", "full"}) {
      auto& upstream = config.upstreams.emplace_back();
      upstream.name = name;
      upstream.permits = true;
      upstream.settings.max_concurrent = 1;
      upstream.settings.group = parse_group("header:Penstock-Group").value();
      if (name == "full") upstream.settings.queue.max_pending = 0;
    }
    config.upstreams.push_back({.name = "api", .base_url = BaseUrl{false, "127.0.0.1", 1, ""}});
    return config;
  }
  Texts with(const Texts& more, const std::string& name = "db") const {
    Texts words{"permit", name, "--proxy", proxy.url()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Ended run(const Texts& more, const std::string& name = "db") const { return penstock(with(more, name)); }
  UpstreamSnapshot db() const { return proxy.snapshot().upstreams.front(); }
  bool await(const std::function<bool(const UpstreamSnapshot&)>& holds) const {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!holds(db())) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }

  Proxy proxy;
};

TEST(PermitCommand, ends_with_the_code_of_the_command) {
  const Permitting stage;
  EXPECT_EQ(stage.run({"--", "sh", "-c", "exit 7"}).code, 7);
  EXPECT_EQ(stage.run({"--", "sh", "-c", "kill -TERM $$"}).code, 128 + SIGTERM);
  EXPECT_EQ(stage.run({"--", "no-such-command-anywhere"}).code, 127);
  EXPECT_EQ(stage.run({"--", "/"}).code, 126);
  const auto ended = stage.run({"--", "sh", "-c", "echo out; echo err >&2"});
  EXPECT_EQ(ended.out, "out\n");
  EXPECT_EQ(ended.err, "err\n");
  EXPECT_TRUE(stage.await([](const auto& db) { return db.in_flight == 0; }));
  EXPECT_EQ(stage.db().totals.success, 5u);
}

TEST(PermitCommand, hands_arguments_on_as_they_are) {
  const Permitting stage;
  EXPECT_EQ(stage.run({"--", "printf", "<%s>", "--", "--weight", "a b", ""}).out, "<--><--weight><a b><>");
}

TEST(PermitCommand, holds_the_permit_while_the_command_runs) {
  const Permitting stage;
  Program first(stage.with({"--", "sh", "-c", "echo runs; exec sleep 60"}));
  ASSERT_TRUE(first.says("runs"));
  EXPECT_EQ(stage.db().in_flight, 1u);
  Program second(stage.with({"--", "echo", "second"}));
  ASSERT_TRUE(stage.await([](const auto& db) { return db.pending == 1; }));
  first.send(SIGTERM);
  EXPECT_EQ(first.wait().code, 128 + SIGTERM) << "a signal is the command's";
  EXPECT_EQ(second.wait().out, "second\n");
}

TEST(PermitCommand, leaves_the_permit_to_the_command_if_it_is_killed) {
  const Permitting stage;
  Program killed(stage.with({"--", "sh", "-c", "echo runs as $$.; exec sleep 60"}));
  ASSERT_TRUE(killed.says("runs as"));
  const auto pid = static_cast<pid_t>(std::stol(killed.said_after("runs as ")));
  ASSERT_GT(pid, 1);
  killed.send(SIGKILL);
  EXPECT_EQ(killed.wait().code, 128 + SIGKILL);
  Program next(stage.with({"--", "echo", "next"}));
  ASSERT_TRUE(stage.await([](const auto& db) { return db.pending == 1; })) << "the command goes on, with its permit";
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  EXPECT_EQ(next.wait().out, "next\n");
}

TEST(PermitCommand, leaves_the_queue_when_it_is_ended_while_it_waits) {
  const Permitting stage;
  Program first(stage.with({"--", "sh", "-c", "echo runs; exec sleep 60"}));
  ASSERT_TRUE(first.says("runs"));
  Program second(stage.with({"--", "echo", "second"}));
  ASSERT_TRUE(stage.await([](const auto& db) { return db.pending == 1; }));
  second.send(SIGINT);
  const auto ended = second.wait();
  EXPECT_EQ(ended.code, 128 + SIGINT);
  EXPECT_EQ(ended.out, "");
  EXPECT_TRUE(stage.await([](const auto& db) { return db.pending == 0; }));
}

TEST(PermitCommand, says_that_the_permit_is_lost_and_lets_the_command_go_on) {
  Permitting stage;
  Program program(stage.with({"--", "sh", "-c", "echo runs; exec sleep 60"}));
  ASSERT_TRUE(program.says("runs"));
  stage.proxy.stop();
  EXPECT_TRUE(program.says("penstock: the permit of db is lost, and others may have it; the command goes on"));
  program.send(SIGTERM);
  EXPECT_EQ(program.wait().code, 128 + SIGTERM);
}

TEST(PermitCommand, ends_with_75_when_it_may_be_tried_again) {
  const Permitting stage;
  const auto held =
      stage.run({"--max-wait", "0s", "--", "sh", "-c",
                 std::string(PENSTOCK_BINARY) + " permit full --proxy " + stage.proxy.url() + " -- sh -c '" +
                     PENSTOCK_BINARY + " permit full --proxy " + stage.proxy.url() + " -- echo never'"});
  EXPECT_EQ(held.code, 75);
  EXPECT_EQ(held.out, "");
  EXPECT_THAT(held.err, MatchesRegex("penstock: full queue full \\(limited by slots\\), retry in .*s\n"));
}

TEST(PermitCommand, ends_with_69_where_there_is_none_to_be_had) {
  const Permitting stage;
  const auto unknown = stage.run({"--", "echo", "never"}, "no");
  EXPECT_EQ(unknown.code, 69);
  EXPECT_EQ(unknown.err,
            "penstock: no upstream of this name has a baseUrl or permits; those that have one: /@api /@db /@full\n");
  const auto of_host = stage.run({"--", "echo", "never"}, "api");
  EXPECT_EQ(of_host.code, 69);
  EXPECT_EQ(of_host.err, "penstock: no permits of api: it has a baseUrl, and leads to a host\n");
  EXPECT_EQ(stage.proxy.snapshot().upstreams.back().totals.dispatched, 0u) << "no request was sent to it";
  const auto nowhere = penstock({"permit", "db", "--proxy", "http://127.0.0.1:1", "--", "echo", "never"});
  EXPECT_EQ(nowhere.code, 69);
  EXPECT_EQ(nowhere.err, "penstock: no Penstock at 127.0.0.1:1: Connection refused\n");
  EXPECT_EQ(unknown.out + of_host.out + nowhere.out, "");
  test::ListeningSocket other;
  std::thread serving([&] { serve_one(other, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"); });
  const auto no_penstock =
      penstock({"permit", "db", "--proxy", "http://127.0.0.1:" + std::to_string(other.port()), "--", "true"});
  serving.join();
  EXPECT_EQ(no_penstock.code, 69);
  EXPECT_THAT(no_penstock.err, HasSubstr("gives no permit: is it Penstock?"));
}

/// The head of the request that it makes with these words and this environment.
std::string head_with(const Texts& words, const std::function<Texts(const std::string& place)>& environment) {
  test::ListeningSocket proxy;
  const std::string place = "127.0.0.1:" + std::to_string(proxy.port());
  std::string head;
  std::thread serving([&] { head = serve_one(proxy, "HTTP/1.1 503 Penstock: db queue full\r\n\r\n"); });
  Texts all{"permit", "db"};
  all.insert(all.end(), words.begin(), words.end());
  all.insert(all.end(), {"--", "true"});
  EXPECT_EQ(penstock(all, environment(place)).code, 75);
  serving.join();
  return head;
}

TEST(PermitCommand, leaves_the_standard_streams_of_the_command_alone) {
  const Permitting stage;
  Program program(stage.with({"--", "sh", "-c", "test ! -e /proc/$$/fd/0 && echo closed"}));
  EXPECT_EQ(program.wait().out, "") << "where they are open";
  const std::string command = std::string(PENSTOCK_BINARY) + " permit db --proxy " + stage.proxy.url() +
                              " -- sh -c 'test ! -e /proc/$$/fd/0 && echo closed' <&-";
  TemporaryFile script(command + "\n");
  const auto ended = stage.run({"--", "sh", script.path()}, "full");
  EXPECT_EQ(ended.out, "closed\n") << "the connection did not take the place of stdin";
}

TEST(PermitCommand, waits_no_longer_for_an_answer_than_it_said_and_a_little_more) {
  test::ListeningSocket silent;
  const std::string place = "127.0.0.1:" + std::to_string(silent.port());
  const auto ended =
      penstock({"permit", "db", "--max-wait", "1ms", "--proxy", "http://" + place, "--", "echo", "never"});
  EXPECT_EQ(ended.code, 75);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.err, "penstock: " + place + ": no answer in time\n");
}

TEST(PermitCommand, sends_what_its_options_say) {
  const auto head = head_with({"--weight", "3", "--max-wait", "30s", "--group", "a b"},
                              [](const auto& place) { return Texts{"PENSTOCK_PROXY=http://" + place}; });
  EXPECT_THAT(head, MatchesRegex("GET /@db HTTP/1.1\r\nHost: 127.0.0.1:[0-9]+\r\nConnection: close\r\n"
                                 "Penstock-Permit: hold\r\n"
                                 "Penstock-Weight: 3\r\nPenstock-Max-Wait: 30s\r\nPenstock-Group: a b\r\n(\r\n)?"));
}

TEST(PermitCommand, names_its_user_as_the_url_does) {
  const auto head =
      head_with({}, [](const auto& place) { return Texts{"PENSTOCK_PROXY=http://ann:open%20sesame@" + place + "/"}; });
  EXPECT_THAT(head, HasSubstr("\r\nProxy-Authorization: Basic YW5uOm9wZW4gc2VzYW1l\r\n"));
}

TEST(PermitCommand, finds_the_proxy_by_its_configuration) {
  const Permitting stage;
  const TemporaryFile file("version: 1\nproxy: { listen: " + stage.proxy.url().substr(7) + " }\n");
  EXPECT_EQ(penstock({"permit", "db", "--config", file.path(), "--", "echo", "runs"}, {"PENSTOCK_PROXY"}).out,
            "runs\n");
  const TemporaryFile anywhere(kAnywhere);
  const auto ended = penstock({"permit", "db", "--config", anywhere.path(), "--", "true"}, {"PENSTOCK_PROXY"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("say --proxy URL"));
}

TEST(PermitCommand, refuses_words_that_say_nothing) {
  for (const Texts& words :
       {Texts{"permit"}, Texts{"permit", "db"}, Texts{"permit", "db", "--"}, Texts{"permit", "db", "true"},
        Texts{"permit", "d b", "--", "true"}, Texts{"permit", "db", "--weight", "0", "--", "true"},
        Texts{"permit", "db", "--max-wait", "30", "--", "true"},
        Texts{"permit", "db", "--group", "a\nb", "--", "true"}}) {
    const auto ended = penstock(words);
    EXPECT_EQ(ended.code, 2) << testing::PrintToString(words);
    EXPECT_NE(ended.err, "") << testing::PrintToString(words);
  }
  EXPECT_EQ(penstock({"permit", "db", "--proxy", "127.0.0.1:3128", "--", "true"}).code, 1);
}

}  // namespace
}  // namespace penstock::app
