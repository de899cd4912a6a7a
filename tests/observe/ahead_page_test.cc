// SPDX-License-Identifier: Apache-2.0
// /ahead of the admin port over a real socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "observe/admin_client.h"
#include "observe/admin_server.h"

namespace penstock::observe {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class AheadPage : public testing::Test {
 protected:
  explicit AheadPage(AdminDetails details = AdminDetails::loopback) : config_(on_any_port(details)) {
    auto listening = AdminServer::listen(
        loop_, config_, metrics_, [](const SnapshotExtent&) { return Snapshot{}; }, [] { return 0u; });
    EXPECT_TRUE(listening) << listening.error().message;
    server_ = std::move(*listening);
    server_->on_ahead([this](const AheadQuery& query, AdminServer::OnAhead told) {
      if (query.url == "http://later.example/") {
        return loop_.post([told = std::move(told)]() mutable { told(Ahead{.upstream = "later"}); });
      }
      if (query.url != "http://a.example/") return told(http::malformed("no such URL"));
      told(Ahead{.upstream = query.method, .wait = Duration(1'000 * query.weight), .pending = query.fields.size()});
    });
    bound_ = server_->bound();
    thread_ = std::thread{[this] { loop_.run(); }};
  }
  ~AheadPage() override {
    std::promise<void> ended;
    loop_.post([&] { server_.reset(), ended.set_value(); });
    ended.get_future().wait();
    loop_.stop();
    thread_.join();
  }

  std::string asked(std::string_view request) {
    AdminClient client{bound_};
    client.send(request);
    return client.answer(true);
  }
  std::string got(const std::string& path) { return asked("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n"); }
  static Config on_any_port(AdminDetails details) {
    Config config;
    config.admin.details = details;
    config.admin.listen.port = 0;
    return config;
  }
  static std::string body_of(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

  const Config config_;
  Metrics metrics_{config_};
  loop::Loop loop_;
  std::unique_ptr<AdminServer> server_;
  Endpoint bound_;
  std::thread thread_;
};

TEST_F(AheadPage, says_when_a_request_would_leave_or_what_it_would_be_told) {
  const auto ahead = got("/ahead?url=http%3A//a.example/&method=PUT&weight=7&header=a:b");
  EXPECT_THAT(ahead, AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("\r\nContent-Type: application/json\r\n")));
  EXPECT_EQ(body_of(ahead), R"({"upstream":"PUT","route":null,"waitMs":7.0,"limitedBy":null,"pending":1})"
                            "\n");
  const auto refused = got("/ahead?url=http://b.example/");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 400 "));
  EXPECT_EQ(body_of(refused), "no such URL\n");
  const auto heavy = got("/ahead?url=http://a.example/&weight=x");
  EXPECT_THAT(heavy, StartsWith("HTTP/1.1 400 "));
  EXPECT_EQ(body_of(heavy), "weight is not one whole number from 1 to 1000000\n");
  EXPECT_THAT(asked("POST /ahead?url=http://a.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n"),
              StartsWith("HTTP/1.1 405 "));
}

class AheadPageWithoutDetails : public AheadPage {
 protected:
  AheadPageWithoutDetails() : AheadPage(AdminDetails::off) {}
};

TEST_F(AheadPageWithoutDetails, is_not_told) {
  const auto ahead = got("/ahead?url=http://a.example/");
  EXPECT_THAT(ahead, AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("admin.details: off")));
  EXPECT_THAT(ahead, testing::Not(HasSubstr("waitMs")));
}

TEST_F(AheadPage, may_be_told_later) {
  EXPECT_EQ(body_of(got("/ahead?url=http://later.example/")),
            R"({"upstream":"later","route":null,"waitMs":null,"limitedBy":null,"pending":0})"
            "\n");
}

}  // namespace
}  // namespace penstock::observe
