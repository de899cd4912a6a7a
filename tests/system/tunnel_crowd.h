// SPDX-License-Identifier: Apache-2.0
// Many tunnels at once, with both ends of all of them played by one thread: callers that ask, say a piece of the
// pattern and want it back, and a far end that gives back what it hears. Each side may leave at any stage, by FIN or by
// RST.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>

#include "system/wire.h"

namespace penstock::trial {

inline constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

struct CallerPlan {
  std::string host;                     ///< where to
  std::uint64_t offset = 0;             ///< in the pattern, of what it says
  std::size_t size = 0;                 ///< of what it says and wants to hear again
  bool early = false;                   ///< it speaks before the 200 is there
  Clock::duration patience{kPatience};  ///< for an answer
  std::size_t leaves_at = kNever;       ///< having heard so much: 0 is as soon as the tunnel is open
  bool resets = false;                  ///< leaves by RST; for one that heard everything, too
  bool stays = false;                   ///< having heard everything it waits for Crowd::dismiss()
};

struct FarPlan {
  std::size_t leaves_at = kNever;  ///< having heard so much: 0 is as soon as it is called
  bool resets = false;             ///< leaves by RST
  bool half = false;               ///< leaves by ending its own side only
};

class Crowd {
 public:
  /// `far` says what each call at the far end comes to; nothing: all of them listen to the end.
  explicit Crowd(std::function<FarPlan()> far = [] { return FarPlan{}; });
  ~Crowd();
  Crowd(const Crowd&) = delete;

  std::uint16_t far_port() const { return far_port_; }
  std::string far_host() const { return "127.0.0.1:" + std::to_string(far_port_); }

  /// One more caller, through the proxy at this port.
  void call(std::uint16_t proxy_port, const CallerPlan& plan);
  /// Plays on until it holds; false once patience is over.
  bool play_until(const std::function<bool()>& holds, Clock::duration patience = kPatience);
  /// Who stayed leaves.
  void dismiss();

  struct Counts {
    std::size_t callers = 0, calls = 0;  ///< here now, at either end
    std::size_t opened = 0;              ///< callers that got their 200, ever
    std::size_t refused = 0;             ///< that got another answer
    std::size_t content = 0;             ///< that heard all they wanted to
    std::size_t impatient = 0;           ///< that left without an answer
    std::size_t left_open = 0;           ///< that left as soon as the tunnel was open
    std::size_t left_midway = 0;         ///< that left before they had heard everything
    std::size_t far_left = 0;            ///< calls that the far end left early
  };
  const Counts& counts() const { return counts_; }
  /// The first thing that was not as it should be.
  const std::string& complaint() const { return complaint_; }

 private:
  struct Side;
  struct Caller;
  struct Call;
  void turn();
  void accept();
  void add(std::unique_ptr<Side> side);
  void drop_impatient();
  void complain(const std::string& what);

  const std::function<FarPlan()> far_;
  std::uint16_t far_port_ = 0;
  Socket listener_, epoll_;
  Counts counts_;
  std::map<int, std::unique_ptr<Side>> sides_;  // by file descriptor
  std::string complaint_;
};

/// Lifts the limit on open files, for this process and its children, as far as it goes; what it is then.
std::size_t allow_open_files();

}  // namespace penstock::trial
