// SPDX-License-Identifier: Apache-2.0
// Requests that a page in a browser sends to a server of this machine, on its own account: any page anywhere can, and
// the browser does not ask its user. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/fields.h"

namespace penstock::http {

/// By what browsers add: `Sec-Fetch-Site` other than `none` and `same-origin`, `Origin` other than that of `Host`.
bool comes_from_other_page(const Fields& request);

/// Whether no page of somebody else's can have this `Host`, by which it would look like our own: an address, a name
/// that public DNS does not have (`localhost`, `penstock`, what ends with .localhost, .internal or .local), or one of
/// `names` (`a.example`, or `*.a.example` for all below it). No `Host` at all is no page's.
bool is_our_host(const Fields& request, const std::vector<std::string>& names);

}  // namespace penstock::http
