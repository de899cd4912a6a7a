// SPDX-License-Identifier: Apache-2.0
// See multi.h. The socket events that libcurl wants are gathered and passed to the kernel once, at the end of the
// iteration, and only if they changed: between two requests on a kept connection no system call is made.
#include "transfer/multi.h"

#include <curl/curl.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <cassert>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "loop/expensive_work.h"
#include "loop/iteration_end.h"
#include "loop/timer.h"
#include "tls/system_authorities.h"
#include "transfer/easy.h"
#include "transfer/idle_reaper.h"
#include "transfer/socket.h"

namespace penstock::transfer {

namespace {
constexpr std::size_t kMostSpare = 256;
constexpr int kRoundsPerIteration = 4;
}  // namespace

struct Multi::Impl final : EasyOwner {
  Impl(Multi& m, loop::Loop& l, const access::DialGuard& g, TlsConfig t, std::chrono::seconds i, Trust a)
      : self(m),
        loop(l),
        guard(g),
        tls(std::move(t)),
        idle(i),
        trust(a),
        timer(l, [this] { act(CURL_SOCKET_TIMEOUT, 0); }),
        kick(l, [this] { act(CURL_SOCKET_TIMEOUT, 0); }) {}

  void act(curl_socket_t fd, int happened);
  void collect();
  void look_back(const Easy& easy);
  Socket* socket_behind(const Easy& easy);
  void want_timer(long ms);
  void want_socket(CURL* whose, curl_socket_t fd, int what);
  void turned_away(CURL* whose, Socket& socket);
  void opened(Easy& easy, curl_socket_t fd) override;
  void writes(Easy* easy) override;
  void kick_next_address();
  bool is_known(curl_socket_t fd) const;
  void forget(curl_socket_t fd);
  Socket* socket_of(curl_socket_t fd);
  void rest(Socket& socket);
  void remember(Socket& socket);
  bool wake(Easy& easy, std::string_view address, int port, int local_port) override;
  void use(Easy& easy, Socket& socket);
  void let_rest(Easy& easy);
  void note(Socket& socket);
  void ready(Socket& socket, int status, int events);
  bool shakes_hands(Socket& socket) const;
  void end_rest(Socket& socket);
  void tell_kernel();
  int close_socket(curl_socket_t fd);
  std::unique_ptr<Easy> take_easy();
  void give_back(std::unique_ptr<Easy> easy) override;
  void let_too_many_go(std::size_t begun);
  void count_flying(std::size_t now);

  Multi& self;
  loop::Loop& loop;
  const access::DialGuard& guard;
  TlsConfig tls;
  const std::chrono::seconds idle;
  const Trust trust;
  CURLM* handle = nullptr;
  CURLSH* sessions = nullptr;  // TLS session cache
  loop::Timer timer;
  loop::IterationEnd kick;
  std::optional<IdleReaper> idle_reaper;
  int rounds = 0;                                       // immediate calls of libcurl in this iteration
  bool acting = false;                                  // a call into libcurl is under way
  Easy* writing = nullptr;                              // its head was about to be written at libcurl's last call-back
  bool telling = false;                                 // on_done() calls are under way
  std::vector<Socket*> sockets;                         // indexed by file descriptor
  std::unordered_multimap<int, Socket*> by_local_port;  // sockets that have rested or paused
  std::vector<Socket*> noted;                           // those whose wanted events changed in this iteration
  std::vector<Easy*> diallers;                          // transfers that are connecting
  std::vector<std::unique_ptr<Easy>> spare;
  Pins pins;
  std::size_t kept = 1024;
  std::size_t flying = 0;
  std::size_t started = 0;                                                       // transfers started in total
  const std::shared_ptr<const bool> alive = std::make_shared<const bool>(true);  // the loop may outlive this object
};

void Multi::Impl::act(curl_socket_t fd, int happened) {
  int running = 0;
  acting = true;
  curl_multi_socket_action(handle, fd, happened, &running);
  writes(nullptr);
  acting = false;
  telling = true;
  collect();
  telling = false;
  kick_next_address();
}

void Multi::Impl::collect() {
  int left = 0, ended = 0;
  const std::size_t before = started;
  while (CURLMsg* message = curl_multi_info_read(handle, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    Easy* easy = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &easy);
    if (!easy) {
      idle_reaper->rest();
      continue;
    }
    const Result result = easy->result(code);
    if (code == CURLE_OK) look_back(*easy);
    easy->state().carrier.tls.reset();
    let_rest(*easy);
    curl_multi_remove_handle(handle, easy->handle());
    easy->finish(code == CURLE_OK);
    ++ended;
    easy->state().events().on_done(result);
  }
  if (ended > 0 && by_local_port.size() > kept + flying + 1) let_too_many_go(started - before);
}

/// When several transfers end in one call, libcurl counts them as active while it decides what to keep, and keeps too
/// many. It still counts the connections hung up here, and may close them in place of others, until the idle reaper
/// removes them. libcurl itself keeps one more than its cap, hence the 1. Transfers begun meanwhile will use some of
/// those left.
void Multi::Impl::let_too_many_go(std::size_t begun) {
  std::vector<Socket*> resting;
  for (const auto& [port, socket] : by_local_port) {
    if (socket->phase == Socket::Phase::resting) resting.push_back(socket);
  }
  const std::size_t allowed = kept + begun + 1;
  if (resting.size() <= allowed) return;
  const auto last = resting.begin() + static_cast<std::ptrdiff_t>(resting.size() - allowed);
  std::ranges::nth_element(resting, last, {}, &Socket::since);
  std::for_each(resting.begin(), last, [this](Socket* socket) { end_rest(*socket); });
}

/// Closes a kept connection that holds bytes which would be taken for the next response. After a response without a
/// body libcurl drops what else it has read and keeps the connection. Bytes behind a response in the same TLS record
/// are not visible on the socket. If the next transfer already has the connection, it has checked that itself, and
/// later bytes are its own.
void Multi::Impl::look_back(const Easy& easy) {
  const bool bodyless = easy.answered_without_body();
  if (!easy.state().is_secure() && !bodyless) return;
  Socket* socket = socket_behind(easy);
  if (!socket || (socket->user && socket->user != &easy)) return;
  const bool suspect = bodyless || (socket->secured && socket->secured->holds_bytes());
  if (suspect && socket->speaks_unasked()) end_rest(*socket);
}

/// The socket of a transfer that has ended, if it is kept; otherwise null. libcurl searches all its connections for it,
/// so with TLS the result is remembered per connection.
Socket* Multi::Impl::socket_behind(const Easy& easy) {
  const auto& secured = easy.state().carrier.tls;
  if (secured && secured->owner) return static_cast<Socket*>(secured->owner);
  curl_socket_t fd = CURL_SOCKET_BAD;
  curl_easy_getinfo(easy.handle(), CURLINFO_ACTIVESOCKET, &fd);
  if (fd == CURL_SOCKET_BAD || !is_known(fd)) return nullptr;
  Socket* socket = sockets[static_cast<std::size_t>(fd)];
  socket->secured = secured;
  if (socket->secured) socket->secured->owner = socket;
  return socket;
}

void Multi::Impl::want_timer(long ms) {
  if (ms < 0) return timer.stop();
  // Zero means "as soon as you have left libcurl". A few such rounds run in this iteration; then other work gets its
  // share.
  if (ms == 0 && ++rounds <= kRoundsPerIteration) return kick.ask();
  timer.start(loop.now() + ms * 1000);
}

Socket* Multi::Impl::socket_of(curl_socket_t fd) {
  const auto place = static_cast<std::size_t>(fd);
  if (place >= sockets.size()) sockets.resize(place + 1);
  auto& socket = sockets[place];
  if (socket) return socket;
  auto made = std::make_unique<Socket>(Socket{.poll = {}, .multi = &self, .fd = fd});
  if (uv_poll_init_socket(loop.uv(), &made->poll, fd) != 0) return nullptr;
  made->poll.data = made.get();
  return socket = made.release();
}

void Multi::Impl::want_socket(CURL* whose, curl_socket_t fd, int what) {
  Socket* socket = socket_of(fd);
  if (!socket) return;
  const bool turns_away = what == CURL_POLL_REMOVE;
  auto& phase = socket->phase;
  if (turns_away && phase == Socket::Phase::connecting) return forget(fd);  // libcurl has closed it itself
  socket->wanted = ((what & CURL_POLL_IN) ? UV_READABLE : 0) | ((what & CURL_POLL_OUT) ? UV_WRITABLE : 0);
  if (phase == Socket::Phase::resting || (socket->wanted & UV_READABLE) != 0) phase = Socket::Phase::connected;
  if (turns_away) turned_away(whose, *socket);
  note(*socket);
}

/// libcurl stops polling a socket when a transfer pauses, and when a transfer has ended and its connection is kept.
/// When a paused transfer ends, libcurl says nothing more, so the user of the socket must be noted at the pause.
void Multi::Impl::turned_away(CURL* whose, Socket& socket) {
  Easy* easy = nullptr;
  curl_easy_getinfo(whose, CURLINFO_PRIVATE, &easy);
  if (!easy || (easy->state().paused() & CURLPAUSE_RECV) == 0) return rest(socket);
  remember(socket);
  use(*easy, socket);
}

/// The connection is kept and unused. From now on only this class listens to it, and finds it again by its local port.
void Multi::Impl::rest(Socket& socket) {
  socket.phase = Socket::Phase::resting;
  socket.since = loop.now();
  socket.wanted = UV_READABLE;
  remember(socket);
}

void Multi::Impl::remember(Socket& socket) {
  if (socket.local_port != 0 || !socket.note_ends()) return;
  by_local_port.emplace(socket.local_port, &socket);
  idle_reaper->is_wanted();
}

/// A kept connection is about to be used, so its rest ends. libcurl does not report that if a request is answered, or
/// its response paused, within one call: the events that it wants have not changed then. False: the connection is
/// unknown, or the peer has sent something unasked.
bool Multi::Impl::wake(Easy& easy, std::string_view address, int port, int local_port) {
  const auto [begin, end] = by_local_port.equal_range(local_port);
  const auto found = std::find_if(
      begin, end, [&](const auto& entry) { return entry.second->port == port && entry.second->address == address; });
  if (found == end) return false;
  Socket& socket = *found->second;
  if (!easy.state().is_secure() && socket.speaks_unasked()) return false;
  socket.phase = Socket::Phase::connected;
  socket.wanted = 0;
  use(easy, socket);
  return true;
}

/// The previous transfer may have ended in the same call of libcurl and be reported afterwards; it must not let the
/// connection rest then.
void Multi::Impl::use(Easy& easy, Socket& socket) {
  if (socket.user) socket.user->state().carrier.kept = nullptr;
  socket.user = &easy;
  easy.state().carrier.kept = &socket;
}

/// The transfer is over; if its connection still exists, it is kept.
void Multi::Impl::let_rest(Easy& easy) {
  Socket* socket = std::exchange(easy.state().carrier.kept, nullptr);
  if (!socket) return;
  socket->user = nullptr;
  if (socket->phase == Socket::Phase::resting || socket->wanted != 0) return;
  rest(*socket);
  note(*socket);
}

/// libcurl serves many transfers in one call, one after another. The previous head has been written when libcurl comes
/// to the next transfer; the last one when libcurl returns.
void Multi::Impl::writes(Easy* easy) {
  if (Easy* written = std::exchange(writing, easy)) written->state().head_sent();
}

/// A socket was opened, or could not be. libcurl closes sockets that never connected without a report. The next one may
/// have the same number; libcurl then sees no change, but the kernel does.
void Multi::Impl::opened(Easy& easy, curl_socket_t fd) {
  writes(nullptr);
  if (std::ranges::find(diallers, &easy) == diallers.end()) diallers.push_back(&easy);
  easy.state().carrier.dialled = fd;
  if (!is_known(fd)) return;
  const int wanted = sockets[static_cast<std::size_t>(fd)]->wanted;
  forget(fd);
  if (Socket* socket = socket_of(fd)) {
    socket->wanted = wanted;
    note(*socket);
  }
}

/// When an address fails, libcurl tries the next one only when it is called again, but does not ask for such a call.
void Multi::Impl::kick_next_address() {
  std::erase_if(diallers, [this](Easy* easy) {
    const bool dials = easy->running() && easy->state().dials();
    if (dials && is_known(easy->state().carrier.dialled)) return false;
    if (dials) easy->call_again();
    return true;
  });
}

bool Multi::Impl::is_known(curl_socket_t fd) const {
  const auto place = static_cast<std::size_t>(fd);
  return place < sockets.size() && sockets[place];
}

void Multi::Impl::forget(curl_socket_t fd) {
  if (!is_known(fd)) return;
  Socket* socket = std::exchange(sockets[static_cast<std::size_t>(fd)], nullptr);
  if (socket->noted) std::erase(noted, socket);
  if (socket->user) socket->user->state().carrier.kept = nullptr;
  const auto [begin, end] = by_local_port.equal_range(socket->local_port);
  const auto place = std::find_if(begin, end, [&](const auto& entry) { return entry.second == socket; });
  if (place != end) by_local_port.erase(place);
  if (socket->secured) socket->secured->owner = nullptr;
  uv_close(reinterpret_cast<uv_handle_t*>(&socket->poll),
           [](uv_handle_t* poll) { delete static_cast<Socket*>(poll->data); });
}

void Multi::Impl::ready(Socket& socket, int status, int events) {
  if (status < 0) {  // libuv has stopped polling; what libcurl still wants must be passed to the kernel again
    socket.told = 0;
    note(socket);
  }
  if (socket.phase == Socket::Phase::resting) {
    if (status < 0 || socket.speaks_unasked()) end_rest(socket);
    return;
  }
  if (socket.wanted == 0) {
    uv_poll_stop(&socket.poll);
    socket.told = 0;
    return;
  }
  // libcurl is not told of errors, only that it may try: there may be a response to read before the error, and libcurl
  // would take an error flag on one of several addresses tried at once for the failure of all.
  const int happened = status < 0 ? socket.wanted : events;
  const int told = ((happened & UV_READABLE) ? CURL_CSELECT_IN : 0) | ((happened & UV_WRITABLE) ? CURL_CSELECT_OUT : 0);
  if (!shakes_hands(socket)) return act(socket.fd, told);
  if (!loop::ExpensiveWork::may_begin(loop) && status >= 0) return;  // it will still be ready in the next iteration
  const loop::ExpensiveWork work(loop);
  act(socket.fd, told);
}

bool Multi::Impl::shakes_hands(Socket& socket) const {
  if (!socket.fresh) return false;
  const auto dials_it = [&](const Easy* easy) {
    const auto& state = easy->state();
    return state.carrier.dialled == socket.fd && state.dials() && state.is_secure();
  };
  return socket.fresh = std::ranges::any_of(diallers, dials_it);
}

/// Hangs up an unused connection: the upstream has closed it, it is surplus, or it holds bytes that nothing asked for,
/// which libcurl would take for the next response.
void Multi::Impl::end_rest(Socket& socket) {
  socket.hang_up(loop.read_buffer(), loop::Loop::kReadBuffer);
  socket.phase = Socket::Phase::connected;
  socket.wanted = 0;
  uv_poll_stop(&socket.poll);
  socket.told = 0;
  idle_reaper->is_wanted_soon();  // the connection holds a file descriptor until the sweep
}

void Multi::Impl::note(Socket& socket) {
  if (!socket.noted) noted.push_back(&socket);
  socket.noted = true;
}

void Multi::Impl::tell_kernel() {
  rounds = 0;
  const auto on_event = [](uv_poll_t* poll, int status, int events) {
    auto* socket = static_cast<Socket*>(poll->data);
    socket->multi->impl_->ready(*socket, status, events);
  };
  for (Socket* socket : noted) {
    socket->noted = false;
    // A paused transfer may resume within the iteration, so readability stays polled: one wake-up is cheaper.
    const bool good_enough = socket->wanted == 0 && (socket->told & UV_WRITABLE) == 0;
    if (socket->wanted == socket->told || good_enough) continue;
    socket->told = socket->wanted;
    if (socket->wanted == 0) {
      uv_poll_stop(&socket->poll);
    } else {
      uv_poll_start(&socket->poll, socket->wanted, on_event);
    }
  }
  noted.clear();
}

int Multi::Impl::close_socket(curl_socket_t fd) {
  forget(fd);
  return ::close(fd);
}

std::unique_ptr<Easy> Multi::Impl::take_easy() {
  if (!spare.empty()) {
    auto easy = std::move(spare.back());
    spare.pop_back();
    return easy;
  }
  auto easy = std::make_unique<Easy>(*this, guard, tls, trust, idle);
  curl_easy_setopt(easy->handle(), CURLOPT_SHARE, sessions);
  // Connections outlive the easy handle that opened them, so the object that closes them must too.
  curl_easy_setopt(easy->handle(), CURLOPT_CLOSESOCKETDATA, static_cast<void*>(this));
  curl_easy_setopt(
      easy->handle(), CURLOPT_CLOSESOCKETFUNCTION,
      +[](void* impl, curl_socket_t fd) { return static_cast<Impl*>(impl)->close_socket(fd); });
  return easy;
}

/// libcurl's limit includes connections in use. Without adding `flying`, it would keep none for reuse once as many
/// transfers are under way, and would search all connections at the end of each.
void Multi::Impl::count_flying(std::size_t now) {
  flying = now;
  curl_multi_setopt(handle, CURLMOPT_MAXCONNECTS, static_cast<long>(kept + flying));
}

/// libcurl keeps state of a failure or of a half-sent body in a handle, so such a handle is not reused.
void Multi::Impl::give_back(std::unique_ptr<Easy> easy) {
  assert(!acting);
  count_flying(flying - 1);
  let_rest(*easy);
  if (easy->running()) curl_multi_remove_handle(handle, easy->handle());
  std::erase(diallers, easy.get());
  if (easy->reset(pins) && spare.size() < kMostSpare) spare.push_back(std::move(easy));
}

Multi::Multi(loop::Loop& loop, const access::DialGuard& guard, TlsConfig tls, std::chrono::seconds idle, Trust trust)
    : impl_(std::make_unique<Impl>(*this, loop, guard, std::move(tls), idle, trust)) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  auto& in = *impl_;
  if (in.tls.ca.empty()) in.tls.ca = tls::system_authorities();
  in.sessions = curl_share_init();
  curl_share_setopt(in.sessions, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
  in.handle = curl_multi_init();
  curl_multi_setopt(in.handle, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
  in.idle_reaper.emplace(loop, in.handle, idle, [&in] { return !in.by_local_port.empty(); });
  in.count_flying(0);
  curl_multi_setopt(in.handle, CURLMOPT_TIMERDATA, &in);
  curl_multi_setopt(
      in.handle, CURLMOPT_TIMERFUNCTION, +[](CURLM*, long ms, void* impl) {
        static_cast<Impl*>(impl)->want_timer(ms);
        return 0;
      });
  curl_multi_setopt(in.handle, CURLMOPT_SOCKETDATA, &in);
  const auto on_socket = [](CURL* whose, curl_socket_t fd, int what, void* impl, void*) {
    static_cast<Impl*>(impl)->want_socket(whose, fd, what);
    return 0;
  };
  curl_multi_setopt(in.handle, CURLMOPT_SOCKETFUNCTION, +on_socket);
  loop.at_iteration_end([&in] { in.tell_kernel(); }, in.alive);
}

Multi::~Multi() {
  impl_->spare.clear();
  impl_->idle_reaper.reset();
  curl_multi_cleanup(impl_->handle);
  curl_share_cleanup(impl_->sessions);
}

std::unique_ptr<Transfer> Multi::start(Request&& request, TransferEvents& events) {
  assert(!impl_->acting);
  auto easy = impl_->take_easy();
  easy->prepare(std::move(request), events, impl_->pins);
  impl_->count_flying(impl_->flying + 1);
  ++impl_->started;
  curl_multi_add_handle(impl_->handle, easy->handle());
  return std::unique_ptr<Transfer>(new Transfer(*impl_, std::move(easy)));
}

void Multi::keep_at_most(std::size_t count) {
  impl_->kept = count;
  impl_->count_flying(impl_->flying);
}

std::size_t Multi::flying() const { return impl_->flying; }
bool Multi::idle() const { return impl_->flying == 0 && !impl_->telling; }
bool Multi::keeps_any() const { return !impl_->by_local_port.empty(); }

}  // namespace penstock::transfer
