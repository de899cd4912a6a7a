// SPDX-License-Identifier: Apache-2.0
// `penstock doctor`: lets every known program on this machine ask an https server of doctor's own, through a proxy of
// its own that intercepts it, with the environment that `exec` would give them. What works here works there.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "app/atomic_file.h"
#include "app/authority_file.h"
#include "app/ca_environment.h"
#include "app/child.h"
#include "app/commands.h"
#include "app/doctor_names.h"
#include "app/doctor_origin.h"
#include "app/probes.h"
#include "app/settings.h"
#include "penstock/proxy.h"

namespace penstock::app {

namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 10s;
constexpr std::size_t kLongestWords = 200;

class Folder {
 public:
  Folder() {
    std::error_code unknown;
    path_ = (std::filesystem::temp_directory_path(unknown) / "penstock-doctor-XXXXXX").string();
    if (unknown || !mkdtemp(path_.data()) || ::chmod(path_.c_str(), S_IRWXU) != 0) path_.clear();
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  /// Creates a file with that text; returns its path.
  std::expected<std::string, std::string> write(const std::string& name, const std::string& text) const {
    if (path_.empty()) return std::unexpected("there is no folder for temporary files");
    auto path = path_ + "/" + name;
    if (auto made = create_file(path, text, 0600); !made) return std::unexpected(std::move(made.error()));
    return path;
  }

 private:
  std::string path_;
};

/// The server that programs ask, with a certificate by an authority that only our proxy knows, and the proxy.
struct Practice {
  Folder folder;
  DoctorNames names;
  std::unique_ptr<DoctorOrigin> origin;
  std::unique_ptr<Proxy> proxy;
  Config config;
  std::string url, java_file;
};

Config config_for(const Practice& practice, const InterceptConfig& intercept, const std::string& ca) {
  Config config;
  config.proxy.listen = {"127.0.0.1", 0};
  config.admin.listen = {};
  config.log = {.level = LogLevel::off, .events = "off"};
  config.dns.servers = {practice.names.address()};
  config.access.connect_ports = {practice.origin->port()};
  config.access.plain_ports.clear();
  config.intercept = {.ca = intercept.ca, .key = intercept.key};
  UpstreamConfig upstream{.name = "doctor", .match = {{.host = std::string(kDoctorHost)}}};
  upstream.settings.https = Https::intercept;
  upstream.settings.tls.ca = ca;
  config.upstreams.push_back(std::move(upstream));
  return config;
}

std::expected<void, std::string> open(Practice& practice, const InterceptConfig& intercept) {
  const auto now = loop::system_wall() / 1'000'000;
  const auto pem = tls::make_authority("Penstock's doctor", now);
  const auto authority = tls::Authority::read(pem, now);
  if (!authority) return std::unexpected(authority.error().message);
  auto origin = DoctorOrigin::start((*authority)->sign(std::string(kDoctorHost), now));
  if (!origin) return std::unexpected(std::move(origin.error()));
  practice.origin = *std::move(origin);
  const auto ca = practice.folder.write("ca.pem", pem.certificate);
  const auto java = practice.folder.write("Probe.java", kJavaProbe);
  if (!ca || !java) return std::unexpected(ca ? java.error() : ca.error());
  practice.config = config_for(practice, intercept, *ca);
  practice.proxy = std::make_unique<Proxy>(practice.config);
  if (auto started = practice.proxy->start(); !started) return std::unexpected(std::move(started.error().message));
  practice.url = "https://" + std::string(kDoctorHost) + ":" + std::to_string(practice.origin->port()) + "/";
  practice.java_file = *java;
  return {};
}

/// The counts of a client's TLS handshakes with us. All failures count: missing trust shows in many ways.
struct Seen {
  std::uint64_t handshakes = 0, failures = 0;
};

Seen seen_by(const Proxy& proxy) {
  const auto upstreams = proxy.snapshot().upstreams;
  const auto doctor = std::ranges::find(upstreams, "doctor", &UpstreamSnapshot::name);
  if (doctor == upstreams.end()) return {};
  const auto& shaken = doctor->handshakes;
  return {.handshakes = shaken.done, .failures = shaken.rejected + shaken.left + shaken.failed + shaken.timed_out};
}

/// A guess at the line that says most about what went wrong.
std::string words_of(const std::string& said) {
  std::istringstream lines(said);
  std::string last, telling;
  for (std::string line; std::getline(lines, line);) {
    std::erase_if(line, [](unsigned char c) { return c < ' ' || c == 0x7f; });
    if (line.find_first_not_of(' ') == std::string::npos || line.starts_with("Picked up JAVA_TOOL_OPTIONS")) continue;
    if (line.contains("rror") || line.contains("ertificate") || line.contains("xception")) telling = line;
    last = line;
  }
  const auto& best = telling.empty() ? last : telling;
  return best.size() > kLongestWords ? best.substr(0, kLongestWords) + "..." : best;
}

bool speaks_of_trust(const std::string& words) {
  return std::ranges::any_of(std::array{"ertificate", "CERT_", "PKIX", "SSL", "TLS", "issuer"},
                             [&](const char* word) { return words.contains(word); });
}

std::string verdict(const Probe& probe, const Ran& ran, const Seen& before, const Seen& after) {
  const auto words = words_of(ran.said);
  if (ran.code == kNotTried) return "not tried: " + words;
  const bool content = ran.code == 0 && (probe.says_nothing || ran.said.contains(kDoctorWord));
  if (content && after.handshakes > before.handshakes) return "ok";
  const auto in_its_words = words.empty() ? "" : "\n    " + words;
  if (ran.late) return "no answer within 10 seconds" + in_its_words;
  if (after.failures > before.failures || speaks_of_trust(words))
    return "does not trust the authority: " + probe.about_trust + in_its_words;
  if (after.handshakes > before.handshakes) return "failed" + in_its_words;
  return "does not ask the proxy: " + probe.about_proxy + in_its_words;
}

/// The first text that looks like a version: "7.88.1".
std::string version_in(const std::string& said) {
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Picked up")) continue;
    const auto from = line.find_first_of("0123456789");
    if (from != std::string::npos) return line.substr(from, line.find_first_not_of("0123456789.", from) - from);
  }
  return "of no known version";
}

std::string title(const Probe& probe, const std::string& version) {
  auto title = probe.name;
  return title.replace(title.find('%'), 1, version);
}

std::string title_without_version(const Probe& probe) {
  auto title = probe.name;
  return title.erase(title.find(" %"), 2);
}

struct Tally {
  bool all_ok = true;
  std::string missing;
};

void try_one(const Probe& probe, const Practice& practice, const Variables& variables, Tally& tally) {
  const auto installed = run_quietly(probe.version, {}, kPatience);
  if (installed && installed->late) {
    tally.all_ok = false;
    std::cout << title_without_version(probe) << ": did not say its version within 10 seconds" << '\n' << std::flush;
    return;
  }
  if (!installed || installed->code != 0) {
    tally.missing += (tally.missing.empty() ? "" : ", ") + title_without_version(probe);
    return;
  }
  auto command = probe.command;
  command.push_back(practice.url);
  const auto before = seen_by(*practice.proxy);
  const auto ran = run_quietly(std::move(command), variables, kPatience);
  const auto after = seen_by(*practice.proxy);
  const auto found = ran ? verdict(probe, *ran, before, after) : "could not be started";
  tally.all_ok = tally.all_ok && (found == "ok" || found.starts_with("not tried"));
  std::cout << title(probe, version_in(installed->said)) << ": " << found << '\n' << std::flush;
}

}  // namespace

int doctor(const std::string& config_file) {
  const auto config = settings(config_file);
  if (!config) return 1;
  Practice practice;
  if (auto opened = open(practice, config->intercept); !opened) return complain(opened.error());
  const auto listener = parse_endpoint(practice.proxy->url().substr(std::strlen("http://"))).value();
  const auto variables = variables_for(practice.config, listener);
  if (!variables) return 1;
  Tally tally;
  for (const auto& probe : all_probes(practice.java_file)) try_one(probe, practice, *variables, tally);
  if (!tally.missing.empty()) std::cout << "not installed: " << tally.missing << '\n';
  return tally.all_ok ? 0 : 1;
}

}  // namespace penstock::app
