// SPDX-License-Identifier: Apache-2.0
// The few socket calls that both bench tools make. Loopback IPv4 only; whatever fails ends the program with a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::bench {

[[noreturn]] void die(const std::string& why);
/// As die(), with errno's text.
[[noreturn]] void die_of_errno(const std::string& what);

/// Lifts the soft limit on open files to the hard one, and ends the program if that is fewer than `wanted`.
void allow_open_files(std::size_t wanted);

/// A non-blocking listener on a free port of 127.0.0.1.
int listen_on_loopback();
std::uint16_t port_of(int listener);

/// A connection to 127.0.0.1:`port`, non-blocking from then on, without Nagle's delay.
int connect_to_loopback(std::uint16_t port);

void set_no_delay(int fd);

int new_epoll();
/// Wants to know when `fd` is readable; `tag` comes back as the event's data.
void watch(int epoll, int fd, std::uint64_t tag);

/// Writes all of it: the messages here are far smaller than a socket's buffer. False: the peer is gone.
bool send_whole(int fd, std::string_view bytes);

}  // namespace penstock::bench
