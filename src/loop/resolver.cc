// SPDX-License-Identifier: Apache-2.0
// c-ares driven by libuv's polling and one timer.
#include "loop/resolver.h"

#include <ares.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <uv.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "loop/iteration_end.h"
#include "loop/rfc6724.h"
#include "loop/socket_address.h"
#include "loop/timer.h"

namespace penstock::loop {

namespace {

constexpr std::size_t kMostRemembered = 1000;
constexpr std::size_t kMostOfFamily = 8;
constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kLongestTtl = 300 * kSecond;
constexpr std::int64_t kShortestTtl = 1 * kSecond;  // also for /etc/hosts, which has no TTL
constexpr int kTries = 3;

std::string rcode_of(int status) {
  switch (status) {
    case ARES_ENOTFOUND: return "NXDOMAIN";
    case ARES_ENODATA: return "NODATA";
    case ARES_ESERVFAIL: return "SERVFAIL";
    case ARES_EREFUSED: return "REFUSED";
    case ARES_EFORMERR: return "FORMERR";
    case ARES_ENOTIMP: return "NOTIMP";
    case ARES_ECONNREFUSED: return "no name server could tell";
    default: return ares_strerror(status);
  }
}

Addresses addresses_in(const ares_addrinfo* found, int family) {
  Addresses addresses;
  for (const auto* node = found->nodes; node && addresses.size() < kMostOfFamily; node = node->ai_next) {
    if (node->ai_family != family) continue;
    std::string text = endpoint_of(node->ai_addr).address;
    if (!text.empty() && std::ranges::find(addresses, text) == addresses.end()) addresses.push_back(std::move(text));
  }
  return addresses;
}

/// Alternates the families, so that one that leads nowhere costs one attempt (RFC 8305 section 4).
Addresses in_turns(const Addresses& first, const Addresses& second) {
  Addresses all;
  for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
    if (i < first.size()) all.push_back(first[i]);
    if (i < second.size()) all.push_back(second[i]);
  }
  return all;
}

Addresses addresses_in(const ares_addrinfo* found) {
  const Addresses v6 = addresses_in(found, AF_INET6), v4 = addresses_in(found, AF_INET);
  if (v6.empty() || v4.empty()) return v6.empty() ? v4 : v6;
  return prefers_v6(v6.front(), v4.front()) ? in_turns(v6, v4) : in_turns(v4, v6);
}

std::int64_t ttl_of(const ares_addrinfo* found) {
  std::int64_t shortest = kLongestTtl;
  for (const auto* node = found->nodes; node; node = node->ai_next) {
    shortest = std::min(shortest, static_cast<std::int64_t>(node->ai_ttl) * kSecond);
  }
  return std::max(shortest, kShortestTtl);
}

}  // namespace

struct Resolver::Impl {
  struct Remembered {
    Addresses addresses;
    std::int64_t until;
  };
  struct Asking {
    Impl* resolver;
    std::string host;
    Timer deadline;
    std::vector<std::weak_ptr<OnAnswer>> askers;
    Asking(Impl* r, std::string h)
        : resolver(r), host(std::move(h)), deadline(r->loop, [this] { resolver->time_out(*this); }) {}
  };
  struct Poll {
    uv_poll_t uv;
  };
  struct Answered {
    std::vector<std::weak_ptr<OnAnswer>> askers;
    LookupResult lookup;
  };

  Impl(Loop& l, const DnsConfig& config);
  ~Impl();
  void open_channel(const DnsConfig& config, int flags);
  std::size_t count_servers() const;
  std::unique_ptr<Lookup> ask(std::string_view host, OnAnswer on_answer);
  void want(ares_socket_t fd, int events);
  void process(ares_socket_t readable, ares_socket_t writable);
  void answered(Asking& asked, int status, ares_addrinfo* found);
  void time_out(Asking& asked);
  void finish(const std::string& host, LookupResult lookup);
  void deliver();
  void remember(const std::string& host, Addresses addresses, std::int64_t ttl);

  Loop& loop;
  std::int64_t timeout;
  ares_channel channel = nullptr;
  std::unordered_map<ares_socket_t, Poll*> polls;
  std::unordered_map<std::string, std::unique_ptr<Asking>> asking;
  std::map<std::string, Remembered, std::less<>> remembered;
  std::vector<Answered> to_deliver;
  std::vector<std::unique_ptr<Asking>> abandoned;  // timed out, but c-ares still refers to them
  Timer tick;
  IterationEnd delivery;
};

Resolver::Impl::Impl(Loop& l, const DnsConfig& config)
    : loop(l),
      timeout(config.timeout.count()),
      tick(l, [this] { process(ARES_SOCKET_BAD, ARES_SOCKET_BAD); }),
      delivery(l, [this] { deliver(); }) {
  static std::once_flag once;
  std::call_once(once, [] { ares_library_init(ARES_LIB_INIT_ALL); });
  open_channel(config, 0);
  // When a server reports a failure, c-ares tries the next server and forgets the failure. With a single server it is
  // reported instead.
  if (count_servers() == 1) {
    ares_destroy(channel);
    open_channel(config, ARES_FLAG_NOCHECKRESP);
  }
}

void Resolver::Impl::open_channel(const DnsConfig& config, int flags) {
  ares_options options{};
  char lookups[] = "fb";                        // /etc/hosts, then name servers, whatever nsswitch.conf says
  options.flags = flags | ARES_FLAG_NOALIASES;  // ignores HOSTALIASES of the environment
  options.lookups = lookups;
  options.timeout = std::max(200, static_cast<int>(timeout / 1000 / kTries));
  options.tries = kTries;
  options.sock_state_cb_data = this;
  options.sock_state_cb = [](void* self, ares_socket_t fd, int readable, int writable) {
    static_cast<Impl*>(self)->want(fd, (readable ? UV_READABLE : 0) | (writable ? UV_WRITABLE : 0));
  };
  ares_init_options(&channel, &options,
                    ARES_OPT_FLAGS | ARES_OPT_LOOKUPS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB);
  std::string servers;
  for (const auto& server : config.servers) servers += (servers.empty() ? "" : ",") + server;
  if (!servers.empty()) ares_set_servers_ports_csv(channel, servers.c_str());
}

std::size_t Resolver::Impl::count_servers() const {
  ares_addr_port_node* servers = nullptr;
  ares_get_servers_ports(channel, &servers);
  std::size_t count = 0;
  for (const auto* server = servers; server; server = server->next) ++count;
  ares_free_data(servers);
  return count;
}

Resolver::Impl::~Impl() {
  ares_destroy(channel);  // answers every open lookup with ARES_EDESTRUCTION
}

void Resolver::Impl::want(ares_socket_t fd, int events) {
  auto& poll = polls[fd];
  if (events == 0) {
    const auto closed = [](uv_handle_t* uv) { delete reinterpret_cast<Poll*>(uv); };
    if (poll) uv_close(reinterpret_cast<uv_handle_t*>(&poll->uv), closed);
    polls.erase(fd);
    return;
  }
  if (!poll) {
    auto made = std::make_unique<Poll>();
    if (uv_poll_init(loop.uv(), &made->uv, fd) != 0) return;  // c-ares' own time-outs must suffice
    poll = made.release();
    poll->uv.data = this;
  }
  uv_poll_start(&poll->uv, events, [](uv_poll_t* uv, int status, int happened) {
    uv_os_fd_t ready = -1;
    uv_fileno(reinterpret_cast<uv_handle_t*>(uv), &ready);
    const bool all = status < 0;
    static_cast<Impl*>(uv->data)->process(all || (happened & UV_READABLE) ? ready : ARES_SOCKET_BAD,
                                          all || (happened & UV_WRITABLE) ? ready : ARES_SOCKET_BAD);
  });
}

void Resolver::Impl::process(ares_socket_t readable, ares_socket_t writable) {
  ares_process_fd(channel, readable, writable);
  timeval longest{.tv_sec = 1, .tv_usec = 0}, next{};
  if (asking.empty() && abandoned.empty()) return;
  ares_timeout(channel, &longest, &next);
  tick.start(loop.now() + next.tv_sec * kSecond + next.tv_usec + 1000);
}

std::unique_ptr<Resolver::Lookup> Resolver::Impl::ask(std::string_view host, OnAnswer on_answer) {
  auto question = std::make_unique<Lookup>();
  question->on_answer_ = std::make_shared<OnAnswer>(std::move(on_answer));
  std::string name(host);
  auto& open = asking[name];
  const bool first = !open;
  if (first) open = std::make_unique<Asking>(this, name);
  open->askers.push_back(question->on_answer_);
  if (!first) return question;
  Asking* asked = open.get();
  asked->deadline.start(loop.now() + timeout);
  ares_addrinfo_hints hints{};
  hints.ai_flags = ARES_AI_NOSORT;  // sorting connects a socket to each address, perhaps thousands
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  ares_getaddrinfo(
      channel, name.c_str(), nullptr, &hints,
      [](void* self, int status, int, ares_addrinfo* found) {
        auto* asker = static_cast<Asking*>(self);
        asker->resolver->answered(*asker, status, found);
      },
      asked);
  process(ARES_SOCKET_BAD, ARES_SOCKET_BAD);
  return question;
}

void Resolver::Impl::answered(Asking& asked, int status, ares_addrinfo* found) {
  if (status == ARES_EDESTRUCTION) return;
  const auto late = std::ranges::find(abandoned, &asked, &std::unique_ptr<Asking>::get);
  if (late != abandoned.end()) {
    abandoned.erase(late);
    if (found) ares_freeaddrinfo(found);
    return;
  }
  LookupResult lookup = std::unexpected(LookupFailure{.timed_out = status == ARES_ETIMEOUT, .rcode = rcode_of(status)});
  if (status == ARES_SUCCESS && found) {
    if (Addresses addresses = addresses_in(found); !addresses.empty()) {
      remember(asked.host, addresses, ttl_of(found));
      lookup = std::move(addresses);
    } else {
      lookup = std::unexpected(LookupFailure{.timed_out = false, .rcode = "NODATA"});
    }
  }
  if (found) ares_freeaddrinfo(found);
  finish(std::string(asked.host), std::move(lookup));
}

void Resolver::Impl::time_out(Asking& asked) {
  // c-ares goes on until it gives up by itself; its answer is then ignored.
  auto node = asking.extract(asked.host);
  to_deliver.push_back({std::move(asked.askers), std::unexpected(LookupFailure{.timed_out = true, .rcode = {}})});
  abandoned.push_back(std::move(node.mapped()));
  delivery.ask();
}

void Resolver::Impl::finish(const std::string& host, LookupResult lookup) {
  auto node = asking.extract(host);
  to_deliver.push_back({std::move(node.mapped()->askers), std::move(lookup)});
  delivery.ask();
}

void Resolver::Impl::deliver() {
  const auto answers = std::exchange(to_deliver, {});
  for (const auto& answer : answers) {
    for (const auto& asker : answer.askers) {
      if (const auto on_answer = asker.lock()) (*on_answer)(answer.lookup);
    }
  }
}

void Resolver::Impl::remember(const std::string& host, Addresses addresses, std::int64_t ttl) {
  if (remembered.size() >= kMostRemembered) {
    std::erase_if(remembered, [now = loop.now()](const auto& entry) { return entry.second.until <= now; });
    if (remembered.size() >= kMostRemembered) remembered.erase(remembered.begin());
  }
  remembered[host] = {std::move(addresses), loop.now() + ttl};
}

Resolver::Resolver(Loop& loop, const DnsConfig& config) : impl_(std::make_unique<Impl>(loop, config)) {}
Resolver::~Resolver() = default;
Resolver::Lookup::~Lookup() = default;

std::unique_ptr<Resolver::Lookup> Resolver::ask(std::string_view host, OnAnswer on_answer) {
  return impl_->ask(host, std::move(on_answer));
}

const Addresses* Resolver::remembered(std::string_view host) const {
  const auto found = impl_->remembered.find(host);
  if (found == impl_->remembered.end() || found->second.until <= impl_->loop.now()) return nullptr;
  return &found->second.addresses;
}

}  // namespace penstock::loop
