// SPDX-License-Identifier: Apache-2.0
// See live_questions.h.
#include "app/live_questions.h"

#include <charconv>
#include <cstdio>
#include <utility>

#include "redis/wire/command.h"

namespace penstock::app {

namespace {

constexpr int kRoundTrips = 5;
constexpr std::int64_t kClockApart = 5'000'000;  // µs; less is no reason to look at clocks

std::string short_time(std::int64_t micros) {
  if (micros < 100) return std::to_string(micros) + " µs";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f ms", static_cast<double>(micros) / 1000);
  return text;
}

}  // namespace

LiveQuestions::LiveQuestions(loop::Loop& loop, loop::Resolver& resolver, redis::Network& network, RedisConfig config)
    : loop_(loop),
      config_(std::move(config)),
      session_(loop, resolver, network, config_, redis::Connection::For::commands, *this) {
  session_.dial();
}

std::string LiveQuestions::what_it_is(const std::string& where) const {
  return "Redis " + (version_.empty() ? "of unknown version" : version_) + " at " + where +
         (mode_.empty() ? "" : ", " + mode_) + (config_.tls ? ", over TLS" : ", without TLS") +
         (user_.empty() ? "" : ", as user " + user_);
}

std::string LiveQuestions::times() const {
  std::string takes = "a round trip takes " + short_time(round_trip_);
  if (!ahead_) return takes;
  return takes + ", its clock is " + short_time(*ahead_ < 0 ? -*ahead_ : *ahead_) +
         (*ahead_ < 0 ? " behind" : " ahead of") + " ours";
}

std::vector<std::string> LiveQuestions::warnings(Duration timeout) const {
  std::vector<std::string> all;
  if (id_.empty())
    all.push_back(std::string(version_.empty() ? "INFO is refused" : "INFO tells no run_id") +
                  ": a Redis that came back with an old memory is found out by its times alone, and a new semaphore "
                  "grants nothing for half a lease");
  if (!policy_.empty() && policy_ != "noeviction")
    all.push_back("maxmemory-policy is " + policy_ + ": a key that it evicts is a limit forgotten; set noeviction");
  if (ahead_ && (*ahead_ > kClockApart || *ahead_ < -kClockApart))
    all.emplace_back("the clocks of Redis and of this machine differ: windows follow that of Redis");
  if (2 * Duration{round_trip_} > timeout)
    all.push_back("a round trip takes more than half of redis.timeout, " + short_time(timeout.count()));
  return all;
}

void LiveQuestions::on_ready() {
  ask({"INFO"}, [this](const redis::Outcome& outcome) { informed(outcome); });
  ask({"ACL", "WHOAMI"}, [this](const redis::Outcome& outcome) {
    if (outcome) user_ = outcome->text();
  });
  measure(kRoundTrips);
}

void LiveQuestions::on_ended(const redis::Failure& why, std::deque<redis::Call>) {
  if (!done_) error_ = why.text;
  done_ = true;
}

void LiveQuestions::ask(std::initializer_list<std::string_view> words,
                        std::move_only_function<void(const redis::Outcome&)> then) {
  session_.send(
      {.command = redis::command(words),
       .done = [then = std::move(then)](const redis::Outcome& outcome, std::int64_t) mutable { then(outcome); }});
}

void LiveQuestions::informed(const redis::Outcome& outcome) {
  if (!outcome) return;
  const auto field = [&](std::string_view name) { return std::string(redis::field_of_info(outcome->text(), name)); };
  version_ = field("redis_version");
  id_ = field("run_id");
  mode_ = field("redis_mode");
  policy_ = field("maxmemory_policy");
}

/// One after the other, so that none waits for another.
void LiveQuestions::measure(int more) {
  const auto asked = loop_.now();
  ask({"TIME"}, [this, asked, more](const redis::Outcome& outcome) {
    const auto took = loop_.now() - asked;
    if (outcome && (round_trip_ == 0 || took < round_trip_)) timed(*outcome, took);
    if (more > 1) return measure(more - 1);
    done_ = true;
  });
}

void LiveQuestions::timed(const redis::Reply& reply, std::int64_t took) {
  auto parts = reply.elements();
  std::int64_t seconds = 0, micros = 0;
  const auto read = [&](std::int64_t& into) {
    const auto text = parts.next().text();
    return std::from_chars(text.data(), text.data() + text.size(), into).ec == std::errc();
  };
  round_trip_ = took;
  if (read(seconds) && read(micros)) ahead_ = seconds * 1'000'000 + micros - (loop_.wall() - took / 2);
}

}  // namespace penstock::app
