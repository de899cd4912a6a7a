// SPDX-License-Identifier: Apache-2.0
// Bind, listen, accept.
#include "loop/listener.h"

#include <uv.h>

#include <utility>

#include "loop/socket_address.h"

namespace penstock::loop {

namespace {
constexpr int kBacklog = 4096;

void close_and_free(uv_tcp_t* tcp) {
  uv_close(reinterpret_cast<uv_handle_t*>(tcp),
           [](uv_handle_t* closed) { delete reinterpret_cast<uv_tcp_t*>(closed); });
}

int bind(uv_tcp_t* tcp, const Endpoint& endpoint) {
  sockaddr_storage address{};
  const int error = socket_address_of(endpoint, address);
  return error != 0 ? error : uv_tcp_bind(tcp, reinterpret_cast<const sockaddr*>(&address), 0);
}
}  // namespace

std::expected<std::unique_ptr<Listener>, Error> Listener::listen(Loop& loop, const Endpoint& endpoint,
                                                                 OnConnection on_connection) {
  auto* tcp = new uv_tcp_t;
  uv_tcp_init(loop.uv(), tcp);
  std::unique_ptr<Listener> listener(new Listener(loop, tcp, std::move(on_connection)));
  int error = bind(tcp, endpoint);
  const auto accept = [](uv_stream_t* listening, int status) {
    auto* self = static_cast<Listener*>(listening->data);
    if (status != 0) return;
    if (auto stream = Stream::accept(self->loop_, listening)) self->on_connection_(std::move(stream));
  };
  if (error == 0) error = uv_listen(reinterpret_cast<uv_stream_t*>(tcp), kBacklog, accept);
  if (error == 0) return listener;
  return std::unexpected(
      Error{.token = {}, .message = "cannot listen on " + to_string(endpoint) + ": " + uv_strerror(error)});
}

Listener::Listener(Loop& loop, uv_tcp_t* tcp, OnConnection on_connection)
    : loop_(loop), tcp_(tcp), on_connection_(std::move(on_connection)) {
  tcp_->data = this;
}

Listener::~Listener() { close_and_free(tcp_); }

Endpoint Listener::bound() const {
  sockaddr_storage address{};
  int size = sizeof address;
  uv_tcp_getsockname(tcp_, reinterpret_cast<sockaddr*>(&address), &size);
  return endpoint_of(reinterpret_cast<const sockaddr*>(&address));
}

}  // namespace penstock::loop
