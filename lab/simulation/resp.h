// SPDX-License-Identifier: Apache-2.0
// RESP2 as a server speaks it: commands are read from bytes that come in any pieces, and answers are written as bytes.
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

/// Where the answer of a command goes: to a client as bytes, or to a script as values.
class Answer {
 public:
  virtual void status(std::string_view text) = 0;
  /// A code and a text, without the "-" before them.
  virtual void error(std::string_view text) = 0;
  virtual void integer(std::int64_t value) = 0;
  virtual void text(std::string_view bytes) = 0;
  virtual void nil() = 0;
  virtual void nil_array() = 0;
  /// So many answers follow, which are its elements.
  virtual void array(std::size_t elements) = 0;

  void ok() { status("OK"); }
  void texts(std::span<const std::string_view> all) {
    array(all.size());
    for (const auto one : all) text(one);
  }

 protected:
  ~Answer() = default;
};

/// Appends to a string.
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

  /// Then next() is called until it finds nothing more. `bytes` and the words found stay valid for so long.
  void feed(std::string_view bytes);
  Found next();
  Words words() const { return words_; }
  /// Redis' words for the nonsense.
  const std::string& wrong() const { return wrong_; }

 private:
  Found keep_rest();
  Found fail(std::string why);
  bool line(std::string_view& found);
  Found arrays_words(std::int64_t count);
  Found inline_words(std::string_view found);

  std::string kept_;       // of a command that is not whole yet
  std::string_view rest_;  // not looked at yet
  std::string_view left_;  // while one is looked at: what is behind the part read so far
  std::vector<std::string_view> words_;
  std::string wrong_;
};

}  // namespace penstock::simulation
