// SPDX-License-Identifier: Apache-2.0
// The hangup watcher: notices peers that leave while nothing is read from them, which libuv does not. It has an epoll
// of its own, in which sockets are registered as well as in libuv's, so watching takes no descriptor. Only for loop/.
#pragma once

struct uv_loop_s;
struct uv_poll_s;

namespace penstock::loop {

class HangupWatcher {
 public:
  class Watched {
   public:
    /// The peer has ended its side, or reset the connection; called again until unwatched. It may still be called in
    /// the iteration of unwatch(), so the object must live as long as libuv's handles do.
    virtual void peer_left(bool by_reset) = 0;

   protected:
    ~Watched() = default;
  };

  explicit HangupWatcher(uv_loop_s* loop);
  HangupWatcher(const HangupWatcher&) = delete;
  HangupWatcher& operator=(const HangupWatcher&) = delete;
  /// To be called before the loop is closed.
  void close();

  /// False: the system has no room for it.
  bool watch(int fd, Watched& whose);
  /// To be called before the socket is closed.
  void unwatch(int fd);

 private:
  void look();

  const int epoll_;
  uv_poll_s* const poll_;
};

}  // namespace penstock::loop
