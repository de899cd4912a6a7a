// SPDX-License-Identifier: Apache-2.0
// See transfer.h.
#include "transfer/transfer.h"

#include <utility>

#include "transfer/easy.h"

namespace penstock::transfer {

Transfer::Transfer(EasyOwner& owner, std::unique_ptr<Easy> easy) : owner_(owner), easy_(std::move(easy)) {}

Transfer::~Transfer() { owner_.give_back(std::move(easy_)); }

void Transfer::end_connection() { easy_->end_connection(); }
void Transfer::resume_download() { easy_->resume(CURLPAUSE_RECV); }
void Transfer::resume_upload() { easy_->resume(CURLPAUSE_SEND); }

}  // namespace penstock::transfer
