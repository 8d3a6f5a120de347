// Tests measured prices as one document, and in a project.
#include "core/io/documents/measured_prices.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/io/documents/journal.h"
#include "core/io/documents/project.h"
#include "core/io/json/inline_document.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

Calibration machine() {
  Calibration c;
  c.machine = "a core";
  c.kernels.push_back({.work = {}, .time = 3ms, .spread = 0.1, .repeats = 2});
  c.kernels.back().work.read = Bytes{100};
  c.copy = {.start = 1500ns, .rate = {17e9}};
  c.reduce = {11e9};
  c.residual_median = 0.02, c.residual_worst = 0.06;
  return c;
}

ParameterProfile profile() {
  ParameterProfile p;
  p.rows = "mine.csv: 3 rows in 1 group";
  p.before = {0.2, 0.3, 0.4}, p.after = {0.05, 0.1, 0.2};
  return p;
}

TEST(MeasuredPrices, AreWhicheverTheDocumentSays) {
  const std::string one = measured_prices_word(machine()), other = measured_prices_word(profile());
  EXPECT_TRUE(is_inline_document(one));
  EXPECT_EQ(one.find('\n'), std::string::npos);
  EXPECT_EQ(provenance(open_measured_prices(one)), "a core");
  EXPECT_EQ(provenance(open_measured_prices(other)), "mine.csv: 3 rows in 1 group");
  EXPECT_EQ(measured_prices_word(open_measured_prices(one)), one);
  EXPECT_EQ(std::get<ParameterProfile>(open_measured_prices(other)), profile());
  EXPECT_EQ(residual_words(machine()),
            "steps held back were off by 2.0 % (median) and 6.0 % at worst");
  EXPECT_EQ(residual_words(profile()),
            "residual 5.0 % (median) and 20.0 % at worst, 20.0 % and 40.0 % as shipped");
  EXPECT_THROW(open_measured_prices("/nowhere/at all.json"), Error);
}

TEST(ProjectCalibration, IsKeptWholeWithItsProvenance) {
  Project project;
  project.model = "gpt2", project.cluster = "cpu:2";
  const std::string without = project_document(project);
  EXPECT_EQ(without.find("calibration"), std::string::npos);
  for (const MeasuredPrices& prices : {MeasuredPrices(machine()), MeasuredPrices(profile())}) {
    project.calibration = measured_prices_word(prices);
    const std::string text = project_document(project);
    EXPECT_NE(text.find(provenance(prices)), std::string::npos);
    EXPECT_EQ(parse_project(text, "p"), project);
    // The journal left by a crash contains it too.
    const auto end = read_journal(journal_line({"f", "e", project}));
    ASSERT_TRUE(end.has_value());
    EXPECT_EQ(end->last.project, project);
  }
}

TEST(ProjectCalibration, RefusesWhatIsNone) {
  const auto refusal = [](const std::string& calibration) {
    return testing::refusal([&] {
      parse_project(R"({"schema": "trainyard/project@2", "calibration": )" + calibration + "}",
                    "p");
    });
  };
  EXPECT_NE(refusal("\"machine.json\"")
                .find("p#/calibration: expected a calibration or a profile as an object"),
            std::string::npos)
      << refusal("\"machine.json\"");
  EXPECT_NE(
      refusal(R"({"schema": "trainyard/calibration@1", "machine": 3})").find("p#/calibration"),
      std::string::npos);
}

TEST(ProjectCalibration, OfANewerProjectIsUnderstood) {
  Project project;
  project.calibration = measured_prices_word(machine());
  std::string text = project_document(project);
  text.replace(text.find("project@2"), 9, "project@9");
  const ProjectFile file = read_project(text, "new");
  EXPECT_TRUE(file.newer);
  EXPECT_TRUE(file.unknown.empty());
  EXPECT_EQ(file.project.calibration, project.calibration);
}

TEST(MeasuredPrices, AFitOfLinksIsNoPriceOfWork) {
  try {
    read_measured_prices(R"({"schema": "trainyard/links@1"})", "links.json");
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(describe(error),
              "links.json#/schema: expected prices of work (trainyard/calibration or "
              "trainyard/profile), found a fit of links (trainyard/links), which says what "
              "collectives reached and changes no prediction");
  }
}

}  // namespace
}  // namespace trainyard
