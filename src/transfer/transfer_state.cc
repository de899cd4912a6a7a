// SPDX-License-Identifier: Apache-2.0
// See transfer_state.h.
#include "transfer/transfer_state.h"

#include <cerrno>
#include <utility>

#include "tls/error_text.h"

namespace penstock::transfer {

namespace {
Failure connect_failure(long error) {
  switch (error) {
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EADDRNOTAVAIL: return Failure::unroutable;
    case ETIMEDOUT: return Failure::connect_timeout;
    default: return Failure::refused;
  }
}
}  // namespace

TransferState::TransferState(const Request& request, TransferEvents& events)
    : events_(&events),
      host_(request.host),
      body_(request.body),
      secure_(request.origin.starts_with("https:")),
      asks_head_(request.method == "HEAD") {}

void TransferState::judged(bool allowed) {
  if (allowed || verdict_ == Verdict::none) verdict_ = allowed ? Verdict::allowed : Verdict::denied;
}

bool TransferState::connected() { return std::exchange(dials_, Dials::none) != Dials::none; }

/// A kept connection whose address is no longer allowed: another may be, or a fresh attempt reports the denial.
void TransferState::judged_again(bool allowed, bool kept) {
  verdict_ = allowed ? Verdict::allowed : Verdict::denied;
  if (!allowed && kept) distrust();
}

/// If the kernel did not take the head at once, this is known only when libcurl asks for the body, or a response comes.
void TransferState::head_sent() {
  if (stage_ != Stage::head_on_its_way) return;
  stage_ = Stage::head_sent;
  events_->on_head_sent();
}

bool TransferState::resume(int direction) {
  if ((paused_ & direction) == 0) return false;
  paused_ &= ~direction;
  return true;
}

Failure TransferState::broken(long error, std::string_view said) const {
  if (!has_answer()) return secure_ && tls::is_alert(said) ? Failure::tls : Failure::terminated;
  // Without a system or TLS error, libcurl's complaint is about the chunks.
  return error != 0 || (secure_ && said.contains("SSL")) ? Failure::incomplete : Failure::coding;
}

Failure TransferState::failure(CURLcode code, long error, std::string_view said) const {
  const bool distrusted = stage_ == Stage::distrusted;
  if (verdict_ == Verdict::denied && !has_answer() && !distrusted) return Failure::denied;
  if (dials_ == Dials::without_descriptor && !was_sent()) return Failure::no_descriptors;
  switch (code) {
    case CURLE_OK: return Failure::none;
    case CURLE_ABORTED_BY_CALLBACK:
      if (distrusted) return Failure::not_sent;
      return sends_ > 1 && !has_answer() ? Failure::stale_connection : Failure::stopped;
    case CURLE_COULDNT_CONNECT: return was_sent() ? Failure::stale_connection : connect_failure(error);
    case CURLE_OPERATION_TIMEDOUT: return Failure::connect_timeout;
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_FAIL_REWIND: return Failure::terminated;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR: return broken(error, said);
    case CURLE_PARTIAL_FILE: return Failure::incomplete;
    case CURLE_BAD_CONTENT_ENCODING: return Failure::coding;
    case CURLE_OUT_OF_MEMORY: return was_sent() && stage_ != Stage::ended ? Failure::head_too_large : Failure::internal;
    case CURLE_WRITE_ERROR: return stage_ == Stage::ended ? Failure::none : Failure::stopped;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_HTTP2:
    case CURLE_UPLOAD_FAILED: return Failure::protocol;
    case CURLE_PEER_FAILED_VERIFICATION: return Failure::certificate;
    case CURLE_SSL_CONNECT_ERROR: return Failure::tls;
    default: return Failure::internal;
  }
}

}  // namespace penstock::transfer
