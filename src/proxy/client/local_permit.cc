// SPDX-License-Identifier: Apache-2.0
// See local_permit.h.
#include "proxy/client/local_permit.h"

#include <utility>

#include "base/duration_text.h"
#include "http/grammar.h"

namespace penstock::proxy {

namespace {
/// False for what would be another request than one for a permit of this name.
bool acceptable(const std::string& upstream, const PermitOptions& options) {
  return upstream.find_first_of("/?#") == std::string::npos && http::is_field_value(options.group);
}

http::RequestHead head_of(const std::string& upstream, const PermitOptions& options) {
  http::RequestHead head;
  head.method = "GET";
  head.target = "/@" + upstream;
  head.fields.add("Penstock-Permit", "hold");
  if (options.weight != 1) head.fields.add("Penstock-Weight", std::to_string(options.weight));
  if (options.max_wait) head.fields.add("Penstock-Max-Wait", base::duration_text(*options.max_wait));
  if (!options.group.empty()) head.fields.add("Penstock-Group", options.group);
  return head;
}
}  // namespace

void LocalPermit::acquire(loop::Loop& loop, Dispatcher& dispatcher, const std::string& upstream,
                          const PermitOptions& options, OnAnswer on_answer) {
  std::unique_ptr<LocalPermit> made(new LocalPermit(loop, std::move(on_answer)));
  auto& permit = *made;
  loop.adopt(std::move(made));
  if (!acceptable(upstream, options)) {
    const http::Refusal refusal{.why = http::Reason::malformed,
                                .details = "the upstream's name or the group has a character that it cannot have"};
    dispatcher.report_refused(refusal);
    return permit.answer_refusal(refusal);
  }
  Exchange* const exchange = dispatcher.accept(permit, head_of(upstream, options));
  if (exchange) permit.let_go_ = [&dispatcher, exchange] { dispatcher.abandon(*exchange); };
}

LocalPermit::LocalPermit(loop::Loop& loop, OnAnswer on_answer)
    : on_answer_(std::move(on_answer)), ending_(loop, [this, &loop] { loop.dismiss(this); }) {
  hold_->permit = this;
}

LocalPermit::~LocalPermit() {
  hold_->permit = nullptr;
  hold_->held = false;
}

void LocalPermit::release(const Hold& hold) {
  if (!hold.permit || !hold.permit->let_go_) return;
  std::exchange(hold.permit->let_go_, nullptr)();
  hold.permit->end();
}

void LocalPermit::answer_head(int, std::string_view, const http::Fields& fields, std::optional<std::uint64_t>) {
  const std::string id(fields.find("penstock-permit").value_or(""));
  std::exchange(on_answer_, nullptr)(Granted{.id = id, .hold = hold_});
}

void LocalPermit::answer_refusal(const http::Refusal& refusal) {
  if (on_answer_) std::exchange(on_answer_, nullptr)(std::unexpected(refusal));
  end();
}

/// The exchange is over. This object goes at the end of the iteration: never in the middle of a dispatch.
void LocalPermit::end() {
  let_go_ = nullptr;
  hold_->held = false;
  ending_.ask();
}

}  // namespace penstock::proxy
