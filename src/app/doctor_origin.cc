// SPDX-License-Identifier: Apache-2.0
// See doctor_origin.h.
#include "app/doctor_origin.h"

#include <utility>

#include "loop/stream.h"
#include "tls/tls_stream.h"

namespace penstock::app {

namespace {

constexpr std::size_t kLongestHead = 64 * 1024;

/// What git takes for an empty repository.
constexpr std::string_view kEmptyRepository = "001e# service=git-upload-pack\n00000000";

/// S3's answer to a request for the list of buckets; one has the word as its name.
std::string buckets() {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListAllMyBucketsResult "
         "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Owner><ID>doctor</ID></Owner><Buckets><Bucket><Name>" +
         std::string(kDoctorWord) +
         "</Name><CreationDate>2026-01-01T00:00:00.000Z</CreationDate></Bucket></Buckets></ListAllMyBucketsResult>";
}

std::string answer_with(std::string_view type, std::string_view body) {
  return "HTTP/1.1 200 OK\r\nContent-Type: " + std::string(type) +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + std::string(body);
}

/// A connection with one request, whatever it is.
class Visit final : public loop::SelfOwned, private loop::StreamEvents {
 public:
  Visit(loop::Loop& loop, const tls::Leaf& leaf, std::unique_ptr<loop::Stream> stream)
      : loop_(loop), stream_(tls::Stream::accept(loop, leaf, std::move(stream), {}, *this)) {
    stream_->read_on();
  }

 private:
  void on_read(std::string_view bytes) override {
    head_ += bytes;
    if (head_.contains("\r\n\r\n")) return answer();
    if (head_.size() > kLongestHead) loop_.dismiss(this);
  }
  void on_gone() override { loop_.dismiss(this); }
  void on_drained() override {}

  std::string answer_to_head() const {
    if (head_.substr(0, head_.find('\r')).contains("/info/refs"))
      return answer_with("application/x-git-upload-pack-advertisement", kEmptyRepository);
    if (head_.contains(": AWS4-HMAC-SHA256 ")) return answer_with("application/xml", buckets());
    return answer_with("text/plain", kDoctorWord);
  }

  void answer() {
    stream_->out() += answer_to_head();
    stream_->touch();
    loop::Stream::close_lingering(std::move(stream_));
    loop_.dismiss(this);
  }

  loop::Loop& loop_;
  std::unique_ptr<loop::Stream> stream_;
  std::string head_;
};

}  // namespace

std::expected<std::unique_ptr<DoctorOrigin>, std::string> DoctorOrigin::start(std::shared_ptr<const tls::Leaf> leaf) {
  std::unique_ptr<DoctorOrigin> origin(new DoctorOrigin);
  auto& loop = origin->loop_;
  const auto visited = [&loop, leaf = std::move(leaf)](std::unique_ptr<loop::Stream> stream) {
    loop.adopt(std::make_unique<Visit>(loop, *leaf, std::move(stream)));
  };
  auto listener = loop::Listener::listen(loop, {.address = "127.0.0.1", .port = 0}, visited);
  if (!listener) return std::unexpected(std::move(listener.error().message));
  origin->listener_ = *std::move(listener);
  origin->port_ = origin->listener_->bound().port;
  origin->thread_ = std::thread([&loop] { loop.run(); });
  return origin;
}

DoctorOrigin::~DoctorOrigin() {
  if (!thread_.joinable()) return;
  loop_.stop();
  thread_.join();
}

}  // namespace penstock::app
