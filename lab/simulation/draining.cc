// SPDX-License-Identifier: Apache-2.0
// Judges that queues drain. A server that is a hundredth slower than the limit serves the same requests, first come,
// first served: soon after it is idle again, the fleet must be idle too.
#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "flow/limiter.h"
#include "simulation/reading.h"

namespace penstock::simulation {

namespace {

constexpr double kSlower = 0.99;

struct Job {
  Time comes;
  int units;
  std::size_t id;
  Time idle_again = 0;  // the end of the server's busy period
};

/// Sets the end of the busy period of each job; `jobs` ascend by `comes`.
void serve(std::vector<Job>& jobs, double rate) {
  double free_at = 0;
  std::size_t first = 0;
  const auto end_period = [&](std::size_t end) {
    for (; first < end; ++first) jobs[first].idle_again = static_cast<Time>(std::ceil(free_at));
  };
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (static_cast<double>(jobs[i].comes) > free_at) end_period(i), free_at = static_cast<double>(jobs[i].comes);
    free_at += std::isfinite(rate) ? jobs[i].units * 1e6 / (rate * kSlower) : 0;
  }
  end_period(jobs.size());
}

/// The requests that stayed in the queue to its end: those that left, and those that still wait.
std::vector<Job> jobs_of(const Reading& reading) {
  std::vector<Job> jobs;
  const auto& requests = reading.journal().requests;
  for (std::size_t id = 0; id < requests.size(); ++id) {
    if (requests[id].departed != kNotYet || requests[id].ended == kNotYet)
      jobs.push_back({requests[id].arrived, requests[id].weight, id});
  }
  std::ranges::stable_sort(jobs, {}, &Job::comes);
  return jobs;
}

/// One server for each group.
void serve_groups(const Reading& reading, std::vector<Job>& jobs, double rate) {
  std::map<int, std::vector<Job>> groups;
  for (const Job& job : jobs) groups[reading.journal().requests[job.id].group].push_back(job);
  jobs.clear();
  for (auto& [group, own] : groups) {
    serve(own, rate);
    jobs.insert(jobs.end(), own.begin(), own.end());
  }
}

}  // namespace

void judge_draining(const Reading& reading, Judgement& judgement) {
  if (reading.has_routes()) return;
  // Where permits or slots hold requests, flights decide, which this server does not know.
  if (!reading.all_shared() || reading.has(LimitKind::semaphore) || reading.plan().limits.empty()) return;
  const auto wide = reading.rate_limits(LimitConfig::Per::upstream), own = reading.rate_limits(LimitConfig::Per::group);
  if (!wide.empty() && !own.empty()) return;  // the upstream may be idle while all that waits is held by its group
  std::vector<Job> jobs = jobs_of(reading);
  if (wide.empty())
    serve_groups(reading, jobs, slowest_rate(own));
  else
    serve(jobs, slowest_rate(wide));
  const auto processes = reading.plan().members.size();
  const double units = grant(reading.plan().limits, reading.heaviest(), processes) + reading.heaviest();
  const auto last_units = static_cast<Time>(units * 1e6 / slowest_rate(reading.plan().limits));
  const Time slack = 2 * longest_step(reading.plan().limits) + flow::kHorizon + kSecond + last_units;
  for (const Job& job : jobs) {
    const Request& request = reading.journal().requests[job.id];
    const Time due = job.idle_again + slack;
    const Time gone = request.departed == kNotYet ? reading.journal().ended : request.departed;
    if (gone <= due || !reading.calm(0, due)) continue;
    bool full = false;
    for (std::size_t i = 0; i < processes; ++i) full |= reading.was_full(static_cast<int>(i), request.arrived, gone);
    if (full) continue;
    breaks(judgement, "drains",
           said("request %zu of process %d, come at %s, waited until %s; all should have left by %s", job.id,
                request.member, moment(request.arrived).c_str(), moment(gone).c_str(), moment(due).c_str()),
           static_cast<double>(gone - due) / 1e6);
  }
}

}  // namespace penstock::simulation
