// SPDX-License-Identifier: Apache-2.0
// How streams end, whatever they are over. Making them is in tcp_stream.cc, since that is about sockets.
#include "loop/stream.h"

namespace penstock::loop {

void Stream::close_lingering(std::unique_ptr<Stream> stream) {
  Stream& ending = *stream;
  ending.end_gently(std::move(stream));
}

void Stream::close_with_reset(std::unique_ptr<Stream> stream) { stream->end_with_reset(); }

}  // namespace penstock::loop
