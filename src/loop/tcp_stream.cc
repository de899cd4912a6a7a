// SPDX-License-Identifier: Apache-2.0
// A connection over uv_tcp_t, which serves for Unix sockets too, once they are connected. While nothing is read, the
// hangup watcher notices a peer that leaves.
#include "loop/tcp_stream.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "loop/fd_limit.h"
#include "loop/hangup_watcher.h"
#include "loop/notsent_lowat.h"
#include "loop/socket_address.h"
#include "loop/timer.h"

namespace penstock::loop {

namespace {

/// Keep-alive detects a peer that vanishes silently, even on a connection on which we only listen.
void notice_vanished_peer(int fd) {
  const auto set = [fd](int level, int option, int value) { ::setsockopt(fd, level, option, &value, sizeof value); };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 2);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

/// A descriptor connected to the Unix socket `path`, or libuv's error. Whether it can be is known at once.
int connected_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return UV_ENAMETOOLONG;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return uv_translate_sys_error(errno);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  const int error = uv_translate_sys_error(errno);
  ::close(fd);
  return error;
}

}  // namespace

struct TcpStream::Socket final : HangupWatcher::Watched {
  /// Bytes that the kernel has not taken yet.
  struct Rest {
    uv_write_t writing;
    std::string bytes;
  };

  uv_tcp_t tcp;
  TcpStream* stream = nullptr;               // null once closing
  HangupWatcher* watched_by = nullptr;       // null: not watched
  std::unique_ptr<uv_connect_t> connecting;  // of a socket that dials
  std::unique_ptr<Rest> rest;                // null: the kernel has taken all so far

  static Socket* make(Loop& loop);
  static Socket* make_dialler(Loop& loop, int family, int below, int& error);
  int open(int fd);
  int descriptor() const;
  void peer_left(bool by_reset) override;
  void close(bool reset);
  void end_watch();
};

TcpStream::Socket* TcpStream::Socket::make(Loop& loop) {
  auto* socket = new Socket;
  uv_tcp_init(loop.uv(), &socket->tcp);
  socket->tcp.data = socket;
  return socket;
}

/// Makes a socket that can dial; on error, one without a descriptor. A descriptor that is not below the given one is
/// closed at once, because many dials may be tried in one iteration.
TcpStream::Socket* TcpStream::Socket::make_dialler(Loop& loop, int family, int below, int& error) {
  if (error != 0) return make(loop);
  auto* socket = new Socket;
  error = uv_tcp_init_ex(loop.uv(), &socket->tcp, static_cast<unsigned>(family));
  socket->tcp.data = socket;
  if (error == 0 && socket->descriptor() < below) return socket;
  if (error == 0) {
    socket->close(false);
    error = UV_EMFILE;
  } else {
    delete socket;  // libuv has dropped the handle
  }
  return make(loop);
}

/// Takes over a connected socket. On error, which is libuv's, that is closed.
int TcpStream::Socket::open(int fd) {
  int error = 0;
  // libcurl closes some sockets before libuv hears of it; libuv then still has the number registered for them.
  while ((error = uv_tcp_open(&tcp, fd)) == UV_EEXIST) {
    const int other = fcntl(fd, F_DUPFD_CLOEXEC, fd + 1);
    ::close(std::exchange(fd, other));
    if (fd < 0) return error;
  }
  if (error != 0) ::close(fd);
  if (error == 0) limit_unsent(fd);
  return error;
}

/// -1: there is none, or libuv has closed it.
int TcpStream::Socket::descriptor() const {
  uv_os_fd_t fd = -1;
  return uv_fileno(reinterpret_cast<const uv_handle_t*>(&tcp), &fd) == 0 ? fd : -1;
}

void TcpStream::Socket::peer_left(bool by_reset) {
  if (stream && watched_by) stream->left_unread(by_reset);
}

void TcpStream::Socket::end_watch() {
  if (watched_by) std::exchange(watched_by, nullptr)->unwatch(descriptor());
}

void TcpStream::Socket::close(bool reset) {
  stream = nullptr;
  end_watch();
  const auto freed = [](uv_handle_t* closed) { delete static_cast<Socket*>(closed->data); };
  if (reset && uv_tcp_close_reset(&tcp, freed) == 0) return;
  uv_close(reinterpret_cast<uv_handle_t*>(&tcp), freed);
}

TcpStream::TcpStream(Loop& loop, Socket* socket)
    : loop_(loop), socket_(socket), iteration_end_(loop, [this] { end_iteration(); }) {
  socket_->stream = this;
  uv_tcp_nodelay(&socket_->tcp, 1);
}

TcpStream::~TcpStream() {
  if (socket_) socket_->close(false);
}

std::unique_ptr<Stream> TcpStream::adopt(Loop& loop, int fd) {
  auto* socket = Socket::make(loop);
  if (socket->open(fd) == 0) return std::unique_ptr<Stream>(new TcpStream(loop, socket));
  socket->close(false);
  return nullptr;
}

std::unique_ptr<Stream> TcpStream::dial(Loop& loop, const Endpoint& there, StreamEvents& events, DialFor whom) {
  sockaddr_storage address{};
  int error = socket_address_of(there, address);
  const int below = whom == DialFor::peer ? ceiling_of_dials() : most_open_files();
  auto* socket = Socket::make_dialler(loop, address.ss_family, below, error);
  std::unique_ptr<TcpStream> stream(new TcpStream(loop, socket));
  stream->set_events(events);
  const auto done = [](uv_connect_t* connecting, int status) {
    auto* dialled = static_cast<Socket*>(connecting->handle->data)->stream;
    if (!dialled) return;
    dialled->dial_error_ = status;
    if (status == 0) limit_unsent(dialled->socket_->descriptor());
    status == 0 ? dialled->events_->on_connected() : dialled->gone();
  };
  if (error == 0) {
    if (whom == DialFor::ourselves) notice_vanished_peer(socket->descriptor());
    socket->connecting = std::make_unique<uv_connect_t>();
    error = uv_tcp_connect(socket->connecting.get(), &socket->tcp, reinterpret_cast<const sockaddr*>(&address), done);
  }
  stream->dial_error_ = error;
  if (error != 0) stream->tell_later(Outcome::gone);
  return stream;
}

std::unique_ptr<Stream> TcpStream::dial_path(Loop& loop, const std::string& path, StreamEvents& events) {
  auto* socket = Socket::make(loop);
  const int fd = connected_to(path);
  const int error = fd < 0 ? fd : socket->open(fd);
  std::unique_ptr<TcpStream> stream(new TcpStream(loop, socket));
  stream->set_events(events);
  stream->dial_error_ = error;
  stream->tell_later(error == 0 ? Outcome::connected : Outcome::gone);
  return stream;
}

/// Reads one buffer per iteration: the next bytes of a fast peer come before these are handled, and would hold up other
/// work. Lent no buffer, libuv asks again in the next iteration.
void TcpStream::read_on() {
  if (to_tell_ == Outcome::gone || !directions_.start_reading()) return;
  const auto lend = [](uv_handle_t* tcp, std::size_t, uv_buf_t* buffer) {
    auto* stream = static_cast<Socket*>(tcp->data)->stream;
    const bool reads = stream && stream->may_read();
    *buffer = reads ? uv_buf_init(stream->loop_.read_buffer(), Loop::kReadBuffer) : uv_buf_init(nullptr, 0);
  };
  uv_read_start(reinterpret_cast<uv_stream_t*>(&socket_->tcp), lend,
                [](uv_stream_t* tcp, ssize_t size, const uv_buf_t*) {
                  if (auto* stream = static_cast<Socket*>(tcp->data)->stream) stream->read(size);
                });
}

void TcpStream::read_off() {
  if (!directions_.stop_reading()) return;
  uv_read_stop(reinterpret_cast<uv_stream_t*>(&socket_->tcp));
  if (socket_->watched_by) return;
  // Reading often goes on within the iteration: watching costs a system call, so it begins only at the end.
  iteration_end_.ask();
}

/// If the system has no room for that, only a failing write shows that the peer has left, until the next try.
void TcpStream::watch_for_hangup() {
  if (loop_.hangup_watcher().watch(socket_->descriptor(), *socket_)) socket_->watched_by = &loop_.hangup_watcher();
}

void TcpStream::left_unread(bool by_reset) {
  if (by_reset) broken_by_ = UV_ECONNRESET;
  if (!directions_.half_open() || by_reset) return gone();
  end_seen_ = true;  // on_end() comes when the bytes before it are read
  socket_->end_watch();
}

void TcpStream::read(std::ptrdiff_t size) {
  if (size == 0 || size == UV_ENOBUFS) return;
  if (size == UV_EOF && directions_.half_open()) return ended();
  if (size < 0) {
    if (size != UV_EOF) broken_by_ = static_cast<int>(size);
    return gone();
  }
  read_in_ = loop_.iteration();
  events_->on_read({loop_.read_buffer(), static_cast<std::size_t>(size)});
}

void TcpStream::ended() {
  directions_.end_input();
  events_->on_end();
}

void TcpStream::gone() {
  if (!directions_.go()) return;
  uv_read_stop(reinterpret_cast<uv_stream_t*>(&socket_->tcp));
  socket_->end_watch();
  if (events_) events_->on_gone();
}

void TcpStream::break_off(int error) {
  broken_by_ = error;
  tell_later(Outcome::gone);
}

void TcpStream::tell_later(Outcome outcome) {
  to_tell_ = outcome;
  iteration_end_.ask();
}

std::size_t TcpStream::queued() const { return out_.size() + socket_->tcp.write_queue_size; }

std::size_t TcpStream::unread_by_peer() const {
  int in_kernel = 0;
  ::ioctl(socket_->descriptor(), SIOCOUTQ, &in_kernel);
  return queued() + static_cast<std::size_t>(in_kernel);
}

bool TcpStream::is_read_out() const {
  char byte = 0;
  return ::recv(socket_->descriptor(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

void TcpStream::touch() {
  if (out_.size() >= kSendAtOnce && !sending_) flush();
  iteration_end_.ask();
}

void TcpStream::end_iteration() {
  if (to_tell_ == Outcome::gone) return gone();
  if (to_tell_ == Outcome::connected) {
    to_tell_ = Outcome::none;
    iteration_end_.ask();  // for what follows, because this stream may be destroyed in the event
    return events_->on_connected();
  }
  if (directions_.resting() && !end_seen_ && !socket_->watched_by) watch_for_hangup();
  flush();
}

/// Returns how many bytes the kernel took at once.
std::size_t TcpStream::try_send(std::string_view bytes) {
  const uv_buf_t buffer = uv_buf_init(const_cast<char*>(bytes.data()), static_cast<unsigned>(bytes.size()));
  const int sent = uv_try_write(reinterpret_cast<uv_stream_t*>(&socket_->tcp), &buffer, 1);
  if (sent < 0 && sent != UV_EAGAIN) break_off(sent);
  return sent < 0 ? 0 : static_cast<std::size_t>(sent);
}

void TcpStream::flush() {
  if (out_.empty() || sending_ || is_broken()) return;
  const std::size_t taken = try_send(out_);
  if (is_broken()) return;
  if (taken < out_.size()) {
    out_.erase(0, taken);
    rest() = std::exchange(out_, {});
    return send_rest();
  }
  out_.clear();
  if (out_.capacity() > kKeptCapacity) out_.shrink_to_fit();
}

bool TcpStream::send(std::string_view bytes) {
  if (is_broken()) return true;
  if (!out_.empty() || sending_) {
    out_.append(bytes);
    flush();
    return !sending_;
  }
  const std::size_t taken = try_send(bytes);
  if (taken == bytes.size()) socket_->rest.reset();  // the memory is kept only from one wait to the next
  if (taken == bytes.size() || is_broken()) return true;
  rest().assign(bytes.substr(taken));
  send_rest();
  return !sending_;
}

std::string& TcpStream::rest() {
  if (!socket_->rest) socket_->rest = std::make_unique<Socket::Rest>();
  return socket_->rest->bytes;
}

void TcpStream::send_rest() {
  const uv_buf_t buffer = uv_buf_init(rest().data(), static_cast<unsigned>(rest().size()));
  const int asked = uv_write(&socket_->rest->writing, reinterpret_cast<uv_stream_t*>(&socket_->tcp), &buffer, 1,
                             [](uv_write_t* writing, int status) {
                               auto* socket = static_cast<Socket*>(writing->handle->data);
                               if (socket->stream) socket->stream->sent(status);
                             });
  if (asked != 0) return break_off(asked);
  sending_ = true;
}

void TcpStream::sent(int status) {
  sending_ = false;
  rest().clear();
  if (!directions_.half_open())
    socket_->rest.reset();  // a half-open stream keeps the memory: more may have to wait soon
  if (status != 0) {
    broken_by_ = status;
    return gone();
  }
  flush();
  if (is_broken()) return gone();
  if (sending_) return;
  if (directions_.output_ended()) shut_down();
  events_->on_drained();
}

void TcpStream::end_writing() {
  directions_.end_output();
  flush();
  if (!sending_) shut_down();
}

void TcpStream::shut_down() { ::shutdown(socket_->descriptor(), SHUT_WR); }

/// A stream that is closing: sends its last bytes as long as the peer takes some, then ends its side, and reads and
/// drops what the peer still sends until it closes too, for a bounded time.
class TcpStream::Lingering final : public SelfOwned, public StreamEvents {
 public:
  Lingering(std::unique_ptr<TcpStream> stream)
      : loop_(stream->loop_), stream_(std::move(stream)), timeouts_(loop_, [this] { look(); }) {
    stream_->set_events(*this);
    stream_->socket_->end_watch();  // the peer's end must be read behind its last bytes
    stream_->read_on();
    timeouts_.start(loop_.now() + kPatienceWithReaders);
    left_ = stream_->unread_by_peer();
    if (stream_->queued() == 0) shut_down();
  }

  void on_read(std::string_view bytes) override {
    dropped_ += bytes.size();
    if (dropped_ > kMostDropped) return loop_.dismiss(this);
    // A peer that is still uploading reads our answer only when it is done.
    if (left_ == 0 && loop_.now() < give_up_at_) timeouts_.start(loop_.now() + kPatience);
  }
  void on_gone() override { loop_.dismiss(this); }
  void on_drained() override { shut_down(); }
  void on_end() override {
    if (stream_->queued() == 0) loop_.dismiss(this);
  }

 private:
  static constexpr std::int64_t kPatience = 2'000'000;
  static constexpr std::int64_t kPatienceWithReaders = 30'000'000;  // microseconds without a byte taken by the peer
  static constexpr std::int64_t kPatienceWithTalkers = 10'000'000;  // in all, after our last byte
  static constexpr std::size_t kMostDropped = 256 * 1024 * 1024;

  void shut_down() {
    left_ = 0;
    give_up_at_ = loop_.now() + kPatienceWithTalkers;
    timeouts_.start(loop_.now() + kPatience);
    stream_->end_writing();
    if (stream_->directions_.input_ended()) loop_.dismiss(this);
  }

  void look() {
    const std::size_t before = left_;
    left_ = stream_->unread_by_peer();
    if (before == 0 || left_ >= before) return give_up();
    timeouts_.start(loop_.now() + kPatienceWithReaders);
  }

  /// A plain close would tell a peer that lacks some bytes that it has them all.
  void give_up() {
    if (stream_->queued() > 0) close_with_reset(std::move(stream_));
    loop_.dismiss(this);
  }

  Loop& loop_;
  std::unique_ptr<TcpStream> stream_;
  Timer timeouts_;
  std::size_t left_ = 0;  // bytes that the peer had not taken at the last look
  std::size_t dropped_ = 0;
  std::int64_t give_up_at_ = 0;
};

void TcpStream::end_gently(std::unique_ptr<Stream> self) {
  flush();
  if (is_broken() || (directions_.input_ended() && queued() == 0)) return;
  std::unique_ptr<TcpStream> stream(static_cast<TcpStream*>(self.release()));
  loop_.adopt(std::make_unique<Lingering>(std::move(stream)));
}

void TcpStream::end_with_reset() {
  flush();
  socket_->close(true);
  socket_ = nullptr;
}

DialFailure TcpStream::dial_failure() const {
  switch (dial_error_) {
    case 0: return DialFailure::none;
    case UV_ECONNREFUSED:
    case UV_ECONNRESET: return DialFailure::refused;
    case UV_ENETUNREACH:
    case UV_EHOSTUNREACH:
    case UV_EADDRNOTAVAIL: return DialFailure::unroutable;
    case UV_ETIMEDOUT: return DialFailure::timed_out;
    case UV_EMFILE:
    case UV_ENFILE: return DialFailure::no_descriptors;
    default: return DialFailure::other;
  }
}

Endpoint TcpStream::peer() const {
  sockaddr_storage address{};
  int size = sizeof address;
  uv_tcp_getpeername(&socket_->tcp, reinterpret_cast<sockaddr*>(&address), &size);
  return endpoint_of(reinterpret_cast<const sockaddr*>(&address));
}

std::unique_ptr<Stream> Stream::adopt(Loop& loop, int fd) { return TcpStream::adopt(loop, fd); }

std::unique_ptr<Stream> Stream::dial(Loop& loop, const Endpoint& there, StreamEvents& events, DialFor whom) {
  return TcpStream::dial(loop, there, events, whom);
}

std::unique_ptr<Stream> Stream::dial_path(Loop& loop, const std::string& path, StreamEvents& events) {
  return TcpStream::dial_path(loop, path, events);
}

}  // namespace penstock::loop
