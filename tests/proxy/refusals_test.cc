// SPDX-License-Identifier: Apache-2.0
// Answers that refuse, as they should not be: without a time that is to come, broken off, without an end, with an error
// that no waiting cures. And answers that serve, and say at each request that nothing remains.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "proxy/clients_fixture.h"
#include "proxy/exchange/spent_words.h"
#include "proxy/recording_limiter.h"
#include "support/machine.h"

namespace penstock::proxy {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr std::int64_t kSecondOfRefusal = 1'000'000;

/// With a body of two bytes.
std::string answer_of(int status, const std::string& fields) {
  return "HTTP/1.1 " + std::to_string(status) + " So\r\n" + fields + "Content-Length: 2\r\n\r\nno";
}

const std::string kSpentFor7s = answer_of(200, "RateLimit-Remaining: 0\r\nRateLimit-Reset: 7\r\n");
const std::string kRefusedFor5ms = answer_of(429, "Retry-After-Ms: 5\r\n");
const std::string kIncurableBody = R"({"error":{"code":"insufficient_quota"}})";
const std::string kIncurableHead =
    "HTTP/1.1 429 No\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(kIncurableBody.size()) +
    "\r\n\r\n";
const std::string kIncurable = kIncurableHead + kIncurableBody;

class RefusalsTest : public DispatcherTest {
 protected:
  RefusalsTest() {
    make_limiter_ = recording_limiters(run_.loop, record_);
    config_.unmatched.queue.max_wait = 20s;
    config_.unmatched.pause_scope = PauseScope::upstream;
    config_.unmatched.retry.except = {"insufficient_quota"};
  }

  /// Notes the path of each request, and gives each answer once; then kOk. `/held` gets none, nor does what follows an
  /// answer that does not end: then its connection stays open.
  test::Origin::Script gives(std::vector<std::string> answers) {
    return [this, answers = std::move(answers)](test::Origin& self, test::Socket& peer, int) {
      for (std::string head = peer.read_until("\r\n\r\n"); !head.empty(); head = peer.read_until("\r\n\r\n")) {
        const auto begin = head.find(' ') + 1;
        self.note(head.substr(begin, head.find(' ', begin) - begin));
        if (head.contains(" /held ")) return void(peer.read_to_end());
        const std::size_t number = asked_++;
        peer.send(number < answers.size() ? answers[number] : kOk);
      }
    };
  }
  void get_as(Asker& asker, const std::string& owner, const std::string& host) {
    auto what = head("GET", "http://" + host + "/");
    what.fields.add("Authorization", "Bearer of-" + owner);
    ask(asker, std::move(what));
  }
  /// How long it took until all of it was answered.
  std::int64_t fetch(const test::Origin& origin) {
    const auto began = run_.loop.now();
    Asker asker;
    get(asker, origin.host());
    EXPECT_TRUE(finish(asker));
    status_ = asker.status;
    return run_.loop.now() - began;
  }
  bool has_paused() {
    return run_.run_until([&] { return !record_.pauses.empty(); });
  }

  using Pause = Record::Pause;
  const Pause usual_{"", kSecondOfRefusal};
  Record record_;
  std::atomic<std::size_t> asked_ = 0;
  int status_ = 0;
};

// ---- times that are past --------------------------------------------------------------------------------------------

const char* const kPastTimes[]{
    "Retry-After: 0\r\n",
    "Retry-After-Ms: 0\r\n",
    "Retry-After: Thu, 01 Jan 1970 00:00:00 GMT\r\n",
    "RateLimit-Remaining: 0\r\nRateLimit-Reset: 0\r\n",
    "X-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 1700000000\r\n",
};

TEST_F(RefusalsTest, whose_time_is_past_pause_as_those_without_a_time) {
  config_.unmatched.retry = RetryConfig::off();
  for (const char* fields : kPastTimes) {
    asked_ = 0;
    record_.pauses.clear();
    test::Origin origin(gives({answer_of(429, fields)}));
    fetch(origin);
    EXPECT_EQ(status_, 429);
    EXPECT_THAT(record_.pauses, ElementsAre(usual_)) << fields;
  }
}

TEST_F(RefusalsTest, whose_time_is_past_are_not_asked_again_at_once) {
  test::Origin origin(gives({answer_of(429, "Retry-After: 0\r\n")}));
  EXPECT_GE(fetch(origin), kSecondOfRefusal);
  EXPECT_EQ(status_, 200);
  EXPECT_THAT(origin.notes(), SizeIs(2));
}

TEST_F(RefusalsTest, of_503_whose_time_is_past_pause_nothing_as_those_without_a_time) {
  test::Origin origin(gives({answer_of(503, "Retry-After: 0\r\n")}));
  fetch(origin);
  EXPECT_THAT(record_.pauses, IsEmpty());
}

TEST_F(RefusalsTest, are_none_where_what_is_spent_is_filled_again_already) {
  test::Origin origin(gives({answer_of(200, "RateLimit-Remaining: 0\r\nRateLimit-Reset: 0\r\n")}));
  fetch(origin);
  EXPECT_THAT(record_.pauses, IsEmpty());
}

TEST_F(RefusalsTest, with_odd_times_pause_no_longer_than_allowed_and_for_the_latest_of_these) {
  config_.unmatched.retry = RetryConfig::off();
  struct {
    const char* fields;
    std::int64_t seconds;
  } const rows[]{
      {"Retry-After: 99999999\r\n", 300},
      {"RateLimit: \"a\";r=0;t=1700000007\r\n", 300},
      {"Date: Tue, 14 Nov 2023 22:13:20 GMT\r\nRetry-After: 1700000007\r\n", 7},
      {"Date: Tue, 14 Nov 2023 22:13:20 GMT\r\nRateLimit-Remaining: 0\r\nRateLimit-Reset: 1700000007\r\n", 7},
      {"Retry-After: 2\r\nRateLimit-Remaining: 0\r\nRateLimit-Reset: 9\r\n", 9},
      {"Retry-After: 9\r\nRetry-After: 2\r\nRateLimit-Remaining: 0\r\nRateLimit-Reset: 1\r\n", 9},
      {"Retry-After: soon\r\n", 1},
  };
  for (const auto& [fields, seconds] : rows) {
    asked_ = 0;
    record_.pauses.clear();
    test::Origin origin(gives({answer_of(429, fields)}));
    fetch(origin);
    EXPECT_THAT(record_.pauses, ElementsAre(Pause{"", seconds * kSecondOfRefusal})) << fields;
  }
}

// ---- what serves, and says that nothing remains ---------------------------------------------------------------------

TEST_F(RefusalsTest, are_not_what_is_spent_of_one_owner_after_another) {
  config_.unmatched.pause_scope = PauseScope::credentials;
  test::Origin origin(gives({kSpentFor7s, kSpentFor7s}));
  for (const char* owner : {"one", "another"}) {
    Asker asker;
    get_as(asker, owner, origin.host());
    ASSERT_TRUE(finish(asker));
    run_.run_for(150'000);  // longer than departures are booked ahead
  }
  EXPECT_THAT(notices_, IsEmpty());
  EXPECT_EQ(upstream(origin.host()).pauses, 2u);
}

TEST_F(RefusalsTest, are_not_what_was_booked_before_its_pause_and_left_in_it) {
  config_.unmatched.limits = {{.kind = PacerConfig{.qps = 25}}};
  test::Origin origin([](test::Origin& self, test::Socket& peer, int) {
    for (std::string head = peer.read_until("\r\n\r\n"); !head.empty(); head = peer.read_until("\r\n\r\n")) {
      if (head.contains(" /booked ")) self.wait_for_release();
      peer.send(kSpentFor7s);
    }
  });
  Asker first, booked;
  get(first, origin.host());
  get(booked, origin.host(), "/booked");
  ASSERT_TRUE(finish(first));
  origin.release();
  ASSERT_TRUE(finish(booked));
  EXPECT_THAT(notices_, IsEmpty());
  EXPECT_THAT(record_.pauses, SizeIs(2));
}

TEST_F(RefusalsTest, served_before_the_time_of_a_field_prove_it_wrong_for_an_hour_and_the_notice_says_so) {
  config_.unmatched.max_pause = 200ms;
  test::Origin origin(gives({kSpentFor7s, kSpentFor7s, kSpentFor7s}));
  const auto began = run_.loop.now();
  fetch(origin);
  fetch(origin);
  EXPECT_GE(run_.loop.now() - began, 200'000) << "as the first one asked for";
  ASSERT_THAT(notices_, SizeIs(1));
  EXPECT_THAT(notices_[0], HasSubstr(" says in RateLimit-Reset that nothing remains, and serves more: ignored for an "
                                     "hour"));
  const auto served = test::MachineClock::now();
  fetch(origin);
  fetch(origin);
  EXPECT_TRUE(test::within(100ms, served)) << "no pause of 200 ms";
  EXPECT_THAT(record_.pauses, ElementsAre(Pause{"", 200'000}));
  EXPECT_THAT(notices_, SizeIs(1)) << "once";
}

// ---- bodies that break off, or do not come --------------------------------------------------------------------------

TEST_F(RefusalsTest, that_break_off_are_asked_again) {
  test::Origin origin([this](test::Origin& self, test::Socket& peer, int number) {
    self.note(peer.read_until("\r\n\r\n"));
    if (number > 1) return peer.send(kOk), void(peer.read_to_end());
    peer.send("HTTP/1.1 429 No\r\nRetry-After-Ms: 5\r\nContent-Length: 9\r\n\r\nbus");
    peer.shut_down();
    peer.read_to_end();
  });
  Asker asker;
  ask(asker, head("POST", "http://" + origin.host() + "/"));
  ASSERT_TRUE(finish(asker));
  EXPECT_EQ(asker.status, 200);
  EXPECT_EQ(asker.body, "ok");
  EXPECT_EQ(asker.outcomes(), 1);
  EXPECT_EQ(told_.back().attempts, 2);
  EXPECT_THAT(origin.notes(), SizeIs(2));
  expect_at_rest();
}

TEST_F(RefusalsTest, that_end_after_what_they_said_pause_at_their_head) {
  test::Origin origin(gives({"HTTP/1.1 429 No\r\nContent-Length: 9\r\n\r\nbus"}));
  Asker asker;
  get(asker, origin.host());
  ASSERT_TRUE(has_paused());
  EXPECT_FALSE(asker.over());
  leave(asker);
  EXPECT_THAT(record_.pauses, ElementsAre(usual_));
}

TEST_F(RefusalsTest, whose_json_does_not_end_pause_all_the_same) {
  test::Origin origin(gives({kIncurableHead + "{"}));
  Asker asker;
  get(asker, origin.host());
  const auto began = run_.loop.now();
  ASSERT_TRUE(has_paused());
  EXPECT_LT(run_.loop.now(), began + kSecondOfRefusal);
  leave(asker);
  EXPECT_THAT(record_.pauses, ElementsAre(usual_)) << "once";
  expect_at_rest();
}

TEST_F(RefusalsTest, whose_json_breaks_off_pause) {
  test::Origin origin([this](test::Origin& self, test::Socket& peer, int number) {
    self.note(peer.read_until("\r\n\r\n"));
    peer.send(number > 1 ? kOk : kIncurableHead + "{");
    if (number == 1) peer.shut_down();
    peer.read_to_end();
  });
  EXPECT_GE(fetch(origin), kSecondOfRefusal);
  EXPECT_EQ(status_, 200);
  EXPECT_THAT(record_.pauses, ElementsAre(usual_));
}

TEST_F(RefusalsTest, whose_client_leaves_amid_their_json_pause) {
  test::Origin origin(gives({kIncurableHead + "{"}));
  Asker asker;
  get(asker, origin.host());
  ASSERT_TRUE(run_.run_until([&] { return asker.exchange->flight->result().first_byte.has_value(); }));
  EXPECT_THAT(record_.pauses, IsEmpty()) << "it may name an error that no waiting cures";
  leave(asker);
  EXPECT_THAT(record_.pauses, ElementsAre(usual_));
  expect_at_rest();
}

TEST_F(RefusalsTest, that_never_end_are_passed_on_once_they_cannot_be_asked_again) {
  config_.unmatched.queue.max_wait = 400ms;
  std::atomic<bool> over = false;
  test::Origin origin([&](test::Origin&, test::Socket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 429 No\r\nRetry-After-Ms: 5\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (!over && peer.send("1\r\nx\r\n")) std::this_thread::sleep_for(5ms);  // it drips
  });
  Asker asker;
  const auto began = run_.loop.now();
  get(asker, origin.host());
  ASSERT_TRUE(run_.run_until([&] { return asker.status != 0; }));
  EXPECT_EQ(asker.status, 429);
  EXPECT_GE(run_.loop.now(), began + 350'000);
  EXPECT_LT(run_.loop.now(), began + 5 * kSecondOfRefusal);
  const auto before = asker.body.size();
  EXPECT_TRUE(run_.run_until([&] { return asker.body.size() > before; })) << "the rest passes as it comes";
  leave(asker);
  over = true;
  expect_at_rest();
}

// ---- what is told of them -------------------------------------------------------------------------------------------

TEST_F(RefusalsTest, are_told_when_the_request_has_ended_those_too_that_its_client_did_not_get) {
  test::Origin origin(gives({kRefusedFor5ms, answer_of(403, "Retry-After: 0.01\r\n"), answer_of(503, "")}));
  fetch(origin);
  EXPECT_EQ(status_, 503);
  EXPECT_THAT(told_.back().refusals, ElementsAre(429, 403, 503));
  fetch(origin);
  EXPECT_THAT(told_.back().refusals, IsEmpty());
}

TEST_F(RefusalsTest, are_told_that_no_waiting_cures_and_that_broke_off) {
  test::Origin incurable(gives({kIncurable}));
  fetch(incurable);
  EXPECT_THAT(told_.back().refusals, ElementsAre(429));
  asked_ = 0;
  test::Origin endless(gives({"HTTP/1.1 429 No\r\nContent-Length: 9\r\n\r\nbus"}));
  record_.pauses.clear();
  Asker asker;
  get(asker, endless.host());
  ASSERT_TRUE(has_paused());
  leave(asker);
  EXPECT_THAT(told_.back().refusals, ElementsAre(429));
}

TEST_F(RefusalsTest, and_what_of_their_fields_could_not_be_read) {
  test::Origin origin(gives({answer_of(429, "Retry-After: soon\r\nRateLimit-Remaining: few\r\n"),
                             answer_of(200, "X-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: tonight\r\n")}));
  fetch(origin);
  EXPECT_EQ(status_, 200);
  EXPECT_EQ(told_.back().unreadable_fields, 3);
  fetch(origin);
  EXPECT_EQ(told_.back().unreadable_fields, 0);
}

// ---- errors that no waiting cures -----------------------------------------------------------------------------------

TEST_F(RefusalsTest, that_no_waiting_cures_pause_nothing_whether_they_could_be_asked_again_or_not) {
  const std::string body(1024 * 1024, 'p');
  test::Origin origin([&](test::Origin&, test::Socket& peer, int) {
    for (std::string head = peer.read_until("\r\n\r\n"); !head.empty(); head = peer.read_until("\r\n\r\n")) {
      if (head.starts_with("POST")) peer.read(body.size());
      peer.send(kIncurable);
    }
  });
  Asker kept, large;
  get(kept, origin.host());
  ASSERT_TRUE(finish(kept));
  EXPECT_EQ(kept.body, kIncurableBody);
  ask(large, with_length(head("POST", "http://" + origin.host() + "/"), body.size()));
  give(large, body);
  ASSERT_TRUE(finish(large));
  EXPECT_EQ(large.body, kIncurableBody);
  EXPECT_THAT(record_.pauses, IsEmpty());
  EXPECT_THAT(course(), HasSubstr("complete"));
}

TEST_F(RefusalsTest, that_no_waiting_cures_pause_nothing_where_nothing_is_asked_again) {
  config_.unmatched.retry.refusals = false;
  test::Origin origin(gives({kIncurable, kRefusedFor5ms}));
  fetch(origin);
  EXPECT_EQ(status_, 429);
  EXPECT_THAT(record_.pauses, IsEmpty());
  fetch(origin);
  EXPECT_THAT(record_.pauses, ElementsAre(Pause{"", 5'000}));
}

TEST_F(RefusalsTest, that_no_waiting_cures_open_the_gate_for_others) {
  test::Origin origin(gives({kRefusedFor5ms, kIncurable}));
  Asker probe, held[2];
  get(probe, origin.host());
  ASSERT_TRUE(has_paused());
  for (auto& one : held) get(one, origin.host(), "/held");
  ASSERT_TRUE(finish(probe));
  EXPECT_EQ(probe.body, kIncurableBody);
  const auto opened = test::MachineClock::now();
  ASSERT_TRUE(run_.run_until([&] { return origin.notes().size() == 4; }));
  EXPECT_TRUE(test::within(500ms, opened)) << "both at once";
  for (auto& one : held) leave(one);
}

// ---- a request that waits again -------------------------------------------------------------------------------------

class RefusedUploadTest : public RefusalsTest {
 protected:
  /// It waits again while its body still comes.
  void upload_and_be_refused(Asker& asker, const test::Origin& origin) {
    ask(asker, in_chunks(head("POST", "http://" + origin.host() + "/")));
    give(asker, "abc", false);
    ASSERT_TRUE(run_.run_until([&] { return asker.exchange->sendings.back_since != 0; }));
    EXPECT_TRUE(dispatcher_->wants_body(*asker.exchange));
  }
};

TEST_F(RefusedUploadTest, lets_only_so_much_of_the_body_come_as_is_kept) {
  config_.caps.replay_body = 1000;
  test::Origin origin([](test::Origin&, test::Socket& peer, int number) {
    peer.read_until(number == 1 ? "\r\n\r\n3\r\nabc\r\n" : "0\r\n\r\n");
    peer.send(number == 1 ? answer_of(429, "Retry-After-Ms: 300\r\nConnection: close\r\n") : kOk);
    peer.read_to_end();
  });
  Asker asker;
  ASSERT_NO_FATAL_FAILURE(upload_and_be_refused(asker, origin));
  give(asker, std::string(996, 'x'), false);
  EXPECT_TRUE(dispatcher_->wants_body(*asker.exchange));
  const int wanted = asker.wanted;
  give(asker, std::string(1, 'x'), false);
  EXPECT_FALSE(dispatcher_->wants_body(*asker.exchange));
  ASSERT_TRUE(run_.run_until([&] { return asker.wanted > wanted; })) << "once it is sent again";
  EXPECT_TRUE(dispatcher_->wants_body(*asker.exchange));
  give(asker, std::string(5000, 'y'));
  ASSERT_TRUE(finish(asker));
  EXPECT_EQ(asker.status, 200);
  expect_at_rest();
}

TEST_F(RefusedUploadTest, lets_none_of_the_body_come_for_which_there_is_no_memory) {
  config_.caps.pending_memory = 10'000;
  test::Origin origin([](test::Origin&, test::Socket& peer, int) {
    peer.read_until("\r\n\r\n3\r\nabc\r\n");
    peer.send(answer_of(429, "Retry-After: 9\r\n"));
    peer.read_to_end();
  });
  Asker asker;
  ASSERT_NO_FATAL_FAILURE(upload_and_be_refused(asker, origin));
  give(asker, std::string(10'000, 'x'), false);
  EXPECT_FALSE(dispatcher_->wants_body(*asker.exchange));
  leave(asker);
  expect_at_rest();
}

// ---- on connections that go on --------------------------------------------------------------------------------------

class RefusedAmidTest : public ClientsTest {
 protected:
  RefusedAmidTest()
      : origin_([this](test::Origin& self, test::Socket& peer, int) {
          for (std::string head = peer.read_until("\r\n\r\n"); !head.empty(); head = peer.read_until("\r\n\r\n")) {
            const char which = head[head.find(" HTTP") - 1];
            self.note(std::string(1, which));
            const bool refuses = which == '2' && !refused_.exchange(true);
            peer.send(refuses ? kRefusedFor5ms
                              : "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nof" + std::string(1, which));
          }
        }) {}

  /// The answers to three requests, of which the second is refused once.
  void expect_three_served(const std::string& heard) {
    const auto first = heard.find("\r\n\r\nof1HTTP/1.1 200 OK"), second = heard.find("\r\n\r\nof2HTTP/1.1 200 OK");
    EXPECT_LT(first, second) << heard;
    EXPECT_NE(second, std::string::npos) << heard;
    EXPECT_THAT(heard, testing::EndsWith("\r\n\r\nof3"));
    EXPECT_THAT(heard, Not(HasSubstr("429")));
    EXPECT_EQ(std::ranges::count(origin_.notes(), "2"), 2);
    expect_at_rest();
  }

  std::atomic<bool> refused_ = false;
  test::Origin origin_;
};

TEST_F(RefusedAmidTest, of_pipelined_requests_each_gets_its_answer_in_its_turn) {
  const std::string host = origin_.host();
  expect_three_served(conversation(request("GET", host, "/1") + request("GET", host, "/2") +
                                   request("GET", host, "/3", "Connection: close\r\n")));
}

TEST_F(RefusedAmidTest, inside_a_connect_each_gets_its_answer_in_its_turn) {
  config_.access.connect_ports.push_back(origin_.port());
  config_.access.plain_ports.push_back(origin_.port());
  const auto inside = [&](const char* path, const char* lines) {
    return std::string("GET ") + path + " HTTP/1.1\r\nHost: " + origin_.host() + "\r\n" + lines + "\r\n";
  };
  expect_three_served(conversation("CONNECT " + origin_.host() + " HTTP/1.1\r\nHost: " + origin_.host() + "\r\n\r\n" +
                                   inside("/1", "") + inside("/2", "") + inside("/3", "Connection: close\r\n")));
}

// ---- what is remembered of fields that say that nothing remains -----------------------------------------------------

TEST(SpentWords, remember_no_more_scopes_than_there_are_pauses) {
  SpentWords words;
  for (int n = 0; n < 100'000; ++n) {
    const flow::Time now = n * 1'000;
    words.begin(now, std::to_string(n), now + kSecondOfRefusal);  // 1 000 are not over
    ASSERT_LE(words.remembered(), 2'001u) << n;
  }
}

}  // namespace
}  // namespace penstock::proxy
