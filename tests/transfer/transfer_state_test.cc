// SPDX-License-Identifier: Apache-2.0
// What a failure of libcurl means depends on how far the transfer had come.
#include "transfer/transfer_state.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace penstock::transfer {
namespace {

struct Listener final : TransferEvents {
  void on_connected() override {}
  void on_head_sent() override { ++heads; }
  bool on_line(std::string_view) override { return true; }
  Taken on_body(std::string_view) override { return Taken::all; }
  Given give_body(char*, std::size_t, std::size_t&) override { return Given::end; }
  void give_trailers(HeaderLines&) override {}
  void on_done(const Result&) override {}
  int heads = 0;
};

class TransferStateTest : public testing::Test {
 protected:
  static Request request(std::string method = "GET", std::string origin = "http://a/") {
    return {.method = std::move(method), .origin = std::move(origin)};
  }
  Failure failure(CURLcode code, long error = 0, std::string_view said = {}) const {
    return state_.failure(code, error, said);
  }
  void dial(bool allowed) {
    state_.judged(allowed);
    if (allowed) state_.found_descriptor(true);
    state_.dialled();
  }
  void send_on_dialled() {
    dial(true);
    EXPECT_TRUE(state_.connected());
    EXPECT_TRUE(state_.send_once());
    state_.judged_again(true, false);
    state_.begin_head();
  }

  Listener listener_;
  TransferState state_{request(), listener_};
};

TEST_F(TransferStateTest, is_denied_only_where_no_address_was_allowed) {
  dial(false);
  EXPECT_EQ(failure(CURLE_COULDNT_CONNECT), Failure::denied);
  dial(true);
  dial(false);
  EXPECT_EQ(failure(CURLE_COULDNT_CONNECT, ECONNREFUSED), Failure::refused);
  EXPECT_EQ(failure(CURLE_COULDNT_CONNECT, EHOSTUNREACH), Failure::unroutable);
}

TEST_F(TransferStateTest, knows_that_descriptors_were_short) {
  state_.judged(true);
  state_.found_descriptor(false);
  state_.dialled();
  EXPECT_TRUE(state_.dials());
  EXPECT_EQ(failure(CURLE_COULDNT_CONNECT), Failure::no_descriptors);
}

TEST_F(TransferStateTest, reports_the_head_once) {
  state_.head_sent();
  EXPECT_EQ(listener_.heads, 0) << "nothing is on its way";
  send_on_dialled();
  state_.head_sent();
  state_.head_sent();
  EXPECT_EQ(listener_.heads, 1);
}

TEST_F(TransferStateTest, tells_a_request_that_may_be_repeated_from_one_that_may_not) {
  EXPECT_FALSE(state_.connected()) << "a kept connection";
  EXPECT_TRUE(state_.send_once());
  state_.judged_again(true, true);
  state_.begin_head();
  EXPECT_EQ(failure(CURLE_SEND_ERROR), Failure::terminated);
  EXPECT_FALSE(state_.send_once()) << "libcurl repeats it";
  EXPECT_EQ(failure(CURLE_ABORTED_BY_CALLBACK), Failure::stale_connection);
  state_.answered();
  EXPECT_EQ(failure(CURLE_ABORTED_BY_CALLBACK), Failure::stopped);
}

TEST_F(TransferStateTest, sends_nothing_on_a_kept_connection_that_is_not_trusted) {
  EXPECT_FALSE(state_.connected());
  EXPECT_TRUE(state_.send_once());
  state_.judged_again(false, true);
  EXPECT_EQ(failure(CURLE_ABORTED_BY_CALLBACK), Failure::not_sent);
}

TEST_F(TransferStateTest, tells_a_cut_answer_from_broken_chunks) {
  send_on_dialled();
  state_.answered();
  EXPECT_EQ(failure(CURLE_RECV_ERROR, ECONNRESET), Failure::incomplete);
  EXPECT_EQ(failure(CURLE_RECV_ERROR), Failure::coding);
}

TEST_F(TransferStateTest, ends_well_where_we_have_ended_it) {
  send_on_dialled();
  state_.answered();
  EXPECT_EQ(failure(CURLE_WRITE_ERROR), Failure::stopped);
  state_.end();
  EXPECT_EQ(failure(CURLE_WRITE_ERROR), Failure::none);
}

TEST_F(TransferStateTest, pauses_each_direction_by_itself) {
  state_.pause(CURLPAUSE_RECV);
  EXPECT_FALSE(state_.resume(CURLPAUSE_SEND));
  state_.pause(CURLPAUSE_SEND);
  EXPECT_TRUE(state_.resume(CURLPAUSE_RECV));
  EXPECT_EQ(state_.paused(), CURLPAUSE_SEND);
}

TEST_F(TransferStateTest, begins_anew_with_each_request) {
  send_on_dialled();
  state_.answered();
  state_.pause(CURLPAUSE_RECV);
  state_ = TransferState(request("HEAD", "https://a/"), listener_);
  EXPECT_TRUE(state_.is_secure());
  EXPECT_TRUE(state_.has_no_body(200));
  EXPECT_FALSE(state_.was_sent());
  EXPECT_EQ(state_.paused(), 0);
  EXPECT_EQ(state_.carrier.dialled, CURL_SOCKET_BAD);
}

}  // namespace
}  // namespace penstock::transfer
