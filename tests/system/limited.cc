// SPDX-License-Identifier: Apache-2.0
// What the tests about limits have in common.
#include "system/limited.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace penstock::trial {

std::string api(std::string_view settings) {
  return "upstreams:\n  api: { match: [127.0.0.1, localhost], " + std::string(settings) + " }\n";
}

std::string shut_for(std::string_view access) { return "access: { " + std::string(access) + " }\n"; }

Limited::Limited(std::string_view settings, std::string_view grace)
    : Stage({.yaml = api(settings), .grace = std::string(grace)}) {
  begin();
}

void Limited::begin() {
  before_ = origin.count();
  start = Clock::now();
}

std::vector<Clock::duration> Limited::arrivals(std::string_view path) const {
  const auto seen = origin.seen();
  std::vector<Clock::duration> times;
  for (std::size_t i = before_; i < seen.size(); ++i) {
    if (seen[i].target.starts_with(path)) times.push_back(seen[i].at - start);
  }
  std::sort(times.begin(), times.end());
  return times;
}

void Limited::expect_arrivals(std::size_t count, const std::function<Clock::duration(int)>& due,
                              std::string_view path) const {
  const auto times = arrivals(path);
  EXPECT_EQ(times.size(), count);
  for (std::size_t k = 0; k < times.size(); ++k) {
    const auto its_due = due(static_cast<int>(k));
    EXPECT_GE(times[k] / 1us, its_due / 1us) << "arrival " << k << " is early";
    EXPECT_TRUE(within(its_due + kLate, start, start + times[k])) << "arrival " << k << " is late";
  }
}

void Limited::send(int count, std::string_view path, std::string_view lines) {
  for (int i = 0; i < count; ++i) clients.emplace_back(daemon.port()).send(get(url(path), lines));
}

Client& Limited::send_one(std::string_view path, std::string_view lines) {
  const std::size_t before = arrived();
  send(1, path, lines);
  EXPECT_TRUE(eventually([&] { return arrived() > before; }));
  return clients.back();
}

std::size_t Limited::arrived() const {
  const Json api = daemon.status("api");
  std::size_t count = api.at("pending");
  for (const char* way : {"dispatched", "refused", "clientGonePending"})
    count += api.at("totals").at(way).get<std::size_t>();
  return count;
}

void Limited::expect_all_served() {
  for (auto& client : clients) EXPECT_EQ(client.reply().status, 200);
  clients.clear();
}

std::vector<std::string> Limited::limited_by(std::size_t count, const std::string& kind) const {
  std::vector<std::string> names;
  for (const auto& event : daemon.await_events(count, kind)) names.push_back(event.value("limitedBy", ""));
  return names;
}

void expect_limited(const Reply& reply, int status, std::string_view limit) {
  expect_own_answer(reply, {status}, status == 429 ? "http_request_denied" : "connection_limit_reached");
  EXPECT_THAT(reply.field("proxy-status"), testing::HasSubstr("limited by " + std::string(limit)));
  EXPECT_THAT(reply.reason, testing::HasSubstr("limited by " + std::string(limit)));
  EXPECT_GE(retry_after(reply), 1);
}

int retry_after(const Reply& reply) { return std::atoi(reply.field("retry-after").c_str()); }

}  // namespace penstock::trial
