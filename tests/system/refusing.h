// SPDX-License-Identifier: Apache-2.0
// Origins that refuse, for the tests about refusals: what they answer, and how often a request came to them, as the
// events say and as they saw themselves.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "system/daemon.h"
#include "system/origin.h"

namespace penstock::trial {

namespace scripts {
/// Refuses the first `times` requests with "busy 1", "busy 2", … and these lines; hands the others to `then`.
Origin::Script refuses(int times, std::string lines = "Retry-After-Ms: 50\r\n",
                       Origin::Script then = answers(200, "served"));
}  // namespace scripts

/// How often all requests that have ended were sent, as the events say; there are `ended` of them.
int sendings(const Daemon& daemon, std::size_t ended = 1);

/// The request of this stage came to the origin so often, and its event says so. `reply` is what the client got: it
/// says so too where it was more than once.
void expect_sent(const Origin& origin, const Daemon& daemon, const Reply& reply, int times);

}  // namespace penstock::trial
