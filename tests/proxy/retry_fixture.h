// SPDX-License-Identifier: Apache-2.0
// Requests that upstreams refuse, and that are to be asked again.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <utility>

#include "proxy/dispatcher_fixture.h"

namespace penstock::proxy {

inline const std::string kBusy =
    "HTTP/1.1 429 Slow down\r\nX-No: 1\r\nRetry-After-Ms: 5\r\nContent-Length: 4\r\n\r\nbusy";

class RetryTest : public DispatcherTest {
 protected:
  RetryTest() {
    config_.unmatched.queue.max_wait = std::chrono::seconds{20};
    config_.unmatched.obey = Obey::automatic;
  }

  /// Reads requests with a body of so many bytes on the wire; answers the first ones with `refusal`, then with `then`.
  test::Origin::Script refuses(int times, std::string refusal, std::size_t body = 0, std::string then = kOk) {
    return [this, times, body, refusal = std::move(refusal), then = std::move(then)](test::Origin& self,
                                                                                     test::Socket& peer, int) {
      for (std::string head = peer.read_until("\r\n\r\n"); !head.empty(); head = peer.read_until("\r\n\r\n")) {
        if (body > 0) head += peer.read(body);
        self.note(head);
        peer.send(++asked_ <= times ? refusal : then);
      }
    };
  }
  void expect_all_the_same(const test::Origin& origin, std::size_t times) {
    const auto notes = origin.notes();
    ASSERT_EQ(notes.size(), times);
    for (const auto& note : notes) EXPECT_EQ(note, notes[0]);
  }
  /// The limit lets one request leave, and no other before the deadline.
  void allow_one_departure() {
    config_.unmatched.limits = {{.kind = CounterConfig{.max = 1, .period = std::chrono::hours{24}}}};
  }
  bool waits_again(const Asker& asker) {
    return run_.run_until([&] { return asker.exchange && asker.exchange->sendings.back_since != 0; });
  }

  std::atomic<int> asked_ = 0;
  Asker asker_;
};

}  // namespace penstock::proxy
