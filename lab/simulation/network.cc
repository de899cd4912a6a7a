// SPDX-License-Identifier: Apache-2.0
// Lines: the state that the two ends of a connection share, as long as either exists.
#include "simulation/network.h"

#include <cerrno>
#include <deque>
#include <functional>
#include <string>
#include <utility>

namespace penstock::simulation {

namespace {
constexpr Time kLatest = 200 * kMillisecond;  // how late messages may come
}

/// A stream that ends at Redis. What is read is handed on when it comes, read or not.
class Network::End final : public loop::Stream {
 public:
  End(std::shared_ptr<Line> line, loop::StreamEvents& events);
  ~End() override;

  loop::StreamEvents& events() { return *events_; }
  void fail(int error) { error_ = error; }

  void read_on() override {}
  void read_off() override {}
  void keep_half_open() override {}
  void touch() override { send(std::exchange(out_, {})); }
  bool send(std::string_view bytes) override;
  void end_writing() override {}
  std::size_t queued() const override { return 0; }
  std::size_t unread_by_peer() const override { return 0; }
  bool is_read_out() const override { return false; }
  Endpoint peer() const override { return {}; }
  loop::DialFailure dial_failure() const override { return loop::DialFailure::none; }
  int error() const override { return error_; }

 private:
  void end_gently(std::unique_ptr<loop::Stream>) override {}
  void end_with_reset() override {}

  const std::shared_ptr<Line> line_;
  int error_ = 0;
};

class Network::Line final : public RedisServer::Client, public std::enable_shared_from_this<Line> {
 public:
  Line(Network& network, Host& host) : network_(&network), world_(network.world_), host_(host) {}

  void connect(End& end) {
    end_ = &end;
    towards([this] {
      connection_ = host().server.connect(*this);
      if (connection_ == 0) return back([this] { gone(ECONNREFUSED); });
      back([this] {
        connected_ = true;
        end_->events().on_connected();
      });
    });
  }
  void write(std::string_view bytes) {
    if (bytes.contains("\r\nEVALSHA\r\n")) network_->count_calls(bytes);
    towards([this, sent = std::string(bytes)] {
      if (connection_ != 0) host().server.feed(connection_, sent);
    });
  }
  /// Closed by the process.
  void close() {
    end_ = nullptr;
    towards([this] { disconnect(); });
  }
  /// Lost between the ends, both of which notice. Part of what is under way in each direction still arrives.
  void lose() { lose(some_moment_until(there_), some_moment_until(here_)); }
  void lose(Time there, Time here) {
    lost_there_ = there;
    lost_here_ = here;
    world_.at(lost_there_, [self = shared_from_this()] { self->disconnect(); });
    world_.at(lost_here_, [self = shared_from_this()] { self->at_process([self] { self->gone(ECONNRESET); }); });
  }
  /// The process is gone: its kernel still sends what it was given, and then the end of the stream.
  void vanish() {
    end_ = nullptr;
    towards([this] { disconnect(); });
    network_ = nullptr;
  }
  bool connected() const { return connected_ && end_; }

 private:
  Host& host() { return host_; }
  void disconnect() {
    if (const auto connection = std::exchange(connection_, 0); connection != 0) host().server.disconnect(connection);
  }
  void on_bytes(std::string_view bytes) override {
    if (!network_) return;
    const bool is_message = bytes.starts_with("*3\r\n$7\r\nmessage\r\n");
    if (is_message && world_.now() < network_->disturbed_.until) return disturbed(bytes);
    if (is_message || world_.now() >= std::exchange(network_->tears_until_, 0)) return pass(bytes);
    pass(bytes.substr(0, bytes.size() / 2));
    lose(world_.now(), here_ + 1);
  }
  void pass(std::string_view bytes) {
    back([this, sent = std::string(bytes)] { end_->events().on_read(sent); });
  }
  void disturbed(std::string_view bytes) {
    const auto how = network_->disturbed_.how;
    if (how == Fault::Kind::messages_lost) return;
    if (how == Fault::Kind::messages_twice) pass(bytes);
    here_ = std::max(here_, network_->arrival()) + network_->random_.between(kMillisecond, kLatest);
    pass(bytes);
  }
  void on_closed() override {
    connection_ = 0;
    back([this] { gone(0); });
  }
  void gone(int error) {
    end_->fail(error);
    end_->events().on_gone();
    end_ = nullptr;
  }

  /// A moment between now and the latest arrival.
  Time some_moment_until(Time latest) {
    const Time now = world_.now();
    if (latest < now) return now;
    return network_->random_.happens(0.5) ? latest + 1 : network_->random_.between(now, latest);
  }
  bool is_past(Time lost) const { return lost != kNotYet && lost <= world_.now(); }

  /// Runs the task at Redis, when what is sent now has arrived there and Redis does not stall.
  void towards(std::move_only_function<void()> task) {
    if (!network_) return;
    there_ = std::max({there_, network_->arrival(), host().stalls_until});
    on_their_way_.push_back(std::move(task));
    world_.at(there_, [self = shared_from_this()] { self->arrive(); });
  }
  /// Each arrival runs the earliest task that has not run: while Redis stalls arrivals pile up, those that were sent
  /// before the stall behind those that were sent during it.
  void arrive() {
    if (host().stalls_until > world_.now()) {
      there_ = std::max(there_, host().stalls_until);
      return world_.at(host().stalls_until, [self = shared_from_this()] { self->arrive(); });
    }
    auto task = std::exchange(on_their_way_.front(), nullptr);
    on_their_way_.pop_front();
    if (!is_past(lost_there_)) task();
  }
  /// Runs the task at the process, when what is sent now has arrived there.
  template <typename Task>
  void back(Task task) {
    if (!network_) return;
    here_ = std::max(here_, network_->arrival());
    world_.at(here_, [self = shared_from_this(), task = std::move(task)]() mutable {
      if (!self->is_past(self->lost_here_)) self->at_process(std::move(task));
    });
  }
  /// Runs the task if the process still listens.
  template <typename Task>
  void at_process(Task task) {
    if (!network_) return;
    network_->machine_.happen([self = shared_from_this(), task = std::move(task)]() mutable {
      if (self->end_) task();
    });
  }

  Network* network_;
  World& world_;
  Host& host_;
  End* end_ = nullptr;  // nullptr: the process has closed the line, or is gone
  RedisServer::Connection connection_ = 0;
  bool connected_ = false;
  std::deque<std::move_only_function<void()>> on_their_way_;  // to Redis
  Time there_ = 0, here_ = 0;                                 // the latest arrival at Redis, and at the process
  Time lost_there_ = kNotYet, lost_here_ = kNotYet;           // from then on nothing arrives
};

Network::End::End(std::shared_ptr<Line> line, loop::StreamEvents& events) : line_(std::move(line)) {
  set_events(events);
  line_->connect(*this);
}

Network::End::~End() { line_->close(); }

bool Network::End::send(std::string_view bytes) {
  line_->write(bytes);
  return true;
}

Network::Network(World& world, Machine& machine, Hosts& hosts, Delay delay, std::function<void(bool)> on_call)
    : world_(world),
      machine_(machine),
      hosts_(hosts),
      delay_(delay),
      on_call_(std::move(on_call)),
      random_(world.random().draw()) {}

Network::~Network() { vanish(); }

Time Network::arrival() {
  const double way = static_cast<double>(delay_.round_trip) / 2;
  const double late = way * (1 + delay_.jitter * (2 * random_.part() - 1));
  return std::max(world_.now(), cut_off_until_) + std::max<Time>(1, static_cast<Time>(late));
}

std::unique_ptr<loop::Stream> Network::dial(loop::Loop&, const Endpoint& there, const std::string&,
                                            loop::StreamEvents& events) {
  return dial(hosts_.all.at(static_cast<std::size_t>(there.port - RedisSlots::kFirstPort)), events);
}

std::unique_ptr<loop::Stream> Network::dial_path(loop::Loop&, const std::string&, loop::StreamEvents& events) {
  return dial(hosts_.all.at(hosts_.leads), events);
}

std::unique_ptr<loop::Stream> Network::dial(Host& host, loop::StreamEvents& events) {
  std::erase_if(lines_, [](const auto& line) { return line.expired(); });
  auto line = std::make_shared<Line>(*this, host);
  lines_.push_back(line);
  return std::make_unique<End>(std::move(line), events);
}

void Network::count_calls(std::string_view bytes) {
  constexpr std::string_view kCall = "\r\nEVALSHA\r\n", kBesideTag = ":{beside";
  for (auto at = bytes.find(kCall); at != bytes.npos;) {
    const auto next = bytes.find(kCall, at + 1);
    const std::string_view call = bytes.substr(at, next - at);
    // The first calls on a connection are for no upstream, and the upstreams beside this one are not counted.
    const bool is_presence = call.contains(":processes\r\n") && !call.contains(":head\r\n");
    const bool is_other = call.contains(":born\r\n") || call.contains(":{probe") || call.contains(kBesideTag);
    if (!is_other) on_call_(is_presence);
    at = next;
  }
}

void Network::lose(Which which) {
  std::vector<std::shared_ptr<Line>> alive;
  for (const auto& weak : lines_) {
    if (auto line = weak.lock(); line && line->connected()) alive.push_back(std::move(line));
  }
  if (which == Which::messages && alive.size() > 1) alive.erase(alive.begin(), alive.end() - 1);
  if (which == Which::calls && alive.size() > 1) alive.resize(1);
  for (const auto& line : alive) line->lose();
}

void Network::vanish() {
  for (const auto& weak : std::exchange(lines_, {})) {
    if (const auto line = weak.lock()) line->vanish();
  }
}

}  // namespace penstock::simulation
