// SPDX-License-Identifier: Apache-2.0
// Puts all parts of a run together.
#include "simulation/fleet.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simulation/load.h"
#include "simulation/origin.h"
#include "simulation/process.h"
#include "simulation/redis_site.h"

namespace penstock::simulation {

namespace {

constexpr Time kYear2025 = 1'748'736'000 * kSecond;  // 1 June, midnight UTC
constexpr Time kLastTtl = 800 * kDay;
// How long a request is on the way to an upstream that may refuse it.
constexpr Time kToOrigin = 20 * kMillisecond, kToOriginVaries = 4 * kMillisecond;

class Fleet final : Outcomes {
 public:
  explicit Fleet(const Plan& plan)
      : plan_(plan), world_(plan.seed), resolver_(unused_, dns_), site_(world_, plan, journal_.wall_at_begin) {
    journal_.wall_at_begin = kYear2025 + static_cast<Time>(world_.random().below(kDay));
    const auto size = static_cast<int>(plan.members.size());
    processes_.resize(plan.members.size());
    for (int i = 0; i < size; ++i) prepare(i);
    for (const Fault& fault : plan.faults) schedule(fault);
    if (plan.quota.units > 0) send_strangers();
    for (const Time when : plan.looks) world_.at(when, [this] { look(); });
  }

  void mutate(const Mutation& mutation) { site_.mutate_scripts(mutation.from, mutation.to); }

  Journal play() {
    world_.run_until(plan_.length);
    journal_.ended = plan_.length;
    journal_.events = world_.events();
    processes_.clear();
    journal_.keys_left = site_.keys_after(kLastTtl);
    return std::move(journal_);
  }

 private:
  Process* process_of(std::uint64_t id) { return processes_[member_of(id)].get(); }
  std::size_t member_of(std::uint64_t id) const { return static_cast<std::size_t>(journal_.requests[id].member); }

  // ---- processes and their clients ----------------------------------------------------------------------------------

  void prepare(int member) {
    loads_.push_back(std::make_unique<Load>(world_, plan_, member, journal_,
                                            Load::Wants{.arrive = [this](std::uint64_t id) { arrive(id); },
                                                        .leave = [this](std::uint64_t id) { cancel(id); }}));
    const Member& its = plan_.members[static_cast<std::size_t>(member)];
    world_.at(its.joins, [this, member] {
      begin(member);
      loads_[static_cast<std::size_t>(member)]->begin();
    });
    if (its.reloads > its.joins) world_.at(its.reloads, [this, member] { reload(member); });
    if (its.ends > 0) world_.at(its.ends, [this, member] { drain(member); });
  }
  void begin(int member) {
    processes_[static_cast<std::size_t>(member)] = std::make_unique<Process>(
        world_, site_.hosts(), resolver_, plan_, member, journal_, static_cast<Outcomes&>(*this));
  }
  void reload(int member) {
    if (auto& process = processes_[static_cast<std::size_t>(member)]) process->reload();
  }
  void arrive(std::uint64_t id) {
    if (Process* process = process_of(id)) return process->arrive(id);
    Request& request = journal_.requests[id];
    request.end = Request::End::killed;
    request.ended = world_.now();
  }
  void cancel(std::uint64_t id) {
    Process* process = process_of(id);
    if (!process) return;
    process->cancel(id);
    if (journal_.requests[id].end == Request::End::left) over(id);
  }
  void departed(std::uint64_t id) override {
    Load& load = *loads_[member_of(id)];
    const Time left = world_.now() + load.opening(), flight = load.flight();
    journal_.requests[id].left = left;
    if (left > world_.now()) world_.at(left, [this, id] { leave(id); });
    if (!plan_.may_refuse()) return world_.at(left + flight, [this, id] { land(id); });
    const auto way = kToOrigin + static_cast<Time>(world_.random().below(kToOriginVaries));
    world_.at(left + way, [this, id, flight] { reach_origin(id, flight); });
  }
  /// It comes back at once if it is refused.
  void reach_origin(std::uint64_t id, Time flight) {
    if (plan_.quota.units > 0) return reach_quota(id, flight);
    Request& request = journal_.requests[id];
    request.turned_away = !origin_.takes(world_.now());
    journal_.sendings.push_back({id, request.departed, world_.now(), request.turned_away});
    const Time answered = world_.now() + (request.turned_away ? 0 : flight);
    world_.at(answered + kToOrigin, [this, id] { land(id); });
  }
  Time wall() const { return journal_.wall_at_begin + world_.now(); }
  /// One that is refused waits in its process, to be sent again.
  void reach_quota(std::uint64_t id, Time flight) {
    const QuotaWord word = quota_.takes(wall(), false);
    world_.at(world_.now() + (word.refused ? 0 : flight) + kToOrigin, [this, id, word, said = world_.now()] {
      Process* const process = process_of(id);
      if (!process) return;
      const Time resets = word.resets - (world_.now() - said);
      process->told(id, {.refused = word.refused, .remaining = word.remaining, .resets = resets});
      if (!word.refused) land(id);
    });
  }
  void look() {
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      if (!processes_[i]) continue;
      journal_.forecasts.push_back({static_cast<int>(i), world_.now(), processes_[i]->last_leaves_in()});
    }
  }
  /// As many as the plan says, at random in each window.
  void send_strangers() {
    const Quota& quota = plan_.quota;
    for (Time begin = -(wall() - quota.offset) % quota.interval; begin < plan_.length; begin += quota.interval) {
      for (int i = 0; i < quota.strangers; ++i) {
        const Time most = quota.within > 0 ? quota.within : quota.interval;
        const Time when = begin + world_.random().between(0, most - 1);
        if (when >= 0) world_.at(when, [this] { quota_.takes(wall(), true); });
      }
    }
  }
  void leave(std::uint64_t id) {
    if (Process* process = process_of(id)) process->leave(id);
  }
  void land(std::uint64_t id) {
    Request& request = journal_.requests[id];
    if (request.end != Request::End::none) return;
    if (Process* process = process_of(id); process && process->sends_back(id)) return;
    request.end = Request::End::served;
    request.ended = world_.now();
    if (Process* process = process_of(id)) {
      if (request.turned_away) process->turned_away(id);
      process->land(id);
    }
    over(id);
  }
  void refused(std::uint64_t id) override { over(id); }
  void cut(std::uint64_t id) override {
    Request& request = journal_.requests[id];
    request.end = Request::End::cut;
    request.ended = world_.now();
    over(id);
  }
  /// The client reacts in an event of its own, since this may be called from inside the process.
  void over(std::uint64_t id) { loads_[member_of(id)]->over(id); }

  /// The process' clients ask no more; it ends when their requests have been served.
  void drain(int member) {
    auto& process = processes_[static_cast<std::size_t>(member)];
    if (!process) return;
    if (process->idle()) {
      process->end();
      return process.reset();
    }
    world_.at(world_.now() + 100 * kMillisecond, [this, member] { drain(member); });
  }
  void kill(int member) {
    auto& process = processes_[static_cast<std::size_t>(member)];
    if (!process) return;
    process.reset();
    for (Request& request : journal_.requests) {
      if (request.member != member || request.end != Request::End::none) continue;
      request.end = Request::End::killed;
      request.ended = world_.now();
    }
  }

  // ---- faults -------------------------------------------------------------------------------------------------------

  /// What happens elsewhere excuses nothing here.
  void schedule(const Fault& fault) {
    site_.foresee(fault);
    world_.at(fault.at, [this, &fault] {
      journal_.faults.push_back(fault);
      if (fault.elsewhere) journal_.faults.back() = {.kind = Fault::Kind::elsewhere, .at = fault.at};
      if (!site_.happen(fault)) happen_to_one(fault);
    });
  }
  void happen_to_one(const Fault& fault) {
    using Kind = Fault::Kind;
    Process* const process = processes_[static_cast<std::size_t>(fault.member)].get();
    if (!process) return;
    switch (fault.kind) {
      case Kind::connection_lost: return process->network().lose(Network::Which::all);
      case Kind::mailbox_lost: return process->network().lose(Network::Which::messages);
      case Kind::commands_lost: return process->network().lose(Network::Which::calls);
      case Kind::reply_torn: return process->network().tear_until(fault.at + fault.lasts);
      case Kind::messages_late:
      case Kind::messages_twice:
      case Kind::messages_lost: return process->network().disturb_messages(fault.kind, fault.at + fault.lasts);
      case Kind::cut_off: return process->network().cut_off_until(fault.at + fault.lasts);
      case Kind::frozen: return process->machine().freeze_until(fault.at + fault.lasts);
      case Kind::killed: return kill(fault.member);
      case Kind::paused: return process->pause(fault.lasts);
      default: return;
    }
  }

  const Plan& plan_;
  Journal journal_;
  World world_;
  DnsConfig dns_;
  loop::Loop unused_;  // the Redis client needs a resolver, though names are never looked up
  loop::Resolver resolver_;
  RedisSite site_;
  Origin origin_{plan_};
  QuotaOrigin quota_{plan_.quota, journal_.windows};
  std::vector<std::unique_ptr<Load>> loads_;
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace

Journal run(const Plan& plan, const Mutation& mutation) {
  Fleet fleet(plan);
  fleet.mutate(mutation);
  return fleet.play();
}

}  // namespace penstock::simulation
