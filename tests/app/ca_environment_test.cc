// SPDX-License-Identifier: Apache-2.0
// What `env` and `exec` tell programs of whom to trust, where something is intercepted: the authority, and all whom
// they trusted before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <list>
#include <sstream>

#include "app/home.h"
#include "app/program.h"

namespace penstock::app {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kBundles[] = {"SSL_CERT_FILE",  "CURL_CA_BUNDLE",    "REQUESTS_CA_BUNDLE",
                                    "GIT_SSL_CAINFO", "HTTPLIB2_CA_CERTS", "PERL_LWP_SSL_CA_FILE"};
constexpr const char* kSystemRoots = "/etc/ssl/certs/ca-certificates.crt";  // of Debian, whose package the tests need

/// Of a company, say. Nobody reads further than to its ends.
constexpr const char* kOther = "-----BEGIN CERTIFICATE-----\nb3RoZXI=\n-----END CERTIFICATE-----\n";
constexpr const char* kThird = "-----BEGIN CERTIFICATE-----\ndGhpcmQ=\n-----END CERTIFICATE-----\n";

/// Says how many are trusted.
constexpr const char* kCount = R"(import java.security.KeyStore;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;

public class Count {
  public static void main(String[] arguments) throws Exception {
    TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    factory.init((KeyStore) null);
    System.out.println(((X509TrustManager) factory.getTrustManagers()[0]).getAcceptedIssuers().length);
  }
}
)";

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t times = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++times;
  return times;
}

std::string java_store(const std::string& options) { return options.substr(options.rfind("trustStore=")); }

class TrustTest : public testing::Test {
 protected:
  /// The value of a variable in the environment of a command.
  std::string value(const std::string& name, const Texts& before = {}) {
    said_ = home_.penstock({"exec", "--config", config_, "--", "sh", "-c", "printenv " + name + " || true"}, before);
    EXPECT_EQ(said_.code, 0) << said_.err;
    return said_.out.substr(0, said_.out.find('\n'));
  }
  std::string file(const std::string& name, const Texts& before = {}) { return Home::read(value(name, before)); }
  /// The same, of a run inside another one.
  std::string inner_file(const std::string& name, const Texts& before = {}) {
    said_ = home_.penstock({"exec", "--config", config_, "--", PENSTOCK_BINARY, "exec", "--config", config_, "--", "sh",
                            "-c", "printenv " + name},
                           before);
    return Home::read(said_.out.substr(0, said_.out.find('\n')));
  }
  /// What a bundle is to be that is joined from such a file.
  std::string joined_from(const std::string& path) const { return "# joined from " + path + "\n" + kOther + ca_; }

  const Home home_;
  const std::string config_ = home_.write("penstock.yaml", kIntercepting);
  const int made_ = home_.penstock({"ca", "init"}).code;
  const std::string ca_ = Home::read(home_.ca());
  Ended said_;
};

TEST_F(TrustTest, joins_the_authority_with_those_of_the_system) {
  const auto roots = Home::read(kSystemRoots);
  ASSERT_NE(roots, "");
  const auto first = roots.substr(0, roots.find("-----END"));
  for (const auto* name : kBundles) {
    const auto text = file(name);
    EXPECT_THAT(text, StartsWith(first)) << name;
    EXPECT_THAT(text, EndsWith(ca_)) << name;
    EXPECT_EQ(said_.err, "");
  }
}

TEST_F(TrustTest, gives_node_the_authority_alone_since_it_adds_to_its_own) {
  EXPECT_EQ(file("NODE_EXTRA_CA_CERTS"), ca_);
  const auto other = home_.write("other.pem", kOther);
  EXPECT_EQ(file("NODE_EXTRA_CA_CERTS", {"NODE_EXTRA_CA_CERTS=" + other}), joined_from(other));
}

TEST_F(TrustTest, keeps_whom_a_variable_trusts_already_and_adds_nobody_else) {
  const auto other = home_.write("other.pem", std::string("of a company\n") + kOther);
  for (const auto* name : kBundles)
    EXPECT_EQ(file(name, {std::string(name) + "=" + other}), joined_from(other)) << name;
}

TEST_F(TrustTest, keeps_whom_a_folder_trusts) {
  home_.write("certs/a.pem", kOther);
  home_.write("certs/readme", "nothing");
  EXPECT_EQ(file("REQUESTS_CA_BUNDLE", {"REQUESTS_CA_BUNDLE=" + home_.path("certs")}),
            joined_from(home_.path("certs")));
}

TEST_F(TrustTest, adds_a_folder_of_certificates_for_those_who_read_it_where_no_file_is_named) {
  home_.write("certs/a.pem", kOther);
  const auto folder = "SSL_CERT_DIR=/nowhere:" + home_.path("certs");
  const auto first = Home::read(kSystemRoots).substr(0, 100);
  for (const auto* name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE"}) {
    EXPECT_THAT(file(name, {folder}), StartsWith(first)) << name;
    EXPECT_THAT(file(name, {folder}), EndsWith(kOther + ca_)) << name;
    EXPECT_THAT(inner_file(name, {folder}), EndsWith(kOther + ca_)) << name;
  }
  const auto other = home_.write("other.pem", kThird);
  EXPECT_EQ(file("CURL_CA_BUNDLE", {folder, "SSL_CERT_FILE=" + other}), std::string(kThird) + kOther + ca_);
  EXPECT_THAT(file("SSL_CERT_FILE", {folder, "SSL_CERT_FILE=" + other}), Not(HasSubstr(kOther)));
  EXPECT_THAT(file("REQUESTS_CA_BUNDLE", {folder}), Not(HasSubstr(kOther)));
}

TEST_F(TrustTest, has_each_certificate_once) {
  home_.write("certs/a.pem", kOther);
  home_.write("certs/b.pem", std::string(kThird) + kOther);
  EXPECT_THAT(file("SSL_CERT_FILE", {"SSL_CERT_FILE=" + home_.path("certs")}),
              EndsWith(std::string("\n") + kOther + kThird + ca_));
}

TEST_F(TrustTest, follows_the_variable_that_programs_would_have_read_instead) {
  const auto other = home_.write("other.pem", kOther);
  EXPECT_EQ(file("REQUESTS_CA_BUNDLE", {"CURL_CA_BUNDLE=" + other}), kOther + ca_);
  EXPECT_EQ(file("CURL_CA_BUNDLE", {"SSL_CERT_FILE=" + other}), kOther + ca_);
  EXPECT_EQ(file("PERL_LWP_SSL_CA_FILE", {"HTTPS_CA_FILE=" + other}), kOther + ca_);
  EXPECT_THAT(file("GIT_SSL_CAINFO", {"CURL_CA_BUNDLE=" + other}), Not(HasSubstr(kOther)));
}

TEST_F(TrustTest, says_where_a_variable_names_nothing_that_could_be_trusted) {
  EXPECT_THAT(file("CURL_CA_BUNDLE", {"CURL_CA_BUNDLE=/nowhere.pem"}), EndsWith(ca_));
  EXPECT_EQ(said_.err, "penstock: warning: CURL_CA_BUNDLE: there is no certificate in /nowhere.pem\n");
  home_.write(".wgetrc", "ca_certificate = /nowhere.pem\n");
  file("WGETRC");
  EXPECT_EQ(said_.err, "penstock: warning: ca_certificate of wget: there is no certificate in /nowhere.pem\n");
}

TEST_F(TrustTest, forgets_an_authority_that_was_replaced) {
  const auto old = value("SSL_CERT_FILE"), old_options = value("JAVA_TOOL_OPTIONS");
  const auto old_node = value("NODE_EXTRA_CA_CERTS"), old_wget = value("WGETRC");
  std::filesystem::remove(home_.ca());
  std::filesystem::remove(home_.key());
  ASSERT_EQ(home_.penstock({"ca", "init"}).code, 0);
  const auto now = Home::read(home_.ca());
  ASSERT_NE(now, ca_);
  for (const auto* name : kBundles) {
    const auto text = file(name, {std::string(name) + "=" + old});
    EXPECT_THAT(text, Not(HasSubstr(ca_))) << name;
    EXPECT_THAT(text, StartsWith(Home::read(kSystemRoots).substr(0, 100))) << name;
    EXPECT_THAT(text, EndsWith(now)) << name;
  }
  EXPECT_EQ(file("NODE_EXTRA_CA_CERTS", {"NODE_EXTRA_CA_CERTS=" + old_node}), now);
  EXPECT_EQ(file("WGETRC", {"WGETRC=" + old_wget}), "\nca_certificate = " + value("NODE_EXTRA_CA_CERTS") + "\n");
  EXPECT_EQ(java_store(value("JAVA_TOOL_OPTIONS", {"JAVA_TOOL_OPTIONS=" + old_options})),
            java_store(value("JAVA_TOOL_OPTIONS")));
  EXPECT_NE(java_store(value("JAVA_TOOL_OPTIONS")), java_store(old_options));
}

TEST_F(TrustTest, keeps_whom_the_caller_trusts_in_a_run_inside_another) {
  const auto other = home_.write("other.pem", kOther);
  for (const auto* name : kBundles)
    EXPECT_EQ(inner_file(name, {std::string(name) + "=" + other}), joined_from(other)) << name;
  EXPECT_EQ(inner_file("CURL_CA_BUNDLE", {"SSL_CERT_FILE=" + other}), kOther + ca_);
  const auto rc = home_.write("rc", "password = s3cret\nca_certificate = " + other + "\n");
  const auto once = file("WGETRC", {"WGETRC=" + rc});
  EXPECT_THAT(once, StartsWith("# joined from " + rc + "\npassword = s3cret\n"));
  EXPECT_EQ(inner_file("WGETRC", {"WGETRC=" + rc}), once);
}

TEST_F(TrustTest, takes_a_file_of_the_users_in_the_same_folder_for_his) {
  const auto other = home_.write(".cache/penstock/company.pem", kOther);
  EXPECT_EQ(file("SSL_CERT_FILE", {"SSL_CERT_FILE=" + other}), joined_from(other));
}

TEST_F(TrustTest, hands_on_no_key_that_lies_with_the_certificate) {
  home_.write(".config/penstock/ca.pem", Home::read(home_.key()) + ca_);
  EXPECT_EQ(file("NODE_EXTRA_CA_CERTS"), ca_);
  EXPECT_THAT(file("SSL_CERT_FILE"), Not(HasSubstr("PRIVATE KEY")));
}

TEST_F(TrustTest, hands_on_no_key_behind_a_certificate_that_was_cut) {
  const std::string cut = "-----BEGIN CERTIFICATE-----\nb3RoZXI=\n";
  const auto other = home_.write("other.pem", cut + Home::read(home_.key()) + kThird + cut);
  EXPECT_EQ(file("SSL_CERT_FILE", {"SSL_CERT_FILE=" + other}), "# joined from " + other + "\n" + kThird + ca_);
  const auto wrong = home_.write("wrong.pem", cut + "-----END PRIVATE KEY-----\n" + kThird);
  EXPECT_EQ(file("SSL_CERT_FILE", {"SSL_CERT_FILE=" + wrong}), "# joined from " + wrong + "\n" + kThird + ca_);
}

TEST_F(TrustTest, obeys_no_comment_of_the_file_of_wget) {
  const auto other = home_.write("other.pem", kOther);
  home_.write(".wgetrc", " # ca_certificate = /nowhere.pem\n#ca_certificate = " + other + "\n");
  EXPECT_THAT(file("WGETRC"), EndsWith("\nca_certificate = " + value("NODE_EXTRA_CA_CERTS") + "\n"));
  file("WGETRC");
  EXPECT_EQ(said_.err, "");
}

TEST_F(TrustTest, leaves_a_line_in_the_file_of_wget_behind_what_is_there) {
  EXPECT_EQ(file("WGETRC"), "\nca_certificate = " + value("NODE_EXTRA_CA_CERTS") + "\n");
  home_.write(".wgetrc", "password = s3cret");
  EXPECT_THAT(file("WGETRC"), StartsWith("password = s3cret\nca_certificate = "));
  EXPECT_EQ(Home::mode(value("WGETRC")), 0600U);
  const auto other = home_.write("other.pem", kOther);
  const auto named = home_.write("rc", "CA-Certificate = " + other + "\n");
  const auto text = file("WGETRC", {"WGETRC=" + named});
  EXPECT_EQ(Home::read(text.substr(text.rfind(" = ") + 3, text.size() - text.rfind(" = ") - 4)), kOther + ca_);
}

TEST_F(TrustTest, tells_java_of_the_proxy_and_of_a_trust_store) {
  const auto options = value("JAVA_TOOL_OPTIONS");
  EXPECT_THAT(options,
              testing::MatchesRegex("-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=[0-9]+ -Dhttps.proxyHost=127.0.0.1 "
                                    "-Dhttps.proxyPort=[0-9]+ -Dhttp.nonProxyHosts=127.0.0.1 "
                                    "-Djavax.net.ssl.trustStore=[^ ]*/.cache/penstock/java-[0-9a-f]+.p12"));
}

TEST_F(TrustTest, leaves_java_the_options_that_it_has) {
  EXPECT_THAT(value("JAVA_TOOL_OPTIONS", {"JAVA_TOOL_OPTIONS=-Xmx1g"}), StartsWith("-Xmx1g -Dhttp.proxyHost="));
  const auto own = value("JAVA_TOOL_OPTIONS", {"JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStore='/a b.jks'"});
  EXPECT_THAT(own, StartsWith("-Djavax.net.ssl.trustStore='/a b.jks' -Dhttp.proxyHost="));
  EXPECT_THAT(own, Not(HasSubstr("p12")));
  EXPECT_THAT(said_.err, HasSubstr("a trust store of its own, /a b.jks,"));
  for (const std::string name : {"_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"}) {
    EXPECT_THAT(value("JAVA_TOOL_OPTIONS", {name + "=-Djavax.net.ssl.trustStore=/a.jks"}), Not(HasSubstr("p12")));
    EXPECT_THAT(said_.err, HasSubstr(name + " names a trust store of its own, /a.jks,"));
  }
}

TEST_F(TrustTest, gives_java_its_options_once_however_often_they_were_given) {
  const auto own = "-Xmx1g \"-Dwords=a  -Dhttp.proxyHost=b\"";
  const auto once = value("JAVA_TOOL_OPTIONS", {std::string("JAVA_TOOL_OPTIONS=") + own});
  const auto again = value("JAVA_TOOL_OPTIONS", {"JAVA_TOOL_OPTIONS=" + once});
  const auto port = [](const std::string& options) { return options.substr(0, options.find("proxyPort")); };
  EXPECT_THAT(again, StartsWith(own));
  EXPECT_EQ(port(again), port(once));
  EXPECT_EQ(std::ranges::count(again, '='), std::ranges::count(once, '='));
}

TEST_F(TrustTest, leaves_a_java_that_names_a_store_of_its_own_without_a_password_to_it) {
  const auto jks = home_.path("own.jks");
  const auto made =
      home_.penstock({"exec", "--config", config_, "--", "keytool", "-importcert", "-noprompt", "-alias", "own",
                      "-file", home_.ca(), "-keystore", jks, "-storetype", "JKS", "-storepass", "another"});
  ASSERT_EQ(made.code, 0) << made.out << made.err;
  const auto program = home_.write("Count.java", kCount);
  const auto trusted = [&](const Texts& options) {
    Texts command{"exec", "--config", config_, "--", "java"};
    command.insert(command.end(), options.begin(), options.end());
    command.push_back(program);
    const auto ended = home_.penstock(command);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended.out;
  };
  EXPECT_EQ(trusted({"-Djavax.net.ssl.trustStore=" + jks}), "1\n");
  EXPECT_EQ(trusted({}), std::to_string(count(file("SSL_CERT_FILE"), "BEGIN CERTIFICATE")) + "\n");
}

TEST_F(TrustTest, quotes_for_java_a_folder_with_a_blank) {
  EXPECT_THAT(value("JAVA_TOOL_OPTIONS", {"XDG_CACHE_HOME=" + home_.path("a b")}),
              HasSubstr(" -Djavax.net.ssl.trustStore=\"" + home_.path("a b/penstock/java-")));
}

TEST_F(TrustTest, keeps_its_files_in_the_users_cache_and_finds_them_again) {
  const auto once = value("SSL_CERT_FILE");
  EXPECT_THAT(once, StartsWith(home_.cache() + "/"));
  EXPECT_EQ(Home::mode(once), 0644U);
  EXPECT_EQ(Home::mode(home_.cache()), 0700U);
  const auto written = std::filesystem::last_write_time(once);
  EXPECT_EQ(value("SSL_CERT_FILE"), once);
  EXPECT_EQ(std::filesystem::last_write_time(once), written);
}

TEST_F(TrustTest, grows_no_further_inside_itself) {
  const auto all = "printenv SSL_CERT_FILE WGETRC NODE_EXTRA_CA_CERTS";
  const auto outer = home_.penstock({"exec", "--config", config_, "--", "sh", "-c", all});
  const auto inner = home_.penstock(
      {"exec", "--config", config_, "--", PENSTOCK_BINARY, "exec", "--config", config_, "--", "sh", "-c", all});
  EXPECT_EQ(inner.out, outer.out);
  EXPECT_EQ(inner.err, "");
}

TEST_F(TrustTest, is_whole_for_each_of_many_runs_at_once) {
  std::list<Program> runs;
  for (int i = 0; i < 8; ++i) {
    runs.emplace_back(Texts{"exec", "--config", config_, "--", "sh", "-c", "tail -n 1 $SSL_CERT_FILE"},
                      home_.environment());
  }
  for (auto& run : runs) EXPECT_EQ(run.wait().out, "-----END CERTIFICATE-----\n");
  for (const auto& left : std::filesystem::directory_iterator(home_.cache())) {
    EXPECT_THAT(left.path().filename(),
                testing::MatchesRegex("(ca|java|wgetrc|php|apt)-[0-9a-f]{32}(|[.]pem|[.]p12|[.]conf)"));
  }
}

TEST_F(TrustTest, lies_beside_the_authority_where_there_is_no_home) {
  const auto config = home_.write("named.yaml", "version: 1\nintercept: { ca: " + home_.ca() + ", key: " + home_.key() +
                                                    " }\nupstreams: { a: { match: a.example, https: intercept } }\n");
  const auto ended = home_.penstock({"env", "--config", config}, {"HOME="});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("export SSL_CERT_FILE='" + home_.path(".config/penstock/ca-")));
}

TEST_F(TrustTest, fails_with_words_where_its_files_cannot_be_written) {
  home_.write("file", "");
  const auto ended = home_.penstock({"env", "--config", config_}, {"XDG_CACHE_HOME=" + home_.path("file")});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("cannot make " + home_.path("file")));
}

TEST_F(TrustTest, is_for_configurations_that_intercept_only) {
  const auto plain = home_.write("plain.yaml", "version: 1\n");
  EXPECT_THAT(home_.penstock({"env", "--config", plain}).out, Not(HasSubstr("CERT")));
  EXPECT_FALSE(Home::is_there(home_.cache()));
  EXPECT_EQ(home_.penstock({"exec", "--", "sh", "-c", "echo ${SSL_CERT_FILE:-none}"}).out, "none\n");
}

TEST_F(TrustTest, tells_java_of_the_proxy_where_nothing_is_intercepted_too) {
  const auto plain = home_.write("plain.yaml", "version: 1\nproxy: { listen: '127.0.0.1:3129' }\n");
  const auto options = [&](const std::string& before) {
    const auto said = home_.penstock({"env", "--config", plain}, {"JAVA_TOOL_OPTIONS=" + before}).out;
    const auto from = said.find("JAVA_TOOL_OPTIONS='");
    return from == std::string::npos ? said : said.substr(from + 19, said.find('\'', from + 19) - from - 19);
  };
  const std::string proxy =
      "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3129 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3129 "
      "-Dhttp.nonProxyHosts=127.0.0.1";
  EXPECT_EQ(options(""), proxy);
  EXPECT_EQ(options("-Xmx1g -Dhttp.proxyHost=elsewhere"), "-Xmx1g " + proxy);
  EXPECT_EQ(options(proxy), proxy);
  EXPECT_EQ(options("-Djavax.net.ssl.trustStore=/a.p12"), "-Djavax.net.ssl.trustStore=/a.p12 " + proxy);
}

// They win over SSL_CERT_FILE and the like; some programs fail where there is one at all.
TEST_F(TrustTest, joins_what_wins_over_other_variables_where_it_is_set_and_sets_it_nowhere_else) {
  const auto other = home_.write("other.pem", kOther);
  std::string names;
  Texts set;
  for (const auto* name : kWhereSet) {
    names += std::string(" ") + name;
    set.push_back(std::string(name) + "=" + other);
  }
  EXPECT_EQ(home_.penstock({"exec", "--config", config_, "--", "sh", "-c", "printenv" + names}).out, "");
  for (const std::string& command : {std::string(), PENSTOCK_BINARY " exec --config " + config_ + " -- "}) {
    const auto script = "for name in" + names + "; do " + command + "printenv $name; done";
    std::istringstream files(home_.penstock({"exec", "--config", config_, "--", "sh", "-c", script}, set).out);
    for (const auto* name : kWhereSet) {
      std::string file;
      std::getline(files, file);
      EXPECT_EQ(Home::read(file), joined_from(other)) << name << command;
    }
  }
}

TEST_F(TrustTest, joins_the_file_that_npm_is_told_of_in_its_own) {
  const auto other = home_.write("other.pem", kOther);
  EXPECT_EQ(value("npm_config_cafile"), "");
  home_.write(".npmrc", "registry=https://a.example/\n;cafile=/nowhere\ncafile = \"${HOME}/other.pem\"\n");
  EXPECT_EQ(file("npm_config_cafile"), joined_from(home_.path("other.pem")));
  EXPECT_EQ(inner_file("npm_config_cafile"), joined_from(home_.path("other.pem")));
  const auto named = home_.write("npmrc", "cafile=~/third.pem\n");
  const auto of_all = home_.write("global", "cafile=" + home_.path("third.pem") + "\n");
  EXPECT_EQ(file("npm_config_cafile", {"npm_config_globalconfig=" + of_all}), joined_from(other)) << "the user's wins";
  home_.write("third.pem", kThird);
  EXPECT_THAT(file("npm_config_cafile", {"npm_config_userconfig=" + named}), EndsWith(kThird + ca_));
  EXPECT_THAT(file("npm_config_cafile", {"npm_config_userconfig=/nowhere", "npm_config_globalconfig=" + of_all}),
              EndsWith(kThird + ca_));
  EXPECT_EQ(file("NPM_CONFIG_CAFILE", {"NPM_CONFIG_CAFILE=" + other}), joined_from(other));
  EXPECT_EQ(value("npm_config_cafile", {"NPM_CONFIG_CAFILE=" + other}), "") << "which would win, or not";
}

TEST_F(TrustTest, tells_php_of_a_folder_more) {
  const auto folders = value("PHP_INI_SCAN_DIR");
  ASSERT_THAT(folders, StartsWith(":" + home_.cache() + "/php-"));
  const auto ini = Home::read(folders.substr(1) + "/penstock.ini");
  const std::string begin = "curl.cainfo = \"";
  ASSERT_THAT(ini, StartsWith(begin));
  EXPECT_THAT(Home::read(ini.substr(begin.size(), ini.find('"', begin.size()) - begin.size())), EndsWith(ca_));
  EXPECT_EQ(value("PHP_INI_SCAN_DIR", {"PHP_INI_SCAN_DIR=" + folders}), folders) << "once";
  EXPECT_EQ(value("PHP_INI_SCAN_DIR", {"PHP_INI_SCAN_DIR=/a:/b"}), "/a:/b" + folders);
}

TEST_F(TrustTest, keeps_whom_the_settings_of_php_trust) {
  home_.write("other.pem", kOther);
  home_.write("third.pem", kThird);
  home_.write("php/php.ini", "; curl.cainfo = /nowhere\ncurl.cainfo = \"" + home_.path("other.pem") + "\"\n");
  home_.write("more/a.ini", "openssl.cafile = " + home_.path("third.pem") + "\n");
  const Texts environment{"PHPRC=" + home_.path("php"), "PHP_INI_SCAN_DIR=" + home_.path("more")};
  const auto folders = value("PHP_INI_SCAN_DIR", environment);
  const auto ini = Home::read(folders.substr(folders.find(':') + 1) + "/penstock.ini");
  const auto at = [&](const std::string& key) {
    const auto from = ini.find(key + " = \"") + key.size() + 4;
    return Home::read(ini.substr(from, ini.find('"', from) - from));
  };
  EXPECT_EQ(at("curl.cainfo"), kOther + ca_);
  EXPECT_EQ(at("openssl.cafile"), kThird + ca_);
}

TEST_F(TrustTest, tells_apt_of_a_file_and_leaves_it_its_own) {
  const auto apt = [&](const Texts& before) {
    return home_.penstock({"exec", "--config", config_, "--", "apt-config", "dump"}, before);
  };
  const std::string begin = "Acquire::https::CAInfo \"";
  const auto dumped = apt({}).out;
  ASSERT_THAT(dumped, HasSubstr(begin));
  const auto from = dumped.find(begin) + begin.size();
  EXPECT_THAT(Home::read(dumped.substr(from, dumped.find('"', from) - from)), EndsWith(ca_));
  const auto own = home_.write("own.conf", "APT::Own \"kept\";\n");
  EXPECT_THAT(apt({"APT_CONFIG=" + own}).out, testing::AllOf(HasSubstr("APT::Own \"kept\""), HasSubstr(begin)));
  const auto once = value("APT_CONFIG", {"APT_CONFIG=" + own});
  EXPECT_EQ(value("APT_CONFIG", {"APT_CONFIG=" + once}), once);
  home_.write("own.conf", "Acquire::https::CAInfo \"/their.pem\";\n");
  EXPECT_THAT(apt({"APT_CONFIG=" + own}).out, HasSubstr(begin + "/their.pem\""));
}

// The methods of apt that root starts are a user of their own.
TEST_F(TrustTest, keeps_what_root_has_apt_read_where_others_can) {
  const bool root = ::geteuid() == 0;
  const auto conf = value("APT_CONFIG");
  EXPECT_THAT(conf, StartsWith((root ? home_.path("for-all") : home_.cache()) + "/apt-"));
  EXPECT_EQ(Home::mode(conf), 0644U);
  if (root) {
    EXPECT_EQ(Home::mode(home_.path("for-all")), 0755U);
  }
}

TEST_F(TrustTest, comes_quoted_for_a_shell) {
  const auto ended = home_.penstock({"env", "--config", config_}, {"XDG_CACHE_HOME=" + home_.path("it's a $HOME")});
  EXPECT_THAT(ended.out, HasSubstr("export SSL_CERT_FILE='" + home_.path("it'\\''s a $HOME/penstock/ca-")));
  std::istringstream lines(ended.out);
  for (std::string line; std::getline(lines, line);) EXPECT_THAT(line, StartsWith("export "));
}

TEST(Trust, needs_an_authority) {
  const Home home;
  const auto config = home.write("penstock.yaml", kIntercepting);
  const auto env = home.penstock({"env", "--config", config});
  EXPECT_EQ(env.code, 1);
  EXPECT_EQ(env.out, "");
  EXPECT_THAT(env.err, HasSubstr("intercept.ca: cannot read " + home.ca()));
  EXPECT_THAT(env.err, HasSubstr("`penstock ca init` makes one"));
  const auto exec = home.penstock({"exec", "--config", config, "--", "echo", "started"});
  EXPECT_EQ(exec.code, 1);
  EXPECT_EQ(exec.out, "");
  EXPECT_THAT(exec.err, HasSubstr("`penstock ca init` makes one"));
}

}  // namespace
}  // namespace penstock::app
