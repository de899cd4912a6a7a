// SPDX-License-Identifier: Apache-2.0
// An htpasswd file: what it says, what is wrong with one, and which password fits which hash.
#include "access/users.h"

#include <gmock/gmock.h>

#include "access/password.h"

namespace penstock::access {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kBcrypt = "$2y$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy";  // open sesame
const std::string kSha =
    "$6$rounds=1000$salzig$uAc5J7W7A7czTweQuyr1lQih//vT7GrH2psiivz3GaLoJ4d/pGPFBUaY5zw6fSLHbyBGVpBk.uiQS8DJpPwr51";
const std::string kPlainSha =
    "$6$salzig$br.LKT57m8j5uga.3sReoDhG.IX2bv3BgcVwx2DWtdiyHDO8PZX0/Q.S.sCPZfwPUGRAO3WBWUC8Np5D5cpi/1";

std::vector<std::string> complaints(const std::string& text) {
  const auto users = Users::parse(text);
  std::vector<std::string> all;
  if (users) return all;
  for (const auto& error : users.error()) all.push_back(std::to_string(error.line) + ": " + error.message);
  return all;
}

TEST(Users, are_read_line_by_line) {
  const auto users = Users::parse("# who may\n\nann:" + kBcrypt + "\r\n  \nbob:" + kSha + "\nc d:" + kPlainSha);
  ASSERT_TRUE(users);
  EXPECT_EQ(users->size(), 3u);
  EXPECT_TRUE(users->entry("ann", 0).known);
  EXPECT_EQ(users->entry("ann", 1).hash, kBcrypt);
  EXPECT_EQ(users->entry("bob", 0).hash, kSha);
  EXPECT_EQ(users->entry("c d", 0).hash, kPlainSha);
  EXPECT_FALSE(users->entry("Ann", 0).known);
  EXPECT_FALSE(users->entry("", 0).known);
}

TEST(Users, that_nobody_knows_are_held_against_a_hash_of_somebody_always_the_same) {
  const auto users = Users::parse("ann:" + kBcrypt + "\nbob:" + kSha);
  ASSERT_TRUE(users);
  EXPECT_EQ(users->entry("x", 4).hash, kBcrypt);
  EXPECT_EQ(users->entry("x", 5).hash, kSha);
  EXPECT_FALSE(users->entry("x", 5).known);
}

TEST(Users, are_all_complained_of_at_once_each_with_its_line) {
  EXPECT_THAT(complaints("ann\n:x\nbob:\ncarl:plain\ndora:$apr1$abc$def\nann:" + kBcrypt + "\nann:" + kBcrypt +
                         "\nev\te:" + kBcrypt + "\n"),
              ElementsAre(HasSubstr("1: the line is not of the form NAME:HASH; write it with htpasswd -B"),
                          HasSubstr("2: the line begins with a colon"), HasSubstr("3: user 'bob' has no password"),
                          HasSubstr("4: user 'carl' has a password that is neither bcrypt"),
                          HasSubstr("5: user 'dora' has a password that is neither bcrypt"),
                          HasSubstr("7: user 'ann' is there twice"), HasSubstr("8: the name has a control")));
  for (const auto& complaint : complaints("carl:plain\n")) EXPECT_THAT(complaint, testing::Not(HasSubstr("plain")));
}

TEST(Users, must_have_hashes_that_are_whole_and_of_a_sane_cost) {
  for (const std::string& hash : {kBcrypt.substr(0, 59),
                                  kBcrypt + "x",
                                  "$2y$4$" + kBcrypt.substr(6),
                                  "$2y$03" + kBcrypt.substr(6),
                                  "$2y$15" + kBcrypt.substr(6),
                                  "$2x$04" + kBcrypt.substr(6),
                                  kBcrypt.substr(0, 30) + "!" + kBcrypt.substr(31),
                                  std::string("$6$"),
                                  std::string("$6$salzig"),
                                  std::string("$6$rounds=1000"),
                                  kSha + "x",
                                  kSha.substr(0, kSha.size() - 1),
                                  "$6$rounds=999$" + kSha.substr(15),
                                  "$6$rounds=1000001$" + kSha.substr(15),
                                  "$6$rounds=-5$" + kSha.substr(15),
                                  "$6$seventeenletters!$" + kSha.substr(22),
                                  std::string("$5$a$b"),
                                  std::string("$1$a$b"),
                                  std::string("{SHA}abc"),
                                  std::string("*")}) {
    EXPECT_EQ(complaints("ann:" + hash).size(), 1u) << hash;
  }
}

TEST(Users, are_at_least_one) {
  EXPECT_THAT(complaints(""), ElementsAre(HasSubstr("0: there is no user in it")));
  EXPECT_THAT(complaints("# nobody\n\n"), ElementsAre(HasSubstr("0: there is no user in it")));
}

TEST(Password, is_the_one_behind_its_hash_and_no_other) {
  for (const std::string variant : {"$2y$", "$2b$", "$2a$"}) {
    EXPECT_TRUE(is_password("open sesame", variant + kBcrypt.substr(4)));
    EXPECT_FALSE(is_password("open sesam", variant + kBcrypt.substr(4)));
  }
  EXPECT_TRUE(is_password("tr:ee", kSha));
  EXPECT_TRUE(is_password("tr:ee", kPlainSha));
  for (const auto* wrong : {"", "tr", "tr:ee ", "TR:EE", "open sesame"})
    EXPECT_FALSE(is_password(wrong, kSha)) << wrong;
}

TEST(Password, is_none_of_a_hash_that_is_none) {
  for (const auto* hash : {"", "*", "*0", "x", "$2y$", "$6$"}) EXPECT_FALSE(is_password("", hash)) << hash;
}

}  // namespace
}  // namespace penstock::access
