// The verb `sweep` as scripts use it: its rows are what `plan` and `simulate` print, its files say
// the same as its document, and its exit code says whether anything fits.
#include <gtest/gtest.h>

#include "app/cli/verb.h"
#include "app/cli/verbs/json_schemas.h"
#include "core/base/csv.h"
#include "core/io/json/json.h"
#include "tests/app/documents.h"
#include "tests/app/trainyard.h"
#include "tests/support/conforms.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

const std::string kSearch =
    " --set global-batch=32 --set schedule=1f1b --bound zero=0,1 --bound micro-batch=1,2";
const std::string kAxes =
    "sweep --model gpt2 --model llama-3-8b --cluster h100-sxm:8 --cluster a100-sxm-80:8 --price 2 "
    "--price 3.5 --vary seq=512,1024";

Json swept(const std::string& line, const TemporaryFolder& folder, int exit = kDone) {
  const Ran ran = trainyard(line + " --json", folder);
  EXPECT_EQ(ran.exit, exit) << line << "\n" << ran.err;
  Json json = parse_json(ran.out, "sweep");
  conforms(json, parse_json(json_schema("sweep"), "schema"), "sweep");
  return json;
}

// The words of one combination behind a verb.
std::string words_of_row(const Json& row) {
  return " --model " + *row.find("model")->text() + " --cluster " + *row.find("cluster")->text() +
         ",price=" + std::to_string(number(*row.find("price"))) + "USD/h";
}

std::string settings_of(const Json& row, const char* key) {
  std::string words;
  for (const Json& word : *row.find(key)->as_list()) words += " --set " + *word.text();
  return words;
}

void expect_same_figures(const Json& row, const Json& result) {
  for (const char* key : {"step_seconds", "energy_joules"})
    EXPECT_EQ(write_json(*row.find(key)), write_json(*result.find(key))) << key;
  EXPECT_EQ(number(*row.find("tokens_per_second")->find("value")),
            number(*result.find("tokens_per_second")));
  EXPECT_EQ(number(*row.find("tokens_per_second_per_device")->find("value")),
            number(*result.find("tokens_per_second_per_device")));
  EXPECT_EQ(number(*row.find("mfu")->find("value")), number(*result.find("mfu")));
  EXPECT_EQ(number(*row.find("margin_bytes")),
            number(*result.find("verdict")->find("margin_bytes")));
  EXPECT_EQ(number(*row.find("capacity_bytes")),
            number(*result.find("memory")->find("capacity_bytes")));
  for (const char* key : {"value", "low", "high"})
    EXPECT_EQ(number(*row.find("money_per_step")->find(key)),
              number(*result.find("money")->find(key)))
        << key;
  EXPECT_EQ(*row.find("reason")->text(), *result.find("verdict")->find("sentence")->text());
}

TEST(Sweep, RowsAreWhatPlanAndSimulatePrint) {
  const TemporaryFolder folder;
  const Json json = swept(kAxes + kSearch, folder);
  const Json::List& rows = testing::non_empty(*json.find("rows")->as_list());
  EXPECT_EQ(rows.size(), 16u);
  for (const std::size_t i : {std::size_t{0}, std::size_t{7}, std::size_t{13}}) {
    const Json& row = rows[i];
    const std::string words = words_of_row(row);
    const Ran plan =
        trainyard("plan" + words + settings_of(row, "varied") + kSearch + " --json", folder);
    const Json best = parse_json(plan.out, "plan").find("best")->as_list()->front();
    expect_same_figures(row, best);
    EXPECT_EQ(number(*row.find("reserved_bytes")), number(*best.find("reserved_bytes")));
    const Ran simulated =
        trainyard("simulate" + words + settings_of(row, "set") + " --json", folder);
    expect_same_figures(row, parse_json(simulated.out, "result"));
  }
}

TEST(Sweep, APlanAsGivenIsWhatSimulatePrints) {
  const TemporaryFolder folder;
  const Json json = swept(kAxes + " --set global-batch=32 --set tp=4 --as-given", folder);
  for (const Json& row : testing::non_empty(*json.find("rows")->as_list())) {
    const Ran simulated = trainyard(
        "simulate" + words_of_row(row) + settings_of(row, "set") + " --json --quiet", folder);
    expect_same_figures(row, parse_json(simulated.out, "result"));
  }
}

TEST(Sweep, FilesSayWhatTheDocumentSays) {
  const TemporaryFolder folder;
  const std::string line = kAxes + " --set global-batch=32 --vary tp=2,3 --as-given --by cost";
  const Json json = swept(line + " --csv t.csv --svg t.svg --png t.png", folder);
  const Json::List& rows = *json.find("rows")->as_list();
  const std::vector<CsvRecord> csv = parse_csv(file_text(folder.path() / "t.csv"), "t.csv");
  ASSERT_EQ(csv.size(), 1 + rows.size());
  for (std::size_t i = 0; i < testing::non_empty(rows).size(); ++i) {
    EXPECT_EQ(csv[i + 1].fields[0], *rows[i].find("model")->text());
    EXPECT_EQ(std::stod(csv[i + 1].fields[4]), number(*rows[i].find("price")));
    EXPECT_EQ(csv[i + 1].fields[5], *rows[i].find("verdict")->text());
    EXPECT_EQ(csv[i + 1].fields[6], *rows[i].find("reason")->text());
  }
  const std::string svg = file_text(folder.path() / "t.svg");
  EXPECT_EQ(svg.rfind("<svg", 0), 0u);
  EXPECT_NE(svg.find("US dollars for 1 billion tokens"), std::string::npos);
  EXPECT_EQ(file_text(folder.path() / "t.png").substr(1, 3), "PNG");
}

TEST(Sweep, TheTableHasALineForEachAndNamesTheBest) {
  const TemporaryFolder folder;
  const Ran ran = trainyard(
      "sweep --model gpt2 --cluster h100-sxm:8 --set global-batch=32 --vary tp=2,3,4 --as-given",
      folder);
  EXPECT_EQ(ran.exit, kDone) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_NE(ran.out.find("\n3   no plan  tp 3 x cp 1 x pp 1 = 3 does not divide"),
            std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("\n2 of 3 fit\nbest by step: tp "), std::string::npos) << ran.out;
}

TEST(Sweep, ExitSaysWhetherAnythingFits) {
  const TemporaryFolder folder;
  swept(
      "sweep --model llama-3-70b --cluster h100-sxm:8 --cluster h100-sxm:4 --set global-batch=8 "
      "--set tp=4 --as-given",
      folder, kNotMet);
  swept(
      "sweep --model llama-3-70b --model gpt2 --cluster h100-sxm:4 --set global-batch=8 --set tp=4 "
      "--as-given",
      folder, kDone);
}

}  // namespace
}  // namespace trainyard
