// SPDX-License-Identifier: Apache-2.0
// Targets and authorities: what passes byte-exact, and what is refused because it could be read in two ways.
#include "http/target.h"

#include <gtest/gtest.h>

namespace penstock::http {
namespace {

Target parsed(std::string_view raw, std::string_view method = "GET") {
  auto target = parse_target(method, raw);
  EXPECT_TRUE(target.has_value()) << raw << ": " << (target ? "" : target.error().details);
  return target.value_or(Target{});
}

Reason refused(std::string_view raw, std::string_view method = "GET") {
  const auto target = parse_target(method, raw);
  EXPECT_FALSE(target.has_value()) << raw;
  return target ? Reason::internal_error : target.error().why;
}

TEST(Target, is_cut_into_host_port_and_resource) {
  const Target target = parsed("http://Example.COM:8080/path?query");
  EXPECT_EQ(target.scheme, "http");
  EXPECT_EQ(target.host, "example.com");
  EXPECT_EQ(target.port, 8080);
  EXPECT_EQ(target.resource, "/path?query");
  EXPECT_EQ(target.path(), "/path");
  EXPECT_FALSE(target.literal);
  EXPECT_EQ(parsed("HTTP://h/x").resource, "/x");
}

TEST(Target, keeps_path_and_query_byte_exact) {
  for (const char* resource : {"/a/../b/%2e%2E//c?x=%41&", "/./../..", "//two", "/%00%zz", "/a?b?c=/../", "/a:b@c",
                               "/\\back", "/{}|^`\"<>", "/;p=1,2"}) {
    EXPECT_EQ(parsed(std::string("http://h") + resource).resource, resource);
  }
}

TEST(Target, makes_an_empty_path_a_slash) {
  EXPECT_EQ(parsed("http://h").resource, "/");
  EXPECT_EQ(parsed("http://h?q").resource, "/?q");
  EXPECT_EQ(parsed("http://h?q").path(), "/");
  EXPECT_EQ(parsed("http://h?").resource, "/?");
  EXPECT_EQ(parsed("http://h:81?q/r").port, 81);
}

TEST(Target, of_options_without_a_path_is_the_asterisk) {
  EXPECT_EQ(parsed("http://h", "OPTIONS").resource, "*");
  EXPECT_EQ(parsed("http://h:8080", "OPTIONS").resource, "*");
  EXPECT_EQ(parsed("http://h/", "OPTIONS").resource, "/");
  EXPECT_EQ(parsed("http://h?q", "OPTIONS").resource, "/?q");
}

TEST(Target, has_port_80_unless_it_says_otherwise) {
  EXPECT_EQ(parsed("http://h/").port, 80);
  EXPECT_EQ(parsed("http://h:/").port, 80);
  EXPECT_EQ(parsed("http://h:1/").port, 1);
  EXPECT_EQ(parsed("http://h:65535/").port, 65535);
}

TEST(Target, names_its_upstream_and_its_host_field) {
  EXPECT_EQ(parsed("http://h/").authority(), "h:80");
  EXPECT_EQ(parsed("http://h/").host_field(), "h");
  EXPECT_EQ(parsed("http://h:8080/").host_field(), "h:8080");
  EXPECT_EQ(parsed("http://[::1]/").authority(), "[::1]:80");
  EXPECT_EQ(parsed("http://[::1]/").host_field(), "[::1]");
  EXPECT_EQ(parsed("http://[::1]:81/").host_field(), "[::1]:81");
}

TEST(Target, drops_one_trailing_dot_of_the_host) {
  EXPECT_EQ(parsed("http://LOCALHOST./").host, "localhost");
  EXPECT_EQ(refused("http://localhost../"), Reason::malformed);
  EXPECT_EQ(refused("http://./"), Reason::malformed);
}

TEST(Target, knows_addresses_and_spells_them_one_way) {
  EXPECT_TRUE(parsed("http://127.0.0.1/").literal);
  EXPECT_EQ(parsed("http://127.0.0.1/").host, "127.0.0.1");
  EXPECT_TRUE(parsed("http://[0:0:0:0:0:0:0:1]/").literal);
  EXPECT_EQ(parsed("http://[0:0:0:0:0:0:0:1]/").host, "::1");
  EXPECT_EQ(parsed("http://[2001:DB8::A]/").host, "2001:db8::a");
  EXPECT_FALSE(parsed("http://127.0.0.1.example/").literal);
}

// It is the same host, dialled by the same socket: limits and rules for one must hold for the other.
TEST(Target, knows_an_address_that_is_mapped_to_ipv4_as_that) {
  for (const char* host : {"[::ffff:7f00:1]", "[::FFFF:7F00:1]", "[::ffff:127.0.0.1]", "[0:0:0:0:0:ffff:127.0.0.1]",
                           "[0000:0000:0000:0000:0000:FFFF:7f00:0001]", "[::0:ffff:7f00:1]"}) {
    const Target target = parsed("http://" + std::string(host) + ":81/");
    EXPECT_EQ(target.authority(), "127.0.0.1:81") << host;
    EXPECT_EQ(target.host_field(), "127.0.0.1:81") << host;
    EXPECT_TRUE(target.literal) << host;
    EXPECT_EQ(parse_target("CONNECT", std::string(host) + ":443")->authority(), "127.0.0.1:443") << host;
    EXPECT_TRUE(is_host_of(target, host)) << host;
    EXPECT_TRUE(is_host_value(host)) << host;
    EXPECT_EQ(parse_authority(host)->host, "127.0.0.1") << host;
  }
  // These are dialled as what they are: a translator, or nobody, is there. Rules judge them by both addresses.
  EXPECT_EQ(parsed("http://[::127.0.0.1]/").host, "::127.0.0.1");
  EXPECT_EQ(parsed("http://[64:ff9b::7f00:1]/").host, "64:ff9b::7f00:1");
  EXPECT_EQ(parsed("http://[::ffff:0:7f00:1]/").host, "::ffff:0:7f00:1");
  for (const char* host : {"[::ffff:127.1]", "[::ffff:0x7f.0.0.1]", "[::ffff:127.0.0.1.]", "[::ffff:127.0.0.01]",
                           "[::ffff:7f00:1%25lo]", "[v1.127.0.0.1]", "[::ffff:127.0.0.256]"}) {
    EXPECT_EQ(refused("http://" + std::string(host) + "/"), Reason::malformed) << host;
  }
}

TEST(Target, refuses_numbers_that_some_resolver_takes_for_an_address) {
  for (const char* host : {"127.1", "2130706433", "0x7f.1", "0x7f000001", "0177.0.0.1", "127.0.0.1.", "1.2.3.4.5",
                           "1.2.3.256", "1.2.3", "1.2.3.04", "1.2.3.0x4", "a.0x7f", "a.123", "[127.0.0.1]"}) {
    EXPECT_EQ(refused("http://" + std::string(host) + "/"), Reason::malformed) << host;
  }
}

TEST(Target, refuses_hosts_that_are_no_names) {
  for (const char* host : {"",
                           "a..b",
                           ".a",
                           "a b",
                           "a%20b",
                           "%31%32%37",
                           "a\\b",
                           "a,b",
                           "a*b",
                           "[",
                           "[]",
                           "[::1",
                           "::1]",
                           "[::1]x",
                           "[fe80::1%25eth0]",
                           "[fe80::1%eth0]",
                           "[::g]",
                           "a[::1]",
                           "\xef\xbc\x91.1",
                           "b\xc3\xbc.de"}) {
    EXPECT_EQ(refused("http://" + std::string(host) + "/"), Reason::malformed) << host;
  }
  EXPECT_EQ(refused("http://" + std::string(64, 'a') + "/"), Reason::malformed);
  EXPECT_EQ(parsed("http://" + std::string(63, 'a') + "/").host.size(), 63u);
}

TEST(Target, refuses_a_name_of_more_than_253_bytes) {
  std::string name;
  for (int i = 0; i < 4; ++i) name += std::string(62, 'a') + ".";
  EXPECT_EQ(parsed("http://" + name + "b/").host.size(), 253u);
  EXPECT_EQ(refused("http://" + name + "bb/"), Reason::malformed);
}

TEST(Target, refuses_ports_that_are_none) {
  for (const char* port : {"0", "65536", "80a", "a", "80:80", "-1", "+80", " 80", "080000", "00000", "999999999999"}) {
    EXPECT_EQ(refused("http://h:" + std::string(port) + "/"), Reason::malformed) << port;
  }
  EXPECT_EQ(refused("http://:80/"), Reason::malformed);
  EXPECT_EQ(refused("http:///path"), Reason::malformed);
}

TEST(Target, refuses_userinfo_and_does_not_repeat_it) {
  for (const char* raw : {"http://user@h/", "http://user:secret@h/", "http://@h/", "http://a@b@h/", "http://h@/"}) {
    const auto target = parse_target("GET", raw);
    ASSERT_FALSE(target.has_value()) << raw;
    EXPECT_EQ(target.error().why, Reason::malformed);
    EXPECT_EQ(target.error().details.find("secret"), std::string::npos);
    EXPECT_NE(target.error().details.find("password"), std::string::npos);
  }
}

TEST(Target, refuses_fragments) {
  for (const char* raw : {"http://h/#f", "http://h#f", "http://h/?q#f", "http://h/a#"})
    EXPECT_EQ(refused(raw), Reason::malformed);
}

TEST(Target, refuses_controls_blanks_and_high_bytes_anywhere) {
  for (const char c : {' ', '\t', '\r', '\n', '\0', '\x7f', '\x01', '\x80', '\xff'}) {
    EXPECT_EQ(refused(std::string("http://h/a") + c + "b"), Reason::malformed) << static_cast<int>(c);
    EXPECT_EQ(refused(std::string("http://h") + c + "/"), Reason::malformed) << static_cast<int>(c);
  }
}

TEST(Target, explains_to_an_origin_form_request_that_this_is_a_proxy) {
  for (const char* raw : {"/", "/x", "/path?q", "//h/x"}) {
    const auto target = parse_target("GET", raw);
    ASSERT_FALSE(target.has_value()) << raw;
    EXPECT_EQ(target.error().why, Reason::malformed);
    EXPECT_NE(target.error().details.find("this is a proxy"), std::string::npos);
    EXPECT_NE(target.error().details.find("http_proxy"), std::string::npos);
  }
}

TEST(Target, refuses_the_other_forms) {
  for (const char* raw :
       {"", "*", "host:80", "host", "http:", "http:/h", "http:h", ":", "://h/", "1http://h/", "ht tp://h/"}) {
    EXPECT_EQ(refused(raw), Reason::malformed) << raw;
  }
  EXPECT_EQ(refused("*", "OPTIONS"), Reason::malformed);
}

TEST(Target, does_not_implement_other_schemes) {
  for (const char* raw :
       {"ftp://h/", "gopher://h/", "dict://h/", "ldap://h/", "smb://h/x", "tftp://h/x", "ws://h/", "wss://h/"}) {
    EXPECT_EQ(refused(raw), Reason::not_implemented) << raw;
  }
  EXPECT_EQ(refused("file:///etc/passwd"), Reason::malformed);
  EXPECT_EQ(refused("javascript:alert(1)"), Reason::malformed);
  EXPECT_EQ(refused("https://user@h/"), Reason::malformed);
}

TEST(Target, with_https_has_its_own_default_port) {
  const auto at = [](const char* raw) { return parse_target("GET", raw).value(); };
  const Target plain = at("HTTPS://H.example/x?y");
  EXPECT_TRUE(plain.secure());
  EXPECT_EQ(plain.scheme, "https");
  EXPECT_EQ(plain.authority(), "h.example:443");
  EXPECT_EQ(plain.host_field(), "h.example");
  EXPECT_EQ(plain.resource, "/x?y");
  EXPECT_EQ(at("https://h:443/").host_field(), "h");
  EXPECT_EQ(at("https://h:80/").host_field(), "h:80");
  EXPECT_EQ(at("https://h:8443/").authority(), "h:8443");
  EXPECT_EQ(at("http://h:443/").host_field(), "h:443");
  EXPECT_FALSE(at("http://h:443/").secure());
}

TEST(Target, inside_tls_is_https_and_nowhere_else) {
  Target outside = parse_target("CONNECT", "h.test:8443").value();
  outside.scheme = "https";
  const auto inside = [&](const char* method, const char* raw) { return parse_target_inside(outside, method, raw); };
  EXPECT_TRUE(inside("GET", "/a")->secure());
  EXPECT_EQ(inside("GET", "/a")->authority(), "h.test:8443");
  EXPECT_TRUE(inside("GET", "https://h.test:8443/a")->secure());
  for (const char* raw : {"http://h.test:8443/", "https://h.test/", "https://other.test:8443/"}) {
    EXPECT_EQ(inside("GET", raw).error().why, Reason::misdirected) << raw;
    EXPECT_EQ(inside("GET", raw).error().status_code(), 421);
  }
  EXPECT_EQ(inside("CONNECT", "h.test:8443").error().why, Reason::malformed);
}

TEST(Target, is_where_a_host_field_says) {
  const Target target = parse_target("GET", "https://h.test:8443/").value();
  for (const char* host : {"h.test:8443", "H.Test:8443", "h.test.:8443", "h.test"})
    EXPECT_TRUE(is_host_of(target, host));
  for (const char* host : {"", "h.test:443", "x.h.test", "h.test:8443:1", "u@h.test:8443", "127.0.0.1"}) {
    EXPECT_FALSE(is_host_of(target, host)) << host;
  }
  EXPECT_TRUE(is_host_of(parse_target("GET", "https://[::1]/").value(), "[0:0::1]"));
}

TEST(Target, inside_a_connect_is_on_its_authority) {
  const Target outside = parse_target("CONNECT", "H.test:8080").value();
  const auto inside = [&](const char* method, const char* raw) { return parse_target_inside(outside, method, raw); };
  const Target target = inside("GET", "/a/../b?c").value();
  EXPECT_EQ(target.scheme, "http");
  EXPECT_EQ(target.authority(), "h.test:8080");
  EXPECT_EQ(target.resource, "/a/../b?c");
  EXPECT_FALSE(target.tunnel);
  EXPECT_EQ(inside("OPTIONS", "*")->resource, "*");
  EXPECT_EQ(inside("GET", "http://h.test:8080?c")->resource, "/?c");
  EXPECT_TRUE(inside("GET", "https://h.test:8080/")->secure());
  EXPECT_TRUE(parse_target_inside(parse_target("CONNECT", "[::1]:80").value(), "GET", "/")->literal);
  for (const char* raw : {"http://other.test:8080/", "http://h.test/", "https://h.test/", "*", "h.test:8080", "/a#b",
                          "http://u@h.test:8080/", "a"}) {
    EXPECT_FALSE(inside("GET", raw)) << raw;
  }
  EXPECT_EQ(inside("CONNECT", "h.test:8080").error().why, Reason::malformed);
}

TEST(Target, of_connect_is_a_host_and_a_port_and_nothing_else) {
  const auto to = [](const char* raw) { return parse_target("CONNECT", raw).value(); };
  const Target target = to("H.example.:443");
  EXPECT_TRUE(target.tunnel);
  EXPECT_EQ(target.authority(), "h.example:443");
  EXPECT_EQ(std::string(target.scheme) + target.resource, "");
  EXPECT_EQ(target.path(), "");
  EXPECT_FALSE(target.literal);
  EXPECT_EQ(to("[0::1]:8443").authority(), "[::1]:8443");
  EXPECT_TRUE(to("[::1]:443").literal);
  EXPECT_TRUE(to("127.0.0.1:1").literal);
  EXPECT_FALSE(parse_target("GET", "http://h/").value().tunnel);
}

TEST(Target, of_connect_must_be_host_and_port) {
  for (const char* raw :
       {"", "/", "http://h/", "h", "h:", "h:0", "h:65536", "h:abc", "u@h:443", "*", "h:443/", ":443"}) {
    EXPECT_EQ(refused(raw, "CONNECT"), Reason::malformed) << raw;
  }
}

TEST(Authority, gives_host_and_port) {
  EXPECT_EQ(parse_authority("Example.com:8080")->host, "example.com");
  EXPECT_EQ(parse_authority("Example.com:8080")->port, 8080);
  EXPECT_EQ(parse_authority("example.com")->port, 0);
  EXPECT_EQ(parse_authority("[::1]:3128")->host, "::1");
  EXPECT_TRUE(parse_authority("10.0.0.1")->literal);
  EXPECT_FALSE(parse_authority("h/path").has_value());
  EXPECT_FALSE(parse_authority("").has_value());
  EXPECT_FALSE(parse_authority("u@h").error().empty());
}

TEST(HostField, may_be_empty_or_what_an_authority_may_be) {
  for (const char* right : {"", "h", "H:80", "h:", "[::1]", "[::1]:80", "1.2.3.4:5", "a.b."})
    EXPECT_TRUE(is_host_value(right)) << right;
  for (const char* wrong : {"a b", "a,b", "u@h", "h/x", "h:x", "h:65536", ":80", "[::1", "127.1", "http://h", "a\tb"}) {
    EXPECT_FALSE(is_host_value(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace penstock::http
