// SPDX-License-Identifier: Apache-2.0
// `penstock ca`: an authority is made once, whole or not at all, with a key that its owner alone can read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <ctime>
#include <list>

#include "app/home.h"
#include "app/program.h"
#include "tls/authority.h"

namespace penstock::app {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::shared_ptr<const tls::Authority> authority_in(const Home& home) {
  auto read = tls::Authority::load({.certificate = home.ca(), .key = home.key()}, std::time(nullptr));
  EXPECT_TRUE(read) << read.error().message;
  return read.value_or(nullptr);
}

TEST(Ca, makes_an_authority_and_says_where_it_is) {
  const Home home;
  const auto ended = home.penstock({"ca", "init"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, StartsWith(home.ca() + "\n"));
  EXPECT_THAT(ended.out, HasSubstr("penstock exec"));
  EXPECT_EQ(ended.err, "");
  EXPECT_TRUE(authority_in(home));
  EXPECT_EQ(home.penstock({"ca", "path"}).out, home.ca() + "\n");
}

TEST(Ca, gives_the_key_to_its_owner_and_the_certificate_to_all_whatever_the_umask) {
  for (const mode_t mask : {0, 022, 0177}) {
    const Home home;
    const mode_t before = ::umask(mask);
    const auto ended = home.penstock({"ca", "init"});
    ::umask(before);
    ASSERT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(Home::mode(home.key()), 0600U) << mask;
    EXPECT_EQ(Home::mode(home.ca()), 0644U) << mask;
    EXPECT_EQ(Home::mode(home.path(".config")), 0700U) << mask;
    EXPECT_EQ(Home::mode(home.path(".config/penstock")), 0700U) << mask;
  }
}

TEST(Ca, makes_folders_for_their_owner_alone) {
  const Home home;
  home.penstock({"ca", "init"});
  EXPECT_EQ(Home::mode(home.path(".config")), 0700U);
  EXPECT_EQ(Home::mode(home.path(".config/penstock")), 0700U);
}

TEST(Ca, never_overwrites_an_authority) {
  const Home home;
  home.penstock({"ca", "init"});
  const auto certificate = Home::read(home.ca()), key = Home::read(home.key());
  const auto again = home.penstock({"ca", "init"});
  EXPECT_EQ(again.code, 1);
  EXPECT_EQ(again.out, "");
  EXPECT_THAT(again.err, HasSubstr(home.ca() + " is there already"));
  EXPECT_EQ(Home::read(home.ca()), certificate);
  EXPECT_EQ(Home::read(home.key()), key);
}

TEST(Ca, refuses_where_one_of_the_two_files_is_there_and_makes_nothing) {
  const Home with_key, with_certificate;
  with_key.write(".config/penstock/ca-key.pem", "a key");
  EXPECT_THAT(with_key.penstock({"ca", "init"}).err, HasSubstr(with_key.key() + " is there already"));
  EXPECT_FALSE(Home::is_there(with_key.ca()));
  EXPECT_EQ(Home::read(with_key.key()), "a key");
  with_certificate.write(".config/penstock/ca.pem", "a certificate");
  EXPECT_THAT(with_certificate.penstock({"ca", "init"}).err, HasSubstr(with_certificate.ca() + " is there already"));
  EXPECT_FALSE(Home::is_there(with_certificate.key()));
}

TEST(Ca, leaves_no_key_behind_where_the_certificate_cannot_be_written) {
  const Home home;
  home.write("file", "");
  const auto config = home.write("penstock.yaml", "version: 1\nintercept: { ca: " + home.path("file/ca.pem") +
                                                      ", key: " + home.path("key.pem") + " }\n");
  const auto ended = home.penstock({"ca", "init", "--config", config});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr(home.path("file")));
  EXPECT_FALSE(Home::is_there(home.path("key.pem")));
}

TEST(Ca, is_made_by_one_of_many_that_try_at_once) {
  const Home home;
  std::list<Program> tries;
  for (int i = 0; i < 8; ++i) tries.emplace_back(Texts{"ca", "init"}, home.environment());
  int made = 0;
  for (auto& one : tries) {
    const auto ended = one.wait();
    made += ended.code == 0 ? 1 : 0;
    if (ended.code != 0) {
      EXPECT_THAT(ended.err, HasSubstr("is there already"));
    }
  }
  EXPECT_EQ(made, 1);
  EXPECT_TRUE(authority_in(home));
}

TEST(Ca, is_where_the_configuration_says) {
  const Home home;
  const auto config = home.write("penstock.yaml", "version: 1\nintercept: { ca: " + home.path("here/its.crt") +
                                                      ", key: " + home.path("there/its.key") + " }\n");
  EXPECT_EQ(home.penstock({"ca", "init", "--config", config}).code, 0);
  EXPECT_EQ(Home::mode(home.path("there/its.key")), 0600U);
  EXPECT_EQ(home.penstock({"ca", "path", "--config", config}).out, home.path("here/its.crt") + "\n");
  EXPECT_FALSE(Home::is_there(home.ca()));
}

TEST(Ca, is_below_the_folder_of_configurations_where_there_is_one) {
  const Home home;
  const auto set = "XDG_CONFIG_HOME=" + home.path("elsewhere");
  EXPECT_EQ(home.penstock({"ca", "init"}, {set}).code, 0);
  EXPECT_EQ(home.penstock({"ca", "path"}, {set}).out, home.path("elsewhere/penstock/ca.pem") + "\n");
}

TEST(Ca, has_no_path_before_it_is_made) {
  const Home home;
  const auto ended = home.penstock({"ca", "path"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("`penstock ca init` makes one"));
}

TEST(Ca, needs_a_home_or_a_name) {
  const Home home;
  for (const auto* command : {"init", "path"}) {
    const auto ended = home.penstock({"ca", command}, {"HOME="});
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.err, HasSubstr("intercept.ca"));
  }
}

TEST(Ca, has_two_commands) {
  EXPECT_EQ(penstock({"ca"}).code, 2);
  const auto ended = penstock({"ca", "inti"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err, "penstock: unknown command 'inti'; did you mean 'init'?\n");
}

}  // namespace
}  // namespace penstock::app
