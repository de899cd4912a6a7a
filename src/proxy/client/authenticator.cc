// SPDX-License-Identifier: Apache-2.0
// The remembered credentials, the queue of checks, and the check under way on the worker thread.
#include "proxy/client/authenticator.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "access/password.h"

namespace penstock::proxy {

namespace {

constexpr std::size_t kMostKnown = 4096;
constexpr std::size_t kMostWaiting = 128;
constexpr std::size_t kMostOfOneClient = 16;

std::uint64_t random_word() {
  std::random_device random;
  return static_cast<std::uint64_t>(random()) << 32 | random();
}

base::SipKey random_key() { return {random_word(), random_word()}; }

http::Refusal missing() {
  return {
      .why = http::Reason::credentials,
      .details = "this proxy wants a user and a password: http://USER:PASSWORD@HOST:PORT as its URL (access.users)"};
}

http::Refusal wrong() {
  return {.why = http::Reason::credentials, .details = "the user or the password is wrong (access.users)"};
}

http::Refusal busy() {
  return http::refusal_until(http::Reason::credentials_busy, "too many passwords are to be checked",
                             Duration{1'000'000});
}

bool is_abandoned(const auto& askers) {
  return std::ranges::all_of(askers, [](const auto& asker) { return asker.expired(); });
}

}  // namespace

Authenticator::Authenticator(loop::Loop& loop) : loop_(loop), keys_{random_key(), random_key(), random_key()} {}

Authenticator::~Authenticator() = default;

void Authenticator::set_users(std::optional<access::Users> users) {
  if (users == users_) return;
  users_ = std::move(users);
  ++generation_;
  known_.clear();
  known_since_.clear();
}

Authenticator::Key Authenticator::key_of(std::string_view encoded) const {
  return {base::sip_hash(keys_[0], encoded), base::sip_hash(keys_[1], encoded)};
}

std::optional<Authenticator::Verdict> Authenticator::ask(const http::Fields& request) {
  const auto encoded = http::basic_credentials(request);
  if (!encoded) return std::unexpected(encoded.error());
  if (encoded->empty()) return std::unexpected(missing());
  const auto known = known_.find(key_of(*encoded));
  if (known == known_.end()) return std::nullopt;
  return known->second;
}

std::expected<std::unique_ptr<Authenticator::Check>, http::Refusal> Authenticator::check(const http::Fields& request,
                                                                                         const access::Address& from,
                                                                                         OnVerdict on_verdict) {
  const auto encoded = http::basic_credentials(request).value_or("");
  auto credentials = http::decode_basic(encoded);
  if (!credentials) return std::unexpected(wrong());
  const Key key = key_of(encoded);
  const auto client = access::client_of(from);
  Trial* trial = find_trial(key);
  if (ended_ || (!trial && !make_room(client))) return std::unexpected(busy());
  if (!trial) {
    waiting_.push_back(std::make_unique<Trial>(
        Trial{.key = key, .client = client, .credentials = *std::move(credentials), .askers = {}}));
    trial = waiting_.back().get();
    trial->turn = next_slot(client);
  }
  auto check = std::make_unique<Check>();
  check->on_verdict_ = std::make_shared<OnVerdict>(std::move(on_verdict));
  trial->askers.push_back(check->on_verdict_);
  try_next();
  return check;
}

void Authenticator::end() {
  ended_ = true;
  auto all = std::exchange(waiting_, {});
  if (under_way_) all.push_back(std::exchange(under_way_, nullptr));  // its result may come too late
  for (const auto& trial : all) tell(*trial, std::unexpected(busy()));
}

/// A program may open many connections at once with the same password: they share one check.
Authenticator::Trial* Authenticator::find_trial(const Key& key) {
  if (under_way_ && under_way_->key == key) return under_way_.get();
  const auto found = std::ranges::find(waiting_, key, [](const auto& trial) { return trial->key; });
  return found == waiting_.end() ? nullptr : found->get();
}

std::size_t Authenticator::waiting_of(const access::Address& client) const {
  const auto count = std::ranges::count(waiting_, client, [](const auto& trial) { return trial->client; });
  return static_cast<std::size_t>(count);
}

bool Authenticator::make_room(const access::Address& client) {
  std::erase_if(waiting_, [](const auto& trial) { return is_abandoned(trial->askers); });
  const auto of_client = waiting_of(client);
  if (of_client >= kMostOfOneClient) return false;
  return waiting_.size() < kMostWaiting || take_place_for(of_client);
}

/// Takes the place of the newest check of the client with most checks, if that evens out the numbers: a few clients
/// with many checks must not shut out the others.
bool Authenticator::take_place_for(std::size_t of_newcomer) {
  const auto share = [this](const auto& trial) { return std::pair(waiting_of(trial->client), trial->turn); };
  const auto youngest = std::ranges::max_element(waiting_, {}, share);
  if (waiting_of((*youngest)->client) <= of_newcomer + 1) return false;
  const auto trial = std::move(*youngest);
  waiting_.erase(youngest);
  tell(*trial, std::unexpected(busy()));
  return true;
}

/// Numbers a check so that each client gets one per round, however many it has queued.
std::uint64_t Authenticator::next_slot(const access::Address& client) const {
  std::uint64_t last = under_way_ && under_way_->client == client ? std::max(turn_, under_way_->turn) : turn_;
  for (const auto& trial : waiting_) {
    if (trial->client == client) last = std::max(last, trial->turn);
  }
  return last + 1;
}

void Authenticator::try_next() {
  std::erase_if(waiting_, [](const auto& trial) { return is_abandoned(trial->askers); });
  if (under_way_ || waiting_.empty() || !users_) return;
  const auto next = std::ranges::min_element(waiting_, {}, [](const auto& trial) { return trial->turn; });
  under_way_ = std::move(*next);
  waiting_.erase(next);
  turn_ = std::max(turn_, under_way_->turn - 1);
  under_way_for_ = generation_;
  const auto& [user, password] = under_way_->credentials;
  if (!worker_) worker_.emplace();
  worker_->run([entry = users_->entry(user, base::sip_hash(keys_[2], user)), password, &loop = loop_,
                self = self_.ref()]() mutable {
    const bool right = access::is_password(password, entry.hash) && entry.known;
    loop.post([right, self = std::move(self)] {
      if (self) self->tried(right);
    });
  });
}

void Authenticator::tried(bool right) {
  if (ended_) return;
  auto trial = std::move(under_way_);
  if (open()) return open_to(std::move(trial));
  if (under_way_for_ != generation_) {  // the users have changed meanwhile
    waiting_.push_back(std::move(trial));
    return try_next();
  }
  const std::string* user = right ? remember(trial->key, trial->credentials.user) : nullptr;
  const Verdict verdict = user ? Verdict(*user) : std::unexpected(wrong());
  try_next();
  tell(*trial, verdict);
}

/// The new configuration has no users: lets everybody in.
void Authenticator::open_to(std::unique_ptr<Trial> trial) {
  auto all = std::exchange(waiting_, {});
  all.push_back(std::move(trial));
  for (const auto& one : all) tell(*one, Verdict(std::string_view()));
}

/// A callback may call check() again.
void Authenticator::tell(const Trial& trial, const Verdict& verdict) {
  for (const auto& asker : trial.askers) {
    if (const auto on_verdict = asker.lock()) (*on_verdict)(verdict);
  }
}

const std::string* Authenticator::remember(const Key& key, const std::string& user) {
  while (known_.size() >= kMostKnown) {
    known_.erase(known_since_.front());
    known_since_.pop_front();
  }
  known_since_.push_back(key);
  return &known_.insert_or_assign(key, user).first->second;
}

}  // namespace penstock::proxy
