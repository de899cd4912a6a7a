// SPDX-License-Identifier: Apache-2.0
// See kept_answer.h.
#include "proxy/exchange/kept_answer.h"

#include <utility>

namespace penstock::proxy {

bool KeptAnswer::append(std::string_view bytes) {
  if (body_.size() + bytes.size() > kMost) return false;
  body_.append(bytes);
  return true;
}

void KeptAnswer::end(http::Fields trailers, const AttemptResult& result) {
  trailers_ = std::move(trailers);
  result_ = result;
  result_.status = status_;
}

std::size_t KeptAnswer::bytes() const {
  return sizeof(KeptAnswer) + reason_.size() + proxy_status_.size() + fields_.bytes() + trailers_.bytes() +
         body_.size();
}

void KeptAnswer::begin(ResponseSink& sink) const {
  http::Fields fields = fields_;
  if (!proxy_status_.empty()) fields.add("Proxy-Status", proxy_status_);
  sink.answer_head(status_, reason_, fields, length_);
  if (!body_.empty()) sink.answer_body(body_);
}

void KeptAnswer::give(ResponseSink& sink) const {
  begin(sink);
  sink.answer_end(trailers_);
}

}  // namespace penstock::proxy
