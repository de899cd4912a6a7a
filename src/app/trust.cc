// SPDX-License-Identifier: Apache-2.0
// See trust.h. Each variable takes the place of the system's authorities, or adds to them, as its programs have it; so
// each file holds whomever its programs would trust without us, and our authority.
#include "app/trust.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "app/authority_file.h"
#include "app/java_options.h"
#include "app/settings.h"
#include "app/trust_files.h"
#include "tls/trust_store.h"

namespace penstock::app {

namespace {

using Made = TrustFiles::Made;

/// What its programs read where it is not set: `else_by`, and SSL_CERT_DIR beside it.
struct Bundle {
  const char* name;
  const char* else_by = nullptr;
  bool or_folder = false;
};
constexpr std::array<Bundle, 6> kBundles{{{"SSL_CERT_FILE", nullptr, true},
                                          {"CURL_CA_BUNDLE", "SSL_CERT_FILE", true},
                                          {"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"},
                                          {"GIT_SSL_CAINFO"},
                                          {"AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"},
                                          {"PERL_LWP_SSL_CA_FILE", "HTTPS_CA_FILE"}}};

/// `from`: the file that the user named for them.
struct Certificates {
  std::string text, from;
};

class Joining {
 public:
  Joining(const Environment& environment, TrustFiles files, std::string authority)
      : environment_(environment), files_(std::move(files)), authority_(std::move(authority)), roots_(system_roots()) {
    if (!roots_.empty()) return;
    trust_.warnings.emplace_back(
        "no authorities of the system were found: only hosts of https: intercept will be trusted");
  }

  std::expected<Trust, std::string> join(const Endpoint& listener) {
    for (const auto& bundle : kBundles) {
      if (const auto file = pem(found_for(bundle)); !set(bundle.name, file)) return std::unexpected(file.error());
    }
    // Node trusts those that it came with anyway, wget those of the system.
    if (const auto file = pem(named_by("NODE_EXTRA_CA_CERTS")); !set("NODE_EXTRA_CA_CERTS", file))
      return std::unexpected(file.error());
    if (const auto file = wgetrc(); !set("WGETRC", file)) return std::unexpected(file.error());
    const auto store = trust_store();
    if (!store) return std::unexpected(store.error());
    set("JAVA_TOOL_OPTIONS", java_options(options_of_java(), listener, *store));
    return std::move(trust_);
  }

 private:
  std::string value_of(const char* name) const { return environment_(name).value_or(""); }

  bool set(const char* name, const Made& value) {
    if (value && !value->empty()) trust_.variables.emplace_back(name, *value);
    return value.has_value();
  }

  std::string path_in(const char* name) const { return files_.before(value_of(name)); }

  /// Those of the file that `name` names.
  Certificates named(const std::string& name, const std::string& path) {
    if (path.empty()) return {};
    auto found = certificates_at(path);
    if (!found.empty()) return {.text = std::move(found), .from = path};
    trust_.warnings.push_back(name + ": there is no certificate in " + path);
    return {};
  }
  Certificates named_by(const char* name) { return named(name, path_in(name)); }

  /// As OpenSSL has it, a list.
  std::string in_folders() const {
    std::string all;
    std::istringstream folders(value_of("SSL_CERT_DIR"));
    for (std::string folder; std::getline(folders, folder, ':');) {
      if (!folder.empty()) all = joined(std::move(all), certificates_at(folder));
    }
    return all;
  }

  Certificates found_for(const Bundle& bundle) {
    if (auto own = named_by(bundle.name); !own.text.empty()) return own;
    auto all = bundle.else_by ? certificates_at(path_in(bundle.else_by)) : "";
    if (all.empty()) all = roots_;
    return {.text = bundle.or_folder ? joined(std::move(all), in_folders()) : std::move(all), .from = {}};
  }

  Made pem(Certificates others) const {
    return files_.keep("ca", ".pem", TrustFiles::note_of(others.from) + joined(std::move(others.text), authority_));
  }

  Made wgetrc();
  std::string options_of_java() const;
  Made trust_store();

  const Environment& environment_;
  const TrustFiles files_;
  const std::string authority_;
  const std::string roots_;
  Trust trust_;
};

/// As wget reads it, without regard to case, `_` and `-`. A comment is none.
bool sets_ca_certificate(std::string_view key) {
  std::string letters;
  for (const char c : key) {
    if (c == '#') return false;
    if (std::isalpha(static_cast<unsigned char>(c))) letters += static_cast<char>(std::tolower(c));
  }
  return letters == "cacertificate";
}

/// The value of the last line that sets it.
std::string ca_certificate_of(const std::string& wgetrc) {
  std::string value;
  std::istringstream lines(wgetrc);
  for (std::string line; std::getline(lines, line);) {
    const auto equals = line.find('=');
    if (equals == std::string::npos || !sets_ca_certificate(line.substr(0, equals))) continue;
    const auto from = line.find_first_not_of(" \t", equals + 1);
    if (from != std::string::npos) value = line.substr(from, line.find_last_not_of(" \t\r") + 1 - from);
  }
  return value;
}

/// wget reads no variable but this, which names a file with whatever else its user has set there: passwords, maybe.
Made Joining::wgetrc() {
  const auto own = path_in("WGETRC");
  const auto text = text_of(own.empty() ? value_of("HOME") + "/.wgetrc" : own);
  if (!own.empty() && !text) return std::string();  // wget will say so
  auto others = named("ca_certificate of wget", files_.before(ca_certificate_of(text.value_or(""))));
  const auto bundle = pem({.text = std::move(others.text), .from = {}});
  if (!bundle) return bundle;
  const auto all = TrustFiles::note_of(own) + text.value_or("") + "\nca_certificate = " + *bundle + "\n";
  return files_.keep("wgetrc", "", all, TrustFiles::kForOwner);
}

/// Without what a run of ours has added to them.
std::string Joining::options_of_java() const {
  return without_ours(value_of("JAVA_TOOL_OPTIONS"), [&](const std::string& path) { return files_.has(path); });
}

/// Empty where Java has been told of another one: by the variable that counts first, or before the others do.
Made Joining::trust_store() {
  for (const char* name : {"_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS"}) {
    const auto own = java_option(value_of(name), "javax.net.ssl.trustStore");
    if (!own || files_.has(*own)) continue;
    trust_.warnings.push_back(std::string(name) + " names a trust store of its own, " + *own +
                              ", which stays in force: have `keytool -importcert` add the authority to it");
    return std::string();
  }
  const auto all = joined(roots_, authority_);
  return files_.keep("java", ".p12", all, [&] { return tls::make_trust_store(all); });
}

std::expected<std::string, std::string> authority_at(const std::string& path) {
  if (path.empty()) return std::unexpected("this user has no home where an authority could be");
  const auto text = text_of(path);
  if (!text) {
    const bool missing = errno == ENOENT;
    const std::string why = std::strerror(errno);
    return std::unexpected("cannot read " + path + ": " + why + (missing ? "; `penstock ca init` makes one" : ""));
  }
  auto certificates = certificates_in(*text);
  if (certificates.empty()) return std::unexpected("there is no certificate in " + path + ", as PEM");
  return certificates;
}

}  // namespace

std::expected<Trust, std::string> trust_variables(const Config& config, const Endpoint& listener,
                                                  const Environment& environment) {
  if (!intercepts(config)) return Trust{};
  const auto path = authority_files(config.intercept, environment).certificate;
  auto authority = authority_at(path);
  if (!authority) return std::unexpected("intercept.ca: " + authority.error());
  const auto folder = std::filesystem::absolute(path).parent_path().string();
  return Joining(environment, TrustFiles(environment, folder), *std::move(authority)).join(listener);
}

std::optional<Variables> variables_for(const Config& config, const Endpoint& listener) {
  auto trust = trust_variables(config, listener);
  if (!trust) return complain(trust.error()), std::nullopt;
  for (const auto& warning : trust->warnings) complain("warning: " + warning);
  auto all = proxy_variables(listener);
  std::ranges::move(trust->variables, std::back_inserter(all));
  return all;
}

}  // namespace penstock::app
