// SPDX-License-Identifier: Apache-2.0
// Peers that leave while nothing is read from them, of which libuv hears nothing: an epoll of its own, in which the
// sockets stand beside libuv's, so that to watch one takes no descriptor. For this room.
#pragma once

struct uv_loop_s;
struct uv_poll_s;

namespace penstock::loop {

class HangupWatcher {
 public:
  class Watched {
   public:
    /// Its peer says that no more will come, or has reset the connection; said again until unwatched. One that is
    /// unwatched within the turn may still be told, and must stay for as long as libuv's handles do.
    virtual void peer_left(bool by_reset) = 0;

   protected:
    ~Watched() = default;
  };

  explicit HangupWatcher(uv_loop_s* loop);
  HangupWatcher(const HangupWatcher&) = delete;
  HangupWatcher& operator=(const HangupWatcher&) = delete;
  /// Before the loop ends.
  void close();

  /// False: the system has no room for it.
  bool watch(int fd, Watched& whose);
  /// Before the socket is closed.
  void unwatch(int fd);

 private:
  void look();

  const int epoll_;
  uv_poll_s* const poll_;
};

}  // namespace penstock::loop
