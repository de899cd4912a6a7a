// SPDX-License-Identifier: Apache-2.0
// The response sink of a request made in this process: hands the request to the dispatcher as a client's connection
// would, and gathers the answer. Owned by the loop until the answer is complete.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "loop/iteration_end.h"
#include "loop/loop.h"
#include "penstock/error.h"
#include "penstock/message.h"
#include "proxy/dispatch/dispatcher.h"
#include "proxy/exchange/response_sink.h"

namespace penstock::proxy {

class LocalSink final : public loop::SelfOwned, private ResponseSink {
 public:
  using OnResponse = std::move_only_function<void(std::expected<Response, Error>)>;

  /// To be called on the loop's thread. `on_response` is called later, at the end of an iteration.
  static void submit(loop::Loop& loop, Dispatcher& dispatcher, const std::string& via, Request&& request,
                     OnResponse on_response);
  /// If the answer is not complete, the callback gets the error "the proxy has stopped".
  ~LocalSink() override;

 private:
  LocalSink(loop::Loop& loop, const std::string& via, OnResponse on_response);

  void tell_id(std::string_view id) override { id_ = id; }
  void answer_interim(int, std::string_view, const http::Fields&) override {}
  void answer_head(int status, std::string_view reason, const http::Fields& fields,
                   std::optional<std::uint64_t>) override;
  bool has_room() const override { return true; }
  std::size_t untaken() const override { return 0; }
  void answer_body(std::string_view bytes) override { response_.body.append(bytes); }
  void body_wanted() override {}
  std::unique_ptr<loop::Stream> hand_over(std::string&) override { return nullptr; }
  std::unique_ptr<loop::Stream> give_away(std::string&) override { return nullptr; }
  void answer_end(const http::Fields& trailers) override;
  void answer_broken() override;
  void answer_refusal(const http::Refusal& refusal) override;
  void add_id();
  void finish(std::expected<Response, Error> answer);

  const std::string via_;
  OnResponse on_response_;
  std::string id_;  // for Penstock-Request-Id; empty: none
  Response response_;
  std::optional<std::expected<Response, Error>> answer_;
  loop::IterationEnd finishing_;
};

}  // namespace penstock::proxy
