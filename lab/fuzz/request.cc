// SPDX-License-Identifier: Apache-2.0
// A client's bytes, from the parser over the verdict to what would be sent to an upstream. However they are cut, all is
// the same; what is accepted, a second reader reads alike, and what is sent on, it reads as that one request.
#include <algorithm>
#include <optional>
#include <string>

#include "fuzz/fuzz.h"
#include "fuzz/second_reader.h"
#include "http/forwarding.h"
#include "http/protocol_sniff.h"
#include "http/request_parser.h"
#include "http/upgrade.h"
#include "proxy/dispatch/admission.h"
#include "transfer/request.h"

namespace penstock::fuzz {
namespace {

constexpr std::string_view kConfig = R"(
version: 1
caps: { headerBytes: 1KiB, headerCount: 20, targetBytes: 256B, trailerBytes: 256B, chunkLineBytes: 64B }
access: { deny: [10.1.0.0/16], allow: [loopback, 10.0.0.0/8], connectPorts: [80, 443, 3128, 8443], plainPorts: [80, 8443] }
upstreams:
  api: { match: [api.test, "*.api.test:8080"], baseUrl: "https://api.test/v1", https: originate }
  part: { match: plain.test/secure, https: originate }
  near: { match: 127.0.0.1:9000, baseUrl: "http://127.0.0.1:9000" }
)";

struct Stage {
  Config config = *read_config(kConfig, "penstock.yaml");
  loop::Loop loop;
  loop::Resolver resolver{loop, config.dns};
  access::Verdict verdict{config, {config.proxy.listen, config.admin.listen}};
  proxy::UpstreamPools connections{loop, config, verdict};
  proxy::Services services{loop, resolver, connections, verdict, config, [](const Event&) {}, {}};
  proxy::Admission admission{services};
};

const Stage& stage() {
  static const Stage the_stage;
  return the_stage;
}

std::string text_of(const http::Fields& fields) {
  std::string text;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    text.append(fields[i].name).append(": ").append(fields[i].value).append("\r\n");
  }
  return text;
}

bool alike(const http::Fields& fields, const SecondReader::Lines& lines) {
  bool same = fields.size() == lines.size();
  for (std::size_t i = 0; same && i < fields.size(); ++i) {
    same = fields[i].name == lines[i].first && fields[i].value == lines[i].second;
  }
  return same;
}

/// What transfer/ and proxy/upgrade would put on the wire.
struct Forwarded {
  explicit Forwarded(const http::RequestHead& head, const http::Target& to)
      : target(to), kind(head.body), method(head.method) {
    http::Fields fields = http::request_fields(head, target, "penstock");
    if (!head.upgrade.empty()) http::add_upgrade(fields, head.upgrade);
    transfer::HeaderLines lines;
    for (std::size_t i = 0; i < fields.size(); ++i) lines.add(fields[i].name, fields[i].value);
    text = method + " " + target.resource + " HTTP/1.1\r\n";
    for (std::size_t i = 0; i < lines.size(); ++i) {
      std::string line = lines.line(i);  // up to its NUL, as libcurl sees it
      if (line.find(':') == std::string::npos && line.ends_with(';')) line.back() = ':';
      text.append(line).append("\r\n");
    }
    if (kind == http::BodyKind::chunked) text += "Transfer-Encoding: chunked\r\n";
    if (kind == http::BodyKind::length) text += "Content-Length: " + std::to_string(head.content_length) + "\r\n";
    text += "\r\n";
  }

  void add_body(const std::string& body, const http::Fields& trailers) {
    const bool chunked = kind == http::BodyKind::chunked;
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", body.size());
    text += chunked && !body.empty() ? size + body + "\r\n" : body;
    if (chunked) text += "0\r\n" + text_of(http::trailer_fields(trailers)) + "\r\n";
  }

  void check(const std::string& body) const {
    SecondReader reader(text);
    const auto read = reader.request();
    must(read.has_value(), "what is sent on is one clear request", text);
    must(reader.rest().empty(), "one request in, one request out", text);
    must(read->start[0] == method && read->start[1] == target.resource, "method and target arrive as judged", text);
    must(read->body == body, "the body arrives as it came", text);
    must(read->fields.front().first == "Host" && read->count("host") == 1, "one Host, and first", text);
    must(read->value("host") == target.host_field(), "Host names what is dialled", text);
    must(read->chunked == (kind == http::BodyKind::chunked), "the framing is ours", text);
    check_lines(*read);
  }

  void check_lines(const SecondReader::Message& read) const {
    for (const auto& [name, value] : read.fields) {
      std::string lower = name;
      std::transform(lower.begin(), lower.end(), lower.begin(), SecondReader::lower);
      must(!lower.starts_with("proxy-") && !lower.starts_with("penstock-"), "what is for a proxy stays here", text);
      must(lower != "te" && lower != "keep-alive" && lower != "expect" && lower != "http2-settings", "hop by hop",
           text);
    }
    for (const auto& line : read.trailers) {
      must(!SecondReader::same(line.first, "content-length") && !SecondReader::same(line.first, "host"),
           "no trailer frames or routes", text);
    }
    must(read.value("connection") == (read.count("upgrade") ? "Upgrade" : ""), "Connection is ours", text);
    const auto is_ours = [](const auto& line) {
      return SecondReader::same(line.first, "via") && line.second.ends_with(" penstock");
    };
    must(std::ranges::any_of(read.fields, is_ours), "we are in Via", text);
  }

  http::Target target;
  http::BodyKind kind;
  std::string method, text;
};

/// What a connection does with its bytes, up to a tunnel.
class Client final : http::RequestSink {
 public:
  explicit Client(Dice& dice, bool pauses) : dice_(dice), pauses_(pauses) {}

  bool feed(std::string_view piece) {
    unread_.append(piece);
    while (!unread_.empty() && !over_ && sniff()) {
      const auto [consumed, state] = parser_.consume(unread_);
      over_ = over_ || state == http::RequestParser::State::failed;
      must(over_ || consumed > 0 || state == http::RequestParser::State::paused, "bytes are taken, or refused");
      must(over_ || consumed == unread_.size() || state == http::RequestParser::State::paused, "who is hungry, eats");
      taken_ += unread_.substr(0, consumed);
      unread_.erase(0, consumed);
      if (state == http::RequestParser::State::failed) note_refusal("parser", parser_.refusal());
      if (completed_) end_request();
    }
    return !over_;
  }
  const std::string& transcript() const { return transcript_; }
  bool in_message() const { return parser_.in_message(); }

 private:
  /// Behind a CONNECT whose bytes are looked at first. False: not enough of them, or a tunnel.
  bool sniff() {
    if (!opened_) return true;
    const auto judged = http::sniff_protocol(unread_);
    if (judged == http::Protocol::undecided) return false;
    if (judged == http::Protocol::other) return over_ = true, false;
    outside_ = std::exchange(opened_, std::nullopt);
    parser_.restart();
    taken_.clear();
    return true;
  }

  void on_head(http::RequestHead&& head) override {
    head_ = std::move(head);
    body_.clear();
    transcript_ += head_.method + " " + head_.target + "\n" + text_of(head_.fields);
    judge();
    if (pauses_ && dice_.one_in(3)) parser_.pause();
  }
  void on_body(std::string_view bytes) override {
    body_.append(bytes);
    if (pauses_ && dice_.one_in(3)) parser_.pause();
  }
  void on_complete(http::Fields&& trailers) override {
    completed_ = true;
    trailers_ = std::move(trailers);
  }

  void judge() {
    forwarded_.reset();
    const auto& admission = stage().admission;
    if (head_.method == "CONNECT" && !outside_) open();
    http::Target target;
    const auto admitted = admission.judge(head_, outside_ ? &*outside_ : nullptr, target, {});
    if (!admitted) return note_refusal("admission", admitted.error());
    const auto max_wait = admitted->hints.max_wait.value_or(Duration{-1}).count();
    transcript_ += "to " + std::string(target.scheme) + " " + target.authority() + target.resource + " of " +
                   std::to_string(admitted->entry) + " " + std::to_string(max_wait) + "\n";
    must(target.port != 0 && !target.host.empty(), "who is admitted, leads somewhere", transcript_);
    must(!target.tunnel || head_.method == "CONNECT", "only a CONNECT becomes a tunnel", transcript_);
    if (!target.tunnel) forwarded_.emplace(head_, target);
  }

  void open() {
    if (auto opening = stage().admission.opening(head_, true)) opened_ = std::move(opening->outside);
  }

  void end_request() {
    completed_ = false;
    transcript_ += "body " + body_ + "\n" + text_of(trailers_) + "end\n";
    check_as_it_came();
    taken_.clear();
    if (forwarded_) forwarded_->add_body(body_, trailers_);
    if (forwarded_) forwarded_->check(body_);
    over_ = over_ || !head_.keep_alive || !head_.upgrade.empty() || (head_.method == "CONNECT" && !opened_);
    if (opened_) over_ = false;
  }

  /// Who reads strictly must see the same request, and its end at the same place.
  void check_as_it_came() const {
    SecondReader reader(taken_);
    const auto read = reader.request();
    must(read.has_value(), "what is accepted has one meaning", taken_);
    must(reader.rest().empty(), "it ends where a second reader sees its end", taken_);
    must(read->start[0] == head_.method && read->start[1] == head_.target, "the same method and target", taken_);
    must(read->body == body_, "the same body", taken_, body_);
    must(alike(head_.fields, read->fields) && alike(trailers_, read->trailers), "the same fields", taken_);
  }

  void note_refusal(const char* who, const http::Refusal& refusal) {
    transcript_ += std::string(who) + " refuses: " + std::to_string(refusal.status_code()) + refusal.details + "\n";
    const std::string reason = http::reason_phrase(refusal);
    must(SecondReader::all(reason + http::proxy_status(refusal, "penstock"), SecondReader::is_text), "printable");
  }

  Dice& dice_;
  bool pauses_, completed_ = false, over_ = false;
  http::RequestParser parser_{stage().config.caps, *this};
  http::RequestHead head_;
  http::Fields trailers_;
  std::optional<http::Target> opened_, outside_;
  std::optional<Forwarded> forwarded_;
  std::string unread_, taken_, body_, transcript_;
};

}  // namespace

void try_input(std::string_view input) {
  Dice dice(input);
  Client whole(dice, false), cut(dice, true);
  whole.feed(input);
  in_pieces(input, [&](std::string_view piece) { return cut.feed(piece); });
  must(whole.transcript() == cut.transcript(), "however it is cut", whole.transcript(), cut.transcript());
  must(whole.in_message() == cut.in_message(), "however it is cut, a request is as far", input);
}

}  // namespace penstock::fuzz
