// SPDX-License-Identifier: Apache-2.0
// A kept connection that one request hands to the next within a single call of libcurl: the one is not yet told of its
// end, and the other is answered already. No byte of its answer may be lost.
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <list>
#include <random>

#include "sending.h"

namespace penstock::transfer {
namespace {

enum class Framing { none, length, chunked, until_end };

/// As it stands on the wire, and is handed out.
std::string encoded(Framing framing, const std::string& body) {
  if (framing != Framing::chunked) return body;
  std::string text;
  for (std::size_t at = 0; at < body.size(); at += 5000) {
    const std::string piece = body.substr(at, 5000);
    std::array<char, 16> size{};
    snprintf(size.data(), size.size(), "%zx\r\n", piece.size());
    text += size.data() + piece + "\r\n";
  }
  return text + "0\r\n\r\n";
}

std::string answer(Framing framing, const std::string& body) {
  if (framing == Framing::none) return "HTTP/1.1 204 No Content\r\n\r\n";
  const std::string announced = framing == Framing::length ? "Content-Length: " + std::to_string(body.size()) + "\r\n"
                                : framing == Framing::chunked ? "Transfer-Encoding: chunked\r\n"
                                                              : "";
  return "HTTP/1.1 200 OK\r\n" + announced + "\r\n" + encoded(framing, body);
}

/// An origin in the test's own thread. It answers when libcurl has taken a connection and not yet sent the request, so
/// the answer is there to be read within the same call.
class PromptOrigin {
 public:
  std::string host() const { return "127.0.0.1:" + std::to_string(listening_.port()); }
  int connections() const { return connections_; }

  void answer_now(Framing framing, const std::string& body) {
    pollfd waiting{.fd = listening_.fd(), .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, 0) > 0) {
      end_former();
      peer_ = listening_.accept();
      ++connections_;
      const int room = 1 << 20;
      ::setsockopt(peer_.fd(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    }
    ASSERT_TRUE(peer_.send(answer(framing, body)));
    if (framing == Framing::until_end) peer_.shut_down();
  }

 private:
  /// A busy kernel may hold an answer up until the next request has gone over a connection of its own. Nobody shall
  /// take the former one then, on which no answer would come.
  void end_former() {
    if (connections_ == 0) return;
    peer_.shut_down();
    former_.push_back(std::move(peer_));
  }

  test::ListeningSocket listening_;
  test::Socket peer_{-1};
  std::list<test::Socket> former_;
  int connections_ = 0;
};

class HandoverTest : public SendingTest {};

TEST_F(HandoverTest, a_pause_in_the_call_in_which_the_connection_was_taken_loses_nothing) {
  const std::string body(60'000, 'b');
  for (const Framing framing : {Framing::length, Framing::chunked, Framing::until_end}) {
    PromptOrigin origin;
    Recorder one, two;
    one.held = two.held = true;
    one.when_connected = [&] { origin.answer_now(Framing::length, "ok"); };
    two.when_connected = [&] { origin.answer_now(framing, body); };
    start(request("GET", origin.host()), one);
    ASSERT_TRUE(run_.run_until([&] { return one.head.ends_with("\r\n\r\n"); }));
    one.take_on();  // libcurl will see in its next call that this was all
    EXPECT_EQ(one.body, "ok");
    EXPECT_EQ(one.done, 0);
    start(request("GET", origin.host()), two);
    ASSERT_TRUE(run_.run_until([&] { return two.head.ends_with("\r\n\r\n"); }));
    run_.run_for(5'000);
    two.take_on();
    finish(two);
    EXPECT_EQ(two.result.failure, Failure::none) << two.result.details;
    EXPECT_TRUE(two.body == encoded(framing, body)) << two.body.size();
    EXPECT_EQ(one.done, 1);
    EXPECT_EQ(origin.connections(), 1);
  }
}

TEST_F(HandoverTest, what_comes_behind_an_answer_without_a_body_may_be_the_next_ones) {
  PromptOrigin origin;
  Recorder first, one, two;
  first.when_connected = [&] { origin.answer_now(Framing::length, "ok"); };
  EXPECT_EQ(send(request("GET", origin.host()), first), Failure::none);
  one.when_connected = [&] { origin.answer_now(Framing::none, ""); };
  two.when_connected = [&] { origin.answer_now(Framing::length, std::string(60'000, 'b')); };
  two.held = true;
  start(request("GET", origin.host()), one);  // answered in the call in which it is sent, and so is the other
  start(request("GET", origin.host()), two);
  ASSERT_TRUE(run_.run_until([&] { return two.head.ends_with("\r\n\r\n"); }));
  two.take_on();
  finish(two);
  EXPECT_EQ(two.result.failure, Failure::none) << two.result.details;
  EXPECT_EQ(two.body.size(), 60'000u);
}

/// Requests to one origin, each begun in the call in which the one before ends, or when its end is told.
class Chain {
 public:
  using Start = std::function<void(const std::string& host, bool fresh, Recorder&)>;
  Chain(Start start, std::mt19937& random, int length) : start_(std::move(start)), random_(random), left_(length) {}

  void begin_next() {
    if (left_ == 0) return;
    --left_;
    auto& link = links_.emplace_back();
    link.framing = static_cast<Framing>(pick(4));
    if (link.framing != Framing::none) link.sent.resize(pick(4) > 0 ? pick(100) : pick(80'000));
    for (char& byte : link.sent) byte = static_cast<char>('a' + pick(26));
    link.recorder.held = pick(2) > 0;
    link.recorder.hold_every = pick(2) > 0 ? 1 + pick(30'000) : 0;
    link.recorder.when_connected = [this, &link] { origin_.answer_now(link.framing, link.sent); };
    link.recorder.when_done = [this, &link] { ended(link); };
    const bool has_connection = kept_;
    kept_ = link.framing != Framing::until_end;
    start_(origin_.host(), false, link.recorder);
    if (has_connection && link.ends_in_one_call() && pick(2) > 0) begin_next();
  }

  /// Some of what waits goes on.
  void go_on() {
    for (auto link = links_.begin(); link != links_.end();) {
      if (link->is_over) {
        judge(*link);
        link = links_.erase(link);
        continue;
      }
      if (link->recorder.held && pick(2) > 0) take_on(*link);
      ++link;
    }
  }
  bool over() const { return left_ == 0 && links_.empty(); }

 private:
  struct Link {
    Recorder recorder;
    std::string sent;
    Framing framing{};
    bool is_over = false;

    bool says_its_end() const { return framing == Framing::none || framing == Framing::length; }
    bool ends_in_one_call() const { return says_its_end() && sent.size() < 1000 && !recorder.held; }
  };

  std::size_t pick(std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_); }

  void ended(Link& link) {
    // The connection that it was about to take has just been ended by the origin.
    if (link.recorder.result.failure == Failure::not_sent) return start_(origin_.host(), true, link.recorder);
    link.is_over = true;
    if (&links_.back() == &link) begin_next();
  }
  void take_on(Link& link) {
    link.recorder.take_on();
    const bool ends_now = link.says_its_end() && link.recorder.head.ends_with("\r\n\r\n") && !link.recorder.held &&
                          link.recorder.body == link.sent;
    if (ends_now && &links_.back() == &link) begin_next();
  }
  static void judge(const Link& link) {
    EXPECT_EQ(link.recorder.result.failure, Failure::none) << link.recorder.result.details;
    EXPECT_TRUE(link.recorder.body == encoded(link.framing, link.sent))
        << link.recorder.body.size() << " of " << link.sent.size() << ", framing " << static_cast<int>(link.framing);
  }

  PromptOrigin origin_;
  const Start start_;
  std::mt19937& random_;
  int left_;
  bool kept_ = false;  // the connection of the last one, once that has ended
  std::list<Link> links_;
};

class AnyHandover : public HandoverTest, public testing::WithParamInterface<unsigned> {};

TEST_P(AnyHandover, whatever_is_paused_whenever_each_gets_its_own_answer_whole) {
  std::mt19937 random(GetParam());
  std::list<Chain> chains;
  const auto begin = [this](const std::string& host, bool fresh, Recorder& recorder) {
    Request asked = request("GET", host);
    asked.fresh_connection = fresh;
    start(std::move(asked), recorder);
  };
  for (int i = 0; i < 6; ++i) {
    chains.emplace_back(begin, random, 150);
    chains.back().begin_next();
  }
  loop::Timer going_on(run_.loop, [&] {
    for (auto& chain : chains) chain.go_on();
    going_on.start(run_.loop.now() + 300);
  });
  going_on.start(run_.loop.now());
  ASSERT_TRUE(run_.run_until([&] { return std::ranges::all_of(chains, &Chain::over); }));
}
INSTANTIATE_TEST_SUITE_P(seeds, AnyHandover, testing::Range(1u, 6u));

}  // namespace
}  // namespace penstock::transfer
