// SPDX-License-Identifier: Apache-2.0
// Callers in this process: the same way as any client's request, and a whole answer or an error, once, at a turn's end.
#include "proxy/client/local_sink.h"

#include <gmock/gmock.h>

#include "proxy/dispatcher_fixture.h"

namespace penstock::proxy {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class LocalRequesterTest : public DispatcherTest {
 protected:
  void submit(Request request) {
    LocalSink::submit(run_.loop, dispatcher(), config_.proxy.via, std::move(request), [this](auto answer) {
      ++answers_;
      answer_ = std::move(answer);
    });
    EXPECT_EQ(answers_, 0) << "answered from inside the call";
  }
  Response response_to(Request request) {
    submit(std::move(request));
    EXPECT_TRUE(run_.run_until([&] { return answers_ > 0; }));
    EXPECT_EQ(answers_, 1);
    EXPECT_EQ(run_.loop.self_owned(), 0u);
    EXPECT_TRUE(answer_.has_value());
    return answer_.value_or(Response{});
  }

  int answers_ = 0;
  std::expected<Response, Error> answer_;
};

TEST_F(LocalRequesterTest, a_request_asks_for_no_other_protocol) {
  test::Origin origin(test::always("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  const Response response = response_to(
      {.url = "http://" + origin.host() + "/", .fields = {{"Connection", "Upgrade"}, {"Upgrade", "websocket"}}});
  EXPECT_EQ(response.status, 200);
  ASSERT_EQ(origin.notes().size(), 1u);
  EXPECT_EQ(origin.notes()[0].find("pgrade"), std::string::npos) << origin.notes()[0];
}

TEST_F(LocalRequesterTest, an_answer_and_a_refusal_have_the_id_of_a_request_that_asks_for_it) {
  test::Origin origin(test::always(kOk));
  const std::vector<Field> asking{{"Penstock-Request-Id", ""}};
  const Response answer = response_to({.url = "http://" + origin.host() + "/", .fields = asking});
  EXPECT_THAT(answer.fields, Contains(Field{"Penstock-Request-Id", told_.back().id}));
  EXPECT_EQ(told_.back().client, "");
  answers_ = 0;
  const Response refused = response_to({.method = "CONNECT", .url = "a.test:443", .fields = asking});
  EXPECT_THAT(refused.fields, Contains(Field{"Penstock-Request-Id", told_.back().id}));
}

TEST_F(LocalRequesterTest, a_request_is_answered_whole) {
  test::Origin origin(test::always("HTTP/1.1 200 Fine\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 5\r\n\r\nhello"));
  const Response response = response_to({.url = "http://" + origin.host() + "/p?q", .fields = {{"X-Mine", "yes"}}});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.reason, "Fine");
  EXPECT_EQ(response.body, "hello");
  ASSERT_GE(response.fields.size(), 2u);
  EXPECT_EQ(response.fields[0], (Field{"X-A", "1"}));
  EXPECT_EQ(response.fields[1], (Field{"x-a", "2"}));
  EXPECT_THAT(response.fields, Contains(Field{"Via", "1.1 penstock"}));
  EXPECT_EQ(origin.notes()[0].substr(0, 18), "GET /p?q HTTP/1.1\r");
  EXPECT_THAT(origin.notes()[0], HasSubstr("\r\nX-Mine: yes\r\n"));
  EXPECT_EQ(course(), "dispatch complete");
}

TEST_F(LocalRequesterTest, a_body_is_sent_with_its_length) {
  test::Origin origin([](test::Origin& self, test::Socket& peer, int) {
    self.note(peer.read_until("\r\n\r\n"));
    self.note(peer.read(100'000));
    peer.send(kOk);
  });
  const std::string body(100'000, 'b');
  EXPECT_EQ(response_to({.method = "POST", .url = "http://" + origin.host() + "/", .body = body}).body, "ok");
  EXPECT_THAT(origin.notes()[0], HasSubstr("\r\nContent-Length: 100000\r\n"));
  EXPECT_TRUE(origin.notes()[1] == body);
  EXPECT_EQ(told_.back().bytes_out, 100'000u);
}

TEST_F(LocalRequesterTest, a_post_without_a_body_says_so) {
  test::Origin origin(test::always(kOk));
  response_to({.method = "POST", .url = "http://" + origin.host() + "/"});
  EXPECT_THAT(origin.notes()[0], HasSubstr("\r\nContent-Length: 0\r\n"));
}

TEST_F(LocalRequesterTest, framing_of_the_callers_own_is_not_believed) {
  test::Origin origin([](test::Origin& self, test::Socket& peer, int) {
    self.note(peer.read_until("\r\n\r\n"));
    self.note(peer.read(3));
    peer.send(kOk);
  });
  response_to({.method = "POST",
               .url = "http://" + origin.host() + "/",
               .fields = {{"Content-Length", "99"}, {"Transfer-Encoding", "chunked"}, {"Host", "evil.test"}},
               .body = "abc"});
  EXPECT_THAT(origin.notes()[0], HasSubstr("\r\nHost: " + origin.host() + "\r\n"));
  EXPECT_THAT(origin.notes()[0], HasSubstr("\r\nContent-Length: 3\r\n"));
  EXPECT_THAT(origin.notes()[0], testing::Not(HasSubstr("Length: 99")));  // a port may have a 99 in it
  EXPECT_THAT(origin.notes()[0], testing::Not(HasSubstr("chunked")));
}

TEST_F(LocalRequesterTest, trailers_come_along) {
  test::Origin origin(
      test::always("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n"));
  const Response response = response_to({.url = "http://" + origin.host() + "/"});
  EXPECT_EQ(response.body, "ok");
  EXPECT_THAT(response.trailers, ElementsAre(Field{"X-Sum", "7"}));
}

TEST_F(LocalRequesterTest, one_that_logs_in_its_connection_has_it_to_itself) {
  test::Origin origin([](test::Origin& self, test::Socket& peer, int number) {
    while (!peer.read_until("\r\n\r\n").empty()) {
      self.note(std::to_string(number));
      peer.send(kOk);
    }
  });
  const std::string url = "http://" + origin.host() + "/";
  for (const char* authorization : {"", "nTLM abc", "negotiate abc", "Basic abc", ""}) {
    answers_ = 0;
    response_to({.url = url, .fields = {{"authorization", authorization}}});
  }
  EXPECT_THAT(origin.notes(), ElementsAre("1", "2", "3", "1", "1"));
}

class BadRequestTest : public LocalRequesterTest, public testing::WithParamInterface<Request> {};

TEST_P(BadRequestTest, is_refused_like_any_other) {
  const Response response = response_to(GetParam());
  EXPECT_EQ(response.status, 400);
  EXPECT_THAT(response.fields[0].name, "Proxy-Status");
  EXPECT_THAT(response.fields[0].value, HasSubstr("penstock; error=http_request_error"));
  EXPECT_EQ(course(), "refused");
}

INSTANTIATE_TEST_SUITE_P(All, BadRequestTest,
                         testing::Values(Request{.method = "GE T", .url = "http://127.0.0.1/"},
                                         Request{.method = "", .url = "http://127.0.0.1/"},
                                         Request{.url = "http://127.0.0.1/", .fields = {{"X Y", "1"}}},
                                         Request{.url = "http://127.0.0.1/", .fields = {{"X", "1\r\nY: 2"}}},
                                         Request{.url = "http://127.0.0.1/", .fields = {{"", "1"}}},
                                         Request{.url = "/no-host"}, Request{.url = ""},
                                         Request{.url = "http://127.0.0.1/a b"}));

TEST_F(LocalRequesterTest, a_refusal_is_a_response_that_says_when_to_come_back) {
  config_.unmatched.max_concurrent = 1;
  config_.unmatched.queue.max_pending = 0;
  test::Origin origin([](test::Origin&, test::Socket& peer, int) { peer.read_to_end(); });
  Asker first;
  get(first, origin.host());
  const Response response = response_to({.url = "http://" + origin.host() + "/"});
  EXPECT_EQ(response.status, 503);
  EXPECT_THAT(response.reason, HasSubstr("Penstock: "));
  EXPECT_THAT(response.body, HasSubstr("queue full"));
  EXPECT_THAT(response.fields, Contains(Field{"Retry-After", "1"}));
  leave(first);
}

TEST_F(LocalRequesterTest, an_answer_that_breaks_off_is_an_error) {
  test::Origin origin([](test::Origin&, test::Socket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
  });
  submit({.url = "http://" + origin.host() + "/"});
  ASSERT_TRUE(run_.run_until([&] { return answers_ > 0; }));
  ASSERT_FALSE(answer_.has_value());
  EXPECT_EQ(answer_.error().token, "http_response_incomplete");
  EXPECT_NE(answer_.error().message, "");
}

TEST_F(LocalRequesterTest, one_that_still_waits_when_all_ends_is_answered) {
  test::Origin origin([](test::Origin&, test::Socket& peer, int) { peer.read_to_end(); });
  submit({.url = "http://" + origin.host() + "/"});
  run_.run_for(10'000);
  dispatcher_->end_all();
  run_.loop.run_iteration_ends();
  EXPECT_EQ(answers_, 1);
  ASSERT_TRUE(answer_.has_value());
  EXPECT_EQ(answer_->status, 503);
}

TEST(LocalSink, that_outlives_everything_hears_that_the_proxy_has_stopped) {
  struct Impl : DispatcherTest {
    void TestBody() override {}
    using DispatcherTest::dispatcher;
    using DispatcherTest::dispatcher_;
    using DispatcherTest::run_;
  };
  int answers = 0;
  {
    test::Origin origin([](test::Origin&, test::Socket& peer, int) { peer.read_to_end(); });
    Impl inside;
    LocalSink::submit(inside.run_.loop, inside.dispatcher(), "penstock", {.url = "http://" + origin.host() + "/"},
                      [&](const auto& answer) {
                        ++answers;
                        ASSERT_FALSE(answer.has_value());
                        EXPECT_EQ(answer.error().message, "the proxy has stopped");
                      });
    inside.run_.run_for(10'000);
    inside.dispatcher_.reset();
    EXPECT_EQ(answers, 0);
  }
  EXPECT_EQ(answers, 1);
}

}  // namespace
}  // namespace penstock::proxy
