// SPDX-License-Identifier: Apache-2.0
// Which requests use one quota, by what they bring.
#include "http/credential_identity.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "http/jwt_claims.h"

namespace penstock::http {
namespace {

using RequestLines = std::vector<std::pair<std::string, std::string>>;

std::optional<std::string> identity_of(const RequestLines& lines) {
  Fields fields;
  for (const auto& [name, value] : lines) fields.add(name, value);
  return credential_identity(fields);
}

std::string base64url(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) out += kDigits[bits >> (count - 6) & 63];
  }
  if (count > 0) out += kDigits[bits << (6 - count) & 63];
  return out;
}

std::string jwt(std::string_view payload, std::string_view signature = "c2ln") {
  return base64url(R"({"alg":"RS256"})") + "." + base64url(payload) + "." + std::string(signature);
}

std::string with_jwt(std::string_view payload, std::string_view signature = "c2ln") {
  return "Bearer " + jwt(payload, signature);
}

/// Two requests, and whether they use one quota.
struct Two {
  const char* of;
  RequestLines one, other;
  bool same;
};

const Two kTwo[]{
    {"Basic, RFC 7617", {{"Authorization", "Basic YTpi"}}, {{"authorization", "basic YTpi"}}, true},
    {"another password", {{"Authorization", "Basic YTpi"}}, {{"Authorization", "Basic YTpj"}}, false},
    {"Bearer, RFC 6750", {{"Authorization", "Bearer s3cret"}}, {{"Authorization", "bearer  s3cret "}}, true},
    {"two tokens", {{"Authorization", "Bearer s3cret"}}, {{"Authorization", "Bearer other"}}, false},
    {"GitHub takes a token as either", {{"Authorization", "token ghp_1"}}, {{"Authorization", "Bearer ghp_1"}}, true},
    {"Discord's bots", {{"Authorization", "Bot one"}}, {{"Authorization", "Bot two"}}, false},
    {"Okta", {{"Authorization", "SSWS one"}}, {{"Authorization", "SSWS two"}}, false},
    {"Linear's keys stand alone",
     {{"Authorization", "lin_api_0123456789abcdef"}},
     {{"Authorization", "lin_api_0123456789abcdeg"}},
     false},
    {"a key in its field", {{"X-Api-Key", "k1"}}, {{"x-api-key", "k1"}}, true},
    {"two keys", {{"X-Api-Key", "k1"}}, {{"X-Api-Key", "k2"}}, false},
    {"Google's field", {{"X-Goog-Api-Key", "k1"}}, {{"X-Goog-Api-Key", "k2"}}, false},
    {"Azure's field", {{"Api-Key", "k1"}}, {{"Api-Key", "k2"}}, false},
    {"other fields", {{"X-Api-Key", "k1"}}, {{"Accept", "*/*"}, {"X-Api-Key", "k1"}, {"Cookie", "a=b"}}, true},
    {"a key beside a token",
     {{"Authorization", "Bearer t"}, {"X-Api-Key", "k1"}},
     {{"Authorization", "Bearer t"}, {"X-Api-Key", "k2"}},
     false},
    {"parts do not run together",
     {{"X-Api-Key", "ab"}, {"X-Api-Key", "c"}},
     {{"X-Api-Key", "a"}, {"X-Api-Key", "bc"}},
     false},
    {"a text that looks like two parts", {{"X-Api-Key", "a"}, {"X-Api-Key", "b"}}, {{"X-Api-Key", "ak1:b"}}, false},
    // docs.aws.amazon.com/AmazonS3/latest/API/sigv4-auth-using-authorization-header.html
    {"AWS, another day, service and signature",
     {{"Authorization",
       "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
       "SignedHeaders=host;range;x-amz-date, Signature=fe5f80"}},
     {{"Authorization",
       "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130525/us-east-1/sqs/aws4_request,SignedHeaders=host,"
       "Signature=000000"}},
     true},
    {"AWS, another key",
     {{"Authorization", "AWS4-HMAC-SHA256 Credential=AKIA1/20130524/us-east-1/s3/aws4_request, Signature=f"}},
     {{"Authorization", "AWS4-HMAC-SHA256 Credential=AKIA2/20130524/us-east-1/s3/aws4_request, Signature=f"}},
     false},
    // RFC 7616 section 3.9.1
    {"Digest, another answer",
     {{"Authorization", R"(Digest username="Mufasa", realm="http-auth@example.org", uri="/a", response="75")"}},
     {{"Authorization", R"(Digest uri="/b, c", response="8c", username="Mufasa", realm="http-auth@example.org")"}},
     true},
    {"Digest, another user",
     {{"Authorization", R"(Digest username="Mufasa", uri="/a", response="75")"}},
     {{"Authorization", R"(Digest username="Mufasa\"", uri="/a", response="75")"}},
     false},
    // RFC 5849 section 3.1
    {"OAuth 1.0, another nonce",
     {{"Authorization",
       R"(OAuth oauth_consumer_key="9djdj82h48djs9d2", oauth_token="kkk9d7dh3k39sjv7", oauth_nonce="7d8f3e4a")"}},
     {{"Authorization",
       R"(OAuth realm="x",oauth_token="kkk9d7dh3k39sjv7",oauth_consumer_key="9djdj82h48djs9d2",oauth_nonce="1")"}},
     true},
    {"OAuth 1.0, another user of the program",
     {{"Authorization", R"(OAuth oauth_consumer_key="9djdj82h48djs9d2", oauth_token="kkk9d7dh3k39sjv7")"}},
     {{"Authorization", R"(OAuth oauth_consumer_key="9djdj82h48djs9d2", oauth_token="other")"}},
     false},
    // learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
    {"Azure Storage, another signature",
     {{"Authorization", "SharedKey myaccount:ctzMq410TV3wS7upTBcunJTDLEJwMAZuFPfr0mrrA08="}},
     {{"Authorization", "SharedKeyLite myaccount:other="}},
     true},
    {"Azure Storage, another account",
     {{"Authorization", "SharedKey one:c="}},
     {{"Authorization", "SharedKey two:c="}},
     false},
    // RFC 7519
    {"a JWT that was renewed",
     {{"Authorization", with_jwt(R"({"iss":"https://a.example","sub":"u1","exp":1})", "b25l")}},
     {{"Authorization", with_jwt(R"({ "exp" : 2, "iss" : "https://a.example", "sub" : "u1" })", "dHdv")}},
     true},
    {"JWTs of two users",
     {{"Authorization", with_jwt(R"({"iss":"https://a.example","sub":"u1"})")}},
     {{"Authorization", with_jwt(R"({"iss":"https://a.example","sub":"u2"})")}},
     false},
    {"JWTs of two programs",
     {{"Authorization", with_jwt(R"({"sub":"u1","azp":"p1"})")}},
     {{"Authorization", with_jwt(R"({"sub":"u1","azp":"p2"})")}},
     false},
    {"one claim in place of another",
     {{"Authorization", with_jwt(R"({"sub":"u1"})")}},
     {{"Authorization", with_jwt(R"({"iss":"u1"})")}},
     false},
    {"a JWT without an owner is known as a whole",
     {{"Authorization", with_jwt(R"({"exp":1})", "b25l")}},
     {{"Authorization", with_jwt(R"({"exp":1})", "dHdv")}},
     false},
    {"three parts that are no JWT", {{"Authorization", "Bearer a.b.c"}}, {{"Authorization", "Bearer a.b.d"}}, false},
};

TEST(CredentialIdentity, is_that_of_the_owner) {
  for (const auto& [of, one, other, same] : kTwo) {
    ASSERT_TRUE(identity_of(one)) << of;
    ASSERT_TRUE(identity_of(other)) << of;
    EXPECT_EQ(identity_of(one) == identity_of(other), same) << of;
  }
}

TEST(CredentialIdentity, is_nothing_where_nothing_says_whose_the_request_is) {
  const RequestLines unknown[]{{},
                               {{"Accept", "*/*"}},
                               {{"Cookie", "session=1"}},
                               {{"X-Amz-Security-Token", "t"}},
                               {{"X-Api-Key", ""}},
                               {{"Authorization", ""}},
                               {{"Authorization", "Bearer"}},
                               {{"Authorization", "Bearer "}},
                               {{"Authorization", "Negotiate YIIBhwYGKwYBBQUCoIIBezCC"}},
                               {{"Authorization", "Hawk id=\"a\", mac=\"b\""}},
                               {{"Authorization", "Digest response=\"a\""}},
                               {{"Authorization", "Digest username=\"\""}},
                               {{"Authorization", "OAuth oauth_nonce=\"a\""}},
                               {{"Authorization", "AWS4-HMAC-SHA256 Signature=f"}},
                               {{"Authorization", "SharedKey :c="}},
                               {{"Proxy-Authorization", "Basic YTpi"}}};
  for (const auto& lines : unknown)
    EXPECT_EQ(identity_of(lines), std::nullopt) << (lines.empty() ? "" : lines[0].second);
}

TEST(CredentialIdentity, keeps_no_part_that_only_proves_it) {
  const RequestLines proofs[]{{{"Authorization", "AWS4-HMAC-SHA256 Credential=AKIA1/2013/x, Signature=PROOF"}},
                              {{"Authorization", "Digest username=\"u\", response=\"PROOF\""}},
                              {{"Authorization", "OAuth oauth_token=\"t\", oauth_signature=\"PROOF\""}},
                              {{"Authorization", "SharedKey a:PROOF"}},
                              {{"Authorization", with_jwt(R"({"sub":"u1","email":"PROOF"})", "PROOF")}}};
  for (const auto& lines : proofs) {
    ASSERT_TRUE(identity_of(lines)) << lines[0].second;
    EXPECT_FALSE(identity_of(lines)->contains("PROOF")) << lines[0].second;
  }
}

TEST(JwtClaims, are_the_texts_at_the_top_of_the_payload) {
  const auto claims =
      read_jwt_claims(jwt("\t{\"x\": {\"iss\": \"no\", \"y\": [\"sub\", {\"azp\": \"no\"}, \"]}\\\"\"]},\r\n\"iss\": "
                          "\"https:\\/\\/a\", \"n\": -1.5e3, \"azp\" :\"p\\\"q\", \"t\": true, \"sub\": null} "));
  ASSERT_TRUE(claims);
  EXPECT_EQ(claims->iss, "https:\\/\\/a") << "with its escapes";
  EXPECT_EQ(claims->azp, "p\\\"q");
  EXPECT_EQ(claims->sub, std::nullopt);
}

TEST(JwtClaims, are_those_of_the_last_member_of_a_name) {
  EXPECT_EQ(read_jwt_claims(jwt(R"({"sub":"a","sub":"b"})"))->sub, "b");
  EXPECT_FALSE(read_jwt_claims(jwt(R"({"sub":"a","sub":7})")));
}

TEST(JwtClaims, are_none_where_the_payload_is_no_object) {
  for (const auto* payload : {"",
                              "[]",
                              "null",
                              "\"sub\"",
                              "{",
                              "{}",
                              "{\"sub\"}",
                              "{\"sub\":}",
                              "{\"sub\":\"a\"",
                              "{\"sub\":\"a",
                              "{\"sub\":\"a\\",
                              "{\"sub\":\"a\"}}",
                              "{\"sub\":\"a\"},",
                              "{\"sub\":\"a\",}",
                              "{sub:\"a\"}",
                              "{\"sub\" \"a\"}",
                              "{\"x\":[,\"sub\":\"a\"}",
                              "{\"sub\":\"a\" \"iss\":\"b\"}",
                              "{\"subject\":\"a\"}",
                              "{\"su\":\"a\"}",
                              "{\"\":\"a\"}"})
    EXPECT_FALSE(read_jwt_claims(jwt(payload))) << payload;
}

TEST(JwtClaims, are_of_tokens_with_three_parts) {
  const auto payload = base64url(R"({"sub":"a"})");
  EXPECT_TRUE(read_jwt_claims("h." + payload + ".s"));
  for (const auto& token :
       {payload, "h." + payload, "h." + payload + ".", "." + payload + ".s", "h." + payload + ".s.t", "h.." + payload,
        "h." + payload + "=.s", "h." + payload + "!.s", "h.!" + payload + ".s"})
    EXPECT_FALSE(read_jwt_claims(token)) << token;
}

TEST(JwtClaims, may_be_as_deep_as_a_head_can_hold) {
  const std::string deep(200'000, '[');
  EXPECT_FALSE(read_jwt_claims(jwt("{\"x\":" + deep)));
  EXPECT_EQ(read_jwt_claims(jwt("{\"x\":" + deep + std::string(deep.size(), ']') + ",\"sub\":\"a\"}"))->sub, "a");
}

}  // namespace
}  // namespace penstock::http
