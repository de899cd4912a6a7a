// SPDX-License-Identifier: Apache-2.0
// The network of this machine, by the streams of loop/.
#include "redis/wire/network.h"

#include <random>
#include <system_error>

namespace penstock::redis {

namespace {

class Sockets final : public Network {
  std::unique_ptr<loop::Stream> dial(loop::Loop& loop, const Endpoint& there, const std::string&,
                                     loop::StreamEvents& events) override {
    return loop::Stream::dial(loop, there, events, loop::DialFor::ourselves);
  }
  std::unique_ptr<loop::Stream> dial_path(loop::Loop& loop, const std::string& path,
                                          loop::StreamEvents& events) override {
    return loop::Stream::dial_path(loop, path, events);
  }
  std::uint64_t draw() override {
    std::random_device random;
    return static_cast<std::uint64_t>(random()) << 32 | random();
  }
};

}  // namespace

Network& sockets() {
  static Sockets all;
  return all;
}

std::string why_gone(const loop::Stream& stream) {
  if (auto words = stream.failure_words(); !words.empty()) return words;
  return stream.error() == 0 ? "it closed the connection" : std::generic_category().message(stream.error());
}

}  // namespace penstock::redis
