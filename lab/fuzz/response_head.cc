// SPDX-License-Identifier: Apache-2.0
// An upstream's bytes, from its head and its body to what the client gets. However they are cut, all is the same; where
// a second reader understands them, it understands the same, and what the client gets, it reads as that one answer.
#include <optional>
#include <string>

#include "fuzz/fuzz.h"
#include "fuzz/second_reader.h"
#include "http/body_decoder.h"
#include "http/forwarding.h"
#include "http/line_buffer.h"
#include "http/rate_limit_fields.h"
#include "http/response_writer.h"
#include "http/upgrade.h"

namespace penstock::fuzz {
namespace {

using Verdict = http::ResponseHeadReader::Verdict;

const UpstreamConfig& gateway() {
  static const UpstreamConfig config{.name = "api", .base_url = *parse_base_url("https://api.test/v1")};
  return config;
}

/// How it was asked for. Of the letters, the six lowest bits.
struct Asked {
  explicit Asked(unsigned bits)
      : method(bits & 1 ? "HEAD" : "GET"),
        writer{.head_method = (bits & 1) != 0,
               .minor_version = static_cast<std::uint8_t>(bits & 2 ? 0 : 1),
               .keep_alive = (bits & 4) == 0},
        upgrades((bits & 8) != 0) {
    const bool originated = (bits & 16) != 0, through_gateway = (bits & 32) != 0;
    target =
        *http::parse_target("GET", originated || through_gateway ? "https://api.test/v1/x" : "http://api.test/v1/x");
    if (originated) target.front = http::Target::Front::originated;
    if (through_gateway) {
      target.front = http::Target::Front::gateway;
      target.gateway = &gateway();
    }
  }
  const char* method;
  http::AnswerTo writer;
  bool upgrades;
  http::Target target;
};

class Answer {
 public:
  explicit Answer(const Asked& asked) : asked_(asked), writer_(asked.writer) {
    if (asked.upgrades) reader_.let_switch();
  }

  bool feed(std::string_view bytes) {
    while (!decoder_ && !over_) {
      const auto line = lines_.next(bytes);
      if (!line) return true;
      take(reader_.on_line(*line));
    }
    if (decoder_) decode(bytes);
    left_over += bytes;
    return !over_;
  }
  /// The connection ends.
  void end() {
    if (!over_ && decoder_ && decoder_->ends_with_connection()) finish();
  }

  std::string to_client, body, left_over;
  int interims = 0;
  bool whole = false, bad = false;
  const http::ResponseHeadReader& reader() const { return reader_; }
  bool keeps_connection() const { return writer_.keeps_connection(); }

 private:
  void take(Verdict verdict) {
    const auto& head = reader_.head();
    over_ = bad = verdict == Verdict::bad;
    if (verdict == Verdict::switched) return switch_protocols();
    if (verdict != Verdict::interim && verdict != Verdict::final) return;
    check_pause(head);
    const bool last = verdict == Verdict::final;
    const auto fields =
        http::response_fields(head, asked_.target, "penstock", last ? std::optional(Duration{1}) : std::nullopt);
    if (!last) return ++interims, writer_.interim(to_client, head.status, head.reason, fields);
    writer_.head(to_client, head.status, head.reason, fields,
                 head.has_length ? std::optional(head.content_length) : std::nullopt);
    decoder_.emplace(reader_, asked_.method);
  }
  static void check_pause(const http::ResponseHead& head) {
    const auto word = http::read_rate_limit(head, 1'700'000'000'000'000);
    must(!word.pause || (*word.pause >= 0s && *word.pause <= 365 * 24h), "a pause is between nothing and a year");
    must(!word.refused || http::may_refuse(head.status), "only some answers are refusals");
    must(!word.refused || !word.spent, "an answer refuses, or is the last one");
    must(!word.spent || word.remaining == 0U, "what is spent has nothing left");
    must(!word.pause || word.refused || word.spent, "a good answer of which something is left asks for no pause");
    const auto none = http::read_rate_limit(head, 1'700'000'000'000'000, Obey::off);
    must(!none.pause && !none.remaining && none.unreadable == 0, "what is not to be read says nothing");
    const auto plain = http::read_rate_limit(head, 1'700'000'000'000'000, Obey::retry_after);
    must(!plain.pause || (word.pause && *word.pause >= *plain.pause), "more fields make no pause shorter");
  }
  void switch_protocols() {
    over_ = true;
    must(asked_.upgrades && reader_.head().status == 101, "nobody switches who was not asked");
    http::switches_as_asked(reader_.head(), "websocket");
  }
  void decode(std::string_view& bytes) {
    using State = http::BodyDecoder::State;
    std::string_view piece;
    State state;
    while ((state = decoder_->next(bytes, piece)) == State::piece) {
      must(!piece.empty(), "a piece is something");
      body += piece;
      writer_.body(to_client, piece);
    }
    if (state == State::whole) finish();
    over_ = over_ || state == State::bad;
    bad = state == State::bad;
  }
  void finish() {
    over_ = whole = true;
    writer_.end(to_client, http::trailer_fields(reader_.trailers()));
  }

  const Asked& asked_;
  http::ResponseHeadReader reader_{2048, 30, 3};
  http::ResponseWriter writer_;
  http::LineBuffer lines_;
  std::optional<http::BodyDecoder> decoder_;
  bool over_ = false;
};

/// The final message, behind the interim ones.
std::optional<SecondReader::Message> read_final(SecondReader& reader, const Asked& asked, int& interims) {
  for (;;) {
    auto message = reader.response(!asked.writer.head_method);
    if (!message || message->start[1][0] != '1') return message;
    ++interims;
  }
}

void check_for_client(const Answer& answer, const Asked& asked) {
  SecondReader reader(answer.to_client);
  int interims = 0;
  const auto read = read_final(reader, asked, interims);
  must(read.has_value(), "the client gets one clear answer", answer.to_client);
  must(reader.rest().empty(), "and nothing behind it", answer.to_client);
  must(interims == (asked.writer.minor_version == 1 ? answer.interims : 0), "and all that came before",
       answer.to_client);
  const auto& head = answer.reader().head();
  const bool has_body = head.has_body(asked.method);
  must(read->start[1] == std::to_string(head.status), "with the same status", answer.to_client);
  must(read->body == (has_body ? answer.body : ""), "with the same body", answer.to_client, answer.body);
  must(answer.body.empty() || has_body, "bodies come only where there is one");
  const bool closes = read->value("connection") == "close" || (read->start[0] == "HTTP/1.1" && read->to_end);
  must(closes || answer.keeps_connection() || asked.writer.minor_version == 0, "it says whether it stays",
       answer.to_client);
  must(!read->to_end || !answer.keeps_connection(), "what has no end closes", answer.to_client);
  must(read->count("proxy-authenticate") + read->count("upgrade") + read->count("te") == 0, "hop by hop",
       answer.to_client);
}

/// libcurl frames by the same lines as they came: where nothing is to be cleaned up, nobody may differ.
void check_as_it_came(const Answer& answer, const Asked& asked, std::string_view stream) {
  SecondReader reader(stream);
  int interims = 0;
  const auto read = read_final(reader, asked, interims);
  if (!read) return;
  must(read->start[1] == std::to_string(answer.reader().head().status), "a second reader sees the same status", stream);
  must(read->body == answer.body, "a second reader sees the same body", stream, answer.body);
  must(reader.rest() == answer.left_over, "a second reader sees the same end", stream, answer.left_over);
}

}  // namespace

void try_input(std::string_view input) {
  Choices choices(input);
  const Asked asked(choices.byte());
  const std::string_view stream = choices.rest();
  Answer whole(asked), cut(asked);
  whole.feed(stream);
  in_pieces(stream, [&](std::string_view piece) { return cut.feed(piece); });
  whole.end();
  cut.end();
  must(whole.whole == cut.whole && whole.bad == cut.bad && whole.body == cut.body, "however it is cut", stream);
  must(whole.reader().why() == cut.reader().why(), "however it is cut, it is refused for the same", stream);
  if (!whole.whole) return;
  check_for_client(whole, asked);
  check_for_client(cut, asked);
  check_as_it_came(whole, asked, stream);
}

}  // namespace penstock::fuzz
