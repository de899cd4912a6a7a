// SPDX-License-Identifier: Apache-2.0
// A trust store, as Java itself reads it.
#include "tls/pkcs12.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tls/authority.h"

namespace penstock::tls {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kNow = 1'800'000'000;

/// What keytool says of a store.
std::string listed(const std::string& store) {
  auto path = (std::filesystem::temp_directory_path() / "penstock-store-XXXXXX").string();
  close(mkstemp(path.data()));
  std::ofstream(path, std::ios::binary) << store;
  std::string out;
  std::array<char, 512> bytes{};
  FILE* pipe =
      popen(("keytool -J-Duser.language=en -list -storepass changeit -keystore " + path + " 2>&1").c_str(), "r");
  while (std::fgets(bytes.data(), bytes.size(), pipe)) out += bytes.data();
  pclose(pipe);
  std::filesystem::remove(path);
  return out;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t times = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++times;
  return times;
}

TEST(TrustStore, holds_every_certificate_as_one_that_java_trusts) {
  const auto pem = make_authority("one", kNow).certificate + "words\n" + make_authority("two", kNow).certificate;
  const auto text = listed(make_trust_store(pem));
  EXPECT_THAT(text, HasSubstr("Keystore type: PKCS12"));
  EXPECT_EQ(count(text, "trustedCertEntry"), 2U) << text;
}

TEST(TrustStore, passes_over_what_is_no_certificate) {
  const std::string broken = "-----BEGIN CERTIFICATE-----\nbm90IG9uZQ==\n-----END CERTIFICATE-----\n";
  const auto good = make_authority("one", kNow);
  EXPECT_EQ(count(listed(make_trust_store(broken + good.key + good.certificate + broken)), "trustedCertEntry"), 1U);
  EXPECT_EQ(make_trust_store(broken), "");
  EXPECT_EQ(make_trust_store(""), "");
}

}  // namespace
}  // namespace penstock::tls
