// SPDX-License-Identifier: Apache-2.0
// RESP2 from the server's side: commands are read from bytes that come in any pieces, and answers are written as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::simulation {

/// A command and its arguments.
using Words = std::span<const std::string_view>;

/// The receiver of a command's answer: a client gets bytes, a script gets values.
class Answer {
 public:
  virtual void status(std::string_view text) = 0;
  /// A code and a text, without the "-" before them.
  virtual void error(std::string_view text) = 0;
  virtual void integer(std::int64_t value) = 0;
  virtual void text(std::string_view bytes) = 0;
  virtual void nil() = 0;
  virtual void nil_array() = 0;
  /// The given number of answers that follow are its elements.
  virtual void array(std::size_t elements) = 0;

  void ok() { status("OK"); }
  void texts(std::span<const std::string_view> all) {
    array(all.size());
    for (const auto one : all) text(one);
  }

 protected:
  ~Answer() = default;
};

/// Appends the answer's bytes to a string.
class AnswerBytes final : public Answer {
 public:
  explicit AnswerBytes(std::string& out) : out_(out) {}
  void status(std::string_view text) override;
  void error(std::string_view text) override;
  void integer(std::int64_t value) override { number(':', value); }
  void text(std::string_view bytes) override;
  void nil() override { out_ += "$-1\r\n"; }
  void nil_array() override { out_ += "*-1\r\n"; }
  void array(std::size_t elements) override { number('*', static_cast<std::int64_t>(elements)); }

 private:
  void line(char kind, std::string_view text);
  void number(char kind, std::int64_t value);

  std::string& out_;
};

class RequestReader {
 public:
  enum class Found : std::uint8_t { command, nothing, nonsense };

  /// Call next() after it until it finds nothing more; `bytes` must stay valid until then, and so do the words found.
  void feed(std::string_view bytes);
  Found next();
  Words words() const { return words_; }
  /// Redis' error text for the nonsense.
  const std::string& wrong() const { return wrong_; }

 private:
  Found keep_rest();
  Found fail(std::string why);
  bool line(std::string_view& found);
  Found arrays_words(std::int64_t count);
  Found inline_words(std::string_view found);

  std::string kept_;       // of an incomplete command
  std::string_view rest_;  // not parsed yet
  std::string_view left_;  // while a command is parsed: what follows the part read so far
  std::vector<std::string_view> words_;
  std::string wrong_;
};

}  // namespace penstock::simulation
