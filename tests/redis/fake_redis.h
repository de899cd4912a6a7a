// SPDX-License-Identifier: Apache-2.0
// A Redis that says what the test tells it to, in a thread of its own: for what a real one cannot be made to say.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/origin.h"

namespace penstock::redis {

using Command = std::vector<std::string>;

/// A text, as Redis sends it.
std::string bulk(const std::string& text);

/// The next command; no words at the end of the connection.
Command next_command(test::Socket& peer);

/// Greets as Redis does, loads scripts, passes the self-test and can be written to; whatever else is asked is answered
/// by `otherwise`, in raw bytes. `number` counts connections from 1. `self_test`, if given, answers the self-test.
test::Origin::Script greeting(std::function<std::string(const Command& words, int number)> otherwise,
                              std::function<std::string()> self_test = {});

}  // namespace penstock::redis
