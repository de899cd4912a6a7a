// SPDX-License-Identifier: Apache-2.0
// How far the two directions of a Stream have come, the same over TCP and over TLS: whether it reads, whether the peer
// or we have ended our side, and whether the connection is gone. Only for implementations of Stream.
#pragma once

#include <cstdint>
#include <utility>

namespace penstock::loop {

class Directions {
 public:
  /// False: it reads already, or nothing more will come.
  bool start_reading() { return move_input(Input::off, Input::on); }
  /// False: it did not read.
  bool stop_reading() { return move_input(Input::on, Input::off); }
  bool reading() const { return input_ == Input::on; }
  /// More may come, but nothing is read.
  bool resting() const { return input_ == Input::off; }

  /// All that the peer sent was read, and it will send no more.
  void end_input() { input_ = Input::ended; }
  bool input_ended() const { return input_ == Input::ended; }
  /// False: it was ended before.
  bool end_output() { return !std::exchange(output_ended_, true); }
  bool output_ended() const { return output_ended_; }

  /// Neither direction works any more. False: that was so before.
  bool go() { return std::exchange(input_, Input::gone) != Input::gone; }
  bool gone() const { return input_ == Input::gone; }

  /// From now on the end of the peer's side does not end ours.
  void keep_half_open() { half_open_ = true; }
  bool half_open() const { return half_open_; }

 private:
  enum class Input : std::uint8_t { off, on, ended, gone };

  bool move_input(Input from, Input to) {
    if (input_ != from) return false;
    input_ = to;
    return true;
  }

  Input input_ = Input::off;
  bool output_ended_ = false;
  bool half_open_ = false;
};

}  // namespace penstock::loop
