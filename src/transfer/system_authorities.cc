// SPDX-License-Identifier: Apache-2.0
// See system_authorities.h.
#include "transfer/system_authorities.h"

#include <curl/curl.h>

#include <cstdlib>

namespace penstock::transfer {

std::string system_authorities() {
  const char* chosen = std::getenv("SSL_CERT_FILE");
  if (chosen && *chosen) return chosen;
  const char* built_in = curl_version_info(CURLVERSION_NOW)->cainfo;
  return built_in ? built_in : "";
}

}  // namespace penstock::transfer
