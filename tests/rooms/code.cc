// SPDX-License-Identifier: Apache-2.0
// The little reading of C++ that the rules need.
#include "rooms/code.h"

#include <algorithm>
#include <cctype>
#include <regex>
#include <utility>

namespace penstock::rooms {

namespace {

bool is_name_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Where the comment or literal that begins at `at` ends; `at` itself: there is none.
std::size_t end_of_silence(std::string_view text, std::size_t at) {
  const auto up_to = [&](std::string_view end, std::size_t from) {
    const auto found = text.find(end, from);
    return found == std::string_view::npos ? text.size() : found + end.size();
  };
  const std::string_view rest = text.substr(at);
  const bool after_name = at > 0 && is_name_letter(text[at - 1]);
  if (rest.starts_with("//")) return std::min(text.find('\n', at), text.size());
  if (rest.starts_with("/*")) return up_to("*/", at + 2);
  if (rest.starts_with("R\"") && !after_name) {
    const std::string end = ")" + std::string(rest.substr(2, rest.find('(') - 2)) + "\"";
    return up_to(end, at + 2);
  }
  if (rest.front() != '"' && (rest.front() != '\'' || after_name)) return at;  // 1'000 is a number
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == rest.front())
      return i + 1;
  }
  return text.size();
}

std::size_t line_at(std::string_view text, std::size_t at) {
  return 1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

bool opens_a_function(const std::string& line) {
  static const std::regex kOpens(R"(\)[ \w:<>,&*~\[\]-]*\{$)");
  static const std::regex kControl(R"(^\s*(\} )?(if|else|for|while|switch|do|catch|try)\b)");
  return std::regex_search(line, kOpens) && !std::regex_search(line, kControl);
}

/// Behind the brace that closes the one at `open`.
std::size_t end_of_block(std::string_view bare, std::size_t open) {
  std::size_t depth = 0;
  for (std::size_t at = open; at < bare.size(); ++at) {
    if (bare[at] == '{') ++depth;
    if (bare[at] == '}' && --depth == 0) return at + 1;
  }
  return bare.size();
}

/// What a class body declares: without `;`, and without what stands in `{}`, `()` and the angles of templates.
std::vector<std::string> declarations_of(std::string_view body) {
  static const std::regex kAtomic("std::atomic<bool>"), kAngles(R"(<[^<>;{}]*>|\[\[[^\]]*\]\])");
  static const std::regex kParentheses(R"(\(([^()]|\(\))+\))");
  static const std::regex kEnd(R"(;|\b(public|private|protected):|\{\}(?= *([\w~]|$)))");
  std::string flat;
  for (std::size_t at = 0; at < body.size(); ++at) {
    flat += body[at] == '{' ? "{}" : std::string(1, body[at] == '\n' ? ' ' : body[at]);
    if (body[at] == '{') at = end_of_block(body, at) - 1;
  }
  flat = std::regex_replace(flat, kAtomic, "bool");
  for (std::string before; before != flat;) {
    before = flat;
    flat = std::regex_replace(std::regex_replace(before, kAngles, ""), kParentheses, "()");
  }
  return {std::sregex_token_iterator(flat.begin(), flat.end(), kEnd, -1), std::sregex_token_iterator()};
}

void count_declaration(Class& into, const std::string& text) {
  static const std::regex kNeither(R"(^ *(template +)?($|(using|typedef|friend|static_assert)\b|)"
                                   R"((enum )?(class|struct|enum)( [\w:]+)?( final)?( :[^{]*)?( \{\})? *$))");
  static const std::regex kOperator(R"(\boperator\b)"), kDeleted("= delete *$"), kStatic(R"(^ *(\w+ )?static\b)");
  static const std::regex kBool(R"(^ *(mutable |const )*bool \w|: 1 *(,|$))");
  if (std::regex_search(text, kNeither)) return;
  const std::string head = text.substr(0, text.find_first_of("={"));
  const bool calls = head.contains('(') && !head.contains(")(");  // "()()" is a pointer to a function
  if (calls || std::regex_search(text, kOperator)) {
    into.has_functions = true;
    const std::string name = head.substr(head.find_last_of(" ~", head.find('(')) + 1);
    const bool constructs = name.starts_with(into.name.substr(into.name.rfind(':') + 1) + "(");
    if (!constructs && !std::regex_search(text, kDeleted)) ++into.figures.methods;
  } else if (!std::regex_search(text, kStatic)) {
    const auto members = static_cast<std::size_t>(1 + std::ranges::count(text, ','));
    into.figures.members += members;
    if (std::regex_search(text, kBool)) into.figures.bools += members;
  }
}

}  // namespace

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<Include> includes_of(std::string_view text) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<Include> includes;
  std::size_t number = 0;
  for (const auto line : lines_of(text)) {
    ++number;
    std::cmatch found;
    if (!std::regex_search(line.data(), line.data() + line.size(), found, kInclude)) continue;
    includes.push_back({number, found[2], found[1] == "\""});
  }
  return includes;
}

std::string bare_code(std::string_view text) {
  std::string bare(text);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = end_of_silence(text, at);
    for (std::size_t i = at; i < end; ++i) {
      if (text[i] != '\n') bare[i] = ' ';
    }
    at = std::max(end, at + 1);
  }
  return bare;
}

std::vector<Name> names_of(const std::string& bare) {
  static const std::regex kName(R"((::|\.|->)?\s*\b([A-Za-z_]\w*))");
  std::vector<Name> names;
  std::size_t number = 0;
  for (const auto line : lines_of(bare)) {
    ++number;
    if (line.find_first_not_of(' ') == line.find('#')) continue;
    for (std::cregex_iterator i(line.data(), line.data() + line.size(), kName), end; i != end; ++i) {
      names.push_back({number, (*i)[2], (*i)[1].matched});
    }
  }
  return names;
}

std::vector<Function> functions_of(const std::string& bare) {
  std::vector<Function> functions;
  std::size_t at = 0;
  for (const auto line : lines_of(bare)) {
    const std::size_t start = at;
    at += line.size() + 1;
    std::string trimmed(line.substr(0, line.find_last_not_of(' ') + 1));
    if (!opens_a_function(trimmed)) continue;
    int depth = 0;
    std::size_t end = start + trimmed.size() - 1;
    do {
      depth += bare[end] == '{' ? 1 : bare[end] == '}' ? -1 : 0;
    } while (depth > 0 && ++end < bare.size());
    const std::size_t first = line_at(bare, start);
    functions.push_back({first, line_at(bare, std::min(end, bare.size())) - first + 1});
  }
  return functions;
}

std::vector<Class> classes_of(const std::string& bare) {
  static const std::regex kHead(R"((^|\n) *(class|struct) ([\w:]+)(<[^;{}]*>)?( final)?(\s*:[^;{}]*)?\s*\{)");
  std::vector<Class> classes;
  std::vector<std::pair<std::string, std::size_t>> around;  // with where they end
  for (std::sregex_iterator i(bare.begin(), bare.end(), kHead), none; i != none; ++i) {
    const auto start = static_cast<std::size_t>(i->position(2));
    const auto open = static_cast<std::size_t>(i->position() + i->length()) - 1;
    const auto end = end_of_block(bare, open);
    while (!around.empty() && around.back().second < end) around.pop_back();
    Class found{line_at(bare, start), (around.empty() ? "" : around.back().first + "::") + (*i)[3].str(), {}};
    around.emplace_back(found.name, end);
    const auto body = std::string_view(bare).substr(open + 1, end - open - 2);
    for (const auto& text : declarations_of(body)) count_declaration(found, text);
    classes.push_back(std::move(found));
  }
  return classes;
}

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool upper = std::isupper(static_cast<unsigned char>(name[i]));
    const bool after_lower = i > 0 && std::islower(static_cast<unsigned char>(name[i - 1]));
    if (name[i] == '_' || (upper && after_lower)) words.emplace_back();
    if (name[i] != '_') words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  std::erase(words, "");
  return words;
}

}  // namespace penstock::rooms
