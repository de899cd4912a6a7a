// SPDX-License-Identifier: Apache-2.0
// hiredis' reader, with our own flat list of parts in place of its tree of allocations.
#include "redis/wire/reply.h"

#include <hiredis/read.h>

namespace penstock::redis {

/// The callbacks of hiredis' reader, one for each part, parents first. The returned pointer stands for the part; null
/// is a failure that ends the reading.
struct Parting {
  using Node = Reply::Node;
  using Kind = Reply::Kind;

  static void* add(const redisReadTask* task, Node node) {
    auto& nodes = static_cast<ReplyReader*>(task->privdata)->parts_.nodes;
    if (nodes.size() >= ReplyReader::kMostParts) return nullptr;
    nodes.push_back(node);
    return &nodes;
  }
  static void* text(const redisReadTask* task, char* bytes, std::size_t size) {
    auto& texts = static_cast<ReplyReader*>(task->privdata)->parts_.texts;
    if (texts.size() + size > ReplyReader::kMostBytes) return nullptr;
    const auto begin = static_cast<std::int64_t>(texts.size());
    texts.append(bytes, size);
    return add(task, {task->type == REDIS_REPLY_ERROR ? Kind::error : Kind::text, begin, size});
  }
  static void* array(const redisReadTask* task, int elements) { return add(task, {Kind::array, elements, 0}); }
  static void* integer(const redisReadTask* task, long long value) { return add(task, {Kind::integer, value, 0}); }
  static void* nil(const redisReadTask* task) { return add(task, {}); }
  static void free(void*) {}
};

Reply Elements::next() {
  if (left_ == 0) return {nullptr, 0};
  --left_;
  const Reply element = at_;
  for (std::int64_t parts = 1; parts > 0; --parts, ++at_.at_) {
    if (at_.kind() == Reply::Kind::array) parts += at_.node().number;
  }
  return element;
}

const Reply::Node& Reply::node() const {
  static constexpr Node kNil;
  return parts_ ? parts_->nodes[at_] : kNil;
}

std::string_view Reply::text() const {
  if (kind() != Kind::text && kind() != Kind::error) return {};
  return std::string_view(parts_->texts).substr(static_cast<std::size_t>(node().number), node().length);
}

Elements Reply::elements() const {
  if (kind() != Kind::array) return {*this, 0};
  return {{parts_, at_ + 1}, static_cast<std::size_t>(node().number)};
}

void ReplyReader::Free::operator()(redisReader* reader) const { ::redisReaderFree(reader); }

ReplyReader::ReplyReader() {
  static const redisReplyObjectFunctions kFunctions{Parting::text, Parting::array, Parting::integer, Parting::nil,
                                                    Parting::free};
  reader_.reset(::redisReaderCreateWithFunctions(const_cast<redisReplyObjectFunctions*>(&kFunctions)));
  reader_->privdata = this;
}

bool ReplyReader::feed(std::string_view bytes) {
  if (reader_->len - reader_->pos + bytes.size() > kMostBytes) return false;
  return ::redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) == REDIS_OK;
}

ReplyReader::Found ReplyReader::next() {
  if (reader_->ridx < 0) parts_.nodes.clear(), parts_.texts.clear();
  void* reply = nullptr;
  if (::redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) return Found::nonsense;
  return reply ? Found::reply : Found::nothing;
}

}  // namespace penstock::redis
