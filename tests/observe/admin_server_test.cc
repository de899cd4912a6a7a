// SPDX-License-Identifier: Apache-2.0
// The admin port over real sockets.
#include "observe/admin_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "observe/admin_client.h"
#include "observe/status_json.h"

namespace penstock::observe {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using Client = AdminClient;

Config on_any_port() {
  Config config;
  config.admin.listen.port = 0;
  return config;
}

class AdminServerTest : public testing::Test {
 protected:
  AdminServerTest() {
    auto listening = AdminServer::listen(
        loop_, config_, metrics_, [this](const SnapshotExtent& extent) { return snapshot(extent); }, [] { return 4u; });
    EXPECT_TRUE(listening) << listening.error().message;
    server_ = std::move(*listening);
    server_->on_resume([this](std::string_view upstream) -> std::optional<bool> {
      ++resumed_;
      if (upstream != "api" && upstream != "b.example:80") return std::nullopt;
      return upstream == "api";
    });
    bound_ = server_->bound();
    thread_ = std::thread{[this] {
      sigset_t pipe;
      sigemptyset(&pipe), sigaddset(&pipe, SIGPIPE);
      pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
      loop_.run();
    }};
  }
  ~AdminServerTest() override {
    end_server();
    loop_.stop();
    thread_.join();
  }

  void end_server() {
    std::promise<void> ended;
    loop_.post([&] { server_.reset(), ended.set_value(); });
    ended.get_future().wait();
  }

  Snapshot snapshot(const SnapshotExtent& extent) {
    asked_ = extent;
    return {.draining = draining_,
            .connections = 2,
            .pending_bytes = 0,
            .upstreams = {{.name = "a.example:80",
                           .entry = 0,
                           .pending = 1,
                           .in_flight = 5,
                           .max_concurrent = 5,
                           .oldest_wait = 1500us,
                           .totals = {.dispatched = 9, .success = 4}}}};
  }

  std::string asked(std::string_view request, bool with_body = true) {
    Client client{bound_};
    client.send(request);
    return client.answer(with_body);
  }
  std::string got(const std::string& path) { return asked("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n"); }

  static std::string body_of(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

  const Config config_ = on_any_port();
  Metrics metrics_{config_};
  std::atomic<bool> draining_ = false;
  std::atomic<int> resumed_ = 0;
  SnapshotExtent asked_;  // for the last snapshot; read after an answer to it
  loop::Loop loop_;
  std::unique_ptr<AdminServer> server_;
  Endpoint bound_;
  std::thread thread_;
};

TEST_F(AdminServerTest, health_is_always_well_and_readiness_ends_with_the_drain) {
  EXPECT_THAT(got("/healthz"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(got("/readyz"), StartsWith("HTTP/1.1 200 OK\r\n"));
  draining_ = true;
  EXPECT_THAT(got("/healthz"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(got("/readyz"), StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
}

TEST_F(AdminServerTest, no_more_of_the_state_is_taken_than_is_shown) {
  got("/readyz");
  EXPECT_EQ(asked_.upstreams, 0u);
  got("/metrics");
  EXPECT_EQ(asked_.upstreams, SnapshotExtent{}.upstreams);
  EXPECT_FALSE(asked_.groups);
  got("/status");
  EXPECT_TRUE(asked_.groups);
}

TEST_F(AdminServerTest, metrics_come_in_the_text_format_with_the_state_of_the_moment) {
  const std::string answer = got("/metrics");
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(answer, HasSubstr("\npenstock_in_flight_requests{upstream=\"*\"} 5\n"));
  EXPECT_THAT(answer, HasSubstr("\npenstock_events_dropped_total 4\n"));
  EXPECT_THAT(answer, HasSubstr("\nprocess_open_fds "));
}

TEST_F(AdminServerTest, status_is_json_with_the_address_that_was_really_bound) {
  const auto status = nlohmann::json::parse(body_of(got("/status")));
  EXPECT_EQ(status["upstreams"][0]["name"], "a.example:80");
  EXPECT_EQ(status["upstreams"][0]["oldestWaitMs"], 1.5);
  EXPECT_EQ(status["upstreams"][0]["totals"]["dispatched"], 9);
  EXPECT_EQ(status["configuration"]["admin"]["listen"], to_string(bound_));
  EXPECT_NE(bound_.port, 0);
}

TEST_F(AdminServerTest, no_page_of_another_origin_gets_an_answer_as_a_script_or_a_picture) {
  for (const auto* path : {"/", "/status", "/metrics", "/healthz", "/nowhere"}) {
    const auto answer = got(path);
    EXPECT_THAT(answer, HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n")) << path;
    EXPECT_THAT(answer, HasSubstr("\r\nCross-Origin-Resource-Policy: same-origin\r\n")) << path;
  }
}

TEST_F(AdminServerTest, head_gives_the_head_alone) {
  const std::string answer = asked("HEAD /healthz HTTP/1.0\r\n\r\n", false);
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 3\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST_F(AdminServerTest, other_paths_are_404_and_say_what_there_is) {
  const std::string answer = got("/metric");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_EQ(body_of(answer),
            "There is /metrics /healthz /readyz /status /ahead / /live /events here, and POST of /resume.\n");
}

TEST_F(AdminServerTest, other_methods_are_405_with_allow) {
  const std::string answer = asked("DELETE /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 405 Method Not Allowed\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nAllow: GET, HEAD\r\n"));
}

TEST_F(AdminServerTest, resume_ends_the_pauses_of_the_upstream_that_is_named) {
  const auto post = [&](const std::string& query) {
    return asked("POST /resume" + query + " HTTP/1.1\r\nHost: x\r\n\r\n");
  };
  EXPECT_THAT(post("?upstream=api"), AllOf(StartsWith("HTTP/1.1 200 "), EndsWith("\napi: its pauses end now\n")));
  EXPECT_THAT(post("?upstream=%61%70i"), EndsWith("\napi: its pauses end now\n"));
  EXPECT_THAT(post("?x=y&upstream=b.example%3A80"), EndsWith("\nb.example:80: no pause that this process knows of\n"));
  for (const auto* query : {"", "?", "?upstream=", "?upstream=other", "?name=api", "?upstream=%6", "?upstream=%zz"}) {
    const auto answer = post(query);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 ")) << query;
    EXPECT_THAT(answer, HasSubstr(": no upstream has a name, and host:port of those that no entry names\n")) << query;
  }
}

TEST_F(AdminServerTest, resume_is_not_for_pages_in_browsers_nor_by_other_methods) {
  EXPECT_THAT(got("/resume?upstream=api"), AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("\r\nAllow: POST\r\n")));
  for (const auto* field : {"Origin: http://evil.example", "Sec-Fetch-Site: cross-site"}) {
    const auto request = std::string("POST /resume?upstream=api HTTP/1.1\r\nHost: x\r\n") + field + "\r\n\r\n";
    EXPECT_THAT(asked(request), StartsWith("HTTP/1.1 403 "));
  }
  EXPECT_THAT(asked("POST /resume?upstream=api HTTP/1.1\r\nHost: evil.example\r\n\r\n"), StartsWith("HTTP/1.1 403 "));
  EXPECT_EQ(resumed_, 0);
}

TEST_F(AdminServerTest, a_query_and_an_absolute_form_find_the_page) {
  EXPECT_THAT(got("/healthz?full=1"), EndsWith("\r\n\r\nok\n"));
  EXPECT_THAT(got("http://localhost:9128/healthz"), EndsWith("\r\n\r\nok\n"));
  EXPECT_THAT(got("http://localhost:9128"), HasSubstr("\r\n\r\nPenstock "));
}

TEST_F(AdminServerTest, a_connection_serves_many_requests_also_pipelined_and_in_order) {
  Client client{bound_};
  client.send(
      "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
      "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
      "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"
      "GET /status HTTP/1.1\r\nHost: x\r\n\r\nGET /hea");
  EXPECT_EQ(body_of(client.answer()), "ok\n");
  EXPECT_THAT(client.answer(), HasSubstr("penstock_build_info"));
  EXPECT_EQ(body_of(client.answer()), "ready\n");
  EXPECT_THAT(client.answer(), HasSubstr("\"version\""));
  client.send("lthz HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(body_of(client.answer()), "ok\n");
}

TEST_F(AdminServerTest, a_client_that_asks_for_it_is_closed_after_its_answer) {
  for (const char* request :
       {"GET /healthz HTTP/1.0\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"}) {
    Client client{bound_};
    client.send(request);
    EXPECT_THAT(client.until_closed(), EndsWith("\r\n\r\nok\n"));
  }
}

TEST_F(AdminServerTest, a_body_is_refused_and_the_connection_closed) {
  Client client{bound_};
  client.send("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nhello");
  const std::string answer = client.until_closed();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(answer, HasSubstr("\r\nConnection: close\r\n"));
}

TEST_F(AdminServerTest, nonsense_is_400_and_a_head_without_end_431) {
  Client nonsense{bound_};
  nonsense.send("GET  /metrics HTTP/1.1\r\n\r\n");
  EXPECT_THAT(nonsense.until_closed(), StartsWith("HTTP/1.1 400 "));
  Client endless{bound_};
  endless.send("GET /metrics HTTP/1.1\r\nX: " + std::string(40 * 1024, 'x'));
  EXPECT_THAT(endless.until_closed(), StartsWith("HTTP/1.1 431 "));
  EXPECT_EQ(body_of(got("/healthz")), "ok\n");
}

TEST_F(AdminServerTest, beyond_64_connections_a_new_one_takes_the_place_of_the_one_that_has_been_idle_for_longest) {
  std::vector<Client> clients;
  for (int i = 0; i < 64; ++i) {
    clients.emplace_back(bound_).send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(body_of(clients.back().answer()), "ok\n");
  }
  clients.front().send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(body_of(clients.front().answer()), "ok\n");
  EXPECT_THAT(got("/healthz"), EndsWith("\r\n\r\nok\n"));
  EXPECT_EQ(clients[1].until_closed(), "");
  clients.front().send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(body_of(clients.front().answer()), "ok\n");
}

TEST_F(AdminServerTest, those_that_have_not_asked_anything_make_room_before_those_that_have) {
  Client scraper{bound_};
  scraper.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(body_of(scraper.answer()), "ok\n");
  std::vector<Client> silent;
  for (int i = 0; i < 200; ++i) silent.emplace_back(bound_).send(i % 2 == 0 ? "" : "GET /hea");
  EXPECT_THAT(got("/healthz"), EndsWith("\r\n\r\nok\n"));
  EXPECT_EQ(silent.front().until_closed(), "");
  scraper.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(body_of(scraper.answer()), "ok\n");
}

TEST_F(AdminServerTest, the_server_may_end_while_texts_are_being_written) {
  std::vector<Client> clients;
  for (int i = 0; i < 20; ++i) {
    clients.emplace_back(bound_).send(
        "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\nGET /status HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  EXPECT_THAT(clients.front().answer(), HasSubstr("penstock_build_info"));
  end_server();
  for (Client& client : clients) client.until_closed();
}

TEST_F(AdminServerTest, a_client_may_leave_while_its_text_is_being_written) {
  for (int i = 0; i < 20; ++i) Client{bound_}.send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(got("/metrics"), HasSubstr("penstock_build_info"));
}

TEST_F(AdminServerTest, a_port_that_is_taken_is_an_error_that_names_it) {
  Config taken;
  taken.admin.listen = bound_;
  loop::Loop other;
  const auto second = AdminServer::listen(
      other, taken, metrics_, [](const SnapshotExtent&) { return Snapshot{}; }, [] { return 0u; });
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr(to_string(bound_)));
}

TEST(StatusJson, shows_the_configuration_in_the_words_of_the_file) {
  Config config;
  config.defaults.timeouts.first_byte = 1500ms;
  config.pass_unmatched = false;
  config.admin.details = AdminDetails::all;
  config.log.client = LogClient::full;
  config.upstreams.push_back({.name = "github",
                              .match = {{.host = "api.github.com", .suffix = false, .port = 8080, .path = "/v1"},
                                        {.host = "a.com", .suffix = true, .port = {}, .path = ""},
                                        {.host = "::1", .suffix = false, .port = 80, .path = ""}},
                              .settings = {.max_concurrent = 20,
                                           .queue = {.max_pending = 5, .max_wait = 2h},
                                           .timeouts = {},
                                           .https = Https::originate,
                                           .tls = {.ca = "ca.pem"}},
                              .base_url = BaseUrl{true, "api.github.com", 443, "/v1"}});
  config.upstreams.push_back({.name = "db", .permits = true});
  const auto configuration = nlohmann::json::parse(status_json({}, config, {}))["configuration"];
  EXPECT_EQ(configuration["proxy"]["listen"], "127.0.0.1:3128");
  EXPECT_EQ(configuration["proxy"]["grace"], "30s");
  EXPECT_EQ(configuration["defaults"]["timeouts"]["firstByte"], "1500ms");
  EXPECT_EQ(configuration["defaults"]["timeouts"]["total"], "0s");
  EXPECT_EQ(configuration["unmatched"], "deny");
  const auto& github = configuration["upstreams"][0];
  EXPECT_EQ(github["name"], "github");
  EXPECT_EQ(github["match"], (nlohmann::json{"api.github.com:8080/v1", "*.a.com", "[::1]:80"}));
  EXPECT_EQ(github["maxConcurrent"], 20);
  EXPECT_EQ(github["queue"], (nlohmann::json{{"maxPending", 5}, {"maxWait", "2h"}}));
  EXPECT_EQ(github["https"], "originate");
  EXPECT_EQ(github["tls"]["ca"], "ca.pem");
  EXPECT_EQ(github["baseUrl"], "https://api.github.com/v1");
  EXPECT_EQ(configuration["admin"]["details"], "all");
  EXPECT_EQ(configuration["admin"]["page"], true);
  EXPECT_EQ(configuration["log"]["client"], "full");
  EXPECT_EQ(configuration["proxy"]["requestId"], false);
  EXPECT_FALSE(github.contains("permits"));
  EXPECT_EQ(configuration["upstreams"][1]["name"], "db");
  EXPECT_EQ(configuration["upstreams"][1]["permits"], true);
  EXPECT_EQ(configuration["upstreams"][2]["name"], "*");
  EXPECT_EQ(configuration["upstreams"][2]["https"], "tunnel");
}

TEST(StatusJson, shows_quotas_and_what_holds_for_those_that_draw_on_them) {
  Config config;
  config.quotas.push_back({"account", {.max_concurrent = 7, .limits = {{PacerConfig{12.5, 3}}}, .redis = "eu"}});
  config.upstreams.push_back({.name = "api", .quota = "account"});
  const auto configuration = nlohmann::json::parse(status_json({}, config, {}))["configuration"];
  const auto& account = configuration["quotas"][0];
  EXPECT_EQ(account["name"], "account");
  EXPECT_EQ(account["maxConcurrent"], 7);
  EXPECT_EQ(account["limits"][0]["pacer"]["qps"], 12.5);
  EXPECT_EQ(account["redis"], "eu");
  EXPECT_FALSE(account.contains("timeouts")) << "which are of hosts";
  const auto& api = configuration["upstreams"][0];
  EXPECT_EQ(api["quota"], "account");
  EXPECT_EQ(api["maxConcurrent"], 7);
  EXPECT_EQ(api["limits"], account["limits"]);
  EXPECT_FALSE(configuration["upstreams"][1].contains("quota"));
  Snapshot now;
  now.upstreams.push_back({.name = "api", .quota = "account", .pending_in_quota = 3, .pending = 1});
  now.upstreams.push_back({.name = "other"});
  const auto status = nlohmann::json::parse(status_json(now, config, {}));
  EXPECT_EQ(status["upstreams"][0]["quota"], "account");
  EXPECT_EQ(status["upstreams"][0]["pendingInQuota"], 3);
  EXPECT_EQ(status["upstreams"][0]["pending"], 1);
  EXPECT_FALSE(status["upstreams"][1].contains("quota"));
  EXPECT_FALSE(status["upstreams"][1].contains("pendingInQuota"));
}

TEST(StatusJson, shows_groups_limits_and_pauses) {
  Config config;
  config.upstreams.push_back({.name = "github", .match = {}, .settings = {}});
  auto& settings = config.upstreams[0].settings;
  settings.group = GroupRule{GroupRule::By::header, "X-Org"};
  settings.redact = {"/bot{}/"};
  settings.limits = {{PacerConfig{12.5, 3}},
                     {WindowConfig{10, 1h, true}, "slow", LimitConfig::Per::group, false, LimitConfig::Mode::refuse},
                     {SlidingWindowConfig{9, 1s}},
                     {TokenBucketConfig{4, 2, 1s}},
                     {SemaphoreConfig{5}},
                     {CounterConfig{7, 1min}}};
  const auto github = nlohmann::json::parse(status_json({}, config, {}))["configuration"]["upstreams"][0];
  EXPECT_EQ(github["group"], "header:X-Org");
  EXPECT_EQ(github["obey"], "auto");
  EXPECT_EQ(github["maxPause"], "5m");
  EXPECT_EQ(github["pauseOn"], nlohmann::json({429, 503, 529, 403}));
  EXPECT_EQ(github["pauseScope"], "upstream");
  EXPECT_EQ(github["learn"], false);
  EXPECT_EQ(github["redact"], nlohmann::json{"/bot{}/"});
  EXPECT_EQ(github["retry"], nlohmann::json::parse(R"({"refusals": true, "failures": "off", "attempts": 8,
                                                       "budget": "20%", "except": []})"));
  EXPECT_EQ(github["breaker"], nlohmann::json::parse(R"({"failures": 5, "maxPause": "30s"})"));
  EXPECT_EQ(github["limits"], nlohmann::json::parse(R"([
    {"pacer": {"qps": 12.5, "maxBurst": 3, "burstAllowanceFactor": 0.5,
               "name": "pacer", "per": "upstream", "shared": true, "mode": "delay"}},
    {"window": {"reservoir": 10, "interval": "1h", "spread": true,
                "name": "slow", "per": "group", "shared": false, "mode": "refuse"}},
    {"slidingWindow": {"max": 9, "interval": "1s",
                       "name": "slidingWindow", "per": "upstream", "shared": true, "mode": "delay"}},
    {"tokenBucket": {"capacity": 4, "refillAmount": 2, "refillFrequency": "1s",
                     "name": "tokenBucket", "per": "upstream", "shared": true, "mode": "delay"}},
    {"semaphore": {"capacity": 5, "lease": "30s",
                   "name": "semaphore", "per": "upstream", "shared": true, "mode": "delay"}},
    {"counter": {"max": 7, "period": "1m",
                 "name": "counter", "per": "upstream", "shared": true, "mode": "delay"}}])"));
}

TEST(StatusJson, shows_redis_without_user_and_password) {
  Config config;
  config.redis.emplace_back();
  config.redis.front().user = config.redis.front().password = config.redis.front().secret = "s3cret";
  config.redis.front().processes = 7;
  const Snapshot snapshot{.upstreams = {{.name = "a", .pauses = 2, .unreachable = true}},
                          .redis = {{.up = true,
                                     .processes = 3,
                                     .kind = "sentinel",
                                     .tls = true,
                                     .mode = "shared",
                                     .refused = {"+time"},
                                     .limits_differ = {"a"},
                                     .nodes = {{.name = "r1:6379", .up = true}, {.name = "s1:26379", .up = false}}}}};
  const auto text = status_json(snapshot, config, {});
  EXPECT_THAT(text, testing::Not(HasSubstr("s3cret")));
  auto status = nlohmann::json::parse(text);
  const auto each = status["redis"]["each"];
  status["redis"].erase("each");
  EXPECT_EQ(status["redis"],
            nlohmann::json::parse(R"({"up": true, "degraded": false, "refused": ["+time"], "limitsDiffer": ["a"],
                                      "kind": "sentinel", "tls": true, "mode": "shared", "processes": 3, "shareOf": 1,
                                      "nodes": [{"name": "r1:6379", "up": true}, {"name": "s1:26379", "up": false}],
                                      "state": "by Sentinel over TLS up, out of reach: s1:26379; 3 processes, limits differ: a"})"));
  status["redis"]["name"] = "default";
  EXPECT_EQ(each, nlohmann::json::array({status["redis"]}));
  EXPECT_EQ(status["upstreams"][0]["pauses"], 2);
  EXPECT_EQ(status["upstreams"][0]["unreachable"], true);
  EXPECT_EQ(status["upstreams"][0]["degraded"], false);
  EXPECT_EQ(
      status["configuration"]["redis"],
      nlohmann::json::parse(R"({"url": "redis://127.0.0.1:6379/0", "prefix": "penstock", "tls": null, "timeout": "50ms",
                                      "whenDown": "share", "processes": 7})"));
  config.redis.front().tls = RedisTlsConfig{.ca = "ca.pem", .server_name = "redis.example"};
  EXPECT_EQ(nlohmann::json::parse(status_json({}, config, {}))["configuration"]["redis"]["tls"],
            nlohmann::json::parse(R"({"ca": "ca.pem", "clientCert": "", "clientKey": "",
                                      "serverName": "redis.example"})"));
  const auto without = nlohmann::json::parse(status_json({}, {}, {}));
  EXPECT_EQ(without["redis"], nullptr);
  EXPECT_EQ(without["configuration"]["redis"], nullptr);
}

TEST(StatusJson, shows_several_redis_together_and_each_by_its_name) {
  Config config;
  config.redis = {{.name = "main"}, {.name = "eu", .port = 6380}};
  config.upstreams = {{"a", {{.host = "a.test"}}, {}}};
  config.upstreams[0].settings.redis = "eu";
  const Snapshot snapshot{.redis = {{.name = "main", .up = true, .processes = 2, .mode = "shared"},
                                    {.name = "eu",
                                     .up = false,
                                     .processes = 3,
                                     .kind = "cluster",
                                     .mode = "share",
                                     .share_of = 3,
                                     .degraded = true,
                                     .limits_differ = {"a"},
                                     .nodes = {{.name = "r2:6380", .up = false}}}}};
  const auto status = nlohmann::json::parse(status_json(snapshot, config, {}));
  const auto& redis = status["redis"];
  EXPECT_EQ(redis["up"], false);
  EXPECT_EQ(redis["degraded"], true);
  EXPECT_EQ(redis["mode"], "share");
  EXPECT_EQ(redis["processes"], 3);
  EXPECT_EQ(redis["shareOf"], 3);
  EXPECT_EQ(redis["limitsDiffer"], nlohmann::json({"a"}));
  EXPECT_EQ(redis["nodes"].size(), 1u);
  EXPECT_EQ(redis["kind"], nullptr) << "they differ";
  EXPECT_EQ(redis["tls"], false);
  EXPECT_EQ(redis["each"][0]["kind"], "single");
  EXPECT_EQ(redis["each"][1]["kind"], "cluster");
  EXPECT_EQ(
      redis["state"],
      "main up, 2 processes; eu Cluster 0 of 1 node, DOWN: r2:6380; 3 processes, our share 1/3, limits differ: a");
  ASSERT_EQ(redis["each"].size(), 2u);
  EXPECT_EQ(redis["each"][0]["name"], "main");
  EXPECT_EQ(redis["each"][0]["up"], true);
  EXPECT_EQ(redis["each"][0]["mode"], "shared");
  EXPECT_EQ(redis["each"][1]["name"], "eu");
  EXPECT_EQ(redis["each"][1]["shareOf"], 3);
  EXPECT_EQ(status["configuration"]["redis"]["eu"]["url"], "redis://127.0.0.1:6380/0");
  EXPECT_EQ(status["configuration"]["upstreams"][0]["redis"], "eu");
}

TEST(StatusJson, is_json_whatever_stands_in_a_name) {
  const auto status = nlohmann::json::parse(status_json({.upstreams = {{.name = "a\xFF\"b"}}}, {}, {}));
  EXPECT_EQ(status["upstreams"][0]["name"], "a\uFFFD\"b");
}

}  // namespace
}  // namespace penstock::observe
