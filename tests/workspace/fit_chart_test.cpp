// Tests the charts of a budget of memory: bars by lever, and the plans to choose from as points and
// as rows.
#include "app/workspace/plans/fit_chart.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "app/workspace/scenario/workspace.h"

namespace trainyard {
namespace {

// Several tests share one search.
const FittedPlan& fitting() {
  static const FittedPlan found = [] {
    FitQuestion question;
    question.scenario =
        open({"gpt-tiny", "cpu:1", "", {"global-batch=8", "micro-batch=8", "precision=fp32"}});
    question.budget = 12_MiB;
    question.kept = {"zero",           "flash-attention",    "sequence-parallel",
                     "gradient-dtype", "main-weights-dtype", "optimizer"};
    question.cost = [](const Scenario& s) { return cost_model(s); };
    return fit_budget(question);
  }();
  return found;
}

bool has_label(const Drawing& drawing, const std::string& words) {
  return std::any_of(drawing.labels.begin(), drawing.labels.end(),
                     [&](const Label& label) { return label.text == words; });
}

TEST(FitChart, EveryChoiceIsAPointAndARow) {
  const FittedPlan& found = fitting();
  ASSERT_TRUE(found.chosen && found.faithful);
  const std::vector<FitPlan> choices = fit_choices(found);
  const FitCharts charts = fit_charts(found);
  const DataTable table = fit_table(found);
  ASSERT_EQ(table.rows, choices.size());
  ASSERT_GE(charts.points.points.size(), choices.size());
  EXPECT_EQ(charts.points.capacity, static_cast<double>((12_MiB).value));
  EXPECT_EQ(charts.points.front.size(), found.front.size());
  int chosen = 0, faithful = 0;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const ParetoPoint& point = charts.points.points[i];
    const bool best = choices[i].words == found.chosen->words;
    chosen += best, faithful += choices[i].words == found.faithful->words;
    EXPECT_EQ(point.fate == ParetoFate::Best, best);
    EXPECT_EQ(point.memory, static_cast<double>(choices[i].figures.reserved.value));
    EXPECT_EQ(point.step, to_seconds(choices[i].figures.step));
    EXPECT_EQ(table.item(i), (Item{ItemKind::Dot, i}));
    EXPECT_EQ(std::get<std::string>(table.cell(i, 3)),
              choices[i].figures.reserved <= found.budget ? "yes" : "no");
    const Hover told = describe_fit(charts, {ItemKind::Dot, i});
    EXPECT_EQ(told.title, charts.plans[i]);
    if (!choices[i].changes.empty()) {
      EXPECT_EQ(told.lines.back(), choices[i].changes);
    }
  }
  EXPECT_EQ(chosen, 1);
  EXPECT_EQ(faithful, 1);
}

TEST(FitChart, ThePictureHasTheLeversBesideTheFront) {
  const FittedPlan& found = fitting();
  const Drawing drawing = fit_picture(found);
  for (const char* words : {"Memory of the fullest device, lever by lever", "the plan",
                            "step time, ms", "peak memory of the fullest device, MiB", "3 best"})
    EXPECT_TRUE(has_label(drawing, words)) << words;
  // The budget is marked in both.
  EXPECT_EQ(std::count_if(drawing.labels.begin(), drawing.labels.end(),
                          [](const Label& label) { return label.text == "budget 12.0 MiB"; }),
            2);
  EXPECT_EQ(fit_charts(found, [](const std::string&) { return "in words"; }).bars.rows[1].label,
            "in words");
}

TEST(FitChart, NothingIsBestWhereNothingFits) {
  FittedPlan found = fitting();
  found.budget = 1_MiB;
  found.chosen.reset(), found.faithful.reset();
  const ParetoModel model = fit_points(found);
  EXPECT_FALSE(model.points.empty());
  for (const ParetoPoint& point : model.points) EXPECT_NE(point.fate, ParetoFate::Best);
}

}  // namespace
}  // namespace trainyard
