// SPDX-License-Identifier: Apache-2.0
// The groups into which the requests of one upstream are cut, by its rule, as far as its limiter can remember them.
// Part of upstream.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "flow/limiter.h"
#include "http/fields.h"
#include "http/target.h"
#include "penstock/config.h"
#include "penstock/snapshot.h"
#include "proxy/exchange/cost_reading.h"
#include "proxy/exchange/services.h"
#include "proxy/route/grouping.h"

namespace penstock::proxy {

class UpstreamGroups {
 public:
  /// By the rule of these settings, of which a copy of `redact` is not made; without a rule there are no groups.
  /// `terms`: what is read from bodies from now on.
  void change(const Services& services, const std::string& upstream, const UpstreamSettings& settings,
              std::shared_ptr<const BodyTerms> terms);

  const std::optional<Grouping>& grouping() const { return grouping_; }
  /// What is read from bodies: costs, and names of groups. Null: nothing.
  const std::shared_ptr<const BodyTerms>& body_terms() const { return body_terms_; }
  /// The group of a request, or kOtherGroups if the limiter has no room for another group, which is told once. Needs
  /// grouping(). `text` as in Grouping.
  std::string of(const http::Target& target, const http::Fields& fields, std::string_view text,
                 const flow::Limiter& limiter, const Services& services, const std::string& upstream);
  /// The same, without the notice that there is no room.
  std::string ahead_of(const http::Target& target, const http::Fields& fields, std::string_view text,
                       const flow::Limiter& limiter) const;
  /// Replaces the names of groups by what people may see.
  void label(UpstreamSnapshot& shown) const;

 private:
  std::optional<Grouping> grouping_;  // nothing: there are no groups
  std::shared_ptr<const BodyTerms> body_terms_;
  bool others_told_ = false;
};

}  // namespace penstock::proxy
