// SPDX-License-Identifier: Apache-2.0
// See client_listener.h.
#include "app/client_listener.h"

#include <cstddef>
#include <utility>

namespace penstock::app {

namespace {
constexpr std::size_t kSpareDescriptors = 256;  // for upstreams
}  // namespace

std::expected<void, Error> ClientListener::open(loop::Loop& loop, const Endpoint& endpoint,
                                                loop::Listener::OnConnection on_client, int handed_over) {
  auto listener = loop::Listener::listen(loop, endpoint, std::move(on_client), kSpareDescriptors, handed_over);
  if (!listener) return std::unexpected(std::move(listener.error()));
  listener_ = *std::move(listener);
  bound_ = listener_->bound();
  return {};
}

void ClientListener::close() {
  if (!listener_) return;
  pauses_ = listener_->pauses();
  listener_.reset();
}

}  // namespace penstock::app
