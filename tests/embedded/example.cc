// SPDX-License-Identifier: Apache-2.0
// The example of the README, whole: a program that sends its own requests and those of a child process through a proxy
// inside itself. example [URL]
#include <penstock/proxy.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdio>
#include <future>

int main(int count, char** arguments) {
  using namespace std::chrono_literals;
  const std::string url = count > 1 ? arguments[1] : "http://example.com/";

  penstock::Config config;
  config.proxy.listen.port = 0;  // any free one, and the same for the admin port
  config.admin.listen.port = 0;
  config.log.events = "off";
  config.unmatched.max_concurrent = 2;  // to each host that config.upstreams does not name

  penstock::Proxy proxy{config};
  proxy.observe([](const penstock::Event& event) {  // on the proxy's thread: be quick
    if (event.kind != penstock::EventKind::complete) return;
    std::printf("%s answered %d after %lld us\n", std::string(event.upstream).c_str(), event.status,
                static_cast<long long>(event.flight->count()));
  });
  if (auto started = proxy.start(); !started) {
    std::fprintf(stderr, "%s\n", started.error().message.c_str());
    return 1;
  }

  // A program that knows nothing of Penstock needs one variable.
  const std::string variable = "http_proxy=" + proxy.url();
  const char* const words[] = {"env", variable.c_str(), "curl", "-sSo", "/dev/null", url.c_str(), nullptr};
  pid_t child = 0;
  if (posix_spawnp(&child, "env", nullptr, nullptr, const_cast<char* const*>(words), environ) == 0) {
    waitpid(child, nullptr, 0);
  }

  // This one needs no socket: the same queue, the same limits, the answer as a value.
  std::promise<int> promise;
  auto status = promise.get_future();
  proxy.submit({.url = url}, [promise = std::move(promise)](auto response) mutable {
    promise.set_value(response ? response->status : 0);
  });
  std::printf("in-process: %d\n", status.get());

  const penstock::Snapshot now = proxy.snapshot();
  for (const auto& upstream : now.upstreams) {
    std::printf("%s: %zu pending, %zu in flight, %llu successes\n", upstream.name.c_str(), upstream.pending,
                upstream.in_flight, static_cast<unsigned long long>(upstream.totals.success));
  }
  return proxy.drain(10s) ? 0 : 1;
}
