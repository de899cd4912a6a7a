// SPDX-License-Identifier: Apache-2.0
// The error type of the public interface: what went wrong, in a sentence for people.
#pragma once

#include <string>

namespace penstock {

struct Error {
  /// An RFC 9209 token such as `connection_terminated` if the network caused the error; otherwise empty.
  std::string token;
  /// One line, no trailing full stop: "cannot listen on 127.0.0.1:3128: address already in use".
  std::string message;
};

}  // namespace penstock
