// SPDX-License-Identifier: Apache-2.0
// The queue as the proxy keeps it: who waits, who goes, in which order, and what waiting may cost.
#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <utility>

#include "proxy/dispatcher_fixture.h"
#include "support/machine.h"

namespace penstock::proxy {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class QueueTest : public DispatcherTest {
 protected:
  QueueTest()
      : origin_([](test::Origin& origin, test::Socket& peer, int) {
          for (std::string head = peer.read_until("\r\n\r\n"); !head.empty(); head = peer.read_until("\r\n\r\n")) {
            origin.note(head.substr(0, head.find(" HTTP")));
            if (head.starts_with("GET /hold")) origin.wait_for_release();
            if (head.starts_with("POST")) return void(peer.read_to_end());  // takes it, and is silent
            peer.send(kOk);
          }
        }) {
    config_.unmatched.max_concurrent = 1;
  }

  test::Origin origin_;
};

TEST_F(QueueTest, who_finds_no_slot_waits_and_goes_in_the_order_of_arrival) {
  Asker askers[5];
  for (int i = 0; i < 5; ++i) get(askers[i], origin_.host(), "/" + std::to_string(i));
  EXPECT_EQ(course(), "dispatch");
  EXPECT_EQ(upstream(origin_.host()).pending, 4u);
  EXPECT_EQ(upstream(origin_.host()).in_flight, 1u);
  ASSERT_TRUE(finish(askers[4]));
  EXPECT_EQ(origin_.notes(), (std::vector<std::string>{"GET /0", "GET /1", "GET /2", "GET /3", "GET /4"}));
  expect_at_rest();
}

TEST_F(QueueTest, an_end_is_told_before_the_dispatch_that_its_slot_makes_possible) {
  Asker one, two, three;
  get(one, origin_.host());
  get(two, origin_.host());
  get(three, origin_.host());
  ASSERT_TRUE(finish(three));
  EXPECT_EQ(course(), "dispatch complete dispatch complete dispatch complete");
  const std::size_t pending[] = {0, 2, 1, 1, 0, 0}, in_flight[] = {1, 0, 1, 0, 1, 0};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(told_[i].pending, pending[i]) << i;
    EXPECT_EQ(told_[i].in_flight, in_flight[i]) << i;
  }
  EXPECT_EQ(*told_[0].wait, 0us);
  EXPECT_GT(*told_[2].wait, 0us);
  EXPECT_GT(*told_[4].wait, 0us) << "from its own arrival, so it may be less than that of the one before";
  EXPECT_EQ(told_[5].wait, told_[4].wait);
}

TEST_F(QueueTest, upstreams_do_not_wait_for_each_other) {
  test::Origin other(test::always(kOk));
  Asker held, waiting, free;
  get(held, origin_.host(), "/hold");
  get(waiting, origin_.host());
  get(free, other.host());
  ASSERT_TRUE(finish(free));
  EXPECT_FALSE(held.over());
  EXPECT_FALSE(waiting.over());
  origin_.release();
  EXPECT_TRUE(finish(waiting));
}

TEST_F(QueueTest, one_too_many_is_refused_with_a_time_to_come_back) {
  config_.unmatched.queue.max_pending = 1;
  Asker held, waiting, refused;
  get(held, origin_.host(), "/hold");
  get(waiting, origin_.host());
  get(refused, origin_.host());
  ASSERT_EQ(refused.refusals.size(), 1u);
  EXPECT_EQ(refused.refusals[0].why, http::Reason::queue_full);
  EXPECT_EQ(refused.refusals[0].status_code(), 503);
  ASSERT_TRUE(refused.refusals[0].retry_after);
  EXPECT_GE(*refused.refusals[0].retry_after, 1s);
  EXPECT_THAT(refused.refusals[0].details, HasSubstr(origin_.host() + " queue full (limited by slots), retry in "));
  EXPECT_EQ(course(), "dispatch refused");
  EXPECT_EQ(told_[1].pending, 1u);
  EXPECT_EQ(told_[1].in_flight, 1u);
  EXPECT_EQ(told_[1].upstream, origin_.host());
  EXPECT_EQ(upstream(origin_.host()).totals.refused, 1u);
  origin_.release();
  ASSERT_TRUE(finish(waiting));
}

TEST_F(QueueTest, a_wait_that_lasts_too_long_is_over) {
  config_.unmatched.queue.max_wait = 60ms;
  const auto began = test::MachineClock::now();
  Asker held, waiting;
  get(held, origin_.host(), "/hold");
  get(waiting, origin_.host());
  ASSERT_TRUE(finish(waiting));
  ASSERT_EQ(waiting.refusals.size(), 1u);
  EXPECT_EQ(waiting.refusals[0].why, http::Reason::wait_over);
  EXPECT_EQ(course(), "dispatch refused");
  EXPECT_GE(*told_[1].wait, 60ms);
  EXPECT_LT(*told_[1].wait, 80ms + test::machine_late(began));
  EXPECT_EQ(told_[1].pending, 0u);
  EXPECT_EQ(told_[1].in_flight, 1u);
  origin_.release();
  ASSERT_TRUE(finish(held));
  EXPECT_EQ(origin_.notes(), std::vector<std::string>{"GET /hold"});
  expect_at_rest();
}

TEST_F(QueueTest, a_request_may_shorten_its_wait_and_then_it_leaves_the_others_where_they_are) {
  Asker held, hasty, patient;
  get(held, origin_.host(), "/hold");
  auto impatient = head("GET", "http://" + origin_.host() + "/hasty");
  impatient.fields.add("Penstock-Max-Wait", "30ms");
  ask(hasty, std::move(impatient));
  get(patient, origin_.host(), "/patient");
  ASSERT_TRUE(finish(hasty));
  EXPECT_EQ(hasty.refusals.size(), 1u);
  EXPECT_FALSE(patient.over());
  EXPECT_EQ(told_.back().pending, 1u);
  origin_.release();
  ASSERT_TRUE(finish(patient));
  EXPECT_EQ(patient.status, 200);
  EXPECT_EQ(origin_.notes(), (std::vector<std::string>{"GET /hold", "GET /patient"}));
}

TEST_F(QueueTest, who_leaves_while_waiting_is_forgotten_and_costs_the_upstream_nothing) {
  Asker held, leaver, patient;
  get(held, origin_.host(), "/hold");
  get(leaver, origin_.host(), "/leaver");
  get(patient, origin_.host(), "/patient");
  leave(leaver);
  EXPECT_EQ(course(), "dispatch gone");
  EXPECT_EQ(told_[1].outcome, Outcome::client_gone_pending);
  EXPECT_EQ(told_[1].pending, 1u) << "the patient one";
  EXPECT_EQ(upstream(origin_.host()).pending, 1u);
  origin_.release();
  ASSERT_TRUE(finish(patient));
  EXPECT_EQ(leaver.outcomes(), 0) << "it hears no more";
  EXPECT_EQ(origin_.notes(), (std::vector<std::string>{"GET /hold", "GET /patient"}));
  EXPECT_EQ(upstream(origin_.host()).totals.client_gone_pending, 1u);
}

TEST_F(QueueTest, the_rest_of_a_waiting_request_may_turn_out_malformed) {
  Asker held, bad;
  get(held, origin_.host(), "/hold");
  ask(bad, in_chunks(head("POST", "http://" + origin_.host() + "/bad")));
  const http::Refusal malformed{.why = http::Reason::malformed, .details = "bad chunk"};
  dispatcher_->reject(*bad.exchange, malformed);
  ASSERT_EQ(bad.refusals.size(), 1u);
  EXPECT_EQ(bad.refusals[0].why, http::Reason::malformed);
  EXPECT_EQ(course(), "dispatch refused");
  EXPECT_EQ(told_[1].pending, 0u) << "it does not count itself";
  EXPECT_EQ(told_[1].status, 400);
  origin_.release();
  ASSERT_TRUE(finish(held));
  expect_at_rest();
}

TEST_F(QueueTest, memory_is_charged_while_a_request_waits_and_then_for_its_body_alone) {
  Asker held, waiting;
  get(held, origin_.host(), "/hold");
  EXPECT_EQ(snapshot().pending_bytes, 0u) << "in flight";
  ask(waiting, with_length(head("POST", "http://" + origin_.host() + "/" + std::string(5'000, 'p')), 10'000));
  const std::size_t head_only = snapshot().pending_bytes;
  EXPECT_GT(head_only, 5'000u);
  EXPECT_LT(head_only, 10'000u) << "the target stands in it once, as it will be sent";
  give(waiting, std::string(10'000, 'b'));
  EXPECT_EQ(snapshot().pending_bytes, head_only + 10'000);
  origin_.release();
  ASSERT_TRUE(run_.run_until([&] { return course() == "dispatch complete dispatch"; }));
  EXPECT_EQ(snapshot().pending_bytes, 10'000u) << "the body, to send it again";
  leave(waiting);
  EXPECT_EQ(snapshot().pending_bytes, 0u);
}

// ---- a full queue that clients share
// ----------------------------------------------------------------------------------

/// Requests of several clients, in a queue that holds five.
class SharedQueueTest : public QueueTest {
 protected:
  SharedQueueTest() { config_.unmatched.queue.max_pending = 5; }

  /// A GET by this client; whether it has a place.
  bool waits(Asker& asker, const HeldBytes& client, const std::string& path = "/") {
    asker.client = client;
    get(asker, origin_.host(), path);
    return !asker.over();
  }
  /// An upload by this client of which nothing comes yet.
  void upload(Asker& asker, const HeldBytes& client) {
    asker.client = client;
    ask(asker, with_length(head("POST", "http://" + origin_.host() + "/"), 1));
  }
  static HeldBytes a_client() { return std::make_shared<std::size_t>(0); }

  const HeldBytes busy_ = a_client(), other_ = a_client(), quiet_ = a_client();
};

TEST_F(SharedQueueTest, the_newest_of_the_client_with_most_makes_room_for_one_with_fewer) {
  Asker flying, of_busy[3], of_other[2], of_quiet[2], more;
  ASSERT_TRUE(waits(flying, busy_, "/hold"));
  for (auto& asker : of_busy) ASSERT_TRUE(waits(asker, busy_));
  for (auto& asker : of_other) ASSERT_TRUE(waits(asker, other_));
  EXPECT_FALSE(waits(more, other_)) << "3 and 3: nobody would gain by it";
  EXPECT_TRUE(waits(of_quiet[0], quiet_));
  ASSERT_EQ(of_busy[2].refusals.size(), 1u);
  EXPECT_EQ(of_busy[2].refusals[0].why, http::Reason::queue_full);
  EXPECT_TRUE(of_busy[2].refusals[0].retry_after);
  EXPECT_GT(*told_.back().wait, 0us);
  EXPECT_EQ(told_.back().limited_by, "maxConcurrent");
  EXPECT_FALSE(waits(of_quiet[1], quiet_)) << "2, 2 and 2";
  EXPECT_EQ(upstream(origin_.host()).pending, 5u);
  origin_.release();
  ASSERT_TRUE(finish(of_quiet[0]));
  EXPECT_EQ(of_busy[1].ends, 1);
  EXPECT_EQ(of_other[1].ends, 1);
  expect_at_rest();
}

TEST_F(SharedQueueTest, of_one_client_refuses_its_newcomers) {
  Asker flying, waiting[5], more;
  ASSERT_TRUE(waits(flying, busy_, "/hold"));
  for (auto& asker : waiting) ASSERT_TRUE(waits(asker, busy_));
  EXPECT_FALSE(waits(more, busy_));
  for (auto& asker : waiting) EXPECT_FALSE(asker.over());
}

TEST_F(SharedQueueTest, slots_of_uploads_count_until_their_bodies_have_come) {
  config_.unmatched.max_concurrent = 3;
  Asker uploads[3], of_busy[2], of_other[3], of_quiet[2];
  for (auto& asker : uploads) upload(asker, busy_);
  for (auto& asker : of_busy) ASSERT_TRUE(waits(asker, busy_));
  for (auto& asker : of_other) ASSERT_TRUE(waits(asker, other_));
  EXPECT_TRUE(waits(of_quiet[0], quiet_));
  EXPECT_TRUE(of_busy[1].over()) << "3 slots and 2 places, against 3 places";
  for (auto& asker : uploads) give(asker, "b");
  EXPECT_TRUE(waits(of_quiet[1], quiet_));
  EXPECT_TRUE(of_other[2].over()) << "3 places, against 1";
  EXPECT_FALSE(of_busy[0].over());
}

TEST_F(SharedQueueTest, a_place_counts_until_it_is_left_and_a_body_that_came_while_it_waited_never) {
  Asker flying, gone, whole, of_other[3], of_quiet;
  ASSERT_TRUE(waits(flying, busy_, "/hold"));
  ASSERT_TRUE(waits(gone, busy_));
  upload(whole, busy_);
  give(whole, "b");
  for (auto& asker : of_other) ASSERT_TRUE(waits(asker, other_));
  leave(gone);
  EXPECT_TRUE(waits(gone, other_));
  EXPECT_TRUE(waits(of_quiet, quiet_)) << "1 against 4";
  EXPECT_TRUE(gone.over());
  EXPECT_FALSE(whole.over());
}

TEST_F(SharedQueueTest, a_client_is_forgotten_with_its_last_request) {
  auto client = std::make_shared<std::size_t>(0);
  const std::weak_ptr<std::size_t> kept = client;
  Asker flying, waiting, other;
  ASSERT_TRUE(waits(flying, busy_, "/hold"));
  ASSERT_TRUE(waits(waiting, std::exchange(client, nullptr)));
  leave(waiting);
  waiting.client.reset();
  EXPECT_TRUE(kept.expired());
}

TEST_F(SharedQueueTest, one_that_cannot_wait_displaces_nobody) {
  Asker flying, waiting[5], without_memory, in_haste;
  ASSERT_TRUE(waits(flying, busy_, "/hold"));
  for (auto& asker : waiting) ASSERT_TRUE(waits(asker, busy_));
  http::RequestHead hasty = head("GET", "http://" + origin_.host() + "/");
  hasty.fields.add("Penstock-Max-Wait", "0s");
  in_haste.client = quiet_;
  ask(in_haste, std::move(hasty));
  ASSERT_EQ(in_haste.refusals.size(), 1u);
  EXPECT_EQ(in_haste.refusals[0].why, http::Reason::wait_over);
  *quiet_ = config_.caps.pending_memory;
  EXPECT_FALSE(waits(without_memory, quiet_));
  ASSERT_EQ(without_memory.refusals.size(), 1u);
  EXPECT_EQ(without_memory.refusals[0].why, http::Reason::pending_memory);
  for (auto& asker : waiting) EXPECT_FALSE(asker.over());
}

// The scheduler makes room for a quiet group: not for one that there is no memory for.
TEST_F(SharedQueueTest, of_groups_loses_nobody_for_one_without_memory) {
  config_.unmatched.group = parse_group("header:X-Org").value();
  Asker flying, waiting[5], refused;
  ASSERT_TRUE(waits(flying, busy_, "/hold"));
  for (auto& asker : waiting) ASSERT_TRUE(waits(asker, busy_));
  http::RequestHead quiet = head("GET", "http://" + origin_.host() + "/");
  quiet.fields.add("X-Org", "quiet");
  *quiet_ = config_.caps.pending_memory;
  refused.client = quiet_;
  ask(refused, std::move(quiet));
  ASSERT_EQ(refused.refusals.size(), 1u);
  EXPECT_EQ(refused.refusals[0].why, http::Reason::pending_memory);
  for (auto& asker : waiting) EXPECT_FALSE(asker.over());
}

TEST_F(QueueTest, memory_that_is_full_refuses_newcomers_until_someone_leaves) {
  config_.caps.pending_memory = 3'000;
  Asker held, waiting, refused, later;
  get(held, origin_.host(), "/hold");
  get(waiting, origin_.host(), "/" + std::string(700, 'w'));
  ASSERT_FALSE(waiting.over());
  get(refused, origin_.host(), "/" + std::string(700, 'r'));
  ASSERT_EQ(refused.refusals.size(), 1u);
  EXPECT_EQ(refused.refusals[0].why, http::Reason::pending_memory);
  EXPECT_EQ(refused.refusals[0].status_code(), 503);
  EXPECT_TRUE(refused.refusals[0].retry_after);
  leave(waiting);
  get(later, origin_.host(), "/" + std::string(700, 'l'));
  EXPECT_FALSE(later.over());
  origin_.release();
  EXPECT_TRUE(finish(later));
  expect_at_rest();
}

TEST_F(QueueTest, of_a_waiting_body_only_a_little_is_wanted) {
  config_.caps.pending_body_bytes = 1'000;
  Asker held, waiting;
  get(held, origin_.host(), "/hold");
  ask(waiting, with_length(head("POST", "http://" + origin_.host() + "/"), 1'500));
  EXPECT_TRUE(dispatcher_->wants_body(*waiting.exchange));
  give(waiting, std::string(999, 'b'), false);
  EXPECT_TRUE(dispatcher_->wants_body(*waiting.exchange));
  give(waiting, "b", false);
  EXPECT_FALSE(dispatcher_->wants_body(*waiting.exchange));
  const int wanted = waiting.wanted;
  origin_.release();
  ASSERT_TRUE(run_.run_until([&] { return waiting.wanted > wanted; })) << "asked on at take-off";
  EXPECT_TRUE(dispatcher_->wants_body(*waiting.exchange));
  leave(waiting);
}

TEST_F(QueueTest, of_a_body_that_waits_for_the_hundred_nothing_is_wanted) {
  Asker held, waiting;
  get(held, origin_.host(), "/hold");
  auto expecting = with_length(head("POST", "http://" + origin_.host() + "/"), 10);
  expecting.expect_continue = true;
  ask(waiting, std::move(expecting));
  EXPECT_FALSE(dispatcher_->wants_body(*waiting.exchange));
  leave(waiting);
  origin_.release();
  EXPECT_TRUE(finish(held));
}

TEST_F(QueueTest, a_snapshot_shows_how_long_the_first_has_waited) {
  const auto began = test::MachineClock::now();
  Asker held, waiting;
  get(held, origin_.host(), "/hold");
  get(waiting, origin_.host());
  run_.run_for(30'000);
  EXPECT_GE(upstream(origin_.host()).oldest_wait, 30ms);
  EXPECT_LT(upstream(origin_.host()).oldest_wait, 50ms + test::machine_late(began));
  EXPECT_EQ(upstream(origin_.host()).totals.dispatched, 1u);
  origin_.release();
  ASSERT_TRUE(finish(waiting));
  EXPECT_EQ(upstream(origin_.host()).oldest_wait, 0us);
  EXPECT_EQ(upstream(origin_.host()).totals.dispatched, 2u);
  EXPECT_EQ(upstream(origin_.host()).totals.success, 2u);
}

}  // namespace
}  // namespace penstock::proxy
