// SPDX-License-Identifier: Apache-2.0
// What first bytes say: a request, something else, or nothing yet, and that however they are cut.
#include "http/protocol_sniff.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock::http {
namespace {

using namespace std::string_literals;

/// The verdict, which must be the same from the first byte on that allows one.
Protocol verdict(std::string_view bytes) {
  Protocol first = Protocol::undecided;
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const Protocol now = sniff_protocol(bytes.substr(0, size));
    if (first == Protocol::undecided) first = now;
    EXPECT_EQ(now, first) << bytes.substr(0, size);
  }
  return first;
}

TEST(Protocol, of_a_request_are_a_method_and_a_target) {
  for (const char* bytes : {"GET / HTTP/1.1\r\n", "M-SEARCH * HTTP/1.1", "get http://h/", "X HTTPS://h/",
                            "CONNECT h:80 HTTP/1.1", "CONNECT :", "PRIX /"}) {
    EXPECT_EQ(verdict(bytes), Protocol::request) << bytes;
  }
}

TEST(Protocol, of_other_protocols_are_known) {
  for (const std::string& bytes :
       {"\x16\x03\x01\x02"s, "\0"s, " GET /"s, "\r\nGET / HTTP/1.1"s, "PRI * HTTP/2.0\r\n\r\nSM"s,
        "EHLO mail.test\r\n"s, "SSH-2.0-OpenSSH_9.2\r\n"s, "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"s, "PING\r\n"s,
        "GET\t/"s, "GET  /"s, std::string(33, 'A')}) {
    EXPECT_EQ(verdict(bytes), Protocol::other) << bytes;
  }
}

TEST(Protocol, may_be_too_few) {
  for (const char* bytes : {"", "G", "GET", "GET ", "CONNECT", "aVeryLongMethodOfThirtyTwoBytes."}) {
    EXPECT_EQ(verdict(bytes), Protocol::undecided) << bytes;
  }
}

}  // namespace
}  // namespace penstock::http
