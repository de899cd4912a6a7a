// SPDX-License-Identifier: Apache-2.0
// One request to an upstream and its response, by libcurl. Dropping a Transfer cancels it. Bytes pass unchecked; http/
// checks them.
#pragma once

#include <memory>

#include "transfer/transfer_events.h"

namespace penstock::transfer {

class Easy;
class EasyOwner;
class Multi;

class Transfer {
 public:
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// After Taken::none: on_body() is called again, perhaps inside this call.
  void resume_download();
  /// After Given::none.
  void resume_upload();
  /// Its connection is not reused after this transfer. May be called from inside TransferEvents, except on_done().
  void end_connection();

 private:
  friend class Multi;
  Transfer(EasyOwner& owner, std::unique_ptr<Easy> easy);

  EasyOwner& owner_;
  std::unique_ptr<Easy> easy_;
};

}  // namespace penstock::transfer
