// SPDX-License-Identifier: Apache-2.0
// A TCP connection over uv_tcp_t, watched beside libuv for peers that leave unread.
#include "loop/tcp_stream.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include <utility>

#include "loop/fd_limit.h"
#include "loop/hangup_watcher.h"
#include "loop/notsent_lowat.h"
#include "loop/socket_address.h"
#include "loop/timer.h"

namespace penstock::loop {

struct TcpStream::Socket final : HangupWatcher::Watched {
  uv_tcp_t tcp;
  TcpStream* stream = nullptr;          // nothing once closing
  HangupWatcher* watched_by = nullptr;  // for the peer's leaving
  uv_connect_t connecting;
  uv_write_t writing;
  std::string rest;  // in the kernel's way

  static Socket* make(Loop& loop, int family, int& error);
  int descriptor() const;
  void peer_left(bool by_reset) override;
  void close(bool reset);
  void end_watch();
};

/// One that can dial; if there is an error, one without a descriptor. What is not to be dialled with is free again at
/// once, for many may try in one turn.
TcpStream::Socket* TcpStream::Socket::make(Loop& loop, int family, int& error) {
  auto* socket = new Socket;
  if (error == 0) error = uv_tcp_init_ex(loop.uv(), &socket->tcp, static_cast<unsigned>(family));
  if (error == 0) {
    socket->tcp.data = socket;
    if (socket->descriptor() < ceiling_of_dials()) return socket;
    socket->close(false);
    socket = new Socket;
    error = UV_EMFILE;
  }
  uv_tcp_init(loop.uv(), &socket->tcp);  // of one that failed libuv has forgotten all
  socket->tcp.data = socket;
  return socket;
}

/// -1: libuv has closed it.
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
  auto* socket = new Socket;
  uv_tcp_init(loop.uv(), &socket->tcp);
  socket->tcp.data = socket;
  int error = 0;
  // libcurl closes some sockets before libuv hears of it, which then still thinks of the number as theirs.
  while ((error = uv_tcp_open(&socket->tcp, fd)) == UV_EEXIST) {
    const int other = fcntl(fd, F_DUPFD_CLOEXEC, fd + 1);
    ::close(std::exchange(fd, other));
    if (fd < 0) break;
  }
  if (error == 0) {
    limit_unsent(fd);
    return std::unique_ptr<Stream>(new TcpStream(loop, socket));
  }
  if (fd >= 0) ::close(fd);
  socket->close(false);
  return nullptr;
}

std::unique_ptr<Stream> TcpStream::dial(Loop& loop, const Endpoint& there, StreamEvents& events) {
  sockaddr_storage address{};
  int error = socket_address_of(there, address);
  auto* socket = Socket::make(loop, address.ss_family, error);
  std::unique_ptr<TcpStream> stream(new TcpStream(loop, socket));
  stream->set_events(events);
  stream->dial_error_ = error;
  const auto done = [](uv_connect_t* connecting, int status) {
    auto* dialled = static_cast<Socket*>(connecting->handle->data)->stream;
    if (!dialled) return;
    dialled->dial_error_ = status;
    if (status == 0) limit_unsent(dialled->socket_->descriptor());
    status == 0 ? dialled->events_->on_connected() : dialled->gone();
  };
  if (stream->dial_error_ == 0) {
    const auto* any = reinterpret_cast<const sockaddr*>(&address);
    stream->dial_error_ = uv_tcp_connect(&socket->connecting, &socket->tcp, any, done);
  }
  if (stream->dial_error_ != 0) stream->fail();
  return stream;
}

/// A buffer full a turn: a fast peer's next bytes are there before these are taken, and others want their turn. libuv
/// comes again in the next where it is lent nothing.
void TcpStream::read_on() {
  if (reading_ || gone_ || failed_ || peer_ended_) return;
  reading_ = true;
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
  if (!reading_) return;
  reading_ = false;
  uv_read_stop(reinterpret_cast<uv_stream_t*>(&socket_->tcp));
  if (socket_->watched_by) return;
  iteration_end_
      .ask();  // reading often goes on within the turn: only who is still off at its end is worth a system call
}

/// Where there is no room for that: until the next try, a peer that leaves is noticed by what is written to it.
void TcpStream::watch_for_hangup() {
  if (loop_.hangup_watcher().watch(socket_->descriptor(), *socket_)) socket_->watched_by = &loop_.hangup_watcher();
}

void TcpStream::left_unread(bool by_reset) {
  if (!half_open_ || by_reset) return gone();
  end_seen_ = true;  // it is read in its turn, behind the bytes before it
  socket_->end_watch();
}

void TcpStream::read(std::ptrdiff_t size) {
  if (size == 0 || size == UV_ENOBUFS) return;
  if (size == UV_EOF && half_open_) return ended();
  if (size < 0) return gone();
  read_in_ = loop_.turn();
  events_->on_read({loop_.read_buffer(), static_cast<std::size_t>(size)});
}

void TcpStream::ended() {
  reading_ = false;
  peer_ended_ = end_seen_ = true;
  events_->on_end();
}

void TcpStream::gone() {
  if (gone_) return;
  gone_ = true;
  reading_ = false;
  uv_read_stop(reinterpret_cast<uv_stream_t*>(&socket_->tcp));
  socket_->end_watch();
  if (events_) events_->on_gone();
}

void TcpStream::fail() {
  failed_ = true;
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
  if (failed_) return gone();
  if (!reading_ && !gone_ && !end_seen_ && !socket_->watched_by) watch_for_hangup();
  flush();
}

/// How many bytes the kernel takes at once.
std::size_t TcpStream::try_send(std::string_view bytes) {
  const uv_buf_t buffer = uv_buf_init(const_cast<char*>(bytes.data()), static_cast<unsigned>(bytes.size()));
  const int sent = uv_try_write(reinterpret_cast<uv_stream_t*>(&socket_->tcp), &buffer, 1);
  if (sent < 0 && sent != UV_EAGAIN) fail();
  return sent < 0 ? 0 : static_cast<std::size_t>(sent);
}

void TcpStream::flush() {
  if (out_.empty() || sending_ || gone_ || failed_) return;
  const std::size_t taken = try_send(out_);
  if (failed_) return;
  if (taken < out_.size()) {
    out_.erase(0, taken);
    socket_->rest = std::exchange(out_, {});
    return send_rest();
  }
  out_.clear();
  if (out_.capacity() > kKeptCapacity) out_.shrink_to_fit();
}

bool TcpStream::send(std::string_view bytes) {
  if (gone_ || failed_) return true;
  if (!out_.empty() || sending_) {
    out_.append(bytes);
    flush();
    return !sending_;
  }
  const std::size_t taken = try_send(bytes);
  if (taken == bytes.size() && !half_open_) socket_->rest = {};  // kept only from one wait to the next
  if (taken == bytes.size() || failed_) return true;
  socket_->rest.assign(bytes.substr(taken));
  send_rest();
  return !sending_;
}

void TcpStream::send_rest() {
  const uv_buf_t buffer = uv_buf_init(socket_->rest.data(), static_cast<unsigned>(socket_->rest.size()));
  const int asked = uv_write(&socket_->writing, reinterpret_cast<uv_stream_t*>(&socket_->tcp), &buffer, 1,
                             [](uv_write_t* writing, int status) {
                               auto* socket = static_cast<Socket*>(writing->handle->data);
                               if (socket->stream) socket->stream->sent(status);
                             });
  if (asked != 0) return fail();
  sending_ = true;
}

void TcpStream::sent(int status) {
  sending_ = false;
  socket_->rest.clear();
  if (!half_open_) socket_->rest = {};  // otherwise more may have to wait soon
  if (status != 0) return gone();
  flush();
  if (failed_) return gone();
  if (sending_) return;
  if (writing_ended_) shut_down();
  events_->on_drained();
}

void TcpStream::end_writing() {
  writing_ended_ = true;
  flush();
  if (!sending_) shut_down();
}

void TcpStream::shut_down() { ::shutdown(socket_->descriptor(), SHUT_WR); }

/// A stream whose last bytes are on their way: sends them for as long as the peer takes some, says that no more will
/// come, and reads what the peer still sends until it has closed too, for as long as is polite.
class TcpStream::Lingering final : public SelfOwned, public StreamEvents {
 public:
  Lingering(std::unique_ptr<TcpStream> stream)
      : loop_(stream->loop_), stream_(std::move(stream)), timeouts_(loop_, [this] { look(); }) {
    stream_->set_events(*this);
    stream_->socket_->end_watch();  // the peer's end is to come behind its last bytes
    stream_->read_on();
    timeouts_.start(loop_.now() + kPatienceWithReaders);
    left_ = stream_->unread_by_peer();
    if (stream_->queued() == 0) shut_down();
  }

  void on_read(std::string_view bytes) override {
    dropped_ += bytes.size();
    if (dropped_ > kMostDropped) return loop_.dismiss(this);
    // One that is still uploading will look at our answer when it is done.
    if (left_ == 0 && loop_.now() < give_up_at_) timeouts_.start(loop_.now() + kPatience);
  }
  void on_gone() override { loop_.dismiss(this); }
  void on_drained() override { shut_down(); }
  void on_end() override {
    if (stream_->queued() == 0) loop_.dismiss(this);
  }

 private:
  static constexpr std::int64_t kPatience = 2'000'000;
  static constexpr std::int64_t kPatienceWithReaders = 30'000'000;  // without a byte taken
  static constexpr std::int64_t kPatienceWithTalkers = 10'000'000;  // in all
  static constexpr std::size_t kMostDropped = 256 * 1024 * 1024;

  void shut_down() {
    left_ = 0;
    give_up_at_ = loop_.now() + kPatienceWithTalkers;
    timeouts_.start(loop_.now() + kPatience);
    stream_->end_writing();
    if (stream_->peer_ended_) loop_.dismiss(this);
  }

  void look() {
    const std::size_t before = left_;
    left_ = stream_->unread_by_peer();
    if (before == 0 || left_ >= before) return give_up();
    timeouts_.start(loop_.now() + kPatienceWithReaders);
  }

  /// To who has not got all of it a mere end would say that it was all.
  void give_up() {
    if (stream_->queued() > 0) close_with_reset(std::move(stream_));
    loop_.dismiss(this);
  }

  Loop& loop_;
  std::unique_ptr<TcpStream> stream_;
  Timer timeouts_;
  std::size_t left_ = 0;  // to be sent, when last looked at
  std::size_t dropped_ = 0;
  std::int64_t give_up_at_ = 0;
};

void TcpStream::end_gently(std::unique_ptr<Stream> self) {
  flush();
  if (gone_ || failed_ || (peer_ended_ && queued() == 0)) return;
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

std::unique_ptr<Stream> Stream::dial(Loop& loop, const Endpoint& there, StreamEvents& events) {
  return TcpStream::dial(loop, there, events);
}

void Stream::close_lingering(std::unique_ptr<Stream> stream) {
  Stream& ending = *stream;
  ending.end_gently(std::move(stream));
}

void Stream::close_with_reset(std::unique_ptr<Stream> stream) { stream->end_with_reset(); }

}  // namespace penstock::loop
