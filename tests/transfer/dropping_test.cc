// SPDX-License-Identifier: Apache-2.0
// Dropping a Transfer cancels it, wherever it stands: nothing is heard of it any more, and nothing of it is left.
#include <chrono>

#include "sending.h"

namespace penstock::transfer {
namespace {

class DroppingTest : public SendingTest {
 protected:
  /// Starts it, waits until `there`, drops it; then nothing may be told, and its descriptors must be free.
  void drop_when(Request request, Recorder& recorder, std::function<bool()> there) {
    run_.run_for(1'000);
    const std::size_t before = test::open_descriptors();
    start(std::move(request), recorder);
    ASSERT_TRUE(run_.run_until([&] { return there(); }));
    recorder.transfer.reset();
    const std::string head = recorder.head, body = recorder.body;
    const int gives = recorder.gives, done = recorder.done;
    ASSERT_TRUE(run_.run_until([&] { return test::open_descriptors() <= before; }));
    run_.run_for(20'000);
    EXPECT_EQ(recorder.head, head);
    EXPECT_EQ(recorder.body.size(), body.size());
    EXPECT_EQ(recorder.gives, gives);
    EXPECT_EQ(recorder.done, done);
  }

  Recorder recorder_;
};

/// Takes a head, says this, and holds the line.
test::Origin::Script half(std::string bytes) {
  return [bytes = std::move(bytes)](test::Origin& origin, test::Socket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send(bytes);
    peer.read_to_end();
    origin.note("over");
  };
}

TEST_F(DroppingTest, before_the_first_turn) {
  test::Origin origin(half(""));
  drop_when(request("GET", origin.host()), recorder_, [] { return true; });
  Recorder at_once;
  start(request("GET", origin.host()), at_once);
  at_once.transfer.reset();
  run_.run_for(20'000);
  EXPECT_EQ(at_once.done, 0);
}

TEST_F(DroppingTest, while_it_dials) {
  test::ListeningSocket full(0);
  auto one = test::connect_to(full.port());
  Recorder second;  // takes the last place in the queue; the next one hangs
  start(request("GET", "127.0.0.1:" + std::to_string(full.port())), second);
  run_.run_for(20'000);
  drop_when(request("GET", "127.0.0.1:" + std::to_string(full.port())), recorder_, [] { return true; });
}

TEST_F(DroppingTest, while_it_waits_for_an_answer) {
  test::Origin origin(half(""));
  drop_when(request("GET", origin.host()), recorder_, [&] { return recorder_.connected > 0; });
  EXPECT_TRUE(run_.run_until([&] { return origin.notes().size() == 1; })) << "the upstream sees it go";
}

TEST_F(DroppingTest, in_the_middle_of_a_head) {
  test::Origin origin(half("HTTP/1.1 200 OK\r\nX: y\r\n"));
  drop_when(request("GET", origin.host()), recorder_, [&] { return recorder_.head.size() == 23; });
}

TEST_F(DroppingTest, in_the_middle_of_a_body) {
  test::Origin origin(half("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"));
  drop_when(request("GET", origin.host()), recorder_, [&] { return recorder_.body == "hello"; });
}

TEST_F(DroppingTest, while_its_download_is_paused) {
  test::Origin origin(half("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"));
  recorder_.held = true;
  drop_when(request("GET", origin.host()), recorder_, [&] { return recorder_.head.ends_with("\r\n\r\n"); });
  EXPECT_EQ(recorder_.body, "");
}

TEST_F(DroppingTest, while_its_upload_is_paused) {
  test::Origin origin(half(""));
  recorder_.whole = false;
  drop_when(with_length(request("POST", origin.host()), 10), recorder_, [&] { return recorder_.gives > 0; });
}

TEST_F(DroppingTest, in_the_middle_of_an_upload) {
  test::Origin origin([](test::Origin&, test::Socket& peer, int) { peer.read_to_end(); });
  recorder_.to_give = std::string(64 << 20, 'u');
  drop_when(with_length(request("POST", origin.host()), 64 << 20), recorder_, [&] { return recorder_.gives > 3; });
}

TEST_F(DroppingTest, in_its_own_end) {
  test::Origin origin(test::always(kOk));
  recorder_.when_done = [&] { recorder_.transfer.reset(); };
  start(request("GET", origin.host()), recorder_);
  ASSERT_TRUE(run_.run_until([&] { return recorder_.done > 0; }));
  run_.run_for(20'000);
  EXPECT_EQ(recorder_.done, 1);
  EXPECT_EQ(get(origin.host()), Failure::none);
  EXPECT_EQ(origin.connections(), 1) << "the connection is kept";
}

TEST_F(DroppingTest, in_the_end_of_another_that_may_have_ended_too) {
  test::Origin origin(test::always(kOk));
  std::vector<std::unique_ptr<Recorder>> all;
  int ended = 0;
  for (int i = 0; i < 10; ++i) {
    all.push_back(std::make_unique<Recorder>());
    all.back()->when_done = [&] {
      ++ended;
      for (auto& one : all) one->transfer.reset();
    };
    start(request("GET", origin.host()), *all.back());
  }
  ASSERT_TRUE(run_.run_until([&] { return ended > 0; }));
  run_.run_for(50'000);
  EXPECT_EQ(ended, 1);
}

TEST_F(DroppingTest, after_its_end) {
  test::Origin origin(test::always(kOk));
  EXPECT_EQ(send(request("GET", origin.host()), recorder_), Failure::none);
  run_.run_for(20'000);
  EXPECT_EQ(recorder_.done, 1);
}

TEST_F(DroppingTest, again_and_again_leaves_no_descriptor_behind) {
  test::Origin origin(half("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"));
  run_.run_for(1'000);
  const std::size_t before = test::open_descriptors();
  for (int i = 0; i < 100; ++i) {
    Recorder recorder;
    start(request("GET", origin.host()), recorder);
    const int stage = i % 4;
    ASSERT_TRUE(run_.run_until([&] { return stage == 0 || recorder.connected > 0; }));
    ASSERT_TRUE(run_.run_until([&] { return stage <= 1 || !recorder.head.empty(); }));
    ASSERT_TRUE(run_.run_until([&] { return stage <= 2 || !recorder.body.empty(); }));
  }
  EXPECT_TRUE(run_.run_until([&] { return test::open_descriptors() <= before; })) << test::open_descriptors() - before;
}

}  // namespace
}  // namespace penstock::transfer
