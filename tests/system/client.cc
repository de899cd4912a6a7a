// SPDX-License-Identifier: Apache-2.0
// The tests' raw client.
#include "system/client.h"

#include <charconv>
#include <sstream>

namespace penstock::trial {

namespace {

Framing framing_of(const Reply& reply, bool bodyless, std::string& complaint) {
  const auto lengths = reply.fields.all("content-length"), codings = reply.fields.all("transfer-encoding");
  if (lengths.size() + codings.size() > 1) complaint = "more than one framing field";
  if (bodyless || reply.status / 100 == 1 || reply.status == 204 || reply.status == 304) return {};
  if (!codings.empty()) {
    if (codings[0] != "chunked") complaint = "Transfer-Encoding: " + codings[0];
    return {Framing::Kind::chunked, 0};
  }
  if (lengths.empty()) return {Framing::Kind::to_end, 0};
  Framing framing{Framing::Kind::length, 0};
  const auto& text = lengths[0];
  if (std::from_chars(text.data(), text.data() + text.size(), framing.length).ptr != text.data() + text.size())
    complaint = "Content-Length: " + text;
  return framing;
}

}  // namespace

std::string Reply::error() const {
  const std::string value = field("proxy-status");
  const auto at = value.find("error=");
  return at == std::string::npos ? "" : value.substr(at + 6, value.find(';', at) - at - 6);
}

bool Client::read_head(Reply& reply) {
  reply.head = reader_.head();
  if (reply.head.empty()) return false;
  std::string first;
  if (!reader_.split(reply.head, first, reply.fields)) {
    reply.complaint = reader_.complaint;
    return false;
  }
  if (first.size() < 13 || !first.starts_with("HTTP/1.") || first[8] != ' ' || first[12] != ' ') {
    reply.complaint = "a bad status line: " + first;
    return false;
  }
  reply.status = std::stoi(first.substr(9, 3));
  reply.reason = first.substr(13);
  return true;
}

Reply Client::head() {
  Reply reply;
  reply.whole = read_head(reply);
  return reply;
}

Reply Client::reply(bool bodyless, const Reader::Sink& sink) {
  std::vector<Reply> interims;
  Reply reply = head();
  while (reply.status / 100 == 1 && reply.status != 101) {
    interims.push_back(std::move(reply));
    reply = head();
  }
  reply.interims = std::move(interims);
  if (!reply.whole) return reply;
  const Framing framing = framing_of(reply, bodyless, reply.complaint);
  reply.chunked = framing.kind == Framing::Kind::chunked;
  const auto keep = [&](std::string_view bytes) { reply.body += bytes; };
  reply.whole = reader_.body(framing, sink ? sink : keep, reply.trailers);
  if (reply.complaint.empty()) reply.complaint = reader_.complaint;
  return reply;
}

std::string Client::rest() {
  const auto until = Clock::now() + kPatience;
  while (reader_.fill(until)) {
  }
  return std::exchange(reader_.buffer(), {});
}

bool Client::hears_within(Clock::duration time) {
  return !reader_.buffer().empty() || reader_.fill(Clock::now() + time) || socket_.ended();
}

std::size_t Client::send_until_stuck(std::string_view bytes, Clock::duration pause) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const std::size_t sent = socket_.send(bytes.substr(done, 64 * 1024), Clock::now() + pause);
    if (sent == 0) break;
    done += sent;
  }
  return done;
}

std::string authority_of(std::string_view url) {
  url.remove_prefix(url.find("//") + 2);
  return std::string(url.substr(0, url.find_first_of("/?")));
}

std::string get(std::string_view url, std::string_view lines) {
  std::string out = "GET ";
  out.append(url).append(" HTTP/1.1\r\nHost: ").append(authority_of(url)).append("\r\n");
  return out.append(lines).append("\r\n");
}

std::string with_body(std::string_view method, std::string_view url, std::string_view body, std::string_view lines) {
  std::string out{method};
  out.append(" ").append(url).append(" HTTP/1.1\r\nHost: ").append(authority_of(url));
  out.append("\r\nContent-Length: ").append(std::to_string(body.size())).append("\r\n");
  return out.append(lines).append("\r\n").append(body);
}

std::string chunk(std::string_view bytes) {
  std::ostringstream out;
  out << std::hex << bytes.size() << "\r\n" << bytes << "\r\n";
  return out.str();
}

}  // namespace penstock::trial
