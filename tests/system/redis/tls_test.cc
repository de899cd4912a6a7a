// SPDX-License-Identifier: Apache-2.0
// Redis over TLS, by a real redis-server: limits are shared over it, and what is wrong with it is said in words.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <ostream>

#include "support/tls_authority.h"
#include "system/redis_stage.h"

namespace penstock::trial {
namespace {

/// A Redis that listens for TLS at one port, and plain at another.
struct TlsRedis {
  explicit TlsRedis(const test::Wanted& wanted = {}, const std::string& demands = "no",
                    std::vector<std::string> more = {})
      : shown(authority.issue(wanted)), server(options(demands, std::move(more))) {}

  std::vector<std::string> options(const std::string& demands, std::vector<std::string> more) const {
    std::vector<std::string> all{
        "--tls-port", std::to_string(port()), "--tls-cert-file", shown.certificate,    "--tls-key-file",
        shown.key,    "--tls-ca-cert-file",   authority.file(),  "--tls-auth-clients", demands};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::uint16_t port() const { return held.number(); }
  /// `keys` of `redis`, behind its url.
  std::string yaml(const std::string& keys = "", const std::string& scheme = "rediss", const std::string& login = "",
                   std::uint16_t at = 0) const {
    return "redis: { timeout: 3s, whenDown: refuse, url: '" + scheme + "://" + login +
           "127.0.0.1:" + std::to_string(at == 0 ? port() : at) + "'" + keys +
           " }\nupstreams: { api: { match: 127.0.0.1, limits: [ { slidingWindow: { max: 3, interval: 1h, mode: refuse "
           "} "
           "} ] } }\n";
  }
  std::string trusting(const std::string& more = "") const {
    return ", tls: { ca: '" + authority.file() + "'" + more + " }";
  }

  test::Authority authority;
  const test::Issued shown;
  const test::HeldPort held;
  test::RedisServer server;
};

bool comes_up(const Daemon& daemon) {
  return eventually([&] { return is_up(daemon); });
}

TEST(RedisOverTls, shares_limits) {
  const TlsRedis redis;
  const Origin origin;
  const Daemon one({.yaml = redis.yaml(redis.trusting())}), other({.yaml = redis.yaml(redis.trusting())});
  ASSERT_TRUE(comes_up(one)) << one.diagnostics();
  ASSERT_TRUE(comes_up(other)) << other.diagnostics();
  const auto status_by = [&](const Daemon& daemon) { return daemon.ask(get(origin.url("/"))).status; };
  EXPECT_EQ(status_by(one), 200);
  EXPECT_EQ(status_by(other), 200);
  EXPECT_EQ(status_by(one), 200);
  EXPECT_EQ(status_by(other), 429);
}

TEST(RedisOverTls, takes_another_name_for_the_certificate_and_a_certificate_of_ours) {
  TlsRedis redis({.names = {"redis.internal"}, .addresses = {}}, "yes");
  const auto ours = redis.authority.issue();
  const Daemon daemon({.yaml = redis.yaml(redis.trusting(", serverName: redis.internal, clientCert: '" +
                                                         ours.certificate + "', clientKey: '" + ours.key + "'"))});
  EXPECT_TRUE(comes_up(daemon)) << daemon.diagnostics();
}

/// An authority's file is replaced while nothing trusts the one before.
TEST(RedisOverTls, reads_files_again_that_have_changed) {
  const TlsRedis redis;
  const test::Authority another;
  const std::string file = redis.authority.folder() + "/trusted.pem";
  std::filesystem::copy_file(another.file(), file);
  const Daemon daemon({.yaml = redis.yaml(", tls: { ca: '" + file + "' }")});
  EXPECT_TRUE(comes_to_say(daemon, "not trusted here")) << daemon.diagnostics();
  std::filesystem::copy_file(redis.authority.file(), file + ".new");
  std::filesystem::rename(file + ".new", file);
  EXPECT_TRUE(comes_up(daemon)) << daemon.diagnostics();
}

TEST(RedisOverTls, has_its_password_from_a_file) {
  const TlsRedis redis({}, "no", {"--requirepass", "s3cret"});
  const std::string file = redis.authority.folder() + "/password";
  std::ofstream(file) << "s3cret\n";
  const Daemon daemon({.yaml = redis.yaml(redis.trusting() + ", password: \"${file:" + file + "}\"")});
  EXPECT_TRUE(comes_up(daemon)) << daemon.diagnostics();
  EXPECT_EQ(daemon.diagnostics().find("s3cret"), std::string::npos);
  EXPECT_EQ(daemon.admin("/status").body.find("s3cret"), std::string::npos);
}

struct Wrong {
  std::string_view name;
  std::string_view words;
  test::Wanted shown{};
  std::string_view keys{};  ///< of redis; without any the authority is trusted
  std::string_view scheme = "rediss";
  std::string_view login{};
  std::string_view demands = "no";
  bool plain_port = false;
};
void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.name; }

class WrongRedisOverTls : public testing::TestWithParam<Wrong> {};

TEST_P(WrongRedisOverTls, is_told_in_words_once_and_whenDown_holds_meanwhile) {
  const Wrong& wrong = GetParam();
  const TlsRedis redis(wrong.shown, std::string(wrong.demands), {"--requirepass", "s3cret"});
  const bool over_tls = wrong.scheme == "rediss";
  const std::string keys(!wrong.keys.empty() || !over_tls ? std::string(wrong.keys) : redis.trusting());
  const Origin origin;
  const Daemon daemon({.yaml = redis.yaml(keys, std::string(wrong.scheme), std::string(wrong.login),
                                          wrong.plain_port ? redis.server.port() : redis.port())});
  EXPECT_TRUE(comes_to_say(daemon, std::string(wrong.words))) << daemon.diagnostics();
  EXPECT_EQ(daemon.ask(get(origin.url("/"))).status, 503);
  EXPECT_TRUE(eventually([&] { return daemon.metric("penstock_redis_errors_total") >= 3; })) << "it is tried again";
  EXPECT_FALSE(is_up(daemon));
  EXPECT_EQ(lines_with(daemon.diagnostics(), "is down"), 1U) << daemon.diagnostics();
  EXPECT_EQ(daemon.diagnostics().find("s3cret"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Each, WrongRedisOverTls,
    testing::Values(
        Wrong{.name = "authority", .words = "comes from an authority that is not trusted here", .keys = ", tls: {}"},
        Wrong{.name = "name", .words = "its certificate is for another name", .shown = {.addresses = {"127.0.0.9"}}},
        Wrong{.name = "expired", .words = "its certificate has expired", .shown = {.expired = true}},
        Wrong{.name = "not_yet", .words = "its certificate is not valid yet", .shown = {.not_yet = true}},
        Wrong{.name = "tls_to_a_plain_port",
              .words = "no TLS handshake in time; where it does not speak TLS, write redis://",
              .plain_port = true},
        Wrong{.name = "plain_to_a_tls_port",
              .words = "where it speaks TLS, write rediss:// in redis.url",
              .scheme = "redis"},
        Wrong{.name = "no_certificate_of_ours", .words = "it demands a client certificate", .demands = "yes"},
        Wrong{.name = "no_password", .words = "NOAUTH Authentication required. Set redis.password"},
        Wrong{
            .name = "wrong_password",
            .words = "WRONGPASS invalid username-password pair or user is disabled. See redis.user and redis.password",
            .login = ":wrong@"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace penstock::trial
