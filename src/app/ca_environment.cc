// SPDX-License-Identifier: Apache-2.0
// See ca_environment.h. A variable replaces the system's authorities or adds to them, depending on the program; so each
// file holds the authorities that its programs would trust without us, and ours.
#include "app/ca_environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "app/authority_file.h"
#include "app/ca_bundles.h"
#include "app/java_options.h"
#include "app/settings.h"
#include "app/trust_settings.h"
#include "tls/pkcs12.h"

namespace penstock::app {

namespace {

using Made = CaBundles::Made;

/// What its programs read if it is not set: `else_by`, and beside it SSL_CERT_DIR.
struct Bundle {
  const char* name;
  const char* else_by = nullptr;
  bool or_folder = false;
};
constexpr std::array<Bundle, 6> kBundles{{{"SSL_CERT_FILE", nullptr, true},
                                          {"CURL_CA_BUNDLE", "SSL_CERT_FILE", true},
                                          {"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"},
                                          {"GIT_SSL_CAINFO"},
                                          {"HTTPLIB2_CA_CERTS"},
                                          {"PERL_LWP_SSL_CA_FILE", "HTTPS_CA_FILE"}}};

/// If these are not set, their programs read one of those above, or none; if set, they win over it. So they are set
/// only where the user did: rclone (1.60, for one) fails whenever AWS_CA_BUNDLE is set, whatever it holds.
constexpr std::array kWhereSet{"AWS_CA_BUNDLE",
                               "BUNDLE_SSL_CA_CERT",
                               "CARGO_HTTP_CAINFO",
                               "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
                               "DENO_CERT",
                               "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
                               "HEX_CACERTS_PATH",
                               "NIX_SSL_CERT_FILE",
                               "NPM_CONFIG_CAFILE",
                               "PIP_CERT",
                               "YARN_CAFILE",
                               "YARN_CA_FILE_PATH",
                               "YARN_HTTPS_CA_FILE_PATH",
                               "npm_config_cafile"};
constexpr const char* kJava = "JAVA_TOOL_OPTIONS";

/// `from`: the file that the user named for them.
struct Certificates {
  std::string text, from;
};

class Joining {
 public:
  /// `folder`: of this run alone, and removed after it; empty: the user's, or if there is none, `otherwise`.
  Joining(const Environment& environment, const std::string& folder, const std::string& otherwise,
          std::string authority)
      : environment_(environment),
        files_(folder.empty() ? CaBundles(environment, otherwise) : CaBundles(folder)),
        for_one_run_(!folder.empty()),
        authority_(std::move(authority)),
        roots_(system_roots()) {
    if (!roots_.empty()) return;
    trust_.warnings.emplace_back(
        "no authorities of the system were found: only hosts of https: intercept will be trusted");
  }

  std::expected<Trust, std::string> join(const Endpoint& listener) {
    for (const auto& bundle : kBundles) {
      if (const auto file = pem(found_for(bundle)); !set(bundle.name, file)) return std::unexpected(file.error());
    }
    for (const char* name : kWhereSet) {
      if (value_of(name).empty()) continue;
      if (const auto file = pem(found_for({name})); !set(name, file)) return std::unexpected(file.error());
    }
    // Node trusts its built-in authorities anyway, wget those of the system.
    if (const auto file = pem(named_by("NODE_EXTRA_CA_CERTS")); !set("NODE_EXTRA_CA_CERTS", file))
      return std::unexpected(file.error());
    if (const auto file = wgetrc(); !set("WGETRC", file)) return std::unexpected(file.error());
    if (const auto file = npm_cafile(); !set("npm_config_cafile", file)) return std::unexpected(file.error());
    if (const auto folders = php_folders(); !set("PHP_INI_SCAN_DIR", folders)) return std::unexpected(folders.error());
    tell_apt();
    const auto store = trust_store();
    if (!store) return std::unexpected(store.error());
    set(kJava, java_options(options_of_java(), listener, *store));
    return std::move(trust_);
  }

 private:
  std::string value_of(const char* name) const { return environment_(name).value_or(""); }

  bool set(const char* name, const Made& value) {
    if (value && !value->empty()) trust_.variables.emplace_back(name, *value);
    return value.has_value();
  }

  std::string path_in(const char* name) const { return files_.before(value_of(name)); }

  /// The certificates of the file that `name` names.
  Certificates named(const std::string& name, const std::string& path) {
    if (path.empty()) return {};
    auto found = certificates_at(path);
    if (!found.empty()) return {.text = std::move(found), .from = path};
    trust_.warnings.push_back(name + ": there is no certificate in " + path);
    return {};
  }
  Certificates named_by(const char* name) { return named(name, path_in(name)); }

  /// A list of folders, as OpenSSL reads it.
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
    return files_.keep("ca", ".pem", CaBundles::note_of(others.from) + joined(std::move(others.text), authority_));
  }

  Made wgetrc();
  Made npm_cafile();
  Made php_folders();
  Made php_ini(const std::vector<std::string>& folders);
  Certificates found_for_php(const char* key, const std::vector<std::string>& folders);
  void tell_apt();
  Made apt_conf(const CaBundles& files) const;
  std::string options_of_java() const;
  Made trust_store();

  const Environment& environment_;
  const CaBundles files_;
  const bool for_one_run_;
  const std::string authority_;
  const std::string roots_;
  Trust trust_;
};

/// wget reads no variable but this one. It names a file with all of the user's settings: passwords, maybe.
Made Joining::wgetrc() {
  const auto own = path_in("WGETRC");
  const auto text = text_of(own.empty() ? value_of("HOME") + "/.wgetrc" : own);
  if (!own.empty() && !text) return std::string();  // wget will report it
  auto others = named("ca_certificate of wget", files_.before(ca_certificate_of_wget(text.value_or(""))));
  const auto bundle = pem({.text = std::move(others.text), .from = {}});
  if (!bundle) return bundle;
  const auto all = CaBundles::note_of(own) + text.value_or("") + "\nca_certificate = " + *bundle + "\n";
  return files_.keep("wgetrc", "", all, CaBundles::kForOwner);
}

/// npm reads NODE_EXTRA_CA_CERTS unless a file is named here; a variable of its own wins over the file.
Made Joining::npm_cafile() {
  if (!value_of("npm_config_cafile").empty() || !value_of("NPM_CONFIG_CAFILE").empty()) return std::string();
  auto others = named("cafile of npm", files_.before(cafile_of_npm(environment_)));
  return others.text.empty() ? std::string() : pem(std::move(others));
}

/// The certificates that PHP's settings name.
Certificates Joining::found_for_php(const char* key, const std::vector<std::string>& folders) {
  Certificates all;
  for (const auto& path : named_by_php(key, environment_, folders)) {
    all.text = joined(std::move(all.text), named(std::string(key) + " of PHP", files_.before(path)).text);
  }
  return all;
}

/// A settings file. PHP's streams read SSL_CERT_FILE if nothing else is named; its curl reads no variable.
Made Joining::php_ini(const std::vector<std::string>& folders) {
  auto for_curl = found_for_php("curl.cainfo", folders), for_streams = found_for_php("openssl.cafile", folders);
  if (for_curl.text.empty()) for_curl.text = roots_;
  const auto file = pem(std::move(for_curl));
  const auto other = for_streams.text.empty() ? Made() : pem(std::move(for_streams));
  if (!file || !other) return file ? other : file;
  const auto line = [](const std::string& key, const std::string& path) { return key + " = \"" + path + "\"\n"; };
  const auto text = line("curl.cainfo", *file) + (other->empty() ? "" : line("openssl.cafile", *other));
  return files_.keep("php", "/penstock.ini", text);
}

/// PHP has no variable for it, only one that names folders with settings, of which the last counts. An empty entry
/// stands for the folders that PHP was built with.
Made Joining::php_folders() {
  const auto given = environment_("PHP_INI_SCAN_DIR");
  std::vector<std::string> folders;
  std::istringstream list(given ? *given + ":" : ":");
  for (std::string folder; std::getline(list, folder, ':');) {
    if (!files_.has(folder)) folders.push_back(folder);
  }
  const auto ini = php_ini(folders);
  if (!ini) return ini;
  std::string all;
  for (const auto& folder : folders) all += folder + ":";
  return all + std::filesystem::path(*ini).parent_path().string();
}

/// The user's own settings come after ours, and win.
Made Joining::apt_conf(const CaBundles& files) const {
  const auto bundle = files.keep("ca", ".pem", joined(roots_, authority_));
  if (!bundle) return bundle;
  const auto own = files.before(value_of("APT_CONFIG"));
  auto text = CaBundles::note_of(own) + "Acquire::https::CAInfo \"" + *bundle + "\";\n";
  if (!own.empty()) text += "#include \"" + std::filesystem::absolute(own).string() + "\";\n";
  return files.keep("apt", ".conf", text);
}

/// Only if apt is installed. Started by root it reads these files as the user _apt, which cannot read root's home, nor
/// a folder for one run.
void Joining::tell_apt() {
  std::error_code unknown;
  const bool root = ::geteuid() == 0;
  if (!std::filesystem::exists("/usr/lib/apt", unknown) || (root && for_one_run_)) return;
  const auto file = apt_conf(root ? CaBundles::for_all(environment_) : files_);
  if (!set("APT_CONFIG", file)) trust_.warnings.push_back("apt will not trust the authority: " + file.error());
}

/// Without what an earlier run of ours has added.
std::string Joining::options_of_java() const {
  return without_ours(value_of(kJava), [&](const std::string& path) { return files_.has(path); });
}

/// Empty if Java has been given another store: by the variable that counts first, or before the others.
Made Joining::trust_store() {
  for (const char* name : {"_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", kJava}) {
    const auto own = java_option(value_of(name), "javax.net.ssl.trustStore");
    if (!own || files_.has(*own)) continue;
    trust_.warnings.push_back(std::string(name) + " names a trust store of its own, " + *own +
                              ", which stays in force: have `keytool -importcert` add the authority to it");
    return std::string();
  }
  const auto all = joined(roots_, authority_);
  return files_.keep("java", ".p12", all, [&] { return tls::make_trust_store(all); });
}

/// Here a trust store given before is kept, even if it is ours.
std::string java_by_proxy(const Endpoint& listener, const Environment& environment) {
  const auto keep = [](const std::string&) { return false; };
  return java_options(without_ours(environment(kJava).value_or(""), keep), listener, "");
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
                                                  const Environment& environment, const std::string& folder) {
  if (!intercepts(config)) return Trust{.variables = {{kJava, java_by_proxy(listener, environment)}}, .warnings = {}};
  if (!config.intercept.ca_text.empty())
    return Joining(environment, folder, "", certificates_in(config.intercept.ca_text)).join(listener);
  const auto path = authority_files(config.intercept, environment).certificate;
  auto authority = authority_at(path);
  if (!authority) return std::unexpected("intercept.ca: " + authority.error());
  const auto beside = std::filesystem::absolute(path).parent_path().string();
  return Joining(environment, folder, beside, *std::move(authority)).join(listener);
}

std::optional<Variables> variables_for(const Config& config, const Endpoint& listener, const std::string& folder) {
  auto trust = trust_variables(config, listener, process_environment, folder);
  if (!trust) return complain(trust.error()), std::nullopt;
  for (const auto& warning : trust->warnings) complain("warning: " + warning);
  auto all = proxy_variables(listener);
  std::ranges::move(trust->variables, std::back_inserter(all));
  return all;
}

}  // namespace penstock::app
