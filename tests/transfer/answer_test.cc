// SPDX-License-Identifier: Apache-2.0
// What comes back: lines as they came, bodies without their framing, in whatever pieces the upstream sends.
#include <algorithm>

#include "sending.h"

namespace penstock::transfer {
namespace {

/// Reads a head, sends the pieces, and closes.
test::Origin::Script answer(std::vector<std::string> pieces) {
  return [pieces = std::move(pieces)](test::Origin&, test::Socket& peer, int) {
    peer.read_until("\r\n\r\n");
    for (const auto& piece : pieces) peer.send(piece);
    peer.shut_down();
    peer.read_to_end();
  };
}

class AnswerTest : public SendingTest {
 protected:
  Recorder& get_from(test::Origin::Script script, const std::string& method = "GET") {
    test::Origin origin(std::move(script));
    EXPECT_EQ(send(request(method, origin.host()), recorder_), Failure::none) << recorder_.result.details;
    EXPECT_EQ(recorder_.connected, 1);
    EXPECT_EQ(recorder_.done, 1);
    EXPECT_EQ(recorder_.result.details, "");
    return recorder_;
  }

  Recorder recorder_;
};

TEST_F(AnswerTest, lines_come_as_they_were_sent) {
  const std::string head = "HTTP/1.1 200 Fine, thanks\r\nX-A:  1 \r\nx-b:\r\nX-A: 2\r\nContent-Length: 5\r\n\r\n";
  get_from(answer({head + "hello"}));
  EXPECT_EQ(recorder_.head, head);
  EXPECT_EQ(recorder_.body, "hello");
}

TEST_F(AnswerTest, one_byte_at_a_time_is_the_same) {
  const std::string whole = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nT: 1\r\n\r\n";
  std::vector<std::string> pieces;
  for (const char byte : whole) pieces.emplace_back(1, byte);
  get_from(answer(std::move(pieces)));
  EXPECT_EQ(recorder_.head + recorder_.body, whole);
}

TEST_F(AnswerTest, chunks_and_trailers_come_as_they_were_sent) {
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  get_from(answer({head, "5;ext=1\r\nhello\r\n", "6\r\n world\r\n", "0\r\nX-Sum: 7\r\n\r\n"}));
  EXPECT_EQ(recorder_.head, head);
  EXPECT_EQ(recorder_.body, "5;ext=1\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 7\r\n\r\n");
}

TEST_F(AnswerTest, compressed_bodies_are_not_touched) {
  get_from(answer({"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8bzz"}));
  EXPECT_EQ(recorder_.body, "\x1f\x8bzz");
}

TEST_F(AnswerTest, a_body_without_length_ends_with_the_connection) {
  get_from(answer({"HTTP/1.1 200 OK\r\n\r\nhello ", "world"}));
  EXPECT_EQ(recorder_.body, "hello world");
}

TEST_F(AnswerTest, interim_heads_come_first_each_with_its_end) {
  const std::string heads =
      "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
      "HTTP/1.1 103 Early Hints\r\nLink: </b>\r\n\r\n"
      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  get_from(answer({heads}));
  EXPECT_EQ(recorder_.head, heads);
}

TEST_F(AnswerTest, head_has_no_body_whatever_its_length_says) {
  get_from(answer({"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"}), "HEAD");
  EXPECT_EQ(recorder_.head, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
  EXPECT_EQ(recorder_.body, "");
}

TEST_F(AnswerTest, head_with_a_body_of_its_own_is_sent_whole) {
  test::Origin origin([](test::Origin& self, test::Socket& peer, int) {
    self.note(peer.read_until("\r\n\r\n"));
    self.note(peer.read(3));
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
    self.note(peer.read_to_end());
  });
  recorder_.to_give = "abc";
  EXPECT_EQ(send(with_length(request("HEAD", origin.host()), 3), recorder_), Failure::none) << recorder_.result.details;
  multi_.reset();
  ASSERT_TRUE(run_.run_until([&] { return origin.notes().size() == 3; }));
  EXPECT_TRUE(origin.notes()[0].starts_with("HEAD / HTTP/1.1\r\nHost: origin.test\r\n")) << origin.notes()[0];
  EXPECT_NE(origin.notes()[0].find("\r\nContent-Length: 3\r\n"), std::string::npos) << origin.notes()[0];
  EXPECT_EQ(origin.notes()[1], "abc");
  EXPECT_EQ(recorder_.body, "");
}

TEST_F(AnswerTest, no_content_and_not_modified_have_no_body) {
  for (const std::string status : {"204 No Content", "304 Not Modified"}) {
    Recorder recorder;
    test::Origin origin(answer({"HTTP/1.1 " + status + "\r\nX: y\r\n\r\n"}));
    EXPECT_EQ(send(request("GET", origin.host()), recorder), Failure::none);
    EXPECT_EQ(recorder.body, "");
  }
}

TEST_F(AnswerTest, redirects_and_challenges_are_answers_like_others) {
  for (const std::string status :
       {"302 Found\r\nLocation: http://169.254.169.254/", "401 No\r\nWWW-Authenticate: NTLM"}) {
    Recorder recorder;
    test::Origin origin(test::always("HTTP/1.1 " + status + "\r\nContent-Length: 0\r\n\r\n"));
    EXPECT_EQ(send(request("GET", origin.host()), recorder), Failure::none);
    run_.run_for(20'000);
    EXPECT_EQ(origin.notes().size(), 1u);
  }
}

TEST_F(AnswerTest, cookies_of_one_answer_are_not_in_the_next_request) {
  test::Origin origin(test::always("HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_EQ(get(origin.host()), Failure::none);
  EXPECT_EQ(get(origin.host()), Failure::none);
  EXPECT_EQ(origin.notes()[1], "GET / HTTP/1.1\r\nHost: origin.test\r\n\r\n");
}

TEST_F(AnswerTest, an_early_refusal_stops_the_upload) {
  test::Origin origin([](test::Origin&, test::Socket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 413 Too Much\r\nContent-Length: 0\r\n\r\n");
    peer.read_to_end();
  });
  recorder_.to_give = std::string(20 << 20, 'u');
  EXPECT_EQ(send(with_length(request("POST", origin.host()), 20 << 20), recorder_), Failure::none);
  EXPECT_EQ(recorder_.head, "HTTP/1.1 413 Too Much\r\nContent-Length: 0\r\n\r\n");
  EXPECT_FALSE(recorder_.to_give.empty());
}

// The upstream answers and closes with half of the upload unread: its kernel sends a reset behind the answer.
TEST_F(AnswerTest, an_early_answer_with_a_reset_on_its_heels_is_heard) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    test::Origin origin([](test::Origin&, test::Socket& peer, int) {
      peer.read_until("\r\n\r\n");
      peer.send("HTTP/1.1 413 Too Much\r\nContent-Length: 0\r\n\r\n");
      peer.close();
    });
    Recorder recorder;
    recorder.to_give = std::string(64 * 1024, 'u');
    recorder.whole = false;
    start(with_length(request("POST", origin.host()), 1 << 20), recorder);
    ASSERT_TRUE(run_.run_until([&] { return recorder.done > 0 || recorder.head.ends_with("\r\n\r\n"); }));
    EXPECT_EQ(recorder.head, "HTTP/1.1 413 Too Much\r\nContent-Length: 0\r\n\r\n") << recorder.result.details;
  }
}

TEST_F(AnswerTest, a_hundred_at_once_all_come_back) {
  test::Origin origin(test::always(kOk));
  std::vector<std::unique_ptr<Recorder>> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back(std::make_unique<Recorder>());
    start(request("GET", origin.host(), "/" + std::to_string(i)), *all.back());
  }
  ASSERT_TRUE(run_.run_until(
      [&] { return std::all_of(all.begin(), all.end(), [](const auto& one) { return one->done > 0; }); }));
  for (const auto& one : all) {
    EXPECT_EQ(one->done, 1);
    EXPECT_EQ(one->result.failure, Failure::none) << one->result.details;
    EXPECT_EQ(one->body, "ok");
  }
  EXPECT_EQ(origin.connections(), 100);
}

TEST_F(AnswerTest, the_end_of_one_may_start_the_next) {
  test::Origin origin(test::always(kOk));
  std::vector<std::unique_ptr<Recorder>> all;
  std::function<void()> next = [&] {
    if (all.size() == 20) return;
    all.push_back(std::make_unique<Recorder>());
    all.back()->when_done = next;
    start(request("GET", origin.host()), *all.back());
  };
  next();
  ASSERT_TRUE(run_.run_until([&] { return all.size() == 20 && all.back()->done > 0; }));
  for (const auto& one : all) EXPECT_EQ(one->result.failure, Failure::none);
}

}  // namespace
}  // namespace penstock::transfer
