// SPDX-License-Identifier: Apache-2.0
// Where the authorities are looked for that a configuration does not name.
#include "tls/system_authorities.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace penstock::tls {
namespace {

class SystemAuthorities : public testing::Test {
 protected:
  SystemAuthorities() {
    if (!::mkdtemp(root_.data())) throw std::runtime_error("mkdtemp " + root_);
    ::unsetenv("SSL_CERT_FILE");
  }
  ~SystemAuthorities() override {
    ::unsetenv("SSL_CERT_FILE");
    std::filesystem::remove_all(root_);
  }

  void add(const std::string& place) {
    std::filesystem::create_directories(std::filesystem::path(root_ + place).parent_path());
    std::ofstream(root_ + place) << "certificates\n";
  }

  std::string root_ = std::filesystem::temp_directory_path() / "penstock-XXXXXX";
};

TEST_F(SystemAuthorities, are_found_where_debian_fedora_alpine_and_suse_keep_them) {
  for (const auto* place : {"/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem", "/etc/pki/tls/certs/ca-bundle.crt",
                            "/etc/ssl/certs/ca-certificates.crt"}) {
    add(place);  // each comes before those that are there already
    EXPECT_EQ(system_authorities(root_), root_ + place);
  }
}

TEST_F(SystemAuthorities, are_the_file_that_the_environment_names) {
  add(kSystemAuthorities.front());
  ::setenv("SSL_CERT_FILE", "/mine.pem", 1);
  EXPECT_EQ(system_authorities(root_), "/mine.pem");
  ::setenv("SSL_CERT_FILE", "", 1);
  EXPECT_EQ(system_authorities(root_), root_ + kSystemAuthorities.front());
}

TEST_F(SystemAuthorities, are_a_file_that_cannot_be_read_where_there_is_none) {
  EXPECT_EQ(system_authorities(root_), root_ + kSystemAuthorities.front());
}

}  // namespace
}  // namespace penstock::tls
