// SPDX-License-Identifier: Apache-2.0
// One thread accepts, one serves each connection.
#include "support/origin.h"

#include <utility>

namespace penstock::test {

Origin::Origin(Script script, Wrap wrap, std::uint16_t port)
    : script_(std::move(script)), wrap_(std::move(wrap)), listening_(4096, port), accepting_([this] { live(); }) {}

Origin::~Origin() {
  release();
  listening_.close();
  accepting_.join();
  {
    const std::lock_guard lock(mutex_);
    for (auto& peer : peers_) peer.end_reads();
  }
  for (auto& thread : threads_) thread.join();
}

void Origin::live() {
  for (Socket peer = listening_.accept(); peer.fd() >= 0; peer = listening_.accept()) {
    const std::lock_guard lock(mutex_);
    Socket& served = peers_.emplace_back(std::move(peer));
    threads_.emplace_back([this, &served, number = ++connections_] {
      if (!wrap_ || served.put_on(wrap_)) script_(*this, served, number);
      const std::lock_guard closing(mutex_);
      served.close();
    });
  }
}

int Origin::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

void Origin::note(std::string text) {
  const std::lock_guard lock(mutex_);
  notes_.push_back(std::move(text));
}

std::vector<std::string> Origin::notes() const {
  const std::lock_guard lock(mutex_);
  return notes_;
}

Origin::Script always(std::string answer) {
  return [answer = std::move(answer)](Origin& origin, Socket& peer, int) {
    for (std::string head = peer.read_until("\r\n\r\n"); !head.empty(); head = peer.read_until("\r\n\r\n")) {
      origin.note(head);
      peer.send(answer);
    }
  };
}

}  // namespace penstock::test
