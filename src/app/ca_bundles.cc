// SPDX-License-Identifier: Apache-2.0
// See ca_bundles.h.
#include "app/ca_bundles.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "app/atomic_file.h"
#include "tls/digest.h"
#include "tls/system_authorities.h"

namespace penstock::app {

namespace {

namespace fs = std::filesystem;

struct Kind {
  std::string_view begin, end;
};
constexpr std::array<Kind, 5> kKinds{
    {{"ca-", ".pem"}, {"java-", ".p12"}, {"wgetrc-", ""}, {"php-", ""}, {"apt-", ".conf"}}};
constexpr std::size_t kDigits = 32;
constexpr std::string_view kNote = "# joined from ";

bool is_of(const Kind& kind, std::string_view name) {
  return name.size() == kind.begin.size() + kDigits + kind.end.size() && name.starts_with(kind.begin) &&
         name.ends_with(kind.end) &&
         name.substr(kind.begin.size(), kDigits).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// The block at the start of `pem`, which must end by its own name and contain no other: a key must not slip through
/// behind a truncated certificate. Empty: no certificate.
std::string_view certificate_at_begin(std::string_view pem) {
  constexpr std::string_view kBegin = "-----BEGIN ", kDashes = "-----";
  const auto dashes = pem.find(kDashes, kBegin.size());
  if (dashes == std::string_view::npos) return {};
  const auto name = pem.substr(kBegin.size(), dashes - kBegin.size());
  if (!name.ends_with("CERTIFICATE") || name.contains('\n')) return {};
  const auto end = "-----END " + std::string(name) + "-----";
  const auto at = pem.find(kDashes, dashes + kDashes.size());
  if (at == std::string_view::npos || !pem.substr(at).starts_with(end)) return {};
  return pem.substr(0, at + end.size());
}

std::string all_of(const std::string& folder) {
  std::error_code failed;
  std::set<std::string> paths;  // sorted, so that the order never changes
  for (const auto& entry : fs::directory_iterator(folder, failed)) paths.insert(entry.path());
  std::string all;
  for (const auto& path : paths) {
    if (fs::is_regular_file(path, failed)) all = joined(std::move(all), text_of(path).value_or(""));
  }
  return all;
}

std::string cache_folder(const Environment& environment, const std::string& otherwise) {
  const auto own = environment("XDG_CACHE_HOME").value_or("");
  if (own.starts_with('/')) return own + "/penstock";
  const auto home = environment("HOME").value_or("");
  return home.starts_with('/') ? home + "/.cache/penstock" : otherwise;
}

}  // namespace

std::optional<std::string> text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return file ? std::optional(std::move(text).str()) : std::nullopt;
}

std::string certificates_in(std::string_view pem) { return joined({}, pem); }

std::string certificates_at(const std::string& path) {
  std::error_code failed;
  return fs::is_directory(path, failed) ? all_of(path) : certificates_in(text_of(path).value_or(""));
}

std::string system_roots() {
  for (const char* path : tls::kSystemAuthorities) {
    if (auto roots = certificates_at(path); !roots.empty()) return roots;
  }
  return {};
}

std::string joined(std::string all, std::string_view more) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  for (auto from = more.find(kBegin); from != std::string_view::npos; from = more.find(kBegin, from + 1)) {
    const auto block = certificate_at_begin(more.substr(from));
    if (!block.empty() && !all.contains(block)) all.append(block).append("\n");
  }
  return all;
}

CaBundles::CaBundles(const Environment& environment, const std::string& otherwise)
    : folder_(cache_folder(environment, otherwise)) {}

CaBundles CaBundles::for_all(const Environment& environment) {
  auto folder = environment("CACHE_DIRECTORY").value_or("");
  folder.resize(std::min(folder.size(), folder.find(':')));
  if (!folder.starts_with('/')) folder = "/var/cache/penstock";
  if (::mkdir(folder.c_str(), 0755) == 0) ::chmod(folder.c_str(), 0755);  // whatever the umask took
  return CaBundles(std::move(folder));
}

CaBundles::Made CaBundles::keep(const std::string& name, const std::string& ending, const std::string& seed,
                                const std::function<std::string()>& text, mode_t mode) const {
  std::string path = folder_ + "/" + name + "-" + tls::digest(seed) + ending;
  std::error_code failed;
  if (fs::is_regular_file(path, failed)) return path;
  if (auto made = replace_file(path, text(), mode); !made) return std::unexpected(std::move(made.error()));
  return path;
}

CaBundles::Made CaBundles::keep(const std::string& name, const std::string& ending, const std::string& text,
                                mode_t mode) const {
  return keep(
      name, ending, text, [&] { return text; }, mode);
}

bool CaBundles::has(const std::string& path) const {
  if (!path.starts_with(folder_ + "/")) return false;
  const auto name = std::string_view(path).substr(folder_.size() + 1);
  return std::ranges::any_of(kKinds, [&](const Kind& kind) { return is_of(kind, name); });
}

std::string CaBundles::note_of(const std::string& path) {
  if (path.empty() || path.contains('\n')) return {};
  std::error_code unknown;
  return std::string(kNote) + fs::absolute(path, unknown).string() + "\n";
}

std::string CaBundles::before(const std::string& path) const {
  if (!has(path)) return path;
  const auto text = text_of(path).value_or("");
  return text.starts_with(kNote) ? text.substr(kNote.size(), text.find('\n') - kNote.size()) : "";
}

}  // namespace penstock::app
