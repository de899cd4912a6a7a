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
    for (const auto* name :
         {"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE",
          "GIT_SSL_CAINFO", "AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "WGETRC", "JAVA_TOOL_OPTIONS",
          "PERL_LWP_SSL_CA_FILE", "HTTPS_CA_FILE", "SSL_CERT_DIR", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"}) {
      more.push_back(std::string(name) + "=");
    }
    more.push_back("HOME=" + folder_);
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

inline constexpr const char* kIntercepting =
    "version: 1\nupstreams: { api: { match: api.example, https: intercept } }\n";

}  // namespace penstock::app
