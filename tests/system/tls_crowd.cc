// SPDX-License-Identifier: Apache-2.0
// Over poll: each does all it can whenever it has heard something.
#include "system/tls_crowd.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <vector>

namespace penstock::trial {

struct TlsCrowd::One {
  One(std::uint16_t proxy, const test::Shaking& how) : socket(Socket::connect(proxy)), reader(socket), tls(how) {}

  Socket socket;
  Reader reader;
  test::TlsClient tls;
  bool over = false;
};

TlsCrowd::TlsCrowd(const Intercepted& stage, std::size_t count,
                   const std::function<std::string(std::size_t)>& host_of) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::string host = host_of(i);
    One& one = all_.emplace_back(stage.daemon.port(), stage.trusting(host));
    one.socket.send("CONNECT " + stage.at(host) + " HTTP/1.1\r\nHost: " + stage.at(host) + "\r\n\r\n");
  }
  for (One& one : all_) EXPECT_TRUE(one.reader.head().starts_with("HTTP/1.1 200 "));
}

TlsCrowd::~TlsCrowd() = default;

void TlsCrowd::work(One& one) {
  const auto state = one.tls.shake();
  one.socket.send(one.tls.take_out());
  if (state == test::TlsClient::State::under_way) return;
  one.over = true;
  ++(state == test::TlsClient::State::done ? done_ : failed_);
}

bool TlsCrowd::shake(Clock::duration patience) {
  const auto until = Clock::now() + patience;
  for (One& one : all_) work(one);
  while (done_ + failed_ < all_.size() && Clock::now() < until) {
    std::vector<pollfd> asked;
    for (const One& one : all_) asked.push_back({one.over ? -1 : one.socket.fd(), POLLIN, 0});
    if (::poll(asked.data(), asked.size(), 100) <= 0) continue;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (asked[i].revents == 0) continue;
      std::array<char, 16 * 1024> bytes;
      const auto size = ::recv(asked[i].fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
      size > 0 ? all_[i].tls.put_in({bytes.data(), static_cast<std::size_t>(size)}) : all_[i].tls.put_end();
      work(all_[i]);
    }
  }
  return done_ + failed_ == all_.size();
}

}  // namespace penstock::trial
