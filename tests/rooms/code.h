// SPDX-License-Identifier: Apache-2.0
// Reads C++ as far as the rules need it: lines, includes, code without comments and literals, words of names,
// functions, classes. Not a parser: it relies on the tree's own formatting.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::rooms {

struct Include {
  std::size_t line;
  std::string header;
  bool quoted;
};

struct Name {
  std::size_t line;
  std::string text;
  bool of_another;  ///< follows `::`, `.` or `->`: whoever owns it named it
};

struct Function {
  std::size_t line;
  std::size_t length;
};

struct Figures {
  std::size_t members = 0;  ///< data of each object; an anonymous union is one
  std::size_t methods = 0;  ///< declared; without constructors, destructors and deleted functions
  std::size_t bools = 0;    ///< of the members; atomic ones and bit-fields of one bit too
  bool operator==(const Figures&) const = default;
};

struct Class {
  std::size_t line;
  std::string name;  ///< with the classes around it: `Scheduler::Wait`
  Figures figures;
  bool has_functions = false;  ///< any, constructors too
};

std::vector<std::string_view> lines_of(std::string_view text);
std::vector<Include> includes_of(std::string_view text);
/// The same lines, with blanks for comments and for what stands between quotes.
std::string bare_code(std::string_view text);
/// Of bare code, without preprocessor lines.
std::vector<Name> names_of(const std::string& bare);
/// Of bare code: blocks that follow a parameter list.
std::vector<Function> functions_of(const std::string& bare);
/// Of bare code: classes and structs, nested ones apart from the one around them.
std::vector<Class> classes_of(const std::string& bare);
/// `RequestParser`, `request_parser_`, `kRequestParser`: request, parser (and k).
std::vector<std::string> words_of(std::string_view name);

}  // namespace penstock::rooms
