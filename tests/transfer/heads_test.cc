// SPDX-License-Identifier: Apache-2.0
// Heads of requests, however large: libcurl writes them in pieces, and does not know by itself when the last one has
// gone.
#include "sending.h"
#include "support/tls_authority.h"
#include "support/tls_server.h"

namespace penstock::transfer {
namespace {

constexpr std::size_t kSizes[] = {10, 16, 31, 33, 65, 200, 500, 10};  // KiB

/// Notes the head of each request of a connection, and answers it.
void read_heads(test::Origin& origin, test::Socket& peer, int) {
  for (std::string head; (head = peer.read_until("\r\n\r\n")).ends_with("\r\n\r\n");) {
    origin.note(head);
    peer.send(kOk);
  }
}

class HeadsTest : public SendingTest {
 protected:
  void expect_whole(const test::Origin& origin, const std::string& scheme) {
    std::size_t asked = 0;
    for (const std::size_t size : kSizes) {
      for (const std::string method : {"GET", "POST"}) {
        SCOPED_TRACE(scheme + " " + method + " " + std::to_string(size) + " KiB");
        const std::string value(size * 1024, 'x');
        Request asks = request(method, origin.host());
        asks.origin = scheme + "://" + origin.host() + "/";
        if (method == "POST") asks = with_length(std::move(asks), 0);
        asks.lines.add("X-Big", value);
        Recorder recorder;
        ASSERT_EQ(send(std::move(asks), recorder), Failure::none) << recorder.result.details;
        ASSERT_EQ(origin.notes().size(), ++asked);
        EXPECT_EQ(recorder.heads_sent, 1);
        EXPECT_TRUE(origin.notes().back().contains("X-Big: " + value + "\r\n"));
      }
    }
  }
};

TEST_F(HeadsTest, arrive_whole) {
  test::Origin origin(read_heads);
  expect_whole(origin, "http");
}

TEST_F(HeadsTest, arrive_whole_over_tls) {
  test::Authority authority;
  test::TlsServer tls(authority.issue());
  multi_.reset();
  multi_ = std::make_unique<Multi>(run_.loop, guard_, TlsConfig{.ca = authority.file()});
  test::Origin origin(read_heads, tls.wrap());
  expect_whole(origin, "https");
}

void answer_when_released(test::Origin& origin, test::Socket& peer, int number) {
  origin.wait_for_release();
  read_heads(origin, peer, number);
}

TEST_F(HeadsTest, are_told_of_as_soon_as_the_kernel_has_them) {
  test::Origin origin(answer_when_released);
  for (const bool upload : {false, true}) {
    Recorder recorder;
    recorder.whole = !upload;
    start(upload ? with_length(request("POST", origin.host()), 2) : request("GET", origin.host()), recorder);
    EXPECT_TRUE(run_.run_until([&] { return recorder.heads_sent > 0; }));
    EXPECT_EQ(recorder.heads_sent, 1);
    recorder.transfer.reset();
  }
  origin.release();
}

TEST_F(HeadsTest, are_not_told_of_while_a_part_of_them_waits) {
  test::Origin origin(answer_when_released);
  Request asks = request("GET", origin.host());
  asks.lines.add("X-Big", std::string(900 * 1024, 'x'));  // more than the kernel takes while nobody reads
  Recorder recorder;
  start(std::move(asks), recorder);
  ASSERT_TRUE(run_.run_until([&] { return recorder.connected > 0; }));
  EXPECT_EQ(recorder.heads_sent, 0);
  origin.release();
  ASSERT_TRUE(finish(recorder));
  EXPECT_EQ(recorder.heads_sent, 1);
}

}  // namespace
}  // namespace penstock::transfer
