// SPDX-License-Identifier: Apache-2.0
// Clients inside their CONNECT.
#include "system/intercepted.h"

#include <map>
#include <optional>
#include <utility>

namespace penstock::trial {

bool TlsCaller::shake() {
  return socket().put_on([this](int fd) -> std::unique_ptr<test::Layer> {
    auto made = std::make_unique<test::TlsClientLayer>(tls, fd);
    if (!made->shake()) return nullptr;
    layer = made.get();
    return made;
  });
}

namespace {

/// Every name leads to this machine.
std::optional<test::NameServer::Reply> answer(const std::string&, std::uint16_t type) {
  test::NameServer::Reply reply;
  if (type == test::NameServer::kA) reply.addresses = {"127.0.0.1"};
  return reply;
}

std::map<std::string, std::string> environment(const Scene& scene, const test::Authority& roots) {
  auto all = scene.environment;
  if (scene.knows_roots) all.emplace("SSL_CERT_FILE", roots.file());
  return all;
}

std::string behind_comma(const std::string& keys) { return keys.empty() ? "" : ", " + keys; }

}  // namespace

Intercepted::Intercepted(Scene its)
    : scene(std::move(its)),
      tls(roots.issue(scene.shown)),
      origin(tls.wrap()),
      names(&answer),
      daemon({.yaml = yaml(), .grace = scene.grace, .environment = environment(scene, roots)}),
      port(origin.port()) {}

std::string Intercepted::yaml(const test::Authority* by) const {
  const test::Authority& authority = by ? *by : ours;
  std::string ports = std::to_string(origin.port());
  for (const auto more : scene.ports) ports += ", " + std::to_string(more);
  return "upstreams: { " + scene.more_upstreams + "api: { match: " + scene.match + ", https: " + scene.https + ", " +
         scene.settings + " } }\nintercept: { ca: " + authority.file() + ", key: " + authority.key_file() +
         behind_comma(scene.intercept) + " }\naccess: { plainPorts: [], connectPorts: [" + ports + "]" +
         behind_comma(scene.access) + " }\ndns: { servers: ['" + names.address() + "'] }\n" + scene.yaml;
}

std::unique_ptr<TlsCaller> Intercepted::connect(const test::Shaking& how, const std::string& host,
                                                const std::string& lines, const char* from, int receive_buffer) const {
  auto client = std::make_unique<TlsCaller>(daemon.port(), how, from, receive_buffer);
  const std::string there = at(host);
  client->send("CONNECT " + there + " HTTP/1.1\r\nHost: " + there + "\r\n" + lines + "\r\n");
  EXPECT_EQ(client->head().status, 200);
  return client;
}

std::unique_ptr<TlsCaller> Intercepted::open(const std::string& host, int receive_buffer) const {
  auto client = connect(trusting(host), host, "", nullptr, receive_buffer);
  EXPECT_TRUE(client->shake()) << client->tls.words();
  return client;
}

std::string Intercepted::request(const std::string& path, const std::string& lines, const std::string& method) const {
  return method + " " + path + " HTTP/1.1\r\nHost: " + at() + "\r\n" + lines + "\r\n";
}

Reply Intercepted::fetch(const std::string& path, const std::string& lines) const {
  const auto client = open();
  client->send(request(path, lines));
  return client->reply();
}

std::vector<Json> Intercepted::failures(std::size_t count) const {
  return daemon.await_events(count, [](const Json& event) {
    return event.at("method") == "CONNECT" && (event.at("event") == "gone" || event.at("event") == "refused");
  });
}

void Intercepted::expect_served(TlsCaller& client) const {
  const std::size_t before = origin.count();
  client.send(request("/a-healthy-request"));
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.whole);
  EXPECT_EQ(origin.count(), before + 1) << "only the healthy request";
}

}  // namespace penstock::trial
