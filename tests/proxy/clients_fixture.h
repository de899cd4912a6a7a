// SPDX-License-Identifier: Apache-2.0
// Clients over real sockets, before a Dispatcher on a loop.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <string>

#include "loop/listener.h"
#include "proxy/client/clients.h"
#include "proxy/dispatcher_fixture.h"

namespace penstock::proxy {

class ClientsTest : public DispatcherTest {
 protected:
  ~ClientsTest() override {
    dispatcher_.reset();
    clients_.reset();
  }

  test::Socket connect() {
    if (!clients_) {
      dispatcher();
      clients_ = std::make_unique<Clients>(*dispatcher_, Services{.loop = run_.loop,
                                                                  .resolver = *resolver_,
                                                                  .connections = *pools_,
                                                                  .verdict = *verdict_,
                                                                  .config = config_,
                                                                  .events = [](const Event&) {},
                                                                  .make_limiter = {}});
      listener_ =
          std::move(*loop::Listener::listen(run_.loop, {"127.0.0.1", 0}, [this](std::unique_ptr<loop::Stream> stream) {
            clients_->admit(std::move(stream));
          }));
    }
    return test::connect_to(listener_->bound().port);
  }
  /// What the client gets until the other side closes.
  std::string conversation(const std::string& says) {
    test::Socket client = connect();
    client.send(says);
    auto heard = std::async(std::launch::async, [&] { return client.read_to_end(); });
    EXPECT_TRUE(run_.run_until([&] { return heard.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
    return heard.get();
  }
  static std::string request(const std::string& method, const std::string& host, const std::string& path,
                             const std::string& lines = "") {
    return method + " http://" + host + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + lines + "\r\n";
  }

  std::unique_ptr<Clients> clients_;
  std::unique_ptr<loop::Listener> listener_;
};

}  // namespace penstock::proxy
