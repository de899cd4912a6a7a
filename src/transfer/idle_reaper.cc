// SPDX-License-Identifier: Apache-2.0
// See idle_reaper.h.
#include "transfer/idle_reaper.h"

#include <utility>

namespace penstock::transfer {

namespace {
constexpr std::chrono::seconds kSlack{2};  // libcurl counts whole seconds, and checks once a second at most
}

IdleReaper::IdleReaper(loop::Loop& loop, CURLM* multi, std::chrono::seconds idle, std::function<bool()> any_kept)
    : loop_(loop),
      multi_(multi),
      handle_(curl_easy_init()),
      idle_(idle),
      any_kept_(std::move(any_kept)),
      timer_(loop, [this] { sweep(); }) {
  const auto nowhere = [](void*, curlsocktype, curl_sockaddr*) { return CURL_SOCKET_BAD; };
  curl_easy_setopt(handle_, CURLOPT_URL, "http://127.0.0.1:1/");
  curl_easy_setopt(handle_, CURLOPT_PROXY, "");
  curl_easy_setopt(handle_, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(handle_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle_, CURLOPT_FRESH_CONNECT, 1L);
  curl_easy_setopt(handle_, CURLOPT_DNS_CACHE_TIMEOUT, 0L);
  curl_easy_setopt(handle_, CURLOPT_OPENSOCKETFUNCTION, static_cast<curl_opensocket_callback>(nowhere));
  curl_easy_setopt(handle_, CURLOPT_MAXAGE_CONN, static_cast<long>(idle.count()));
}

IdleReaper::~IdleReaper() {
  rest();
  curl_easy_cleanup(handle_);
}

void IdleReaper::is_wanted() { sweep_within(idle_ + kSlack); }
void IdleReaper::is_wanted_soon() { sweep_within(kSlack); }

void IdleReaper::sweep_within(std::chrono::seconds time) {
  const std::int64_t at = loop_.now() + std::chrono::microseconds(time).count();
  if (!timer_.running() || timer_.at() > at) timer_.start(at);
}

/// Repeats while there may be kept connections.
void IdleReaper::sweep() {
  if (!std::exchange(sweeping_, true)) curl_multi_add_handle(multi_, handle_);
  if (any_kept_()) sweep_within(idle_ / 3 + kSlack);
}

void IdleReaper::rest() {
  if (std::exchange(sweeping_, false)) curl_multi_remove_handle(multi_, handle_);
}

}  // namespace penstock::transfer
