// SPDX-License-Identifier: Apache-2.0
// `penstock ca`: creates the authority of interception, once, and says where it is.
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <optional>

#include "app/atomic_file.h"
#include "app/authority_file.h"
#include "app/commands.h"
#include "app/settings.h"
#include "loop/loop.h"

namespace penstock::app {

namespace {

constexpr mode_t kForOwner = 0600, kForAll = 0644;
constexpr std::size_t kLongestName = 64;  // of a certificate

std::string user() {
  const passwd* entry = getpwuid(geteuid());
  return entry ? entry->pw_name : std::to_string(geteuid());
}

std::string host() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "localhost";
}

/// A name that explains itself in a browser's list of authorities.
std::string name_of_authority() {
  auto name = ("Penstock CA of " + user() + "@" + host()).substr(0, kLongestName);
  std::ranges::replace_if(
      name, [](unsigned char c) { return c < ' ' || c > '~'; }, '_');
  return name;
}

std::optional<tls::AuthorityFiles> files_of(const Config& config) {
  auto files = authority_files(config.intercept);
  if (!files.certificate.empty()) return files;
  complain("this user has no home where an authority could be; name its files: intercept.ca and intercept.key");
  return std::nullopt;
}

bool is_there(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

int refuse(const std::string& path) {
  return complain(path +
                  " is there already, and stays as it is: to have another authority, which all who trusted that "
                  "one would have to trust anew, remove both its files");
}

/// Writes the key first: a certificate alone would seem to be usable.
int make(const tls::AuthorityFiles& files) {
  for (const auto& path : {files.certificate, files.key}) {
    if (is_there(path)) return refuse(path);
  }
  const auto now = loop::system_wall() / 1'000'000;
  const auto made = tls::make_authority(name_of_authority(), now);
  if (const auto usable = tls::Authority::read(made, now); !usable) return complain(usable.error().message);
  if (const auto key = create_file(files.key, made.key, kForOwner); !key) return complain(key.error());
  const auto certificate = create_file(files.certificate, made.certificate, kForAll);
  if (certificate) return 0;
  ::unlink(files.key.c_str());
  return complain(certificate.error());
}

void print_next(const tls::AuthorityFiles& files) {
  std::cout << "\nIts key is " << files.key
            << ", for you alone: whoever can read it can be any host to programs that trust the authority.\n"
               "Nothing trusts it yet. What comes next:\n"
               "  https: intercept                            in the upstreams that are meant\n"
               "  penstock doctor --config FILE               tries which programs of this machine would work\n"
               "  penstock exec --config FILE -- COMMAND      runs a program that trusts it\n"
               "  eval \"$(penstock env --config FILE)\"        makes this shell's programs trust it\n";
}

}  // namespace

int ca_init(const std::string& config_file) {
  const auto config = settings(config_file);
  if (!config) return 1;
  const auto files = files_of(*config);
  if (!files || make(*files) != 0) return 1;
  std::cout << files->certificate << '\n';
  print_next(*files);
  return 0;
}

int ca_path(const std::string& config_file) {
  const auto config = settings(config_file);
  if (!config) return 1;
  const auto files = files_of(*config);
  if (!files) return 1;
  if (!is_there(files->certificate))
    return complain("there is no authority yet at " + files->certificate + "; `penstock ca init` makes one");
  std::cout << files->certificate << '\n';
  return 0;
}

}  // namespace penstock::app
