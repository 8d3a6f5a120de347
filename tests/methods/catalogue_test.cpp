// Compares the list of methods with the source files.
#include "core/methods/catalogue.h"
#include "tests/support/non_empty.h"
#include "tests/support/source_dir.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace trainyard {
namespace {

const std::filesystem::path kRoot = TRAINYARD_SOURCE_DIR;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Sources that define a method return one by value.
std::set<std::string> method_files() {
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / "core/methods"))
    if (entry.path().extension() == ".cpp" &&
        text_of(entry.path()).find("\nMethod ") != std::string::npos)
      found.insert(std::filesystem::relative(entry.path(), kRoot).generic_string());
  return found;
}

TEST(Catalogue, HasEveryFileOnce) {
  std::set<std::string> listed;
  for (const Method& m : testing::non_empty(methods()))
    EXPECT_TRUE(listed.emplace(m.file).second) << m.file << " is listed twice";
  EXPECT_EQ(listed, method_files());
  EXPECT_EQ(listed.size(), 54u);
}

TEST(Catalogue, EveryMethodHasItsTestAndItsSmallestPlan) {
  for (const Method& m : testing::non_empty(methods())) {
    const std::filesystem::path file(m.file), room = file.parent_path().filename();
    EXPECT_TRUE(std::filesystem::exists(kRoot / "tests/methods" / room /
                                        (file.stem().string() + "_test.cpp")))
        << m.file;
    EXPECT_TRUE(std::filesystem::exists(kRoot / "assets/plans" / (std::string(m.name) + ".json")))
        << m.name;
  }
}

TEST(Catalogue, NamesAreUniqueAndFindTheirMethod) {
  std::set<std::string_view> names;
  for (const Method& m : testing::non_empty(methods())) {
    EXPECT_TRUE(names.insert(m.name).second) << m.name;
    EXPECT_EQ(find_method(m.name), &m);
    EXPECT_EQ(&method(m.name), &m);
  }
  EXPECT_EQ(find_method("2f2b"), nullptr);
}

TEST(Catalogue, EveryCardIsFilledIn) {
  for (const Method& m : testing::non_empty(methods())) {
    EXPECT_FALSE(m.summary.empty()) << m.name;
    EXPECT_EQ(m.summary.back(), '.') << m.name;
    for (std::string_view line : {m.card.gains, m.card.costs, m.card.legal_when, m.paper.title,
                                  m.paper.authors, m.paper.venue})
      EXPECT_FALSE(line.empty()) << m.name;
    EXPECT_GE(m.paper.year, 1950) << m.name;
    for (const ParamSpec& spec : m.params) EXPECT_FALSE(spec.doc.empty()) << m.name << spec.name;
  }
}

// A schedule orders and may have a closed form; nothing else does.
TEST(Catalogue, SchedulesAndOnlyTheyGiveAnOrder) {
  for (const Method& m : testing::non_empty(methods())) {
    EXPECT_EQ(static_cast<bool>(m.order), m.axis == MethodAxis::Schedule) << m.name;
    EXPECT_TRUE(!m.closed_form || m.axis == MethodAxis::Schedule) << m.name;
  }
}

// Defaults are legal values of their own parameters.
TEST(Catalogue, DefaultsPassTheirOwnCheck) {
  for (const Method& m : testing::non_empty(methods()))
    EXPECT_TRUE(check_params(with_defaults({}, m.params), m.params, {"plan"}).empty()) << m.name;
}

TEST(Catalogue, AnUnknownNameIsAnsweredWithTheNearest) {
  try {
    method("recompile");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::InvalidInput);
    EXPECT_STREQ(e.what(), "no method is called \"recompile\"; did you mean \"recompute\"?");
  }
}

TEST(Catalogue, AxesHaveNames) {
  EXPECT_EQ(to_string(MethodAxis::Schedule), "schedule");
  EXPECT_EQ(to_string(MethodAxis::Sharding), "sharding");
  EXPECT_EQ(to_string(MethodAxis::Reduction), "reduction");
  EXPECT_EQ(to_string(MethodAxis::Memory), "memory");
  EXPECT_EQ(to_string(MethodAxis::Precision), "precision");
  EXPECT_EQ(to_string(MethodAxis::Communication), "communication");
  EXPECT_EQ(to_string(MethodAxis::Data), "data");
}

}  // namespace
}  // namespace trainyard
