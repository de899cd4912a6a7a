// SPDX-License-Identifier: Apache-2.0
// The recording sink, and the loop that a connection would run.
#include "http/reading.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace penstock::http {
namespace {

class Recorder : public RequestSink {
 public:
  explicit Recorder(Reading& reading) : reading_(reading) {}
  void on_head(RequestHead&& head) override {
    reading_.requests.emplace_back();
    reading_.requests.back().head = std::move(head);
  }
  void on_body(std::string_view bytes) override { reading_.requests.back().body.append(bytes); }
  void on_complete(Fields&& trailers) override {
    reading_.requests.back().trailers = std::move(trailers);
    reading_.requests.back().complete = true;
  }

 private:
  Reading& reading_;
};

/// Whether the parser wants more.
bool feed(RequestParser& parser, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto [consumed, state] = parser.consume(bytes);
    if (state == RequestParser::State::failed) return false;
    if (consumed == 0) {
      ADD_FAILURE() << "the parser neither takes bytes nor fails";
      return false;
    }
    bytes.remove_prefix(consumed);
    EXPECT_TRUE(bytes.empty() || state != RequestParser::State::hungry) << "hungry, but bytes are left";
  }
  return true;
}

Reading read_cut(const std::vector<std::string_view>& pieces, const CapsConfig& caps) {
  Reading reading;
  Recorder recorder(reading);
  RequestParser parser(caps, recorder);
  for (const std::string_view piece : pieces) {
    if (feed(parser, piece)) continue;
    reading.refusal = parser.refusal();
    break;
  }
  reading.in_message = parser.in_message();
  return reading;
}

void add_fields(std::string& out, const Fields& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    out.append(fields[i].name).append(": ").append(fields[i].value).append("\n");
  }
}

void add_request(std::string& out, const Seen& seen) {
  const RequestHead& head = seen.head;
  out += head.method + " " + head.target + " 1." + std::to_string(head.minor_version) + "\n";
  add_fields(out, head.fields);
  out += "framing " + std::to_string(static_cast<int>(head.body)) + " " + std::to_string(head.content_length) + "\n";
  out += head.keep_alive ? "keep-alive" : "close";
  out += head.expect_continue ? " 100-continue\n" : "\n";
  out += "body " + seen.body + "\n";
  add_fields(out, seen.trailers);
  out += seen.complete ? "complete\n" : "cut\n";
}

}  // namespace

std::size_t Reading::complete() const {
  return static_cast<std::size_t>(
      std::count_if(requests.begin(), requests.end(), [](const Seen& s) { return s.complete; }));
}

std::string Reading::transcript() const {
  std::string out;
  for (const Seen& seen : requests) add_request(out, seen);
  if (refusal) out += "refused " + std::to_string(refusal->status_code()) + " " + refusal->details + "\n";
  return out + (in_message ? "in a message" : "between messages");
}

Reading read(std::string_view stream, const CapsConfig& caps) { return read_cut({stream}, caps); }

Reading read_in_pieces(std::string_view stream, std::size_t size, const CapsConfig& caps) {
  std::vector<std::string_view> pieces;
  for (std::size_t at = 0; at < stream.size(); at += size) pieces.push_back(stream.substr(at, size));
  return read_cut(pieces, caps);
}

Reading read_split(std::string_view stream, std::size_t at, const CapsConfig& caps) {
  return read_cut({stream.substr(0, at), stream.substr(at)}, caps);
}

std::string get_with(std::string_view lines) { return "GET http://a.test/ HTTP/1.1\r\n" + std::string(lines) + "\r\n"; }

std::string chunked_with(std::string_view body) {
  return "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(body);
}

Reason refused(const Reading& reading) {
  EXPECT_TRUE(reading.refusal.has_value()) << reading.transcript();
  return reading.refusal ? reading.refusal->why : Reason::internal_error;
}

}  // namespace penstock::http
