// SPDX-License-Identifier: Apache-2.0
// Turns a Request into an exchange, and the answer or refusal into a Response.
#include "proxy/client/local_sink.h"

#include <utility>

#include "http/grammar.h"
#include "http/traceparent.h"

namespace penstock::proxy {

namespace {
/// False for fields that would split the message, and for CONNECT, since a tunnel needs a connection. Fields that frame
/// or route a message are dropped later, as for any client.
bool acceptable(const Request& request) {
  if (!http::is_token(request.method) || request.method == "CONNECT") return false;
  for (const auto& field : request.fields) {
    if (!http::is_token(field.name) || !http::is_field_value(field.value)) return false;
  }
  return true;
}

http::RequestHead head_of(const Request& request) {
  http::RequestHead head;
  head.method = request.method;
  head.target = request.url;
  for (const auto& field : request.fields) head.fields.add(field.name, field.value);
  const bool says_length = request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
  if (!request.body.empty() || says_length) head.body = http::BodyKind::length;
  head.content_length = request.body.size();
  return head;
}

std::vector<Field> copy_of(const http::Fields& fields) {
  std::vector<Field> copy;
  copy.reserve(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    copy.push_back({std::string(fields[i].name), std::string(fields[i].value)});
  }
  return copy;
}
}  // namespace

void LocalSink::submit(loop::Loop& loop, Dispatcher& dispatcher, const std::string& via, Request&& request,
                       OnResponse on_response) {
  std::unique_ptr<LocalSink> made(new LocalSink(loop, via, std::move(on_response)));
  auto& sink = *made;
  loop.adopt(std::move(made));
  if (!acceptable(request)) {
    const http::Refusal refusal{.why = http::Reason::malformed,
                                .details = "the method (CONNECT has none here) or a field is not valid HTTP"};
    const auto fields = head_of(request).fields;
    const auto id = dispatcher.report_refused(refusal, {.client = {}, .trace = http::trace_id_of(fields)}, fields);
    if (id) sink.tell_id({id->data(), id->size()});
    return sink.answer_refusal(refusal);
  }
  Exchange* exchange = dispatcher.accept(sink, head_of(request));
  if (!exchange || request.body.empty()) return;
  exchange->body.append(request.body);
  exchange->body.whole = true;
  dispatcher.body_came(*exchange);
}

LocalSink::LocalSink(loop::Loop& loop, const std::string& via, OnResponse on_response)
    : via_(via), on_response_(std::move(on_response)), finishing_(loop, [this, &loop] {
        std::exchange(on_response_, nullptr)(std::move(*answer_));
        loop.dismiss(this);
      }) {}

LocalSink::~LocalSink() {
  if (on_response_) on_response_(std::unexpected(Error{.token = {}, .message = "the proxy has stopped"}));
}

void LocalSink::answer_head(int status, std::string_view reason, const http::Fields& fields,
                            std::optional<std::uint64_t>) {
  response_.status = status;
  response_.reason = reason;
  response_.fields = copy_of(fields);
  add_id();
}

void LocalSink::add_id() {
  if (!id_.empty()) response_.fields.push_back({"Penstock-Request-Id", id_});
}

void LocalSink::answer_end(const http::Fields& trailers) {
  response_.trailers = copy_of(trailers);
  finish(std::move(response_));
}

void LocalSink::answer_broken() {
  finish(std::unexpected(Error{.token = "http_response_incomplete", .message = "the answer broke off"}));
}

void LocalSink::answer_refusal(const http::Refusal& refusal) {
  response_.status = refusal.status_code();
  response_.reason = http::reason_phrase(refusal);
  response_.fields = {{"Proxy-Status", http::proxy_status(refusal, via_)}};
  if (refusal.retry_after) {
    response_.fields.push_back({"Retry-After", http::retry_after_seconds(*refusal.retry_after)});
    response_.fields.push_back({"Retry-After-Ms", http::retry_after_milliseconds(*refusal.retry_after)});
  }
  add_id();
  response_.body = refusal.details + "\n";
  finish(std::move(response_));
}

/// Calls back at the end of the iteration: never from inside libcurl, nor in the middle of a dispatch.
void LocalSink::finish(std::expected<Response, Error> answer) {
  answer_ = std::move(answer);
  finishing_.ask();
}

}  // namespace penstock::proxy
