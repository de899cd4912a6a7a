// SPDX-License-Identifier: Apache-2.0
// See viewer.h. Texts of /live are shared between viewers, and go out in pieces; lines of /events are gathered by the
// stream until the end of the loop's iteration.
#include "observe/live/viewer.h"

#include <algorithm>
#include <utility>

namespace penstock::observe {
namespace {

constexpr std::size_t kPiece = 64 * 1024;
constexpr std::size_t kMostLines = Viewer::kMostHeld / 2;  // the stream's strings grow by doubling
constexpr std::string_view kBeat = ": still here\n\n";

}  // namespace

Viewer::Viewer(loop::Loop& loop, std::unique_ptr<loop::Stream> stream, Wish wish, std::function<void(Viewer&)> on_gone)
    : loop_(loop),
      stream_(std::move(stream)),
      wish_(std::move(wish)),
      on_gone_(std::move(on_gone)),
      moved_(loop.now()) {
  stream_->set_events(*this);
  stream_->read_off();
}

std::size_t Viewer::held() const {
  std::size_t sum = stream_->queued();
  for (const auto& text : texts_) sum += text->size();
  return sum;
}

bool Viewer::is_stalled() const { return !is_up_to_date() && loop_.now() - moved_ >= kPatience; }

bool Viewer::show(const SharedText& text) {
  if (held() + text->size() > kMostHeld) return false;
  if (is_up_to_date()) moved_ = loop_.now();
  texts_.push_back(text);
  pump();
  return true;
}

void Viewer::pump() {
  while (!waits_ && !texts_.empty()) {
    const auto piece = std::string_view(*texts_.front()).substr(at_, kPiece);
    waits_ = !stream_->send(piece);
    at_ += piece.size();
    if (at_ < texts_.front()->size()) continue;
    texts_.pop_front();
    at_ = 0;
  }
}

void Viewer::on_drained() {
  moved_ = loop_.now();
  waits_ = false;
  if (const auto missed = std::exchange(missed_, 0); missed > 0)
    tell("event: dropped\ndata: {\"dropped\":" + std::to_string(missed) + "}\n\n");
  pump();
}

void Viewer::tell(std::string_view event) {
  if (missed_ > 0 || stream_->queued() + event.size() > kMostLines) {
    ++missed_;
    return;
  }
  stream_->out() += event;
  stream_->touch();
}

void Viewer::beat() {
  if (stream_->queued() > 0) return;
  stream_->out() += kBeat;
  stream_->touch();
}

}  // namespace penstock::observe
