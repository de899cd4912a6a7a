// SPDX-License-Identifier: Apache-2.0
// Daemons that share, clients without end, and a relay of two threads a connection.
#include "system/redis_stage.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <ranges>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "support/core_time.h"

namespace penstock::trial {

bool throughout(Clock::duration time, const std::function<bool()>& condition) {
  bool held = true;
  eventually([&] { return !(held = condition()); }, time);
  return held;
}

namespace {
Clock::duration ahead_of_steady() {
  return std::chrono::system_clock::now().time_since_epoch() - Clock::now().time_since_epoch();
}
}  // namespace

void Arrivals::watch(pid_t program) {
  const std::lock_guard lock(mutex_);
  for (const auto& thread : test::threads_of(program)) watched_[thread] = test::core_time_of(thread).waited;
}

Arrivals::Arrival Arrivals::note() {
  thread_local Clock::duration here{};
  const auto since = [](Clock::duration& before, Clock::duration now) {
    return std::max(Clock::duration{}, now - std::exchange(before, now));  // nothing is told of a thread that has ended
  };
  const std::lock_guard lock(mutex_);
  const auto at = std::chrono::system_clock::now();
  Clock::duration waited = since(here, test::core_time_of().waited);
  for (auto& [thread, before] : watched_) waited += since(before, test::core_time_of(thread).waited);
  return all_.emplace_back(at, waited);
}

std::vector<Arrivals::Arrival> Arrivals::all() const {
  const std::lock_guard lock(mutex_);
  return all_;
}

std::vector<Arrivals::Time> Arrivals::times() const {
  std::vector<Time> times;
  for (const auto& arrival : all()) times.push_back(arrival.at);
  return times;
}

Clock::duration Arrivals::waited(Moment from, Moment to) const {
  Clock::duration all_waited{};
  const auto ahead = ahead_of_steady();
  for (const auto& arrival : all()) {
    const Moment at(arrival.at.time_since_epoch() - ahead);
    if (at > from && at <= to) all_waited += arrival.waited;
  }
  return all_waited;
}

bool Arrivals::await(std::size_t count) const {
  return eventually([&] { return this->count() >= count; });
}

std::size_t fullest_in_time(const Arrivals& noted, Clock::duration length) {
  const auto arrivals = noted.all();
  constexpr auto kHeldUp = 50ms;  // what waits leaves with what was due meanwhile
  const auto ahead = ahead_of_steady();
  std::size_t most = 0;
  Clock::duration spoilt{};
  for (auto first = arrivals.begin(); first != arrivals.end(); ++first) {
    const Moment at(first->at.time_since_epoch() - ahead);
    Clock::duration waited{};
    for (auto near = first; near->at > first->at - kHeldUp; --near) {
      waited += near->waited;
      if (near == arrivals.begin()) break;
    }
    const auto late = machine_late(at - length, at) + std::min<Clock::duration>(waited, kHeldUp);
    if (late > length / 4) {
      spoilt = std::max(spoilt, late);
      continue;
    }
    const auto end =
        std::ranges::lower_bound(first, arrivals.end(), first->at + length - late, {}, &Arrivals::Arrival::at);
    most = std::max(most, static_cast<std::size_t>(end - first));
  }
  if (spoilt > 0s) test::say_not_judged(spoilt, "a stretch before which arrivals were held up");
  return most;
}

std::vector<std::size_t> per_window(const std::vector<Arrivals::Time>& times, Clock::duration length) {
  std::vector<std::size_t> counts;
  if (times.empty()) return counts;
  const auto first = times.front().time_since_epoch() / length;
  for (const auto at : times) {
    const auto nth = static_cast<std::size_t>(at.time_since_epoch() / length - first);
    if (nth >= counts.size()) counts.resize(nth + 1);
    ++counts[nth];
  }
  return counts;
}

std::string yaml_of(const Shared& shared, std::uint16_t port) {
  std::string yaml = "redis: { url: \"redis://" + shared.login + "127.0.0.1:" + std::to_string(port) +
                     "\", whenDown: " + shared.when_down + ", timeout: " + shared.timeout + shared.redis +
                     " }\nupstreams:\n  api:\n    match: 127.0.0.1\n";
  std::istringstream keys(shared.upstream);
  for (std::string line; std::getline(keys, line);) yaml += "    " + line + "\n";
  yaml += "    limits:\n";
  std::istringstream limits("- " + shared.limits);
  for (std::string line; std::getline(limits, line);) yaml += "      " + line + "\n";
  return yaml;
}

SharedStage::SharedStage(Shared given, std::vector<std::string> options)
    : shared(std::move(given)), redis(std::move(options)) {
  origin.otherwise([this](Visit& visit) {
    arrivals.note();
    if (visit.read_body()) visit.answer(200, "hello");
  });
}

SharedStage::~SharedStage() { EXPECT_EQ(origin.complaint(), ""); }

/// A daemon listens to two channels. Ids of connections ascend. 0: none listens.
std::int64_t SharedStage::newest_listener() {
  const std::string all = redis.run({"CLIENT", "LIST", "TYPE", "pubsub"}).text;
  std::int64_t newest = 0;
  for (const auto line : std::views::split(all, '\n')) {
    const std::string one(line.begin(), line.end());
    if (one.find(" sub=2 ") == std::string::npos) continue;
    newest = std::max<std::int64_t>(newest, std::stoll(one.substr(3)));  // behind "id="
  }
  return newest;
}

Daemon& SharedStage::add(const Shared& changed, bool await_redis) {
  const bool own_redis = changed.port == 0;
  const std::int64_t before = own_redis && await_redis ? newest_listener() : 0;
  Given given{.yaml = yaml_of(changed, changed.port == 0 ? redis.port() : changed.port)};
  if (changed.clock != 0)
    given.environment = {{"LD_PRELOAD", PENSTOCK_WRONG_CLOCK}, {"WRONG_CLOCK", std::to_string(changed.clock)}};
  Daemon& daemon = daemons.emplace_back(given);
  if (await_redis) {
    EXPECT_TRUE(eventually([&] { return is_up(daemon) && !is_degraded(daemon); })) << daemon.diagnostics();
    if (own_redis) {
      EXPECT_TRUE(eventually([&] { return newest_listener() > before; })) << "it hears what others tell";
    }
  }
  return daemon;
}

Daemon& SharedStage::add(const Relay& relay) {
  Shared far = shared;
  far.port = relay.port();
  return add(far);
}

std::vector<std::uint16_t> SharedStage::ports() const {
  std::vector<std::uint16_t> ports;
  for (const auto& daemon : daemons) ports.push_back(daemon.port());
  return ports;
}

Reply SharedStage::fetch(const Daemon& by, std::string_view path, std::string_view lines) const {
  return by.ask(get(origin.url(path), lines));
}

std::string SharedStage::value(std::string_view name) { return redis.run({"GET", key(name)}).text; }

/// Each tells of itself once a second, and hears of the others by that: all have, once the others were there.
void SharedStage::expect_acquainted() {
  const auto seen = [this](const char* nth) {
    const auto found = redis.run({"ZRANGE", key("alive"), nth, nth, "WITHSCORES"});
    return found.items.size() == 2 ? std::stod(found.items[1].text) : 0;
  };
  const auto all = static_cast<std::int64_t>(daemons.size());
  ASSERT_TRUE(eventually([&] { return redis.run({"ZCARD", key("alive")}).integer == all; }));
  for (int i = 0; i < 2; ++i) {  // the answer to a touch may still be on its way, that to the one before it is not
    const double last = seen("-1");
    ASSERT_TRUE(eventually([&] { return seen("0") > last; }));
  }
}

bool comes_to_say(const Daemon& daemon, const std::string& words) {
  return eventually([&] { return daemon.diagnostics().find(words) != std::string::npos; });
}
bool is_up(const Daemon& daemon) { return daemon.metric("penstock_redis_up") == 1; }
bool is_degraded(const Daemon& daemon) { return daemon.metric("penstock_degraded") == 1; }

double errors(const Daemon& daemon, std::string_view kind) {
  return daemon.metric("penstock_redis_errors_total", "kind=\"" + std::string(kind) + "\"");
}

bool has_told_redis(const Daemon& daemon) {
  const auto calls = [&] { return daemon.metric("penstock_redis_calls_total"); };
  // Some are never answered, such as a subscription. What is called between the two readings counts as unanswered.
  const auto unanswered = [&] {
    const double answered = daemon.metric("penstock_redis_round_trip_seconds_count");
    return calls() - answered;
  };
  double least = unanswered();
  const double before = calls();  // later: what the reading above has missed is not the call that is waited for
  return eventually([&] {
    const bool again = calls() > before;
    const double now = unanswered();
    least = std::min(least, now);
    return again && now == least;
  });
}

void expect_back(const Daemon& daemon, Moment since) {
  EXPECT_TRUE(eventually([&] { return is_up(daemon) && !is_degraded(daemon); })) << daemon.diagnostics();
  EXPECT_TRUE(within(kRecovered, since)) << daemon.diagnostics();
}

std::size_t lines_with(const std::string& text, std::string_view words) {
  std::size_t count = 0;
  for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
  return count;
}

std::vector<std::string> acl_rule_of_the_docs(std::size_t nth) {
  std::ifstream page(PENSTOCK_SOURCES "/docs/limits.md");
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("ACL SETUSER penstock ") || nth-- > 0) continue;
    std::istringstream words(line);
    return {std::istream_iterator<std::string>(words), {}};
  }
  throw std::runtime_error("docs/limits.md has no such rule");
}

std::set<std::string> refused_by(test::RedisServer& redis) {
  std::set<std::string> refused;
  for (const auto& entry : redis.run({"ACL", "LOG"}).items) {
    for (std::size_t i = 0; i + 1 < entry.items.size(); i += 2)
      if (entry.items[i].text == "object") refused.insert(entry.items[i + 1].text);
  }
  return refused;
}

Load::Load(const std::vector<std::uint16_t>& ports, std::string url, int clients_each) {
  for (const auto port : ports) {
    for (int i = 0; i < clients_each; ++i) threads_.emplace_back([=, this] { work(port, url); });
  }
}

Load::Answers Load::stop() {
  stopping_ = true;
  for (auto& thread : threads_) thread.join();
  threads_.clear();
  return answers_;
}

namespace {

std::string words_of(const Reply& reply) {
  return (reply.whole ? "" : "broken off: ") + std::to_string(reply.status) + " " + reply.reason;
}

}  // namespace

void expect_only_successes(const Load::Answers& answers) {
  EXPECT_THAT(answers.by_words, testing::ElementsAre(testing::Key(testing::StartsWith("200 "))));
}

/// A daemon that was killed has no more clients.
void Load::work(std::uint16_t port, const std::string& url) try {
  for (std::unique_ptr<Client> client; !stopping_;) {
    if (!client) client = std::make_unique<Client>(port);
    const auto sent = Clock::now();
    client->send(get(url));
    const Reply reply = client->reply();
    const auto heard = Clock::now();
    const auto wait = heard - sent - machine_late(sent, heard);
    const std::lock_guard lock(mutex_);
    ++answers_.by_words[words_of(reply)];
    answers_.longest = std::max(answers_.longest, wait);
    if (!reply.whole || reply.field("connection") == "close") client.reset();
  }
} catch (const std::runtime_error&) {
}

Relay::Relay(std::uint16_t target, std::function<Ear()> new_ear)
    : target_(target), new_ear_(std::move(new_ear)), listener_(Socket::listen(64, &port_)) {
  acceptor_ = std::thread([this] { accept(); });
}

Relay::~Relay() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    listener_.shut_down();
    for (auto& link : links_) link.near.shut_down(), link.far.shut_down();
  }
  acceptor_.join();
  for (auto& link : links_) link.asks.join(), link.replies.join();
}

void Relay::hold(std::string spared) {
  const std::lock_guard lock(mutex_);
  holds_ = true;
  spared_ = std::move(spared), held_.clear();
}

void Relay::hold_those_of(std::string words) {
  const std::lock_guard lock(mutex_);
  holds_ = true;
  held_ = std::move(words), spared_.clear();
}

void Relay::pass() {
  const std::lock_guard lock(mutex_);
  loses_ = holds_ = false;
  slow_ = Clock::duration{};
  changed_.notify_all();
}

/// What Linux sends for a stream that is made one without a peer.
void Relay::reset() {
  const std::lock_guard lock(mutex_);
  const sockaddr nobody{.sa_family = AF_UNSPEC, .sa_data = {}};
  for (auto& link : links_) {
    if (link.near.fd() >= 0) ::connect(link.near.fd(), &nobody, sizeof nobody);
    link.far.shut_down();
  }
}

/// Once it may. False: the relay ends.
bool Relay::may_pass(const Link& link) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopping_ || !is_held(link); });
  return !stopping_;
}

bool Relay::is_held(const Link& link) const {
  if (!held_.empty()) return holds_ && link.first.substr(0, 100).find(held_) != std::string::npos;
  return holds_ && (spared_.empty() || link.first.find(spared_) == std::string::npos);
}

void Relay::accept() {
  for (;;) {
    Socket near(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    if (near.fd() < 0) continue;
    Socket far;
    try {
      far = Socket::connect(target_);
    } catch (const std::runtime_error&) {  // Redis is down
      continue;
    }
    Link& link = links_.emplace_back();
    link.near = std::move(near), link.far = std::move(far);
    if (new_ear_) link.ear = new_ear_();
    link.asks = std::thread([this, &link] { carry_asks(link); });
    link.replies = std::thread([this, &link] { carry_replies(link); });
  }
}

void Relay::carry_asks(Link& link) {
  for (std::string bytes; link.near.receive(bytes, Clock::now() + 1h); bytes.clear()) {
    if (link.first.empty()) {
      const std::lock_guard lock(mutex_);
      link.first = bytes;
    }
    if (!may_pass(link) || link.far.send(bytes) == 0) break;
  }
  link.near.shut_down(), link.far.shut_down();
}

void Relay::carry_replies(Link& link) {
  for (std::string bytes; link.far.receive(bytes, Clock::now() + 1h); bytes.clear()) {
    if (loses_) break;
    if (link.ear) link.ear(bytes);
    if (const auto late = slow_.load(); late > 0s) std::this_thread::sleep_for(late);
    if (!may_pass(link)) break;
    if (link.near.send(bytes) == 0) break;
  }
  link.near.shut_down(), link.far.shut_down();
}

}  // namespace penstock::trial
