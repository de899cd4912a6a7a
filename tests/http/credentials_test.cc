// SPDX-License-Identifier: Apache-2.0
// Proxy-Authorization: what counts as Basic credentials, and how they are read.
#include "http/credentials.h"

#include <gtest/gtest.h>

namespace penstock::http {
namespace {

using namespace std::string_literals;

std::string encoded_in(const std::string& value) {
  Fields fields;
  fields.add("Proxy-Authorization", value);
  return std::string(basic_credentials(fields).value());
}

std::optional<std::pair<std::string, std::string>> decoded(std::string_view text) {
  const auto found = decode_basic(text);
  return found ? std::optional(std::pair(found->user, found->password)) : std::nullopt;
}

TEST(Credentials, are_what_follows_basic_whatever_its_case) {
  EXPECT_EQ(encoded_in("Basic dTpw"), "dTpw");
  EXPECT_EQ(encoded_in("bASIC   dTpw"), "dTpw");
  for (const auto* other : {"", "Basic", "Basicd TPw", "Bearer dTpw", "Digest a=b", "dTpw", "Basic\tdTpw"}) {
    EXPECT_EQ(encoded_in(other), "") << other;
  }
  EXPECT_EQ(basic_credentials({}).value(), "");
}

TEST(Credentials, are_encoded_as_they_are_decoded) {
  EXPECT_EQ(encode_basic("Aladdin:open sesame"), "QWxhZGRpbjpvcGVuIHNlc2FtZQ==") << "RFC 7617, section 2";
  EXPECT_EQ(encode_basic("test:123\xc2\xa3"), "dGVzdDoxMjPCow==") << "RFC 7617, section 2.1";
  EXPECT_EQ(encode_basic(""), "");
  for (const std::string password : {"", "p", "pa", "pas", "\xff\xfe\xfd"}) {
    EXPECT_EQ(decoded(encode_basic("u:" + password)), std::pair("u"s, password)) << password;
  }
}

TEST(Credentials, of_absurd_size_are_none) {
  EXPECT_EQ(encoded_in("Basic " + std::string(1024, 'A')).size(), 1024u);
  EXPECT_EQ(encoded_in("Basic " + std::string(1028, 'A')), "");
}

TEST(Credentials, twice_are_malformed) {
  Fields fields;
  fields.add("Proxy-Authorization", "Basic dTpw");
  fields.add("proxy-authorization", "Basic dTpw");
  ASSERT_FALSE(basic_credentials(fields));
  EXPECT_EQ(basic_credentials(fields).error().why, Reason::malformed);
}

TEST(Credentials, are_a_name_and_a_password_with_whatever_bytes) {
  EXPECT_EQ(decoded("dTpw"), std::pair("u"s, "p"s));
  EXPECT_EQ(decoded("dTo="), std::pair("u"s, ""s));
  EXPECT_EQ(decoded("dTpwOnE="), std::pair("u"s, "p:q"s));
  EXPECT_EQ(decoded("w7w6w6k="), std::pair("\xc3\xbc"s, "\xc3\xa9"s));
  EXPECT_EQ(decoded("dTr/+A=="), std::pair("u"s, "\xff\xf8"s));
}

TEST(Credentials, that_are_no_strict_base64_or_no_pair_are_none) {
  for (const auto* text : {"", "=", "====", "dTp", "dTo", "dTo==", "dTo=x", "dT=w", "dTpw====", "dTp_", "dTp-", "dT p",
                           "dTpx=", "dTp=",  // the bits that are left over are not zero
                           "dXA=",           // no colon
                           "OnB3",           // no name
                           "dTpwAA==",       // a NUL behind the password
                           "dQA6cA=="}) {    // and in the name
    EXPECT_EQ(decoded(text), std::nullopt) << text;
  }
}

TEST(Credentials, may_be_in_fields_that_are_named_for_them) {
  for (const auto* name : {"Authorization",
                           "authorization",
                           "Proxy-Authorization",
                           "Cookie",
                           "X-API-KEY",
                           "api-key",
                           "apikey",
                           "Ocp-Apim-Subscription-Key",
                           "X-Amz-Security-Token",
                           "X-Vault-Token",
                           "PRIVATE-TOKEN",
                           "X-Shopify-Access-Token",
                           "X-Csrf-Token",
                           "X-Client-Secret",
                           "X-Password",
                           "X-Auth-User",
                           "Session-Id",
                           "Signature-Input",
                           "X-Forwarded-Client-Cert",
                           "X-Goog-Iap-Jwt-Assertion"}) {
    EXPECT_TRUE(may_be_credentials(name)) << name;
  }
  for (const auto* name :
       {"", "Host", "Accept", "User-Agent", "Via", "Max-Forwards", "X-Request-Id", "Content-Type", "K", "toke"})
    EXPECT_FALSE(may_be_credentials(name)) << name;
}

}  // namespace
}  // namespace penstock::http
