// SPDX-License-Identifier: Apache-2.0
// A small web server in this process, with a thread for each connection. What it does follows from the path: /hold…
// answers only after let_go(), /half… breaks off in the middle, /big… answers 16 MiB, everything else is told back to
// the sender.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>

namespace embedding {

class Origin {
 public:
  Origin();
  ~Origin();
  Origin(const Origin&) = delete;
  Origin& operator=(const Origin&) = delete;

  std::string url(std::string_view path) const;
  std::string authority() const;
  /// What a request to another path than the special ones is answered.
  static std::string echo(std::string_view method, std::string_view path, std::string_view body = {});

  void let_go();
  std::size_t requests() const;
  /// Of those that were held: the most at one time.
  std::size_t most_at_once() const;

 private:
  void accept_all();
  void serve(int socket);
  std::string answer(std::string_view method, std::string_view path, std::string_view body);
  void hold();
  void forget(int socket);

  int listening_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable released_;
  bool let_go_ = false;
  std::size_t requests_ = 0, held_ = 0, most_held_ = 0;
  std::set<int> open_;
  std::list<std::jthread> pools_;
  std::jthread acceptor_;
};

}  // namespace embedding
