// SPDX-License-Identifier: Apache-2.0
// A user's home with nothing in it, and the environment of a program in which nobody is trusted yet but by the system.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "app/program.h"

namespace penstock::app {

/// Variables that win over those which `exec` sets, and so have our authority only where somebody has set them.
inline constexpr const char* kWhereSet[] = {"AWS_CA_BUNDLE",
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

class Home {
 public:
  Home() : folder_((std::filesystem::temp_directory_path() / "penstock-home-XXXXXX").string()) {
    if (!mkdtemp(folder_.data())) throw std::runtime_error("mkdtemp " + folder_);
  }
  ~Home() { std::filesystem::remove_all(folder_); }
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;

  std::string path(const std::string& below) const { return folder_ + "/" + below; }
  std::string ca() const { return path(".config/penstock/ca.pem"); }
  std::string key() const { return path(".config/penstock/ca-key.pem"); }
  std::string cache() const { return path(".cache/penstock"); }

  /// What is `more` counts first.
  Texts environment(Texts more = {}) const {
    for (const auto* name : {"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "SSL_CERT_FILE", "CURL_CA_BUNDLE",
                             "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS", "WGETRC", "APT_CONFIG",
                             "JAVA_TOOL_OPTIONS", "PERL_LWP_SSL_CA_FILE", "HTTPS_CA_FILE", "SSL_CERT_DIR",
                             "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "npm_config_userconfig", "NPM_CONFIG_USERCONFIG"}) {
      more.push_back(std::string(name) + "=");
    }
    // To some programs these say something where they are empty, too.
    for (const auto* name : {"HTTPLIB2_CA_CERTS", "PHP_INI_SCAN_DIR", "PHPRC"}) more.emplace_back(name);
    for (const auto* name : kWhereSet) more.emplace_back(name);
    more.push_back("HOME=" + folder_);
    more.push_back("npm_config_globalconfig=/nowhere");
    more.push_back("CACHE_DIRECTORY=" + path("for-all"));
    return more;
  }
  Ended penstock(const Texts& arguments, const Texts& more = {}) const {
    return app::penstock(arguments, environment(more));
  }

  std::string write(const std::string& below, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path(below)).parent_path());
    std::ofstream(path(below), std::ios::binary) << text;
    return path(below);
  }
  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static bool is_there(const std::string& path) { return std::filesystem::exists(path); }
  static unsigned mode(const std::string& path) {
    struct stat is {};
    return ::stat(path.c_str(), &is) == 0 ? is.st_mode & 07777 : 0;
  }

 private:
  std::string folder_;
};

/// It says nothing of commands that ask for nothing, and itself trusts whom the system does, whatever SSL_CERT_FILE
/// says.
inline constexpr const char* kIntercepting = R"(version: 1
log: { level: warn }
upstreams:
  api: { match: api.example, https: intercept, tls: { ca: /etc/ssl/certs/ca-certificates.crt } }
  "*": { tls: { ca: /etc/ssl/certs/ca-certificates.crt } }
)";

}  // namespace penstock::app
