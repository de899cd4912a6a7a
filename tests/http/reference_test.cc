// SPDX-License-Identifier: Apache-2.0
// Paths that some reader takes for a way up, and references of answers, resolved.
#include "http/reference.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock::http {
namespace {

using namespace std::string_literals;

TEST(DotSegment, is_seen_in_every_spelling_that_some_reader_understands) {
  for (const char* path : {"..",
                           ".",
                           "/..",
                           "/a/../b",
                           "/a/./b",
                           "/a/..",  // plain
                           "/%2e%2e/x",
                           "/%2E%2E/x",
                           "/.%2e",
                           "/%2e.",
                           "/%2e",  // the dots encoded
                           "/..%2fx",
                           "/..%2Fx",
                           "/a%2f..%2fb",
                           "/a%2f..",
                           "/%2e%2e%2fx",  // the slashes
                           "/..\\x",
                           "/a\\..\\b",
                           "/..%5cx",
                           "/..%5Cx",
                           "/a%5c..",  // backslashes
                           "/..;/x",
                           "/..;a=b/x",
                           "/.;/x",
                           "/..%3b/x",
                           "/%2e%2e;",
                           "/..;",  // parameters
                           "/%252e%252e/x",
                           "/..%252fx",
                           "/%25252e%25252E/x",
                           "/..%25255cx",  // encoded again
                           "/%%32%65%2e/x",
                           "/%2%65./x",
                           "/%25%32%65./x",
                           "/..%%32f",
                           "/%%35c../",  // in pieces
                           "/..%00/x",
                           "/..%00",
                           "/..%0a/x",
                           "/..%09",
                           "/..%20/x",
                           "/.%20",
                           "/..%7f",
                           "/..%3fx",
                           "/..%23x",
                           "/%c0%ae%c0%ae/x",
                           "/..%c0%afx",
                           "/..%c1%9cx",
                           "//..//"}) {
    EXPECT_TRUE(has_dot_segment(path)) << path;
  }
}

TEST(DotSegment, is_not_seen_in_other_names) {
  for (const char* path : {"",           "/",         "//",           "/...",    "/....",
                           "/..a",       "/a..",      "/.well-known", "/%2ea",   "/a%2e",
                           "/a;..",      "/a;../b",   "/;",           "/a/b.c",  "/group%2Fproject",
                           "/%2f%2f",    "/100%",     "/%zz",         "/%",      "/%2",
                           "/%e2%80%a6", "/v1.2/..x", "/.%2ea",       "/a%20..", "/..%c3%a4",
                           "/%252f",     "/a\\b",     "/x%3f..y"}) {
    EXPECT_FALSE(has_dot_segment(path)) << path;
  }
}

TEST(DotSegment, is_looked_for_in_time_that_grows_with_the_path_alone) {
  std::string nested = "/%";
  for (int i = 0; i < 300'000; ++i) nested += "25";
  EXPECT_TRUE(has_dot_segment(nested + "2e/x"));
  EXPECT_FALSE(has_dot_segment(nested + "2f/x"));
}

TEST(Reference, is_resolved_as_the_standard_has_it) {
  // RFC 3986 5.4, of http://a/b/c/d;p?q, as far as they name no scheme and no authority.
  const std::pair<const char*, const char*> kExamples[] = {{"g", "/b/c/g"},
                                                           {"./g", "/b/c/g"},
                                                           {"g/", "/b/c/g/"},
                                                           {"/g", "/g"},
                                                           {"g?y", "/b/c/g?y"},
                                                           {"g#s", "/b/c/g#s"},
                                                           {"g?y#s", "/b/c/g?y#s"},
                                                           {";x", "/b/c/;x"},
                                                           {"g;x", "/b/c/g;x"},
                                                           {".", "/b/c/"},
                                                           {"./", "/b/c/"},
                                                           {"..", "/b/"},
                                                           {"../", "/b/"},
                                                           {"../g", "/b/g"},
                                                           {"../..", "/"},
                                                           {"../../", "/"},
                                                           {"../../g", "/g"},
                                                           {"../../../g", "/g"},
                                                           {"../../../../g", "/g"},
                                                           {"/./g", "/g"},
                                                           {"/../g", "/g"},
                                                           {"g.", "/b/c/g."},
                                                           {".g", "/b/c/.g"},
                                                           {"g..", "/b/c/g.."},
                                                           {"..g", "/b/c/..g"},
                                                           {"./../g", "/b/g"},
                                                           {"./g/.", "/b/c/g/"},
                                                           {"g/./h", "/b/c/g/h"},
                                                           {"g/../h", "/b/c/h"},
                                                           {"g;x=1/./y", "/b/c/g;x=1/y"},
                                                           {"g;x=1/../y", "/b/c/y"},
                                                           {"g?y/../x", "/b/c/g?y/../x"},
                                                           {"g#s/../x", "/b/c/g#s/../x"}};
  for (const auto& [reference, resolved] : kExamples) EXPECT_EQ(resolve_path("/b/c/d;p", reference), resolved);
  EXPECT_EQ(resolve_path("/", "/a//b/..//c"), "/a///c");
  EXPECT_EQ(resolve_path("/", "//../x"), "/x");
  EXPECT_EQ(resolve_path("/b", "%2e%2e/x"), "/%2e%2e/x") << "only plain dots are";
}

TEST(Reference, has_a_scheme_or_not) {
  EXPECT_EQ(scheme_of("http://a"), "http");
  EXPECT_EQ(scheme_of("H+.-1:x"), "H+.-1");
  for (const char* none : {"", ":", "1a:x", "/a:b", "a b:c", "?a:b", "a/b:c", "a"})
    EXPECT_EQ(scheme_of(none), "") << none;
}

}  // namespace
}  // namespace penstock::http
