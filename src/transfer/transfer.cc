// SPDX-License-Identifier: Apache-2.0
// See transfer.h.
#include "transfer/transfer.h"

#include <utility>

#include "transfer/easy.h"
#include "transfer/multi.h"

namespace penstock::transfer {

Transfer::Transfer(Multi& multi, std::unique_ptr<Easy> easy) : multi_(multi), easy_(std::move(easy)) {}

Transfer::~Transfer() { multi_.give_back(std::move(easy_)); }

void Transfer::end_connection() { curl_easy_setopt(easy_->handle, CURLOPT_FORBID_REUSE, 1L); }

void Transfer::resume_download() {
  if (!easy_->download_paused || !easy_->running) return;
  easy_->download_paused = false;
  easy_->apply_pauses();
}

void Transfer::resume_upload() {
  if (!easy_->upload_paused || !easy_->running) return;
  easy_->upload_paused = false;
  easy_->apply_pauses();
}

}  // namespace penstock::transfer
