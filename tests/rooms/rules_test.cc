// SPDX-License-Identifier: Apache-2.0
// The rules on classes and circles: each catches an offence, and lets a near miss be.
#include "rooms/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::rooms {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Class only_class(const std::string& body) { return classes_of("\nclass Gate {" + body + "};\n").at(0); }

std::vector<File> gate(std::size_t members, std::size_t methods, std::size_t bools) {
  std::string text = "class Gate {\n";
  for (std::size_t i = 0; i < members; ++i) text += (i < bools ? "  bool b" : "  int n") + std::to_string(i) + ";\n";
  for (std::size_t i = 0; i < methods; ++i) text += "  void f" + std::to_string(i) + "(int a);\n";
  return {{"src/flow/gate.h", text + "};\n"}};
}

TEST(Classes, data_of_each_object_are_members) {
  const auto read = only_class(R"(
 public:
  using Done = std::function<void(int)>;
  enum class Sort : char { one, two } sort_ = Sort::one;
  static constexpr int kMost = int{1} << 3;
  friend struct Other;
  struct Later;
  std::function<void(int, bool)> done_ = [](int, bool) { return; };
  std::map<int, std::vector<int>> by_number_{{1, {2}}};
  bool open_ = false, closed_ = f(1, 2);
  std::atomic<bool> locked_{false};
  unsigned wide_ : 1;
  bool& elsewhere_;
  void (*free_)(int);
)");
  EXPECT_EQ(read.figures, (Figures{9, 0, 4}));
  EXPECT_FALSE(read.has_functions);
}

TEST(Classes, declared_functions_are_methods_unless_they_construct_or_are_deleted) {
  const auto read = only_class(R"(
  explicit Gate(int a) : a_{a}, b_(a) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() override;
  bool operator<(const Gate& other) const { return a_ < other.a_; }
  template <typename T, typename = std::vector<T>>
  static T make(T first = {}, int second = 0);
  [[nodiscard]] std::vector<int> all() const noexcept override { if (a_) return {}; return {1}; }
  Gate copy() const;
)");
  EXPECT_EQ(read.figures, (Figures{0, 4, 0}));
}

TEST(Classes, nested_ones_are_counted_apart) {
  const auto read = classes_of("\nstruct Outer final : Base,\n    Other {\n  struct Inner {\n    int a, b;\n  };\n" +
                               std::string("  Inner inner;\n};\nenum class No { a };\nclass Next;\nstruct Last {};\n"));
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(read[0].figures.members, 1u);
  EXPECT_EQ(read[1].name, "Outer::Inner");
  EXPECT_EQ(read[1].figures.members, 2u);
  EXPECT_EQ(read[2].name, "Last");
}

TEST(Classes, above_a_limit_offend) {
  EXPECT_THAT(large_classes(gate(kMostMembers, kMostMethods, kMostBools), {}), IsEmpty());
  EXPECT_THAT(large_classes(gate(kMostMembers + 1, 0, 0), {}), IsEmpty()) << "a record";
  EXPECT_THAT(large_classes(gate(kMostMembers + 1, 1, 0), {}),
              ElementsAre(HasSubstr("flow::Gate has members, methods, bools {26, 1, 0}")));
  EXPECT_THAT(large_classes(gate(0, kMostMethods + 1, 0), {}), ElementsAre(HasSubstr("more than {25, 35, 3}")));
  EXPECT_THAT(large_classes(gate(4, 1, kMostBools + 1), {}), ElementsAre(HasSubstr("{4, 1, 4}")));
}

TEST(Classes, in_the_table_may_only_shrink) {
  const std::vector<LargeClass> known{{"flow::Gate", {30, 2, 0}}};
  EXPECT_THAT(large_classes(gate(30, 2, 0), known), IsEmpty());
  EXPECT_THAT(large_classes(gate(29, 3, 0), known), ElementsAre(HasSubstr("{29, 3, 0}: it grew")));
  EXPECT_THAT(large_classes(gate(29, 2, 0), known), ElementsAre(HasSubstr("{29, 2, 0}: write")));
  EXPECT_THAT(large_classes(gate(25, 2, 0), known), ElementsAre(HasSubstr("not large any more")));
  EXPECT_THAT(large_classes({}, known), ElementsAre(HasSubstr("the tree has not")));
}

TEST(Circles, of_headers_and_of_units_offend) {
  const File a{"src/flow/a.h", "#include \"flow/b.h\"\n"};
  const File b{"src/flow/b.h", "#include \"flow/c.h\"\n"};
  const File b_too{"src/flow/b.cc", "#include \"flow/b.h\"\n#include \"flow/c.h\"\n"};
  const File c{"src/flow/c.cc", "#include \"flow/a.h\"\n"};
  const File c_too{"src/flow/c.h", "#include \"flow/a.h\"\n"};
  const std::string circle = "these include each other: flow/a, flow/b, flow/c";
  EXPECT_THAT(include_circles({a, b, b_too}, {}), IsEmpty());
  EXPECT_THAT(include_circles({a, b, c}, {}), ElementsAre(circle));
  EXPECT_THAT(include_circles({a, b, c_too}, {}), ElementsAre(circle, HasSubstr("flow/a.h, flow/b.h, flow/c.h")));

  const std::vector<Circle> known{{{"flow/a", "flow/b", "flow/c"}, "as a test"}};
  EXPECT_THAT(include_circles({a, b, c}, known), IsEmpty());
  EXPECT_THAT(include_circles({a, b}, known), ElementsAre(HasSubstr("no circle any more")));
  EXPECT_THAT(include_circles({a, b, c}, {{known[0].units, ""}}), ElementsAre(HasSubstr("without a reason")));
}

}  // namespace
}  // namespace penstock::rooms
