// SPDX-License-Identifier: Apache-2.0
// Interim answers: a 100 that must wait, and floods of early hints.
#include "system/stage.h"

namespace penstock::trial {
namespace {

/// The head of a POST that waits for a 100.
std::string expecting(const Stage& stage, std::size_t size) {
  return "POST " + stage.url("/x") + " HTTP/1.1\r\nHost: " + stage.origin.host() +
         "\r\nContent-Length: " + std::to_string(size) + "\r\nExpect: 100-continue\r\n\r\n";
}

TEST(Continue, is_not_said_to_a_request_that_is_pending) {
  Stage stage(with_defaults("maxConcurrent: 1"));
  stage.origin.on("/held", scripts::held());
  Client first(stage.daemon.port()), second(stage.daemon.port());
  first.send(get(stage.url("/held")));
  ASSERT_TRUE(stage.origin.await(1));
  second.send(expecting(stage, 5));
  ASSERT_TRUE(stage.daemon.await_pending(stage.origin.host(), 1));
  EXPECT_FALSE(second.hears_within(1500ms)) << "the body stays with the client while it waits";
  stage.origin.release();
  EXPECT_EQ(second.head().status, 100);
  second.send("12345");
  EXPECT_EQ(second.reply().body, "hello");
}

TEST(EarlyHints, without_end_are_a_bad_gateway) {
  Stage stage;
  stage.origin.otherwise([](Visit& visit) {
    std::string hints;
    for (int i = 0; i < 1000; ++i) hints += "HTTP/1.1 103 Early Hints\r\nLink: </" + std::to_string(i) + ">\r\n\r\n";
    while (visit.write(hints)) {
    }
  });
  Client client(stage.daemon.port());
  const std::size_t before = stage.daemon.resident_kib();
  client.send(get(stage.url()));
  const Reply reply = client.reply();
  expect_own_answer(reply, {502}, "http_response_header_section_size");
  EXPECT_EQ(reply.interims.size(), 100u) << "as many as pass";
  EXPECT_LT(stage.daemon.resident_kib(), before + (is_sanitized() ? 32 : 8) * 1024);
}

}  // namespace
}  // namespace penstock::trial
