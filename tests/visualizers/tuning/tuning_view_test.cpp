#include "visualizers/tuning/tuning_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/base/csv.h"
#include "core/base/units_text.h"
#include "tests/support/made_tunings.h"
#include "tests/support/non_empty.h"
#include "tests/visualizers/golden.h"
#include "tests/visualizers/labels.h"
#include "visualizers/tuning/gains_view.h"

namespace trainyard {
namespace {

Drawing drawn(const TuneReport& report, const ViewState& state = {}) {
  Drawing drawing(kTuningSize);
  draw_tuning(drawing, whole(drawing.size), report, state);
  return drawing;
}

// A figure of each goal in its own unit: seconds, bytes, dollars, a loss.
std::vector<TuneReport> one_of_each_goal() {
  return {testing::made_tuning(TuneGoal::Time, 17, 1.2345),
          testing::made_tuning(TuneGoal::Memory, 17, 0x1p34),
          testing::made_tuning(TuneGoal::Money, 17, 0.0012345),
          testing::made_tuning(TuneGoal::Loss, 17, 0.98765)};
}

// The corners of the line of the best so far.
std::vector<Point> best_line(const Drawing& drawing) {
  std::vector<Point> best;
  for (const Mark& mark : drawing.marks)
    if (mark.kind == MarkKind::Line && mark.style.ink == Ink::Ok && mark.count > best.size())
      best.assign(drawing.points.begin() + mark.first,
                  drawing.points.begin() + mark.first + mark.count);
  return best;
}

// Where the disc or cross of each trial stands.
std::map<std::uint64_t, Point> places(const Drawing& drawing) {
  std::map<std::uint64_t, Point> found;
  for (const Mark& mark : drawing.marks)
    if (mark.style.item.kind == ItemKind::Dot)
      found[mark.style.item.tag] = {mark.rect.x + mark.rect.width / 2,
                                    mark.rect.y + mark.rect.height / 2};
  return found;
}

TEST(TuningView, LooksAsApproved) {
  testing_golden::expect_golden(drawn(testing::made_tuning(TuneGoal::Time, 17, 1.2345)), "tuning");
}

TEST(TuningView, EveryTrialHasAPlaceInTheOrderOfItsFigureAndCost) {
  for (const TuneReport& report : one_of_each_goal()) {
    const std::map<std::uint64_t, Point> at = places(drawn(report));
    ASSERT_EQ(at.size(), report.trials.size());
    for (std::size_t i = 1; i < report.trials.size(); ++i) {
      EXPECT_GT(at.at(i).x, at.at(i - 1).x) << i;
      for (std::size_t j = 0; j < i; ++j) {
        const std::optional<double>&a = report.trials[i].value, &b = report.trials[j].value;
        if (a && b) {
          EXPECT_EQ(*a > *b, at.at(i).y < at.at(j).y) << i << " " << j;
        }
        if (a && !b) {
          EXPECT_LT(at.at(i).y, at.at(j).y) << "crosses are below the figures";
        }
      }
    }
  }
}

TEST(TuningView, TheLineFallsAndPassesThroughEveryImprovement) {
  const TuneReport report = testing::made_tuning(TuneGoal::Time, 17, 1);
  const Drawing drawing = drawn(report);
  const std::vector<Point> line = best_line(drawing);
  std::size_t improvements = 0;
  const std::map<std::uint64_t, Point> at = places(drawing);
  for (std::size_t i = 0; i < report.trials.size(); ++i) {
    if (!report.trials[i].better) continue;
    ++improvements;
    EXPECT_TRUE(std::any_of(line.begin(), line.end(), [&](const Point& p) {
      return std::abs(p.x - at.at(i).x) < 0.01F && std::abs(p.y - at.at(i).y) < 0.01F;
    })) << i;
  }
  EXPECT_EQ(line.size(), 2 * improvements);
  for (std::size_t i = 1; i < line.size(); ++i) {
    EXPECT_GE(line[i].x, line[i - 1].x);
    EXPECT_GE(line[i].y, line[i - 1].y) << "y grows downwards";
  }
}

TEST(TuningView, ItsWordsAreWholeApartAndPlain) {
  std::vector<TuneReport> reports = one_of_each_goal();
  reports.push_back(testing::made_tuning(TuneGoal::Loss, 1, 1e-7));
  reports.push_back(testing::made_tuning(TuneGoal::Time, 500, 3600));
  reports.push_back(testing::made_tuning(TuneGoal::Loss, 3, 1));
  reports.back().trials.back().value = 1e12;  // on a logarithmic axis
  for (const TuneReport& report : reports)
    for (const std::string& fault : testing::label_faults(drawn(report))) ADD_FAILURE() << fault;
}

TEST(TuningView, WithoutAFigureThereAreCrossesAndNoBest) {
  TuneReport report = testing::made_tuning(TuneGoal::Time, 4, 1);
  for (TuneTrial& trial : report.trials) trial.value.reset(), trial.better = false;
  report.best.reset();
  const Drawing drawing = drawn(report);
  EXPECT_EQ(places(drawing).size(), 4u);
  EXPECT_FALSE(testing::says(drawing, "best 0"));
  report.trials.clear();
  EXPECT_TRUE(places(drawn(report)).empty());
}

TEST(TuningView, TheChosenTrialAndTheBestAreRinged) {
  const TuneReport report = testing::made_tuning(TuneGoal::Time, 9, 1);
  const auto rings = [](const Drawing& drawing, Ink ink) {
    return std::count_if(drawing.marks.begin(), drawing.marks.end(), [ink](const Mark& mark) {
      return mark.kind == MarkKind::Ring && mark.style.ink == ink;
    });
  };
  EXPECT_EQ(rings(drawn(report), Ink::Ok), 1);
  EXPECT_EQ(rings(drawn(report), Ink::Select), 0);
  ViewState state;
  state.selected = tuning_item(3);
  EXPECT_EQ(rings(drawn(report, state), Ink::Select), 1);
}

TEST(TuningView, EveryTrialIsDescribed) {
  for (const TuneReport& report : one_of_each_goal())
    for (std::size_t i = 0; i < report.trials.size(); ++i) {
      const TuneTrial& trial = report.trials[i];
      const Hover hover = describe_tuning(report, tuning_item(i));
      EXPECT_EQ(hover.title, "Trial " + std::to_string(i + 1));
      EXPECT_EQ(hover.where, std::string(i % 2 == 0 ? "recompute none" : "recompute full") +
                                 ", micro-batch " + std::to_string(i + 1) +
                                 (i % 3 == 0 ? ", overlap on" : ", overlap off"));
      EXPECT_EQ(hover.value, trial.value ? goal_text(report.goal, *trial.value) : "");
      EXPECT_EQ(hover.lines.size(), trial_remark(trial).empty() ? 1u : 2u);
    }
  EXPECT_EQ(describe_tuning(testing::made_tuning(TuneGoal::Time, 2, 1), tuning_item(2)).title, "");
}

// One figure has the same digits in the table, in the picture and in the terminal; in a file it
// has all of them.
TEST(TuningView, TheTableHasTheFiguresOfTheReport) {
  for (const TuneReport& report : one_of_each_goal()) {
    const DataTable table = tuning_table(report);
    ASSERT_EQ(table.rows, report.trials.size());
    const auto column = [&](const std::string& name) {
      for (std::size_t c = 0; c < table.columns.size(); ++c)
        if (table.columns[c].name.starts_with(name)) return c;
      ADD_FAILURE() << "no column " << name;
      return std::size_t{0};
    };
    const std::size_t figure = column(std::string(goal_name(report.goal))), cost = column("cost");
    const auto text = [&](std::size_t row, std::size_t c) {
      return cell_text(table.columns[c], table.cell(row, c));
    };
    for (std::size_t i = 0; i < report.trials.size(); ++i) {
      const TuneTrial& trial = report.trials[i];
      std::string said = trial.value ? goal_text(report.goal, *trial.value) : "";
      if (report.goal == TuneGoal::Money && !said.empty()) said.erase(0, 1);  // the head says US$
      EXPECT_EQ(text(i, figure), said);
      EXPECT_EQ(text(i, cost), readable(seconds(trial.cost)));
      EXPECT_EQ(text(i, column("cost so far")), readable(seconds(trial.spent)));
      EXPECT_EQ(text(i, column("micro-batch")), std::to_string(i + 1));
      EXPECT_EQ(text(i, column("remark")), trial_remark(trial));
      EXPECT_EQ(table.item(i), tuning_item(i));
    }
  }
  const TuneReport report = testing::made_tuning(TuneGoal::Loss, 2, 1.0 / 3);
  EXPECT_NE(to_csv(tuning_table(report)).find(to_text(*report.trials[0].value)), std::string::npos);
}

// A family that does not take a setting has an empty cell, and training has a column of its own.
TEST(TuningView, ColumnsAreTheVariedKeysOfAllFamilies) {
  TuneReport report = testing::made_tuning(TuneGoal::Loss, 2, 1);
  report.trials[0].set = {"seed=3"};
  report.trials[1].set = {};
  report.trials[1].train = {"seed=4", "rate=0.1"};
  const DataTable table = tuning_table(report);
  std::vector<std::string> heads;
  for (const DataColumn& column : table.columns) heads.push_back(column.name);
  EXPECT_EQ(heads, (std::vector<std::string>{"trial", "family", "seed", "seed of training",
                                             "rate of training", "loss", "cost", "cost so far",
                                             "remark"}));
  EXPECT_EQ(table.cell(0, 2), DataCell(3.0));
  EXPECT_EQ(table.cell(1, 2), DataCell());
  EXPECT_EQ(table.cell(1, 3), DataCell(4.0));
  EXPECT_EQ(trial_words(report, report.trials[1]),
            "recompute full, seed 4 of training, rate 0.1 of training");
}

// The curve needs two numbers of jobs; the measured gain is marked where it was measured.
TEST(GainsView, TheCurveHasAPointForEachNumberOfJobs) {
  TuneReport report = testing::made_tuning(TuneGoal::Loss, 3, 1);
  const auto drawn_gains = [&] {
    Drawing drawing({340, 170});
    draw_gains(drawing, whole(drawing.size), report);
    return drawing;
  };
  EXPECT_TRUE(drawn_gains().marks.empty());
  report.fusion.emplace();
  report.fusion->priced = {{2, 1.5}};
  EXPECT_FALSE(has_gains(report));
  EXPECT_TRUE(drawn_gains().marks.empty());
  report.fusion->priced = {{2, 1.5}, {4, 2.25}, {8, 2.26}};
  report.fusion->jobs = 4, report.fusion->gain = 2.04, report.fusion->would_fit = 86;
  ASSERT_TRUE(has_gains(report));
  const Drawing drawing = drawn_gains();
  const std::map<std::uint64_t, Point> at = places(drawing);
  ASSERT_EQ(at.size(), 3u);
  EXPECT_NEAR(at.at(1).x - at.at(0).x, at.at(2).x - at.at(1).x, 0.1) << "by factors of two";
  EXPECT_LT(at.at(1).y, at.at(0).y);
  EXPECT_LT(at.at(2).y, at.at(1).y);
  EXPECT_TRUE(testing::has_label(drawing, "measured 2.0 times"));
  EXPECT_TRUE(testing::has_label(drawing, "jobs together; 86 would fit"));
  for (const std::string& fault : testing::label_faults(drawing)) ADD_FAILURE() << fault;
  report.fusion->jobs = 64;
  EXPECT_FALSE(testing::says(drawn_gains(), "measured")) << "beyond what was priced";
}

}  // namespace
}  // namespace trainyard
