// SPDX-License-Identifier: Apache-2.0
// JAVA_TOOL_OPTIONS, the one variable that every Java reads: of proxies and certificates it takes options only.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "penstock/config.h"

namespace penstock::app {

/// The value of an option in `options`, which are as the variable has them: the last one counts.
std::optional<std::string> java_option(const std::string& options, const std::string& name);

/// `options` but those that `java_options` adds: what was evaluated before, or stands around this run, does not pile
/// up.
std::string without_ours(const std::string& options, const std::function<bool(const std::string&)>& is_our_store);

/// `options` with the proxy behind them, and the trust store (PKCS#12) where there is one.
std::string java_options(std::string options, const Endpoint& proxy, const std::string& trust_store);

}  // namespace penstock::app
