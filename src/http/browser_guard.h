// SPDX-License-Identifier: Apache-2.0
// Detects requests that a web page makes the browser send to a server on this machine. Any page on the web can do that,
// and the browser does not ask its user. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/fields.h"

namespace penstock::http {

/// True if the browser says so: `Sec-Fetch-Site` other than `none` and `same-origin`, or `Origin` other than `Host`'s.
bool comes_from_other_page(const Fields& request);

/// True if no foreign page can have this `Host`, and so pass for our own origin: an address, a name that public DNS
/// does not have (`localhost`, `penstock`, or one that ends with .localhost, .internal or .local), or one of `names`
/// (`a.example`, or `*.a.example` for all below it). A missing `Host` counts as ours: pages always send one.
bool is_our_host(const Fields& request, const std::vector<std::string>& names);

}  // namespace penstock::http
