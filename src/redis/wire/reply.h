// SPDX-License-Identifier: Apache-2.0
// Replies of Redis (RESP2), parsed from bytes as they arrive, into memory that is reused for the next reply. Size is
// bounded, whatever the bytes say. A Reply is a view, valid until the next one is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;

namespace penstock::redis {

class Elements;

class Reply {
 public:
  enum class Kind : std::uint8_t { nil, integer, text, array, error };

  Kind kind() const { return node().kind; }
  bool is_error() const { return kind() == Kind::error; }
  /// 0 if it is not an integer.
  std::int64_t integer() const { return kind() == Kind::integer ? node().number : 0; }
  /// The text of a text, status or error; otherwise empty.
  std::string_view text() const;
  /// The elements of an array; otherwise none.
  Elements elements() const;

 private:
  friend class Elements;
  friend class ReplyReader;
  friend struct Parting;

  /// The parts of a reply in the order of their arrival, each array before its elements.
  struct Node {
    Kind kind = Kind::nil;
    std::int64_t number = 0;  // of an array: the number of elements; of a text: where it begins
    std::size_t length = 0;
  };
  struct Parts {
    std::vector<Node> nodes;
    std::string texts;
  };

  Reply(const Parts* parts, std::size_t at) : parts_(parts), at_(at) {}
  const Node& node() const;

  const Parts* parts_;  // null: the reply is nil
  std::size_t at_;
};

/// Iterates over the elements of an array; past the end each is nil.
class Elements {
 public:
  std::size_t left() const { return left_; }
  Reply next();

 private:
  friend class Reply;
  Elements(Reply at, std::size_t left) : at_(at), left_(left) {}

  Reply at_;
  std::size_t left_;
};

class ReplyReader {
 public:
  /// Both bounds exceed every reply that we ask for.
  static constexpr std::size_t kMostBytes = 1024 * 1024;
  static constexpr std::size_t kMostParts = 64 * 1024;

  ReplyReader();

  enum class Found : std::uint8_t { reply, nothing, nonsense };
  /// False: the reply is larger than kMostBytes.
  bool feed(std::string_view bytes);
  Found next();
  /// The reply of the last `Found::reply`.
  Reply reply() const { return {&parts_, 0}; }

 private:
  friend struct Parting;
  struct Free {
    void operator()(redisReader* reader) const;
  };

  std::unique_ptr<redisReader, Free> reader_;
  Reply::Parts parts_;
};

}  // namespace penstock::redis
