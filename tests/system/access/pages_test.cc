// SPDX-License-Identifier: Apache-2.0
// Pages in a browser of this machine, which may send requests to any port here without asking anybody: gateways and the
// admin port are not for them.
#include <gmock/gmock.h>

#include "system/stage.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;

struct GatewayPages {
  GatewayPages()
      : daemon({.yaml = "upstreams: { api: { baseUrl: 'http://" + origin.host() + "/v1' } }\n"}),
        self(daemon.host()),
        port(":" + std::to_string(daemon.port())) {}

  Reply ask(const std::string& method, const std::string& host, const std::string& lines = "",
            const std::string& target = "/@api/x") const {
    return daemon.ask(method + " " + target + " HTTP/1.1\r\nHost: " + host + "\r\n" + lines + "\r\n");
  }

  Origin origin;
  Daemon daemon;
  const std::string self, port;
};

void expect_page_denied(const Reply& reply, const std::string& why) {
  expect_own_answer(reply, {403}, "http_request_denied");
  EXPECT_THAT(reply.reason, HasSubstr(why));
  EXPECT_FALSE(reply.fields.has("access-control-allow-origin"));
}

TEST(Page, elsewhere_uses_no_gateway) {
  GatewayPages stage;
  const std::string marks[] = {
      "Origin: https://evil.example\r\n",
      "Origin: null\r\n",
      "Origin: http://127.0.0.1:1\r\n",
      "Origin: http://localhost" + stage.port + "\r\n",
      "Sec-Fetch-Site: cross-site\r\n",
      "Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: no-cors\r\n",
      "Origin: https://evil.example\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n",
      "Origin: https://evil.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n",
  };
  for (const auto& mark : marks) {
    SCOPED_TRACE(mark);
    expect_page_denied(stage.ask("GET", stage.self, mark), "not for pages in browsers");
    expect_page_denied(stage.ask("POST", stage.self, mark), "not for pages in browsers");
    expect_page_denied(stage.ask("OPTIONS", stage.self, mark), "not for pages in browsers");
    expect_page_denied(stage.ask("GET", stage.self, mark, "http://" + stage.self + "/@api/x"),
                       "not for pages in browsers");
  }
  EXPECT_EQ(stage.origin.connections(), 0u);
  EXPECT_EQ(stage.daemon.metric("penstock_refusals_total", "kind=\"page_denied\""), 4.0 * std::size(marks));
}

TEST(Proxy, is_no_gateway_and_takes_requests_with_an_origin) {
  GatewayPages stage;
  EXPECT_EQ(
      stage
          .ask("GET", "evil.example", "Origin: https://a.example\r\nSec-Fetch-Site: cross-site\r\n", stage.origin.url())
          .body,
      "hello");
}

TEST(AdminPort, is_not_for_pages) {
  const Daemon daemon;
  const auto status = [&](const std::string& host, const std::string& lines = "") {
    Client client(daemon.admin_port());
    client.send("GET /status HTTP/1.1\r\nHost: " + host + "\r\n" + lines + "\r\n");
    return client.reply();
  };
  const std::string port = ":" + std::to_string(daemon.admin_port());
  for (const Reply& reply :
       {status("127.0.0.1" + port, "Origin: https://evil.example\r\n"),
        status("127.0.0.1" + port, "Sec-Fetch-Site: cross-site\r\n"), status("evil.example" + port)}) {
    EXPECT_EQ(reply.status, 403);
    EXPECT_EQ(reply.body.find("upstreams"), std::string::npos);
  }
  EXPECT_EQ(status("127.0.0.1" + port).status, 200);
  EXPECT_EQ(status("localhost" + port).status, 200);
  EXPECT_EQ(status("penstock" + port).status, 200) << "as Prometheus asks between containers";
  EXPECT_EQ(status("127.0.0.1" + port, "Sec-Fetch-Site: none\r\n").status, 200);
}

}  // namespace
}  // namespace penstock::trial
