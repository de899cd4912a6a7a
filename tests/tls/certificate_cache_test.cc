// SPDX-License-Identifier: Apache-2.0
// The leaves that are kept: made once, forgotten in order, never of an authority that is no longer ours.
#include "tls/certificate_cache.h"

#include <gtest/gtest.h>

#include <future>

#include "support/test_loop.h"

namespace penstock::tls {
namespace {

class LeavesTest : public testing::Test {
 protected:
  LeavesTest() { leaves_.set_authority(authority()); }
  static std::shared_ptr<const Authority> authority() {
    const auto now = loop::system_wall() / 1'000'000;
    return Authority::read(make_authority("ours", now), now).value();
  }
  /// The leaf, when it has come.
  std::shared_ptr<const Leaf> leaf_for(const std::string& host) {
    std::shared_ptr<const Leaf> found;
    bool came = false;
    const auto question = leaves_.ask(host, [&](const auto& leaf) {
      found = leaf;
      came = true;
    });
    EXPECT_TRUE(run_.run_until([&] { return came; }));
    return found;
  }

  test::TestLoop run_;
  CertificateCache leaves_{run_.loop};
};

TEST_F(LeavesTest, are_made_once_however_many_ask) {
  std::vector<std::shared_ptr<const Leaf>> came;
  std::vector<std::unique_ptr<CertificateCache::Question>> questions;
  for (int i = 0; i < 100; ++i) {
    questions.push_back(leaves_.ask("a.test", [&](const auto& leaf) { came.push_back(leaf); }));
  }
  EXPECT_TRUE(came.empty());
  ASSERT_TRUE(run_.run_until([&] { return came.size() == 100; }));
  EXPECT_EQ(leaves_.made(), 1u);
  for (const auto& leaf : came) EXPECT_EQ(leaf, came.front());
}

TEST_F(LeavesTest, are_made_by_the_worker_and_wait_for_it) {
  std::promise<void> busy;
  run_.loop.offload([until = busy.get_future()]() mutable { until.wait(); }, [] {});
  bool came = false;
  const auto question = leaves_.ask("a.test", [&](const auto&) { came = true; });
  run_.run_for(50'000);
  EXPECT_FALSE(came) << "the loop has had the time, but the worker has not";
  busy.set_value();
  EXPECT_TRUE(run_.run_until([&] { return came; }));
}

TEST_F(LeavesTest, that_are_at_hand_come_at_once) {
  const auto leaf = leaf_for("a.test");
  std::shared_ptr<const Leaf> again;
  EXPECT_EQ(leaves_.ask("a.test", [&](const auto& found) { again = found; }), nullptr);
  EXPECT_EQ(again, leaf);
}

TEST_F(LeavesTest, are_forgotten_beyond_a_thousand_those_first_that_nobody_asks_for) {
  const auto kept = leaf_for("kept.test");
  const auto forgotten = leaf_for("forgotten.test");
  std::size_t came = 0;
  std::vector<std::unique_ptr<CertificateCache::Question>> questions;
  for (std::size_t i = 0; i < CertificateCache::kMost - 2; ++i) {
    questions.push_back(leaves_.ask("h" + std::to_string(i) + ".test", [&](const auto&) { ++came; }));
  }
  ASSERT_TRUE(run_.run_until([&] { return came == CertificateCache::kMost - 2; }));
  EXPECT_EQ(leaf_for("kept.test"), kept);
  leaf_for("one-more.test");
  EXPECT_EQ(leaves_.size(), CertificateCache::kMost);
  EXPECT_EQ(leaf_for("kept.test"), kept);
  EXPECT_NE(leaf_for("forgotten.test"), forgotten);
}

TEST_F(LeavesTest, are_those_of_the_authority_in_force) {
  const auto before = leaf_for("a.test");
  leaves_.set_authority(authority());
  EXPECT_EQ(leaves_.size(), 0u);
  EXPECT_NE(leaf_for("a.test"), before);
}

TEST_F(LeavesTest, asked_for_before_a_change_are_made_after_it) {
  bool came = false;
  const auto question = leaves_.ask("a.test", [&](const auto& leaf) { came = leaf != nullptr; });
  leaves_.set_authority(authority());
  ASSERT_TRUE(run_.run_until([&] { return came; }));
  EXPECT_EQ(leaves_.size(), 1u);
  EXPECT_EQ(leaves_.made(), 1u) << "the one of the old authority is not kept";
}

TEST_F(LeavesTest, are_none_without_an_authority) {
  bool came = false;
  auto question = leaves_.ask("a.test", [&](const auto& leaf) { came = leaf == nullptr; });
  leaves_.set_authority(nullptr);
  ASSERT_TRUE(run_.run_until([&] { return came; }));
  EXPECT_EQ(leaf_for("b.test"), nullptr);
}

TEST_F(LeavesTest, tell_nobody_who_has_withdrawn) {
  auto question = leaves_.ask("a.test", [](const auto&) { ADD_FAILURE() << "it has withdrawn"; });
  question.reset();
  EXPECT_NE(leaf_for("a.test"), nullptr);
}

TEST_F(LeavesTest, are_not_made_for_who_has_gone) {
  std::vector<std::unique_ptr<CertificateCache::Question>> questions;
  for (int i = 0; i < 100; ++i) questions.push_back(leaves_.ask("h" + std::to_string(i), [](const auto&) {}));
  questions.clear();
  leaf_for("a.test");
  EXPECT_LE(leaves_.made(), 2u) << "one may have been under way";
}

TEST(CertificateCache, may_go_while_one_is_made) {
  test::TestLoop run;
  const auto now = loop::system_wall() / 1'000'000;
  std::unique_ptr<CertificateCache::Question> question;
  {
    CertificateCache leaves(run.loop);
    leaves.set_authority(Authority::read(make_authority("ours", now), now).value());
    question = leaves.ask("a.test", [](const auto&) { ADD_FAILURE() << "there is nobody to tell it"; });
  }
  run.run_for(50'000);
}

}  // namespace
}  // namespace penstock::tls
