// SPDX-License-Identifier: Apache-2.0
// bench_origin: the upstream of a benchmark, one thread, as cheap as it can be. Answers every request with the same
// 200; knows no methods, paths or bodies. Says `port N` when it listens, obeys the lines `hold` (keep requests waiting)
// and `answer` (let them go) on its standard input, and at the end of that input says what it has seen.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "bench/answer.h"
#include "bench/server.h"

namespace penstock::bench {
namespace {

class Origin final : public Server {
 public:
  explicit Origin(std::size_t length) : answer_(whole_answer(length)) {}

  void tell() const {
    std::printf("requests %zu connections %zu most_held %zu\n", requests_, connections(), most_held_);
  }

 private:
  void request(int fd, std::string_view) override {
    ++requests_;
    if (!holding_) {
      send_whole(fd, answer_);
      return;
    }
    held_.push_back(fd);
    most_held_ = std::max(most_held_, held_.size());
  }

  void obey(std::string_view order) override {
    if (order == "hold\n") holding_ = true;
    if (order == "answer\n") release();
  }

  void release() {
    holding_ = false;
    for (const int fd : held_) send_whole(fd, answer_);
    held_.clear();
  }

  void gone(int fd) override { std::erase(held_, fd); }

  const std::string answer_;
  std::vector<int> held_;  ///< connections whose answer is kept back
  std::size_t requests_ = 0;
  std::size_t most_held_ = 0;
  bool holding_ = false;
};

}  // namespace
}  // namespace penstock::bench

int main(int count, char** words) {
  penstock::bench::allow_open_files(64);
  penstock::bench::Origin origin(count > 1 ? std::strtoul(words[1], nullptr, 10) : 1024);
  origin.run();
  origin.tell();
}
