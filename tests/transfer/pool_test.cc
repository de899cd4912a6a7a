// SPDX-License-Identifier: Apache-2.0
// A pool, above all with more transfers than one multi handle carries.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "sending.h"
#include "support/tls_authority.h"
#include "support/tls_server.h"
#include "transfer/pool.h"

namespace penstock::transfer {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kFull = Pool::kMostFlying;

/// Answers when it is released, and notes down when the other side has left.
test::Origin::Script when_released(const std::string& answer) {
  return [answer](test::Origin& origin, test::Socket& peer, int) {
    while (!peer.read_until("\r\n\r\n").empty()) {
      origin.note("asked");
      origin.wait_for_release();
      peer.send(answer);
      origin.note("answered");
    }
    origin.note("left");
  };
}

class PoolTest : public SendingTest {
 protected:
  PoolTest() { make_pool(30s); }

  void make_pool(std::chrono::seconds idle, const TlsConfig& tls = {}) {
    pool_ = std::make_unique<Pool>(run_.loop, guard_, tls, idle);
  }
  Recorder& add(const test::Origin& origin) {
    auto& one = *crowd_.emplace_back(std::make_unique<Recorder>());
    one.transfer = pool_->start(request("GET", origin.host()), one);
    one.when_done = [&one] { one.transfer.reset(); };
    ++asked_;
    return one;
  }
  void add(const test::Origin& origin, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) add(origin);
    ASSERT_TRUE(run_.run_until([&] { return noted(origin, "asked") == asked_; }));
  }
  void end_all(test::Origin& origin) {
    origin.release();
    ASSERT_TRUE(run_.run_until([&] { return std::ranges::all_of(crowd_, [](auto& one) { return one->done > 0; }); }));
    for (const auto& one : crowd_) EXPECT_EQ(one->result.failure, Failure::none);
    crowd_.clear();
  }
  static Request over_tls(const test::Origin& origin) {
    Request made = request("GET", origin.host());
    made.origin = "https://" + origin.host() + "/";
    return made;
  }
  Failure ask_over_tls(const test::Origin& origin) {
    Recorder one;
    one.transfer = pool_->start(over_tls(origin), one);
    EXPECT_TRUE(run_.run_until([&] { return one.done > 0; }));
    return one.result.failure;
  }
  static std::size_t noted(const test::Origin& origin, const std::string& what) {
    const auto notes = origin.notes();
    return static_cast<std::size_t>(std::ranges::count(notes, what));
  }

  std::unique_ptr<Pool> pool_;
  std::size_t asked_ = 0;
  std::vector<std::unique_ptr<Recorder>> crowd_;  // gone before the pool
};

TEST_F(PoolTest, takes_another_handle_only_where_the_first_is_full) {
  test::Origin origin(when_released(kOk));
  add(origin, kFull);
  EXPECT_EQ(pool_->handles(), 1u);
  add(origin, 1);
  EXPECT_EQ(pool_->handles(), 2u);
  add(origin, kFull);
  EXPECT_EQ(pool_->handles(), 3u);
  end_all(origin);
}

TEST_F(PoolTest, takes_no_other_handle_for_https_before_the_authorities_are_read) {
  test::Origin origin(when_released(kOk));
  add(origin, kFull);
  Recorder secure;
  secure.transfer = pool_->start(over_tls(origin), secure);
  EXPECT_EQ(pool_->handles(), 1u);
  secure.transfer.reset();
  end_all(origin);
}

TEST_F(PoolTest, trusts_the_same_authorities_on_each_handle) {
  test::Authority ours, theirs;
  test::TlsServer trusted(ours.issue()), other(theirs.issue());
  test::Origin origin(when_released(kOk)), good(test::always(kOk), trusted.wrap()),
      bad(test::always(kOk), other.wrap());
  make_pool(30s, {.ca = ours.file()});
  for (const std::size_t handles : {1u, 2u}) {
    EXPECT_EQ(ask_over_tls(good), Failure::none);
    EXPECT_EQ(good.connections(), static_cast<int>(handles));
    EXPECT_EQ(ask_over_tls(bad), Failure::certificate);
    EXPECT_EQ(pool_->handles(), handles);
    if (handles == 1) add(origin, kFull);
  }
  end_all(origin);
}

TEST_F(PoolTest, leaves_connections_to_whoever_comes_next) {
  test::Origin origin(when_released(kOk));
  add(origin, kFull + 1);
  end_all(origin);
  add(origin, kFull + 1);
  end_all(origin);
  EXPECT_EQ(origin.connections(), static_cast<int>(kFull) + 1);
}

TEST_F(PoolTest, keeps_no_more_connections_in_all_than_may_be_idle) {
  make_pool(300s);
  test::Origin origin(when_released(kOk));
  pool_->keep_at_most(10);
  add(origin, kFull + 20);
  end_all(origin);
  constexpr std::size_t kLatest = 2;  // of each handle; libcurl closes one too many only when the next comes
  EXPECT_TRUE(run_.run_until([&] { return noted(origin, "left") >= kFull + 20 - 10 - kLatest; }));
}

// libcurl looks at many of them in one call where timers of theirs are due, and takes all for flying that it has not
// yet told us of.
TEST_F(PoolTest, keeps_no_more_where_many_end_in_one_call) {
  make_pool(300s);
  test::Origin origin(when_released(kOk));
  pool_->keep_at_most(10);
  add(origin, kFull - 1);
  origin.release();
  const auto all_have_answered = [&] { return noted(origin, "answered") == kFull - 1; };
  for (int i = 0; i < 10'000 && !all_have_answered(); ++i) std::this_thread::sleep_for(1ms);
  ASSERT_TRUE(all_have_answered());
  std::this_thread::sleep_for(300ms);  // the stall itself, longer than libcurl's timer for another address
  end_all(origin);
  EXPECT_TRUE(run_.run_until([&] { return noted(origin, "left") >= kFull - 1 - 10 - 1; }));
}

TEST_F(PoolTest, leaves_no_handle_behind_when_its_connections_are_closed) {
  make_pool(2s);
  test::Origin origin(when_released(kOk));
  add(origin, kFull + 1);
  end_all(origin);
  EXPECT_TRUE(pool_->idle());
  pool_->sweep();
  EXPECT_EQ(pool_->handles(), 2u) << "a connection may be used again";
  EXPECT_TRUE(run_.run_until([&] {
    pool_->sweep();
    return pool_->handles() == 1;
  }));
  EXPECT_TRUE(run_.run_until([&] { return noted(origin, "left") == kFull + 1; }));
}

TEST(Pool, gives_each_handle_its_share_of_what_may_be_kept) {
  EXPECT_EQ(Pool::share_of(10, 1), 10u);
  EXPECT_EQ(Pool::share_of(10, 3), 3u);
  EXPECT_EQ(Pool::share_of(10, 11), 1u);
  EXPECT_EQ(Pool::share_of(100'000, 1), 1024u) << "as docs/http.md says";
  EXPECT_EQ(Pool::share_of(100'000, 4), 256u);
}

// What sweeps may be called by whoever is told of the end.
TEST_F(PoolTest, is_not_swept_away_while_it_is_being_told_of) {
  test::Origin origin(when_released("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"));
  add(origin, kFull);
  Recorder& last = add(origin);
  std::size_t handles = 0;
  last.when_done = [&] {
    last.transfer.reset();
    pool_->sweep();
    handles = pool_->handles();
  };
  end_all(origin);
  EXPECT_EQ(handles, 2u);
  pool_->sweep();
  EXPECT_EQ(pool_->handles(), 1u);
}

}  // namespace
}  // namespace penstock::transfer
