// SPDX-License-Identifier: Apache-2.0
// One pass over the fields collects the relevant ones; then RFC 9112 sections 3.2, 6 and 9.3 are applied in turn.
#include "http/request_framing.h"

#include "http/grammar.h"
#include "http/target.h"
#include "http/upgrade.h"

namespace penstock::http {
namespace {

/// The fields that frame or route the message, or end the connection.
struct Seen {
  std::size_t hosts = 0;
  std::size_t lengths = 0;
  std::size_t codings = 0;
  std::size_t nominations = 0;
  std::string_view host;
  std::string_view length;
  std::string_view coding;
  bool close = false;
  bool keep_alive = false;
  bool continue_expected = false;
  bool upgrade = false;            // an Upgrade field is there
  bool upgrade_nominated = false;  // and Connection lists it
};

void look_at_connection(Seen& seen, std::string_view value) {
  each_member(value, [&](std::string_view option) {
    ++seen.nominations;
    seen.close = seen.close || equal_ignoring_case(option, "close");
    seen.keep_alive = seen.keep_alive || equal_ignoring_case(option, "keep-alive");
  });
}

void look_for_upgrade(Seen& seen, std::string_view value) {
  each_member(value, [&](std::string_view option) {
    seen.upgrade_nominated = seen.upgrade_nominated || equal_ignoring_case(option, "upgrade");
  });
}

void look_at_expect(Seen& seen, std::string_view value) {
  each_member(value, [&](std::string_view member) {
    seen.continue_expected = seen.continue_expected || equal_ignoring_case(member, "100-continue");
  });
}

void look_at(Seen& seen, Fields::Line line) {
  const auto is = [&](std::string_view name) { return equal_ignoring_case(line.name, name); };
  switch (line.name.size()) {
    case 4:
      if (is("host")) ++seen.hosts, seen.host = line.value;
      break;
    case 6:
      if (is("expect")) look_at_expect(seen, line.value);
      break;
    case 7: seen.upgrade = seen.upgrade || is("upgrade"); break;
    case 10:
      if (is("connection")) look_at_connection(seen, line.value), look_for_upgrade(seen, line.value);
      break;
    case 14:
      if (is("content-length")) ++seen.lengths, seen.length = line.value;
      break;
    case 16:
      if (is("proxy-connection")) look_at_connection(seen, line.value);
      break;
    case 17:
      if (is("transfer-encoding")) ++seen.codings, seen.coding = line.value;
      break;
    default: break;
  }
}

const char* judge_host(const RequestHead& head, const Seen& seen) {
  if (seen.hosts > 1) return "there is more than one Host field";
  if (seen.hosts == 0 && head.minor_version == 1 && head.method != "CONNECT") return "the Host field is missing";
  if (!is_host_value(seen.host)) return "the Host field is not of the form HOST or HOST:PORT";
  return nullptr;
}

const char* judge_coding(RequestHead& head, const Seen& seen) {
  if (head.minor_version == 0) return "HTTP/1.0 has no Transfer-Encoding";
  if (seen.lengths > 0) return "Content-Length and Transfer-Encoding exclude each other";
  if (seen.codings > 1 || !equal_ignoring_case(seen.coding, "chunked")) {
    return "the only Transfer-Encoding accepted is one that says exactly 'chunked'";
  }
  head.body = BodyKind::chunked;
  return nullptr;
}

const char* judge_length(RequestHead& head, const Seen& seen) {
  const auto length = parse_digits(seen.length);
  if (seen.lengths > 1 || !length) return "Content-Length is not exactly one decimal number";
  head.content_length = *length;
  head.body = BodyKind::length;
  return nullptr;
}

const char* judge_body(RequestHead& head, const Seen& seen) {
  if (seen.codings == 0 && seen.lengths == 0) return nullptr;
  if (head.method == "CONNECT") {
    // Some clients send a Content-Length with every request.
    const bool none = seen.codings == 0 && seen.lengths == 1 && parse_digits(seen.length) == 0;
    return none ? nullptr : "CONNECT has no body: neither Transfer-Encoding nor a Content-Length other than 0";
  }
  return seen.codings > 0 ? judge_coding(head, seen) : judge_length(head, seen);
}

}  // namespace

std::optional<Refusal> judge_framing(RequestHead& head) {
  Seen seen;
  for (std::size_t i = 0; i < head.fields.size(); ++i) look_at(seen, head.fields[i]);

  const char* wrong = judge_host(head, seen);
  if (!wrong) wrong = judge_body(head, seen);
  if (!wrong && seen.nominations > kMostNominations) wrong = "Connection nominates more than 32 fields";
  if (wrong) return Refusal{.why = Reason::malformed, .details = wrong};

  // After a refused CONNECT the connection stays open only for a client that asks for it, and so waits for the answer:
  // bytes that another client sends behind the CONNECT, for the tunnel, must never be read as a request.
  const bool stays_by_itself = head.minor_version == 1 && head.method != "CONNECT";
  head.keep_alive = !seen.close && (stays_by_itself || seen.keep_alive);
  const bool may_upgrade = head.method == "GET" && head.minor_version == 1 && !head.has_body();
  if (seen.upgrade && seen.upgrade_nominated && may_upgrade) head.upgrade = upgrades_passed(head.fields);
  head.expect_continue = seen.continue_expected && head.minor_version == 1 && head.has_body();
  return std::nullopt;
}

}  // namespace penstock::http
