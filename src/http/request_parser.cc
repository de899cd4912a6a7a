// SPDX-License-Identifier: Apache-2.0
// The stages of a request: its line (request_line), its fields (llhttp), the verdict on both (request_framing), then a
// body by length (counted here) or in chunks (chunk_decoder), and trailers (llhttp, as if they were fields). llhttp
// stops at every boundary, so that each cap counts exactly its own bytes, and the answer does not depend on how the
// bytes were cut.
#include "http/request_parser.h"

#include <llhttp.h>

#include <algorithm>
#include <utility>

#include "http/chunk_decoder.h"
#include "http/grammar.h"
#include "http/request_framing.h"
#include "http/request_line.h"

namespace penstock::http {
namespace {

/// Initial room for fields, limited by the bytes that have come; more is allocated as needed.
constexpr std::size_t kUsualFieldText = 512;
constexpr std::size_t kUsualFieldLines = 8;

/// The bytes that a cap still allows. A cap that was lowered may be below what was already taken.
std::string_view up_to(std::size_t cap, std::size_t taken, std::string_view bytes) {
  return bytes.substr(0, cap - std::min(cap, taken));
}

const char* words_for(ChunkDecoder::Fault fault) {
  using Fault = ChunkDecoder::Fault;
  switch (fault) {
    case Fault::none: break;
    case Fault::size: return "a chunk does not begin with its size in hexadecimal digits";
    case Fault::extension: return "behind a chunk's size stands something other than extensions, or an open quote";
    case Fault::line_too_long: return "a chunk's size line is longer than caps.chunkLineBytes";
    case Fault::line_end: return "a chunk's size line does not end in CR LF, or has a control character";
    case Fault::length: return "a chunk is longer or shorter than its size says";
  }
  return "";
}

}  // namespace

struct RequestParser::Impl {
  enum class Phase : std::uint8_t { line, fields, length_body, chunks, trailers, over, failed };

  Impl(const CapsConfig& caps, RequestSink& sink) : caps_(caps), sink_(sink) {}

  static Impl& of(llhttp_t* parser) { return *static_cast<Impl*>(parser->data); }
  static const llhttp_settings_t& settings();
  static const llhttp_t& parser_after_request_line();

  Progress consume(std::string_view bytes);
  std::size_t step(std::string_view bytes);
  std::size_t read_line(std::string_view bytes);
  std::size_t read_fields(std::string_view bytes, std::size_t cap, const char* too_large);
  std::size_t read_chunks(std::string_view bytes);
  std::size_t read_length_body(std::string_view bytes);
  std::size_t run(std::string_view bytes);
  std::size_t find_line_fault(std::string_view bytes) const;

  void begin_fields(std::size_t promised);
  void begin_section(Phase phase);
  int field_piece(std::string_view piece);
  int value_piece(std::string_view piece);
  int end_field();
  int end_head();
  int end_trailers();
  int end_message();
  int refuse(Reason why, std::string details);

  const CapsConfig& caps_;
  RequestSink& sink_;
  RequestHead head_;  // after it is handed over, its fields collect the trailers
  llhttp_t parser_{};
  RequestLine line_;
  ChunkDecoder chunks_;
  Phase phase_ = Phase::line;
  bool in_field_ = false;  // a field's name has begun and its value is not complete
  char last_byte_ = '\n';  // within fields: the byte before the next one
  bool stop_ = false;
  bool keep_alive_ = true;
  std::size_t section_bytes_ = 0;  // of the current head or trailers
  std::uint64_t body_left_ = 0;
  std::unique_ptr<Refusal> refusal_;
};

// llhttp's callbacks. llhttp never sees a client's request line: it knows a closed list of methods, and is lenient
// there.
const llhttp_settings_t& RequestParser::Impl::settings() {
  static const llhttp_settings_t kSettings = [] {
    llhttp_settings_t calls;
    llhttp_settings_init(&calls);
    calls.on_header_field = [](llhttp_t* p, const char* at, std::size_t size) { return of(p).field_piece({at, size}); };
    calls.on_header_value = [](llhttp_t* p, const char* at, std::size_t size) { return of(p).value_piece({at, size}); };
    calls.on_header_value_complete = [](llhttp_t* p) { return of(p).end_field(); };
    calls.on_headers_complete = [](llhttp_t* p) {
      return of(p).phase_ == Phase::trailers ? of(p).end_trailers() : of(p).end_head();
    };
    return calls;
  }();
  return kSettings;
}

/// A parser that expects fields next. Copying it is all it takes to begin a request.
const llhttp_t& RequestParser::Impl::parser_after_request_line() {
  static const llhttp_t kParser = [] {
    constexpr std::string_view kLine = "POST / HTTP/1.1\r\n";
    llhttp_t parser;
    llhttp_init(&parser, HTTP_REQUEST, &settings());
    llhttp_execute(&parser, kLine.data(), kLine.size());
    return parser;
  }();
  return kParser;
}

RequestParser::Progress RequestParser::Impl::consume(std::string_view bytes) {
  const std::size_t offered = bytes.size();
  stop_ = false;
  while (!bytes.empty() && !stop_ && phase_ != Phase::failed) bytes.remove_prefix(step(bytes));
  const State state = phase_ == Phase::failed ? State::failed : stop_ ? State::paused : State::hungry;
  return {offered - bytes.size(), state};
}

std::size_t RequestParser::Impl::step(std::string_view bytes) {
  switch (phase_) {
    case Phase::line: return read_line(bytes);
    case Phase::fields:
      return read_fields(bytes, caps_.header_bytes, "the header section is larger than caps.headerBytes");
    case Phase::trailers:
      return read_fields(bytes, caps_.trailer_bytes, "the trailer section is larger than caps.trailerBytes");
    case Phase::chunks: return read_chunks(bytes);
    case Phase::length_body: return read_length_body(bytes);
    case Phase::over:
    case Phase::failed: break;
  }
  return bytes.size();
}

std::size_t RequestParser::Impl::read_line(std::string_view bytes) {
  const std::string_view allowed = up_to(caps_.header_bytes, section_bytes_, bytes);
  if (allowed.empty()) {
    refuse(Reason::head_too_large, "the request line is larger than caps.headerBytes");
    return 0;
  }
  const std::size_t taken = line_.consume(allowed, caps_.target_bytes, head_);
  section_bytes_ += taken;
  if (line_.fault() != RequestLine::Fault::none) {
    refusal_ = std::make_unique<Refusal>(refusal_for(line_.fault()));
    phase_ = Phase::failed;
  } else if (line_.complete()) {
    begin_fields(bytes.size() - taken);
  }
  return taken;
}

void RequestParser::Impl::begin_fields(std::size_t promised) {
  if (promised > 0) head_.fields.reserve(std::min(promised, kUsualFieldText), kUsualFieldLines);
  begin_section(Phase::fields);
}

/// Begins a section of field lines, up to an empty one. With a fresh parser, the head means nothing to the trailers.
void RequestParser::Impl::begin_section(Phase phase) {
  parser_ = parser_after_request_line();
  parser_.data = this;
  last_byte_ = '\n';
  phase_ = phase;
}

/// Looks for the faults that llhttp accepts before llhttp sees the bytes.
std::size_t RequestParser::Impl::read_fields(std::string_view bytes, std::size_t cap, const char* too_large) {
  const std::string_view allowed = up_to(cap, section_bytes_, bytes);
  if (allowed.empty()) {
    refuse(Reason::head_too_large, too_large);
    return 0;
  }
  const Phase before = phase_;
  const std::size_t fault = find_line_fault(allowed);
  const std::size_t taken = fault == 0 ? 0 : run(allowed.substr(0, fault));
  if (phase_ != before) {
    section_bytes_ = 0;
  } else if (taken == fault) {
    refuse(Reason::malformed, "a field line begins with a blank, or does not end in CR LF");
  } else {
    section_bytes_ += taken;
    last_byte_ = allowed[taken - 1];
  }
  return taken;
}

/// The position of a field line that begins with a blank (llhttp joins it to the line before), or of a line feed
/// without CR (llhttp takes it for the end of the section); npos if neither is there. May look beyond the section:
/// llhttp stops there.
std::size_t RequestParser::Impl::find_line_fault(std::string_view bytes) const {
  char before = last_byte_;
  for (std::size_t at = 0; at < bytes.size();) {
    if (before == '\n' && is_blank(bytes[at])) return at;
    if (before == '\n' && bytes[at] == '\r') return std::string_view::npos;  // the empty line
    at = std::min(bytes.find('\n', at), bytes.size());
    if (at < bytes.size() && (at > 0 ? bytes[at - 1] : before) != '\r') return at;
    before = '\n';
    ++at;
  }
  return std::string_view::npos;
}

std::size_t RequestParser::Impl::read_chunks(std::string_view bytes) {
  const std::size_t offered = bytes.size();
  std::string_view piece;
  switch (chunks_.next(bytes, piece, caps_.chunk_line_bytes)) {
    case ChunkDecoder::State::more: break;
    case ChunkDecoder::State::piece: sink_.on_body(piece); break;
    case ChunkDecoder::State::last:
      chunks_ = ChunkDecoder{};
      begin_section(Phase::trailers);
      break;
    case ChunkDecoder::State::bad: refuse(Reason::malformed, words_for(chunks_.fault())); break;
  }
  return offered - bytes.size();
}

std::size_t RequestParser::Impl::read_length_body(std::string_view bytes) {
  const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), body_left_));
  body_left_ -= size;
  sink_.on_body(bytes.substr(0, size));
  if (body_left_ == 0) end_message();
  return size;
}

/// Runs llhttp up to the next boundary. Returns the number of bytes consumed.
std::size_t RequestParser::Impl::run(std::string_view bytes) {
  llhttp_resume(&parser_);
  const llhttp_errno_t code = llhttp_execute(&parser_, bytes.data(), bytes.size());
  if (code == HPE_OK) return bytes.size();
  if (code != HPE_PAUSED && phase_ != Phase::failed) {
    refuse(Reason::malformed, std::string("malformed message: ") + llhttp_get_error_reason(&parser_));
  }
  return static_cast<std::size_t>(llhttp_get_error_pos(&parser_) - bytes.data());
}

int RequestParser::Impl::field_piece(std::string_view piece) {
  if (!std::exchange(in_field_, true)) head_.fields.begin();
  head_.fields.extend_name(piece);
  return HPE_OK;
}

int RequestParser::Impl::value_piece(std::string_view piece) {
  if (!in_field_) return refuse(Reason::malformed, "a field line has no name");
  head_.fields.extend_value(piece);
  return HPE_OK;
}

int RequestParser::Impl::end_field() {
  head_.fields.trim_value();
  in_field_ = false;
  if (head_.fields[head_.fields.size() - 1].name.empty()) return refuse(Reason::malformed, "a field line has no name");
  if (head_.fields.size() > caps_.header_count) {
    return refuse(Reason::head_too_large, "there are more field lines than caps.headerCount");
  }
  return HPE_OK;
}

int RequestParser::Impl::end_head() {
  if (auto wrong = judge_framing(head_)) return refuse(wrong->why, std::move(wrong->details));
  const BodyKind body = head_.body;
  if ((body == BodyKind::chunked) != ((parser_.flags & F_CHUNKED) != 0)) {
    return refuse(Reason::malformed, "the message's framing is ambiguous");
  }
  keep_alive_ = head_.keep_alive;
  body_left_ = head_.content_length;
  phase_ = body == BodyKind::chunked ? Phase::chunks : Phase::length_body;
  sink_.on_head(std::exchange(head_, RequestHead{}));
  if (body != BodyKind::chunked && body_left_ == 0) end_message();
  return HPE_PAUSED;
}

/// A client that sends Transfer-Encoding here disagrees about where the body ends.
int RequestParser::Impl::end_trailers() {
  if (head_.fields.find("transfer-encoding"))
    return refuse(Reason::malformed, "there is a Transfer-Encoding among trailers");
  return end_message();
}

int RequestParser::Impl::end_message() {
  line_ = RequestLine{};
  phase_ = keep_alive_ ? Phase::line : Phase::over;
  stop_ = true;
  sink_.on_complete(std::exchange(head_.fields, Fields{}));
  return HPE_PAUSED;
}

int RequestParser::Impl::refuse(Reason why, std::string details) {
  refusal_ = std::make_unique<Refusal>(Refusal{.why = why, .details = std::move(details)});
  phase_ = Phase::failed;
  return HPE_USER;
}

RequestParser::RequestParser(const CapsConfig& caps, RequestSink& sink) : impl_(std::make_unique<Impl>(caps, sink)) {}
RequestParser::~RequestParser() = default;

RequestParser::Progress RequestParser::consume(std::string_view bytes) { return impl_->consume(bytes); }

void RequestParser::pause() { impl_->stop_ = true; }

void RequestParser::restart() { impl_ = std::make_unique<Impl>(impl_->caps_, impl_->sink_); }

bool RequestParser::in_message() const {
  if (impl_->phase_ == Impl::Phase::line) return impl_->line_.begun();
  return impl_->phase_ != Impl::Phase::over;
}

bool RequestParser::in_body() const {
  const auto phase = impl_->phase_;
  return phase >= Impl::Phase::length_body && phase <= Impl::Phase::trailers;
}

const Refusal& RequestParser::refusal() const { return *impl_->refusal_; }

bool RequestParser::failed_head_method() const { return impl_->head_.method == "HEAD"; }

}  // namespace penstock::http
