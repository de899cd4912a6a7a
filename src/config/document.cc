// SPDX-License-Identifier: Apache-2.0
// The only file that uses yaml-cpp. It listens to the parser's events, since yaml-cpp's tree hides what must be refused
// here: anchors, aliases, tags, duplicate keys, a second document.
#include "config/document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <sstream>

namespace penstock::config {

namespace {

constexpr std::size_t kDeepest = 16;
constexpr std::size_t kMostNodes = 100'000;

class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::string_view text) : text_(text) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) throw problem(mark, "a second document is not supported");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(mark, "", anchor, {.kind = Node::Kind::null});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    document_.problems.push_back(problem(mark, "anchors and aliases are not supported"));
    add(mark, "", 0, {.kind = Node::Kind::broken});
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (tag == "!") check_closed(mark);
    add(mark, tag, anchor, {.kind = Node::Kind::scalar, .text = value, .quoted = tag == "!"});
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, add(mark, tag, anchor, {.kind = Node::Kind::list}));
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, add(mark, tag, anchor, {.kind = Node::Kind::map}));
  }
  void OnMapEnd() override { open_.pop_back(); }

  Document take() { return std::move(document_); }

 private:
  // An open list or map. Its address stays valid: its parent gets no further child before this one is closed.
  struct Open {
    Node* node;
    bool awaits_value = false;
  };

  static Problem problem(const YAML::Mark& mark, std::string message) {
    return {mark.line + 1, mark.column + 1, std::move(message)};
  }

  Node& add(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Node node) {
    if (++nodes_ > kMostNodes) throw problem(mark, "the file has too many values");
    if (anchor != 0) document_.problems.push_back(problem(mark, "anchors and aliases are not supported"));
    if (tag.size() > 1) document_.problems.push_back(problem(mark, "tags such as !!str are not supported"));
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    return place(mark, std::move(node));
  }

  Node& place(const YAML::Mark& mark, Node node) {
    if (open_.empty()) return document_.root = std::move(node);
    auto& [parent, awaits_value] = open_.back();
    if (parent->kind == Node::Kind::list) return parent->items.emplace_back(std::move(node));
    awaits_value = !awaits_value;
    if (!awaits_value) return parent->entries.back().value = std::move(node);
    if (node.kind != Node::Kind::scalar) document_.problems.push_back(problem(mark, "a key must be a plain word"));
    return parent->entries.emplace_back(std::move(node), Node{}).key;
  }

  void open(const YAML::Mark& mark, Node& node) {
    if (open_.size() >= kDeepest) throw problem(mark, "nested too deeply");
    open_.push_back({&node});
  }

  // yaml-cpp accepts the end of the file as a closing quote.
  void check_closed(const YAML::Mark& mark) const {
    const auto from = static_cast<std::size_t>(mark.pos);
    const char quote = from < text_.size() ? text_[from] : ' ';
    if (quote != '"' && quote != '\'') return;
    const std::string_view escape = quote == '"' ? "\\" : "''";
    auto at = from + 1;
    while (at < text_.size()) {
      if (text_.substr(at).starts_with(escape)) {
        at += 2;
      } else if (text_[at] == quote) {
        return;
      } else {
        ++at;
      }
    }
    throw problem(mark, "this quote is never closed");
  }

  std::string_view text_;
  Document document_;
  std::vector<Open> open_;
  std::size_t documents_ = 0;
  std::size_t nodes_ = 0;
};

std::string_view line_of(std::string_view text, int index) {
  for (; index > 0 && !text.empty(); --index) {
    const auto feed = text.find('\n');
    text.remove_prefix(feed == std::string_view::npos ? text.size() : feed + 1);
  }
  return text.substr(0, text.find('\n'));
}

// The most probable mistake, where the parser's own message would not show it.
std::string_view hint(std::string_view line, const YAML::Exception& error) {
  if (line.substr(0, line.find_first_not_of(" \t")).find('\t') != std::string_view::npos) {
    return "; indent with blanks, not with tabs";
  }
  if (error.msg == "the referenced anchor is not defined") {
    return "; a value that begins with * needs quotes, as in \"*.example.com\"";
  }
  if (line.find("${") != std::string_view::npos && error.msg.find(" flow not found") != std::string::npos) {
    return "; inside [ ] and { } write \"${NAME}\" in quotes";
  }
  return "";
}

/// The bracket before `end` that is not closed, and the last such; npos: there is none. Quoted texts and comments count
/// for nothing.
std::size_t unclosed_bracket(std::string_view text, std::size_t end) {
  std::vector<std::size_t> open;
  char quote = 0;
  for (std::size_t at = 0; at < std::min(end, text.size()); ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == '\\' && quote == '"') ++at;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#' && (at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n')) {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '{' || c == '[') {
      open.push_back(at);
    } else if ((c == '}' || c == ']') && !open.empty()) {
      open.pop_back();
    }
  }
  return open.empty() ? std::string_view::npos : open.back();
}

Problem syntax_error(std::string_view text, const YAML::Exception& error) {
  const auto& mark = error.mark;
  if (mark.is_null()) return {1, 1, "not YAML: " + error.msg};
  const auto line = line_of(text, mark.line);
  if (error.msg.ends_with(" flow not found") && hint(line, error).empty()) {
    const auto bracket = unclosed_bracket(text, static_cast<std::size_t>(mark.pos));
    if (bracket != std::string_view::npos)
      return problem_at(text, bracket, std::string("not YAML: this ") + text[bracket] + " is never closed");
  }
  if (error.msg == "end of map not found" || error.msg == "end of sequence not found") {
    return {mark.line + 1, mark.column + 1,
            "not YAML: this line is indented otherwise than the lines above that it belongs to"};
  }
  return {mark.line + 1, mark.column + 1, "not YAML: " + error.msg + std::string(hint(line, error))};
}

std::string_view without_bom(std::string_view text) {
  constexpr std::string_view kBom = "\xef\xbb\xbf";
  return text.starts_with(kBom) ? text.substr(kBom.size()) : text;
}

}  // namespace

std::expected<Document, Problem> parse_document(std::string_view text) {
  text = without_bom(text);
  if (auto unreadable = find_unreadable(text)) return std::unexpected(*unreadable);
  std::istringstream stream{std::string(text)};
  TreeBuilder builder{text};
  try {
    YAML::Parser parser{stream};
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    return std::unexpected(syntax_error(text, error));
  } catch (const Problem& problem) {
    return std::unexpected(problem);
  }
  return builder.take();
}

}  // namespace penstock::config
