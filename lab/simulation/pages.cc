// SPDX-License-Identifier: Apache-2.0
// See pages.h.
#include "simulation/pages.h"

#include <fstream>
#include <iterator>

namespace penstock::simulation {

std::expected<std::string, std::string> with_part(std::string_view page, std::string_view name, std::string_view part) {
  const std::string begins = "<!-- simulate: " + std::string(name) + " -->\n";
  constexpr std::string_view kEnds = "<!-- simulate: end -->\n";
  const auto before = page.find(begins);
  const auto end = before == page.npos ? page.npos : page.find(kEnds, before);
  if (end == page.npos) return std::unexpected("has no part '" + std::string(name) + "'");
  return std::string(page.substr(0, before + begins.size())) + std::string(part) + std::string(page.substr(end));
}

std::string write_part(const std::string& path, std::string_view name, std::string_view part) {
  std::ifstream file(path);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  if (!file) return "cannot read " + path;
  const auto changed = with_part(page, name, part);
  if (!changed) return path + " " + changed.error();
  return std::ofstream(path) << *changed << std::flush ? "" : "cannot write " + path;
}

}  // namespace penstock::simulation
