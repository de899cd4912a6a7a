// SPDX-License-Identifier: Apache-2.0
// A scripted TCP server: the script serves each connection in a thread of its own, byte by byte. The test can read what
// the script notes.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/sockets.h"

namespace penstock::test {

class Origin {
 public:
  /// `number` counts connections from 1.
  using Script = std::function<void(Origin& origin, Socket& peer, int number)>;

  /// `wrap` puts a layer on each connection; if that fails, the connection is closed before the script sees it.
  /// `port`: as of ListeningSocket.
  explicit Origin(Script script, Wrap wrap = {}, std::uint16_t port = 0);
  ~Origin();  ///< ends the connections and waits for their scripts
  Origin(const Origin&) = delete;

  std::uint16_t port() const { return listening_.port(); }
  std::string host() const { return "127.0.0.1:" + std::to_string(port()); }

  int connections() const;
  /// Lets scripts wait in wait_for_release() until the test says so.
  void release() {
    released_ = true;
    released_.notify_all();
  }
  void wait_for_release() const { released_.wait(false); }
  void note(std::string text);
  std::vector<std::string> notes() const;

 private:
  void live();

  const Script script_;
  const Wrap wrap_;
  ListeningSocket listening_;
  mutable std::mutex mutex_;
  std::vector<std::string> notes_;
  std::list<Socket> peers_;
  std::vector<std::thread> threads_;  // filled by the accepting thread, then used by the test's
  int connections_ = 0;
  std::atomic<bool> released_ = false;
  std::thread accepting_;  // last: it uses all other members
};

/// Serves every request on every connection with the same answer, and notes each request's head.
Origin::Script always(std::string answer);

}  // namespace penstock::test
