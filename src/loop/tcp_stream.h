// SPDX-License-Identifier: Apache-2.0
// A Stream over one TCP socket. Made by Stream::adopt and Stream::dial; no other code needs this file.
#pragma once

#include "loop/iteration_end.h"
#include "loop/stream.h"

namespace penstock::loop {

class TcpStream final : public Stream {
 public:
  static std::unique_ptr<Stream> adopt(Loop& loop, int fd);
  static std::unique_ptr<Stream> dial(Loop& loop, const Endpoint& there, StreamEvents& events);
  ~TcpStream() override;

  void read_on() override;
  void read_off() override;
  void keep_half_open() override { half_open_ = true; }
  void touch() override;
  bool send(std::string_view bytes) override;
  void end_writing() override;
  std::size_t queued() const override;
  std::size_t unread_by_peer() const override;
  bool is_read_out() const override;
  Endpoint peer() const override;
  DialFailure dial_failure() const override;

 private:
  struct Socket;
  class Lingering;
  TcpStream(Loop& loop, Socket* socket);
  void end_gently(std::unique_ptr<Stream> self) override;
  void end_with_reset() override;
  void end_iteration();
  void flush();
  std::size_t try_send(std::string_view bytes);
  void send_rest();
  void sent(int status);
  void shut_down();
  bool may_read() const { return read_in_ != loop_.iteration(); }
  void read(std::ptrdiff_t size);
  void ended();
  void gone();
  void fail();
  void watch_for_hangup();
  void left_unread(bool by_reset);

  Loop& loop_;
  Socket* socket_;  // closed, then freed by libuv's close callback
  IterationEnd iteration_end_;
  bool sending_ = false;
  bool reading_ = false;
  bool failed_ = false;  // a write failed: reported at the iteration's end
  bool gone_ = false;
  bool half_open_ = false;
  bool end_seen_ = false;       // the peer has ended its side; bytes may be left to read
  bool peer_ended_ = false;     // the same, and all was read
  bool writing_ended_ = false;  // shut down once all is sent
  int dial_error_ = 0;
  std::uint64_t read_in_ = 0;  // the iteration of the last read
};

}  // namespace penstock::loop
