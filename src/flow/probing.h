// SPDX-License-Identifier: Apache-2.0
// Carries out what a scheduler commands about the probe after a pause. For the owner of the scheduler.
#pragma once

#include "flow/commands.h"
#include "flow/limiter.h"
#include "flow/scheduler.h"

namespace penstock::flow {

/// Asks or tells the other processes. Null: there are none, so that this process may probe; the scheduler hears so.
inline void carry_out(const Commands::Probe& probe, PauseSharing* others, Time now, Scheduler& scheduler,
                      Commands& commands) {
  using What = Commands::Probe::What;
  if (probe.what != What::ask) {
    if (others) others->end_probe(probe.group, probe.what == What::opened);
  } else if (!others || others->ask_to_probe(probe.group)) {
    scheduler.hear(now, {PauseNews::What::may_probe, probe.group, now + kProbeRight}, commands);
  }
}

}  // namespace penstock::flow
