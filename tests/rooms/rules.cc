// SPDX-License-Identifier: Apache-2.0
// The plan, held against files.
#include "rooms/rules.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "rooms/code.h"
#include "rooms/plan.h"

namespace penstock::rooms {

namespace {

bool is_cpp(const File& file) { return file.path.ends_with(".h") || file.path.ends_with(".cc"); }

bool begins_with_any(std::string_view text, const std::vector<std::string_view>& beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view beginning) { return text.starts_with(beginning); });
}

bool has(const std::vector<std::string_view>& all, std::string_view one) {
  return std::ranges::find(all, one) != all.end();
}

/// `flow/lane.cc` of `src/flow/lane.cc`.
std::string_view below_top(const File& file) {
  const std::string_view path = file.path;
  return path.substr(path.find('/') + 1);
}

const Room* room_named(std::string_view name) {
  const auto found = std::ranges::find(kRooms, name, &Room::name);
  return found == kRooms.end() ? nullptr : &*found;
}

/// nullptr: the file lies in no room, as src/CMakeLists.txt.
const Room* room_of(const File& file) {
  const std::string_view path = below_top(file);
  return room_named(path.substr(0, path.find('/')));
}

std::string place(const File& file, std::size_t line) { return file.path + ":" + std::to_string(line) + ": "; }

std::string listed(const std::vector<std::string_view>& names) {
  std::string text;
  for (const auto name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text.empty() ? "nothing" : text;
}

bool is_standard(std::string_view header) { return header.find_first_of("./") == std::string_view::npos; }

/// What is wrong with an include in angle brackets; empty: nothing.
std::string judge_outside(const File& file, const Room& room, std::string_view header) {
  if (is_standard(header)) return {};
  for (const Library& library : kLibraries) {
    if (!header.starts_with(library.headers)) continue;
    if (begins_with_any(below_top(file), library.lives_in)) return {};
    return std::string(library.name) + " lives in " + listed(library.lives_in) + " only";
  }
  if (!begins_with_any(header, kSystem)) return "belongs to no library of the plan";
  if (has(room.system, "*") || has(room.system, header)) return {};
  return std::string(room.name) + " may include of the operating system's headers: " + listed(room.system);
}

/// The folder that such a path of the form room/inner/file.h names; nullptr: there is none.
const Room* inner_room_of(std::string_view path) {
  const auto found = std::ranges::find(kInnerRooms, path.substr(0, path.rfind('/')), &Room::name);
  return found == kInnerRooms.end() ? nullptr : &*found;
}

bool has_inner_rooms(std::string_view room) {
  return std::ranges::any_of(
      kInnerRooms, [=](const Room& inner) { return inner.name.starts_with(room) && inner.name[room.size()] == '/'; });
}

/// What is wrong with an include within one room; empty: nothing.
std::string judge_inner(const File& file, const Room& room, std::string_view header) {
  if (!has_inner_rooms(room.name)) return {};
  const Room* here = inner_room_of(below_top(file));
  const Room* there = inner_room_of(header);
  if (!here || !there) return std::string(room.name) + " has folders: a file stands in one of them";
  if (here == there || has(here->may_include, there->name)) return {};
  return std::string(here->name) + " may include of the other folders: " + listed(here->may_include);
}

/// What is wrong with an include in quotes; empty: nothing.
std::string judge_inside(const File& file, const Room& room, std::string_view header) {
  const std::string_view other = header.substr(0, header.find('/'));
  if (header.find('/') == std::string_view::npos || !room_named(other)) return "is not of the form \"room/file.h\"";
  const bool is_ground = other == kGround && room.name != "penstock";
  if (other == room.name) return judge_inner(file, room, header);
  if (is_ground || has(room.may_include, other)) return {};
  return std::string(room.name) + " may include of the other rooms: " + listed(room.may_include);
}

/// Libraries that one file alone may include, and the files that do.
void note_single(std::map<std::string_view, std::vector<std::string>>& users, const File& file,
                 std::string_view header) {
  for (const Library& library : kLibraries) {
    if (!library.one_file || !header.starts_with(library.headers)) continue;
    auto& paths = users[library.name];
    if (std::ranges::find(paths, file.path) == paths.end()) paths.push_back(file.path);
  }
}

constexpr Figures kMost{kMostMembers, kMostMethods, kMostBools};

std::string written(const Figures& figures) {
  return "{" + std::to_string(figures.members) + ", " + std::to_string(figures.methods) + ", " +
         std::to_string(figures.bools) + "}";
}

using Arrows = std::map<std::string, std::set<std::string>>;

void follow(const Arrows& arrows, const std::string& from, std::set<std::string>& reached) {
  const auto found = arrows.find(from);
  if (found == arrows.end()) return;
  for (const auto& next : found->second) {
    if (reached.insert(next).second) follow(arrows, next, reached);
  }
}

/// Each in alphabetic order.
std::set<std::vector<std::string>> circles_of(const Arrows& arrows) {
  Arrows reached;
  for (const auto& [name, next] : arrows) follow(arrows, name, reached[name]);
  std::set<std::vector<std::string>> circles;
  for (const auto& [name, others] : reached) {
    std::vector<std::string> circle;
    std::ranges::copy_if(others, std::back_inserter(circle),
                         [&](auto& other) { return reached[other].contains(name); });
    if (!circle.empty()) circles.insert(circle);
  }
  return circles;
}

}  // namespace

Offences stray_includes(const std::vector<File>& files) {
  Offences offences;
  std::map<std::string_view, std::vector<std::string>> users;
  for (const File& file : files) {
    const Room* room = room_of(file);
    if (!room || !is_cpp(file)) continue;
    for (const Include& include : includes_of(file.text)) {
      const std::string wrong =
          include.quoted ? judge_inside(file, *room, include.header) : judge_outside(file, *room, include.header);
      if (!wrong.empty())
        offences.push_back(place(file, include.line) + "stray include of " + include.header + ": " + wrong);
      note_single(users, file, include.header);
    }
  }
  for (const auto& [library, paths] : users) {
    for (std::size_t i = 1; i < paths.size(); ++i) {
      offences.push_back(paths[i] + ":1: " + std::string(library) + " lives in one file, and that is " + paths[0]);
    }
  }
  return offences;
}

Offences stray_links(const std::vector<File>& files) {
  Offences offences;
  for (const File& file : files) {
    const Room* room = room_of(file);
    if (!room || !file.path.ends_with("/CMakeLists.txt")) continue;
    bool among_rooms = false;
    std::string code = file.text;
    std::ranges::replace(code, ')', '\n');
    std::istringstream words(code);
    for (std::string word; words >> word;) {
      const bool keyword = word == "SOURCES" || word == "LIBRARIES" || word.find('(') != std::string::npos;
      if (word == "ROOMS" || keyword) {
        among_rooms = !keyword;
      } else if (among_rooms && room_named(word) && !has(room->may_include, word)) {
        offences.push_back(place(file, 1) + "stray link to " + word + ": " + std::string(room->name) +
                           " may use of the other rooms: " + listed(room->may_include));
      }
    }
  }
  return offences;
}

Offences unknown_rooms(const std::vector<File>& files) {
  Offences offences;
  for (const File& file : files) {
    const bool in_folder = below_top(file).find('/') != std::string_view::npos;
    if (in_folder && !room_of(file)) offences.push_back(place(file, 1) + "lies in a room that is not in the plan");
  }
  return offences;
}

Offences unnamed_files(const std::vector<File>& files) {
  Offences offences;
  for (const File& file : files) {
    const bool cmake = file.path.ends_with("CMakeLists.txt");
    if (!is_cpp(file) && !cmake) continue;
    const std::string mark = cmake ? "# " : "// ";
    const auto lines = lines_of(file.text);
    if (lines.empty() || lines[0] != mark + "SPDX-License-Identifier: Apache-2.0") {
      offences.push_back(place(file, 1) + "does not begin with " + mark + "SPDX-License-Identifier: Apache-2.0");
    } else if (!cmake && (lines.size() < 2 || !lines[1].starts_with(mark))) {
      offences.push_back(place(file, 2) + "does not say what it is");
    }
  }
  return offences;
}

Offences long_files(const std::vector<File>& files) {
  Offences offences;
  for (const File& file : files) {
    const std::size_t lines = is_cpp(file) ? lines_of(file.text).size() : 0;
    if (lines >= kLongestFile)
      offences.push_back(place(file, lines) + "too long, should end before line " + std::to_string(kLongestFile));
  }
  return offences;
}

Offences long_functions(const std::vector<File>& files) {
  Offences offences;
  for (const File& file : files) {
    if (!is_cpp(file)) continue;
    for (const Function& function : functions_of(bare_code(file.text))) {
      if (function.length <= kLongestFunction) continue;
      offences.push_back(place(file, function.line) + "a function of " + std::to_string(function.length) +
                         " lines, more than " + std::to_string(kLongestFunction));
    }
  }
  return offences;
}

Offences forbidden_names(const std::vector<File>& files) {
  Offences offences;
  const auto judge = [&](const File& file, std::size_t line, std::string_view name) {
    for (const auto& word : words_of(name)) {
      if (has(kForbiddenWords, word))
        offences.push_back(place(file, line) + "'" + word + "' says nothing, in " + std::string(name));
    }
  };
  for (const File& file : files) {
    if (!is_cpp(file)) continue;
    const std::string_view base = std::string_view(file.path).substr(file.path.rfind('/') + 1);
    judge(file, 1, base.substr(0, base.find('.')));
    for (const Name& name : names_of(bare_code(file.text))) {
      if (!name.of_another && !begins_with_any(name.text, kOutsidePrefixes)) judge(file, name.line, name.text);
    }
  }
  return offences;
}

std::vector<std::pair<std::string, Class>> classes_with_functions(const std::vector<File>& files) {
  std::vector<std::pair<std::string, Class>> classes;
  for (const File& file : files) {
    if (!is_cpp(file)) continue;
    const std::string_view path = below_top(file);
    for (Class& found : classes_of(bare_code(file.text))) {
      if (!found.has_functions) continue;
      found.name = std::string(path.substr(0, path.find('/'))) + "::" + found.name;
      classes.emplace_back(place(file, found.line), std::move(found));
    }
  }
  std::ranges::stable_sort(classes, std::greater(),
                           [](const auto& each) { return each.second.figures.members + each.second.figures.methods; });
  return classes;
}

Offences large_classes(const std::vector<File>& files) {
  Offences offences;
  for (const auto& [where, found] : classes_with_functions(files)) {
    const auto& [members, methods, bools] = found.figures;
    if (members > kMost.members || methods > kMost.methods || bools > kMost.bools)
      offences.push_back(where + found.name + " has members, methods, bools " + written(found.figures) +
                         ", more than " + written(kMost));
  }
  return offences;
}

Offences include_circles(const std::vector<File>& files) {
  Arrows arrows;  // from header to header, and from unit to unit: the names of these have no ending
  const auto unit = [](std::string_view path) { return std::string(path.substr(0, path.rfind('.'))); };
  for (const File& file : files) {
    if (!is_cpp(file)) continue;
    const std::string path(below_top(file));
    for (const Include& include : includes_of(file.text)) {
      if (path.ends_with(".h")) arrows[path].insert(include.header);
      if (unit(include.header) != unit(path)) arrows[unit(path)].insert(unit(include.header));
    }
  }
  Offences offences;
  for (const auto& circle : circles_of(arrows)) {
    offences.push_back("these include each other: " + listed({circle.begin(), circle.end()}));
  }
  return offences;
}

}  // namespace penstock::rooms
