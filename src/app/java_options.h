// SPDX-License-Identifier: Apache-2.0
// JAVA_TOOL_OPTIONS, the one variable that every Java reads: only by options can it be told of proxies and
// certificates.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "penstock/config.h"

namespace penstock::app {

/// The value of an option in `options`, which has the variable's syntax: the last one counts.
std::optional<std::string> java_option(const std::string& options, const std::string& name);

/// `options` without those that `java_options` adds, so that an earlier `env`, or a run around this one, does not pile
/// up.
std::string without_ours(const std::string& options, const std::function<bool(const std::string&)>& is_our_store);

/// `options` followed by the proxy, and by the trust store (PKCS#12) unless `trust_store` is empty.
std::string java_options(std::string options, const Endpoint& proxy, const std::string& trust_store);

}  // namespace penstock::app
