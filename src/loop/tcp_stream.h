// SPDX-License-Identifier: Apache-2.0
// A Stream over one socket, TCP or Unix. Made by the functions of Stream; no other code needs this file.
#pragma once

#include "loop/iteration_end.h"
#include "loop/stream.h"

namespace penstock::loop {

class TcpStream final : public Stream {
 public:
  static std::unique_ptr<Stream> adopt(Loop& loop, int fd);
  static std::unique_ptr<Stream> dial(Loop& loop, const Endpoint& there, StreamEvents& events, DialFor whom);
  static std::unique_ptr<Stream> dial_path(Loop& loop, const std::string& path, StreamEvents& events);
  ~TcpStream() override;

  void read_on() override;
  void read_off() override;
  void keep_half_open() override { directions_.keep_half_open(); }
  void touch() override;
  bool send(std::string_view bytes) override;
  void end_writing() override;
  std::size_t queued() const override;
  std::size_t unread_by_peer() const override;
  bool is_read_out() const override;
  Endpoint peer() const override;
  DialFailure dial_failure() const override;
  int error() const override { return -(dial_error_ != 0 ? dial_error_ : broken_by_); }

 private:
  /// What is still to be told at the iteration's end.
  enum class Outcome : std::uint8_t { none, connected, gone };
  struct Socket;
  class Lingering;
  TcpStream(Loop& loop, Socket* socket);
  void end_gently(std::unique_ptr<Stream> self) override;
  void end_with_reset() override;
  void end_iteration();
  void flush();
  std::size_t try_send(std::string_view bytes);
  /// Bytes that the kernel has not taken yet.
  std::string& rest();
  void send_rest();
  void sent(int status);
  void shut_down();
  /// It is gone, or is going to be at the iteration's end.
  bool is_broken() const { return directions_.gone() || to_tell_ == Outcome::gone; }
  bool may_read() const { return read_in_ != loop_.iteration(); }
  void read(std::ptrdiff_t size);
  void ended();
  void gone();
  void break_off(int error);
  void tell_later(Outcome outcome);
  void watch_for_hangup();
  void left_unread(bool by_reset);

  Loop& loop_;
  Socket* socket_;  // closed, then freed by libuv's close callback
  IterationEnd iteration_end_;
  Outcome to_tell_ = Outcome::none;
  bool sending_ = false;
  bool end_seen_ = false;               // the peer has ended its side; bytes may be left to read
  int dial_error_ = 0, broken_by_ = 0;  // libuv's errors, which are errnos below zero
  std::uint64_t read_in_ = 0;           // the iteration of the last read
};

}  // namespace penstock::loop
