// SPDX-License-Identifier: Apache-2.0
// What is read from the bodies of an upstream's requests and answers: what a request will cost and has cost, and the
// name of its group. Bytes are looked at as they pass; none is held back or changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/amount.h"
#include "cost/estimate.h"
#include "cost/usage_reader.h"
#include "http/forwarding.h"
#include "http/request_head.h"
#include "loop/timer.h"
#include "penstock/config.h"

namespace penstock::proxy {

/// What an upstream reads from bodies. Its requests under way keep it when the settings change.
struct BodyTerms {
  cost::Amount estimate, actual;
  std::vector<std::string> entries;  ///< of the estimate, as configured
  int most = 0;                      ///< most_cost(); 0: only the name of a group is read
  bool names_group = false;
  bool adds_usage = false;  ///< CostConfig::stream_usage
};

/// Null: nothing is read. Costs are read only where a limit counts them, be it in shadow mode.
std::shared_ptr<const BodyTerms> body_terms_of(const UpstreamSettings& settings);

/// The cost of one request.
class CostReading {
 public:
  /// At most so many bytes of the body are read. With those, or when it has waited for so long, the request enters its
  /// lane.
  struct Patience {
    std::size_t bytes;
    std::optional<std::int64_t> until;
  };
  CostReading(std::shared_ptr<const BodyTerms> terms, const http::RequestHead& head);

  /// Some of the body must have come before the request can enter its lane.
  bool needs_body() const { return needs_body_; }
  /// Calls `enter`, once, when enough of the body has come, or nothing more may: later, from the loop. `hints` are kept
  /// until then.
  void wait(loop::Loop& loop, const Patience& patience, const http::RequestHints& hints, std::function<void()> enter);
  bool waits() const { return timer_ != nullptr; }
  const http::RequestHints& hints() const { return hints_; }
  /// How long it has waited.
  Duration waited() const { return waited_; }
  /// While it waits, the settings have changed: its body, `all` so far, is read anew. Null: nothing is read any more,
  /// and it enters.
  void change(std::shared_ptr<const BodyTerms> terms, std::string_view all);
  /// More of the body has come: `all` is what has come so far. `last`: nothing more may be waited for.
  void body_came(std::string_view all, bool last);
  /// The request enters its lane at `now`: what was read decides. `size`: of the body so far; it may be known in full.
  void enter(std::int64_t now, std::size_t size, bool whole);

  /// If its body asks for a stream, it should ask for its usage, too.
  bool adds_usage() const { return terms_->adds_usage && is_json_; }

  /// 1 if the upstream's requests have no cost.
  int estimate() const { return estimate_; }
  bool has_cost() const { return terms_->most > 0; }
  /// The entry of `cost.estimate` that found it; empty: none did, and it is 1.
  std::string_view estimated_by() const;
  /// The name that the body has for its group; empty: none, or the upstream reads none.
  std::string_view group() const { return terms_->names_group ? reader_.text().value_or("") : std::string_view(); }

  /// The answer must come in no coding, so that it can be read.
  bool reads_answers() const { return !terms_->actual.empty(); }
  /// The head of an answer, which is not an earlier one's; then its body in pieces.
  void answer_begins(const http::Fields& fields);
  void answer_came(std::string_view bytes) {
    if (usage_) usage_->feed(bytes);
  }
  /// The request may be sent once more: what was read of this answer is over.
  void answer_ends() { usage_.reset(); }
  /// What the answer says that the request has cost. The estimate, if it says nothing; if it was cut short (not
  /// `whole`), the estimate at least.
  struct Actual {
    int units = 1;
    bool implausible = false;  ///< it said something else, which cannot be counted
  };
  Actual actual(bool whole) const;

 private:
  std::shared_ptr<const BodyTerms> terms_;
  cost::EstimateReader reader_;
  std::optional<cost::UsageReader> usage_;
  std::optional<std::uint64_t> size_;  // of the whole body, if it is known
  bool is_json_, needs_body_;
  std::size_t fed_ = 0, most_ = 0;
  http::RequestHints hints_;
  std::unique_ptr<loop::Timer> timer_;  // while it waits for the body
  std::int64_t began_to_wait_ = 0;
  Duration waited_{0};
  int estimate_ = 1;
  std::optional<std::size_t> entry_;
};

}  // namespace penstock::proxy
