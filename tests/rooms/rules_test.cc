// SPDX-License-Identifier: Apache-2.0
// That the rules can fail: each is shown what it must refuse, and what it must let pass.
#include "rooms/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::rooms {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<File> one(std::string path, std::string text) { return {{std::move(path), std::move(text)}}; }

TEST(StrayIncludes, a_room_may_not_include_one_above_it) {
  const auto offences =
      stray_includes(one("src/flow/lane.cc", "// x\n#include \"flow/lane.h\"\n#include \"loop/loop.h\"\n"));
  EXPECT_THAT(offences, ElementsAre("src/flow/lane.cc:3: stray include of loop/loop.h: "
                                    "flow may include of the other rooms: penstock"));
}

TEST(StrayIncludes, a_room_may_include_itself_its_neighbours_and_the_standard_library) {
  EXPECT_THAT(stray_includes(one("src/config/a.cc",
                                 "#include \"config/a.h\"\n#include \"access/verdict.h\"\n"
                                 "#include \"penstock/config.h\"\n#include <vector>\n")),
              IsEmpty());
}

TEST(StrayIncludes, the_public_door_includes_no_room) {
  EXPECT_THAT(stray_includes(one("include/penstock/proxy.h", "#include \"flow/lane.h\"\n")),
              ElementsAre(HasSubstr("include/penstock/proxy.h:1: stray include of flow/lane.h")));
}

TEST(StrayIncludes, a_library_is_refused_outside_its_room) {
  EXPECT_THAT(stray_includes(one("src/proxy/a.cc", "#include <uv.h>\n")),
              ElementsAre("src/proxy/a.cc:1: stray include of uv.h: libuv lives in loop/, redis/, transfer/ only"));
  EXPECT_THAT(stray_includes(one("src/loop/stream.cc", "#include <ares.h>\n")),
              ElementsAre(HasSubstr("c-ares lives in")));
  EXPECT_THAT(stray_includes(one("src/app/engine.cc", "#  include <CLI/CLI.hpp>\n")), ElementsAre(HasSubstr("CLI11")));
  EXPECT_THAT(stray_includes(one("src/loop/resolver.cc", "#include <ares.h>\n#include <uv.h>\n")), IsEmpty());
  EXPECT_THAT(stray_includes(one("src/app/main.cc", "#include <CLI/CLI.hpp>\n")), IsEmpty());
}

TEST(StrayIncludes, a_library_that_nobody_planned_is_refused_everywhere) {
  EXPECT_THAT(stray_includes(one("src/app/main.cc", "#include <boost/asio.hpp>\n")),
              ElementsAre(HasSubstr("no library")));
  EXPECT_THAT(stray_includes(one("src/loop/a.cc", "#include \"lane.h\"\n")), ElementsAre(HasSubstr("room/file.h")));
}

TEST(StrayIncludes, pure_rooms_do_not_see_the_operating_system) {
  EXPECT_THAT(stray_includes(one("src/flow/a.cc", "#include <unistd.h>\n#include <sys/time.h>\n")).size(), 2u);
  EXPECT_THAT(stray_includes(one("src/http/a.cc", "#include <arpa/inet.h>\n#include <sys/socket.h>\n")),
              ElementsAre(HasSubstr("a.cc:2:")));
  EXPECT_THAT(stray_includes(one("src/loop/a.cc", "#include <unistd.h>\n")), IsEmpty());
}

TEST(StrayIncludes, a_library_of_one_file_is_refused_in_a_second) {
  const std::vector<File> files{{"src/http/parser.cc", "#include <llhttp.h>\n"},
                                {"src/http/other.cc", "#include <llhttp.h>\n"}};
  EXPECT_THAT(stray_includes(files),
              ElementsAre("src/http/other.cc:1: llhttp lives in one file, and that is src/http/parser.cc"));
}

TEST(StrayLinks, a_room_may_not_link_what_it_may_not_include) {
  const std::string text = "penstock_room(http SOURCES a.cc ROOMS loop\n  LIBRARIES llhttp)\n";
  EXPECT_THAT(stray_links(one("src/http/CMakeLists.txt", text)), ElementsAre(HasSubstr("stray link to loop")));
  EXPECT_THAT(stray_links(one("src/observe/CMakeLists.txt", text)), IsEmpty());
}

TEST(UnknownRooms, every_folder_is_in_the_plan) {
  EXPECT_THAT(unknown_rooms(one("src/misc/a.cc", "")), ElementsAre(HasSubstr("src/misc/a.cc:1:")));
  EXPECT_THAT(unknown_rooms(one("src/CMakeLists.txt", "")), IsEmpty());
}

TEST(UnnamedFiles, a_file_begins_with_its_licence_and_says_what_it_is) {
  const std::string licence = "// SPDX-License-Identifier: Apache-2.0\n";
  EXPECT_THAT(unnamed_files(one("src/flow/a.h", licence + "// A lane.\n")), IsEmpty());
  EXPECT_THAT(unnamed_files(one("src/flow/a.h", "#pragma once\n" + licence)),
              ElementsAre(HasSubstr("a.h:1: does not begin")));
  EXPECT_THAT(unnamed_files(one("src/flow/a.h", licence + "#pragma once\n")),
              ElementsAre(HasSubstr("a.h:2: does not say")));
  EXPECT_THAT(unnamed_files(one("src/flow/CMakeLists.txt", licence)), ElementsAre(HasSubstr("begin with # SPDX")));
}

TEST(LongFiles, end_before_line_500) {
  EXPECT_THAT(long_files(one("src/flow/a.cc", std::string(499, '\n'))), IsEmpty());
  EXPECT_THAT(long_files(one("src/flow/a.cc", std::string(500, '\n'))), ElementsAre(HasSubstr("a.cc:500: too long")));
}

TEST(LongFunctions, have_60_lines_at_most) {
  const auto function = [](std::size_t lines) {
    std::string text = "int a;\n\nvoid Lane::serve(int a,\n                 int b) const {\n";
    for (std::size_t i = 0; i < lines - 2; ++i) text += "  if (\"}\"[0] == '}') { a(); }  // }\n";
    return text + "}\n\nint b;\n";
  };
  EXPECT_THAT(long_functions(one("src/flow/a.cc", function(60))), IsEmpty());
  EXPECT_THAT(long_functions(one("src/flow/a.cc", function(61))),
              ElementsAre("src/flow/a.cc:4: a function of 61 lines, more than 60"));
}

TEST(LongFunctions, count_lambdas_and_constructors_and_leave_loops_alone) {
  const std::string body(70, '\n');
  EXPECT_EQ(
      long_functions(one("src/a/a.cc", "  const auto f = [&](int) -> std::vector<int> {\n" + body + "  };\n")).size(),
      1u);
  EXPECT_EQ(long_functions(one("src/a/a.cc", "A::A()\n    : b_(1) {\n" + body + "}\n")).size(), 1u);
  EXPECT_EQ(long_functions(one("src/a/a.cc", "  for (;;) {\n" + body + "  }\nnamespace {\n" + body + "}\n")).size(),
            0u);
}

TEST(ForbiddenNames, may_stand_in_names_of_c_libraries) {
  EXPECT_THAT(forbidden_names(one("src/loop/a.cc", "\nares_free_data(x);\nauto y = my_data;\n")),
              ElementsAre(HasSubstr("my_data")));
}

TEST(ForbiddenNames, are_refused_in_names_of_files_and_of_things) {
  EXPECT_THAT(forbidden_names(one("src/flow/string_util.h", "")),
              ElementsAre(HasSubstr("'util' says nothing, in string_util")));
  EXPECT_THAT(forbidden_names(one("src/flow/a.h", "\nclass LaneManager {};\n")),
              ElementsAre(HasSubstr("a.h:2: 'manager'")));
  EXPECT_THAT(forbidden_names(one("src/flow/a.h", "void* user_data_;\n")), ElementsAre(HasSubstr("'data'")));
  EXPECT_THAT(forbidden_names(one("src/flow/a.h", "int kHelperCount;\n")), ElementsAre(HasSubstr("'helper'")));
}

TEST(ForbiddenNames, are_let_pass_where_others_named_the_thing_and_in_prose) {
  const std::string text =
      "#include \"x/context.h\"\n// the handler of data\nauto a = text.data(), b = handle->data, c = std::data(text);\n"
      "class Reader : public YAML::EventHandler {};\nconst char* d = \"a helper\";\nint database, update;\n";
  EXPECT_THAT(forbidden_names(one("src/flow/a.h", text)), IsEmpty());
}

}  // namespace
}  // namespace penstock::rooms
