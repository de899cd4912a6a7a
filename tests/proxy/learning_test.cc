// SPDX-License-Identifier: Apache-2.0
// Which answers tell which limit of a quota that others use, too.
#include <gmock/gmock.h>

#include <utility>

#include "proxy/dispatcher_fixture.h"
#include "proxy/exchange/learning.h"
#include "proxy/recording_limiter.h"

namespace penstock::proxy {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Answers with the fields that the path has: `/a;Name=value;Name=value`.
test::Origin::Script with_the_fields_of_the_path() {
  return [](test::Origin&, test::Socket& peer, int) {
    for (std::string head = peer.read_until("\r\n\r\n"); !head.empty(); head = peer.read_until("\r\n\r\n")) {
      std::string path = head.substr(4, head.find(" HTTP") - 4), lines;
      for (std::size_t at = path.find(';'); at != std::string::npos; at = path.find(';', at + 1)) {
        const std::string pair = path.substr(at + 1, path.find(';', at + 1) - at - 1);
        lines += pair.substr(0, pair.find('=')) + ": " + pair.substr(pair.find('=') + 1) + "\r\n";
      }
      peer.send("HTTP/1.1 200 OK\r\n" + lines + "Content-Length: 2\r\n\r\nok");
    }
  };
}

/// The window of a minute, of which 100 are allowed, 60 remain and 40 s are left.
constexpr const char* kMinute = "/a;RateLimit-Limit=100;RateLimit-Remaining=60;RateLimit-Reset=40";

class LearningTest : public DispatcherTest {
 protected:
  LearningTest() : origin_(with_the_fields_of_the_path()) {
    make_limiter_ = recording_limiters(run_.loop, record_);
    config_.upstreams.push_back({.name = "api", .match = {{.host = "127.0.0.1"}}});
    settings().learn = Learn::on;
  }
  UpstreamSettings& settings() { return config_.upstreams[0].settings; }
  void slide(int max, Duration interval, LimitConfig::Per per = LimitConfig::Per::upstream) {
    settings().limits.push_back({.kind = SlidingWindowConfig{max, interval}, .name = "slides", .per = per});
  }
  const std::vector<Record::Learned>& after(const std::string& path, const char* field = "Authorization") {
    record_.learned.clear();
    Asker asker;
    auto what = head("GET", "http://" + origin_.host() + path);
    what.fields.add(field, "Bearer mine");
    ask(asker, std::move(what));
    EXPECT_TRUE(finish(asker));
    EXPECT_EQ(asker.status, 200);
    return record_.learned;
  }

  test::Origin origin_;
  Record record_;
};

using L = Record::Learned;

TEST_F(LearningTest, tells_the_limit_whose_quota_it_is) {
  settings().limits.push_back({.kind = PacerConfig{.qps = 5}});
  slide(100, 1min);
  settings().limits.push_back({.kind = WindowConfig{.reservoir = 5'000, .interval = 1h}});
  EXPECT_THAT(after(kMinute), ElementsAre(L{"", 1, 40, 40'000'000}));
  EXPECT_THAT(after("/a;X-RateLimit-Limit=5000;X-RateLimit-Remaining=4990;X-RateLimit-Reset=3000"),
              ElementsAre(L{"", 2, 10, 3'000'000'000}));
}

TEST_F(LearningTest, tells_the_limit_of_the_requests_route) {
  settings().routes.push_back({.name = "search", .match = {.path = "/search"}});
  slide(100, 1min);
  settings().limits.back().name = "search:slides", settings().limits.back().route = "search";
  const std::string quota = std::string(kMinute).substr(2);
  EXPECT_THAT(after("/a" + quota), IsEmpty());
  EXPECT_THAT(after("/search/a" + quota), ElementsAre(L{"", 0, 40, 40'000'000, "search"}));
}

TEST_F(LearningTest, a_rate_has_a_window_that_learns) {
  settings().limits = limits_of(Rate{100, 60s});
  EXPECT_THAT(after(kMinute), ElementsAre(L{"", 1, 40, 40'000'000}));
}

TEST_F(LearningTest, is_off_unless_the_file_says_so) {
  settings().learn = UpstreamSettings{}.learn;
  slide(100, 1min);
  EXPECT_THAT(after(kMinute), IsEmpty());
}

TEST_F(LearningTest, is_off_where_such_fields_are_not_obeyed) {
  settings().obey = Obey::retry_after;
  slide(100, 1min);
  EXPECT_THAT(after(kMinute), IsEmpty());
}

TEST_F(LearningTest, a_request_without_credentials_tells_nothing) {
  slide(100, 1min);
  EXPECT_THAT(after(kMinute, "X-Request-Id"), IsEmpty());
  EXPECT_EQ(after(kMinute, "X-Api-Key").size(), 1u);
}

TEST_F(LearningTest, a_quota_of_about_that_size_is_the_limits_own) {
  slide(100, 1min);
  for (const char* size : {"95", "105"}) {
    EXPECT_EQ(after("/a;RateLimit-Remaining=90;RateLimit-Reset=40;RateLimit-Limit=" + std::string(size)).size(), 1u);
  }
  for (const char* size : {"94", "106", "5000"}) {
    EXPECT_THAT(after("/a;RateLimit-Remaining=90;RateLimit-Reset=40;RateLimit-Limit=" + std::string(size)), IsEmpty());
  }
}

TEST_F(LearningTest, a_window_that_lasts_longer_than_the_limits_is_another) {
  slide(100, 1min);
  EXPECT_EQ(after("/a;RateLimit-Limit=100;RateLimit-Remaining=90;RateLimit-Reset=65").size(), 1u);
  EXPECT_THAT(after("/a;RateLimit-Limit=100;RateLimit-Remaining=90;RateLimit-Reset=67"), IsEmpty());
}

TEST(SameWindow, is_about_as_long_as_the_answer_says) {
  const LimitConfig minute{.kind = WindowConfig{.reservoir = 100, .interval = 1min}};
  http::Quota quota{.limit = 100, .remaining = 90, .resets = 5s};
  EXPECT_TRUE(same_window(quota, minute)) << "it does not say";
  for (const auto& [interval, same] : {std::pair{53s, false}, {54s, true}, {66s, true}, {67s, false}}) {
    quota.interval = interval;
    EXPECT_EQ(same_window(quota, minute), same) << interval.count();
  }
  quota.interval = 1min;
  for (const LimitConfig::Kind& kind :
       {LimitConfig::Kind(CounterConfig{100, 1min}), LimitConfig::Kind(TokenBucketConfig{100, 1, 600ms})}) {
    EXPECT_FALSE(same_window(quota, {.kind = kind})) << "it has no window whose end is known";
  }
}

TEST_F(LearningTest, a_bucket_is_of_its_group_alone) {
  settings().group = parse_group("path:/{kind}").value();
  slide(100, 1min);
  slide(100, 1min, LimitConfig::Per::group);
  settings().limits[1].name = "of-group";
  const std::string quota = ";X-RateLimit-Limit=100;X-RateLimit-Remaining=60;X-RateLimit-Reset=40";
  EXPECT_THAT(after("/a" + quota), ElementsAre(testing::Field(&L::limit, 0)));
  EXPECT_THAT(after("/a" + quota + ";X-RateLimit-Bucket=abc"), ElementsAre(testing::Field(&L::limit, 1)));
}

TEST_F(LearningTest, a_lower_quota_is_a_notice_once_an_hour) {
  slide(100, 1min);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(after("/a;RateLimit-Limit=80;RateLimit-Remaining=60;RateLimit-Reset=40"), IsEmpty());
  }
  ASSERT_THAT(
      notices_,
      ElementsAre(HasSubstr("api allows 80, as it says beside RateLimit-Remaining; the limit slides allows 100")));
}

TEST_F(LearningTest, a_lower_quota_of_what_may_be_a_shorter_window_is_none) {
  slide(100, 1min);
  after("/a;RateLimit-Limit=80;RateLimit-Remaining=60;RateLimit-Reset=20");
  EXPECT_THAT(notices_, IsEmpty());
}

}  // namespace
}  // namespace penstock::proxy
