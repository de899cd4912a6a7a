// SPDX-License-Identifier: Apache-2.0
// Writes the answers, and closes the connection behind those that nothing can follow.
#include "proxy/client/client_sink.h"

#include <utility>

namespace penstock::proxy {

namespace {
void write_established(std::string& out, std::string_view id) {
  out.append("HTTP/1.1 200 Connection established\r\n");
  http::add_id_line(out, id);
  out.append("\r\n");
}
}  // namespace

ClientSink::ClientSink(const Services& services, const Dispatcher& dispatcher, const ClientAccess& access,
                       RequestReader& reader, HeldBytes held, ClientSinkEvents& events)
    : services_(services),
      dispatcher_(dispatcher),
      access_(access),
      reader_(reader),
      held_(std::move(held)),
      events_(events),
      writer_({}) {}

void ClientSink::begin(http::AnswerTo request) {
  answering_ = request;
  if (closes_after_answers_) answering_.keep_alive = false;
  writer_ = http::ResponseWriter(answering_);
  answer_begun_ = connect_answered_ = false;
}

void ClientSink::answer_connect() {
  connect_answered_ = true;
  write_established(stream_->out(), {});
  stream_->touch();
}

void ClientSink::tell_id(std::string_view id) {
  answering_.id = id;
  writer_ = http::ResponseWriter(answering_);
}

void ClientSink::answer_interim(int status, std::string_view reason, const http::Fields& fields) {
  writer_.interim(stream_->out(), status, reason, fields);
  stream_->touch();
  if (status == 100) events_.on_continue_sent();
}

void ClientSink::answer_head(int status, std::string_view reason, const http::Fields& fields,
                             std::optional<std::uint64_t> length) {
  answer_begun_ = true;
  // The rest of an upload that was answered with an error is not read.
  if (closes_after_answers_ || (!reader_.body_whole() && status >= 400)) answering_.keep_alive = false;
  writer_ = http::ResponseWriter(answering_);
  writer_.head(stream_->out(), status, reason, fields, length);
  stream_->touch();
}

void ClientSink::answer_body(std::string_view bytes) {
  writer_.body(stream_->out(), bytes);
  stream_->touch();
}

std::unique_ptr<loop::Stream> ClientSink::hand_over(std::string& early) {
  if (!connect_answered_) write_established(stream_->out(), answering_.id);
  stream_->touch();
  return events_.give_stream(early);
}

void ClientSink::answer_end(const http::Fields& trailers) {
  writer_.end(stream_->out(), trailers);
  stream_->touch();
  answered(writer_.keeps_connection());
}

void ClientSink::answer_refusal(const http::Refusal& refusal) {
  if (connect_answered_) return events_.on_broken();
  if (is_last_if_refused()) answering_.keep_alive = false;
  writer_ = http::ResponseWriter(answering_);
  http::write_refusal(stream_->out(), refusal, services_.config.proxy.via, answering_);
  stream_->touch();
  answered(answering_.keep_alive);
}

bool ClientSink::is_last_if_refused() const {
  const bool bytes_for_a_tunnel = reader_.behind() == RequestReader::Behind::tunnel && !reader_.unread().empty();
  return !reader_.body_whole() || reader_.failed() || closes_after_answers_ || dispatcher_.draining() ||
         bytes_for_a_tunnel;
}

void ClientSink::answered(bool keeps) {
  reader_.answered();
  events_.on_answered(keeps && reader_.body_whole() && !closes_after_answers_);
}

}  // namespace penstock::proxy
