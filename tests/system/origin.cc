// SPDX-License-Identifier: Apache-2.0
// The tests' origin server.
#include "system/origin.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "system/client.h"

namespace penstock::trial {

bool Visit::read_body() {
  return read_body([this](std::string_view bytes) { seen_.body += bytes; });
}

bool Visit::read_body(const Reader::Sink& sink) {
  if (std::exchange(body_read_, true)) return seen_.whole;
  seen_.whole = reader_.body(seen_.framing, sink, seen_.trailers);
  origin_.complain(reader_.complaint);
  origin_.keep(index_, seen_);
  return seen_.whole;
}

void Visit::done() {
  if (std::exchange(counted_, false)) origin_.leave();
}

bool Visit::write(std::string_view bytes) { return socket_.send(bytes) == bytes.size(); }

bool Visit::last(std::string_view bytes) {
  done();
  return write(bytes);
}

bool Visit::answer(int status, std::string_view body, std::string_view lines) {
  std::string out = "HTTP/1.1 " + std::to_string(status) + " Said by the origin\r\nContent-Length: ";
  out.append(std::to_string(body.size())).append("\r\n").append(lines).append("\r\n");
  if (seen_.method != "HEAD") out.append(body);
  return last(out);
}

void Visit::close() {
  if (socket_.layer()) socket_.layer()->say_goodbye();
  cut();
}

void Visit::cut() {
  done();
  const std::lock_guard lock(origin_.mutex_);
  socket_.shut_down();
  socket_.cut();
}

void Visit::reset() {
  done();
  const std::lock_guard lock(origin_.mutex_);
  socket_.reset();
}

void Visit::hold() {
  std::unique_lock lock(origin_.mutex_);
  origin_.changed_.wait(lock, [this] { return origin_.permits_ > 0 || origin_.stopping_; });
  if (origin_.permits_ > 0) --origin_.permits_;
}

bool Visit::sees_the_end() {
  std::string ignored;
  while (socket_.receive(ignored)) ignored.clear();
  return socket_.ended();
}

Origin::Origin(test::Wrap wrap)
    : otherwise_(scripts::answers(200, "hello")), wrap_(std::move(wrap)), listener_(Socket::listen(1024, &port_)) {
  acceptor_ = std::thread([this] { accept(); });
}

Origin::~Origin() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    listener_.shut_down();
    for (auto& connection : connections_) connection.socket.shut_down();
  }
  changed_.notify_all();
  acceptor_.join();
  for (auto& connection : connections_) connection.thread.join();
}

void Origin::on(std::string path, Script script) {
  const std::lock_guard lock(mutex_);
  scripts_[std::move(path)] = std::move(script);
}

void Origin::otherwise(Script script) {
  const std::lock_guard lock(mutex_);
  otherwise_ = std::move(script);
}

void Origin::release(std::size_t count) {
  const std::lock_guard lock(mutex_);
  permits_ += count;
  changed_.notify_all();
}

void Origin::release_all() { release(1'000'000'000); }

std::vector<Seen> Origin::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

std::size_t Origin::count() const {
  const std::lock_guard lock(mutex_);
  return seen_.size();
}

bool Origin::await(std::size_t requests, Clock::duration patience) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&] { return seen_.size() >= requests; });
}

std::size_t Origin::most_at_once() const {
  const std::lock_guard lock(mutex_);
  return most_at_once_;
}

std::size_t Origin::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_.size();
}

void Origin::hang_up() {
  const std::lock_guard lock(mutex_);
  for (auto& connection : connections_) connection.socket.shut_down();
}

std::string Origin::complaint() const {
  const std::lock_guard lock(mutex_);
  return complaint_;
}

void Origin::complain(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (complaint_.empty()) complaint_ = text;
}

void Origin::accept() {
  for (;;) {
    Socket socket(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket.fd() < 0) return;
    const int on = 1;
    setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    auto& connection = connections_.emplace_back();
    connection.socket = std::move(socket);
    connection.number = connections_.size();
    connection.thread = std::thread([this, &connection] { serve(connection); });
  }
}

void Origin::serve(Connection& connection) {
  Socket& socket = connection.socket;
  Reader reader(socket);
  const bool ready = !wrap_ || socket.put_on(wrap_);
  for (std::size_t nth = 1; ready && serve_one(connection, reader, nth); ++nth) {
  }
  if (socket.layer()) socket.layer()->say_goodbye();
  // The descriptor stays open, so that the destructor never shuts down somebody else's.
  socket.shut_down();
}

bool Origin::serve_one(Connection& connection, Reader& reader, std::size_t nth) {
  Seen seen;
  seen.head = reader.head(Clock::now() + std::chrono::minutes(2));
  if (seen.head.empty()) return false;
  seen.at = Clock::now();
  seen.connection = connection.number;
  seen.nth = nth;
  if (const auto* layer = connection.socket.layer()) seen.peer = layer->peer();
  if (!understand(reader, seen)) return false;
  const std::size_t index = arrive(seen);
  Visit visit(*this, connection.socket, reader, std::move(seen), index);
  script_for(visit.seen_.target)(visit);
  if (connection.socket.fd() >= 0) visit.read_body();
  visit.done();
  return connection.socket.fd() >= 0 && visit.seen_.whole;
}

bool Origin::understand(Reader& reader, Seen& seen) {
  std::string first;
  const bool split = reader.split(seen.head, first, seen.fields);
  const auto one = first.find(' '), two = first.rfind(' ');
  if (!split || one == std::string::npos || first.substr(two) != " HTTP/1.1" || first.find(' ', one + 1) != two) {
    complain(split ? "a bad request line: " + first : reader.complaint);
    return false;
  }
  seen.method = first.substr(0, one);
  seen.target = first.substr(one + 1, two - one - 1);
  const auto lengths = seen.fields.all("content-length"), codings = seen.fields.all("transfer-encoding");
  if (lengths.size() + codings.size() > 1) complain("more than one framing field:\n" + seen.head);
  if (seen.fields.all("host").size() != 1) complain("not exactly one Host:\n" + seen.head);
  if (!codings.empty()) {
    if (codings[0] != "chunked") complain("Transfer-Encoding: " + codings[0]);
    seen.framing.kind = Framing::Kind::chunked;
  } else if (!lengths.empty()) {
    seen.framing.kind = Framing::Kind::length;
    const char* end = lengths[0].data() + lengths[0].size();
    if (std::from_chars(lengths[0].data(), end, seen.framing.length).ptr != end)
      complain("Content-Length: " + lengths[0]);
  }
  return true;
}

namespace {

/// The path of either form of target, so that the instruments can also be tried without a proxy.
std::string path_of(std::string target) {
  if (target.starts_with("http://")) target.erase(0, target.find('/', 7));
  return target.substr(0, target.find('?'));
}

}  // namespace

Origin::Script Origin::script_for(const std::string& target) const {
  const std::lock_guard lock(mutex_);
  const auto found = scripts_.find(path_of(target));
  return found == scripts_.end() ? otherwise_ : found->second;
}

std::size_t Origin::arrive(const Seen& seen) {
  const std::lock_guard lock(mutex_);
  seen_.push_back(seen);
  most_at_once_ = std::max(most_at_once_, ++at_once_);
  changed_.notify_all();
  return seen_.size() - 1;
}

void Origin::keep(std::size_t index, const Seen& seen) {
  const std::lock_guard lock(mutex_);
  seen_[index] = seen;
}

void Origin::leave() {
  const std::lock_guard lock(mutex_);
  --at_once_;
}

namespace scripts {

Origin::Script answers(int status, std::string body, std::string lines) {
  return [=](Visit& visit) {
    if (visit.read_body()) visit.answer(status, body, lines);
  };
}

namespace {

constexpr std::size_t kPiece = 64 * 1024;

/// The pattern in pieces; the last piece is held back for `last`.
bool write_pattern(Visit& visit, std::uint64_t size, std::size_t each, bool in_chunks) {
  for (std::uint64_t done = 0; done < size;) {
    const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(each, size - done));
    const std::string bytes = pattern(done, piece);
    done += piece;
    const bool ends = done == size && !in_chunks;
    const std::string out = in_chunks ? chunk(bytes) : bytes;
    if (!(ends ? visit.last(out) : visit.write(out))) return false;
  }
  return !in_chunks || visit.last("0\r\n\r\n");
}

}  // namespace

Origin::Script sized(std::uint64_t size) {
  return [=](Visit& visit) {
    visit.read_body();
    visit.write("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n");
    if (visit.request().method != "HEAD" && !write_pattern(visit, size, kPiece, false)) visit.close();
  };
}

Origin::Script chunked(std::uint64_t size, std::size_t each) {
  return [=](Visit& visit) {
    visit.read_body();
    visit.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    if (!write_pattern(visit, size, each, true)) visit.close();
  };
}

Origin::Script held(int status, std::string body) {
  return [=](Visit& visit) {
    visit.read_body();
    visit.hold();
    visit.answer(status, body);
  };
}

Origin::Script says(std::string bytes, bool then_close) {
  return [=](Visit& visit) {
    if (!visit.read_body()) return visit.close();
    visit.last(bytes);
    if (then_close) visit.close();
  };
}

Origin::Script echoes() {
  return [](Visit& visit) {
    visit.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    const bool whole = visit.read_body([&](std::string_view bytes) {
      if (!bytes.empty()) visit.write(chunk(bytes));
    });
    if (whole) {
      visit.last("0\r\n\r\n");
    } else {
      visit.close();
    }
  };
}

Origin::Script logs_in(const std::string& scheme) {
  return [scheme, known = std::make_shared<std::set<std::size_t>>(),
          mutex = std::make_shared<std::mutex>()](Visit& visit) {
    visit.read_body();
    const auto& request = visit.request();
    const std::string said = request.fields.find("authorization").value_or("");
    const std::lock_guard lock(*mutex);
    if (known->contains(request.connection)) return void(visit.answer(200, "known"));
    if (said == scheme + " three") {
      known->insert(request.connection);
      return void(visit.answer(200, "welcome"));
    }
    const std::string challenge = said == scheme + " one" ? " two" : "";
    visit.answer(401, "who?", "WWW-Authenticate: Basic realm=\"x\", " + scheme + challenge + "\r\n");
  };
}

}  // namespace scripts

}  // namespace penstock::trial
