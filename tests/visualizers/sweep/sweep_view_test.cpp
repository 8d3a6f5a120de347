#include "visualizers/sweep/sweep_view.h"

#include <gtest/gtest.h>

#include <set>

#include "core/base/csv.h"
#include "core/result/figures.h"
#include "tests/support/made_sweeps.h"
#include "tests/support/non_empty.h"
#include "tests/visualizers/golden.h"
#include "tests/visualizers/labels.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/sweep/sweep_grid.h"

namespace trainyard {
namespace {

Drawing drawn(const SweepStudy& study, SweepFigure by = SweepFigure::Step) {
  Drawing drawing(sweep_size(study));
  draw_sweep(drawing, whole(drawing.size), study, by, {});
  return drawing;
}

std::set<std::uint64_t> cells_of(const Drawing& drawing) {
  std::set<std::uint64_t> tags;
  for (const Mark& mark : drawing.marks)
    if (mark.style.item.kind == ItemKind::Cell) tags.insert(mark.style.item.tag);
  return tags;
}

SweepAxis long_axis(const std::string& name, int values) {
  SweepAxis axis{name, {}};
  for (int v = 1; v <= values; ++v) axis.values.push_back(std::to_string(v));
  return axis;
}

TEST(SweepView, LooksAsApproved) {
  testing_golden::expect_golden(drawn(testing::made_bars()), "sweep_bars");
  testing_golden::expect_golden(drawn(testing::made_maps(), SweepFigure::Mfu), "sweep_maps");
}

TEST(SweepView, EveryCombinationIsACellOfItsOwn) {
  for (const SweepStudy& study : {testing::made_bars(), testing::made_maps()}) {
    const SweepGrid grid(study);
    std::set<std::size_t> seen;
    for (std::size_t m = 0; m < grid.maps(); ++m)
      for (std::size_t r = 0; r < grid.rows(); ++r)
        for (std::size_t c = 0; c < grid.columns(); ++c) {
          const std::size_t at = grid.combination(m, r, c);
          EXPECT_TRUE(seen.insert(at).second);
          EXPECT_EQ(study.digit(at, grid.row_axis()), r);
          EXPECT_EQ(study.digit(at, grid.column_axis()), c);
        }
    EXPECT_EQ(seen.size(), combinations(study.axes));
    EXPECT_EQ(*seen.rbegin(), seen.size() - 1);
    for (const SweepFigure by : kSweepFigures)
      EXPECT_EQ(cells_of(drawn(study, by)).size(), study.rows.size());
  }
}

TEST(SweepView, TheLongestAxesAreRowsAndColumns) {
  const SweepStudy study = testing::made_maps();
  const SweepGrid grid(study);
  EXPECT_EQ(study.axes[grid.row_axis()].name, "seq");
  EXPECT_EQ(study.axes[grid.column_axis()].name, "cluster");
  EXPECT_EQ(grid.map_words(1), "llama-3-8b");
  EXPECT_FALSE(grid.is_bars());
  EXPECT_TRUE(SweepGrid(testing::made_bars()).is_bars());
  EXPECT_TRUE(
      SweepGrid(testing::made_sweep({{"model", {"gpt2"}}, {"cluster", {"cpu:1"}}})).is_bars());
}

TEST(SweepView, NoWordsOverlap) {
  for (const SweepStudy& study :
       {testing::made_bars(), testing::made_maps(),
        testing::made_sweep({{"model", {"gpt2"}}, long_axis("seq", 60), long_axis("tp", 40)})})
    for (const SweepFigure by : kSweepFigures) {
      const Drawing drawing = drawn(study, by);
      std::vector<Rect> places;
      for (const Label& label : testing::non_empty(drawing.labels)) {
        const float width = text_width(label);
        const float left = label.align == Align::Left     ? label.at.x
                           : label.align == Align::Center ? label.at.x - width / 2
                                                          : label.at.x - width;
        const Rect place{left, label.at.y - label.size * 0.4f, width, label.size * 0.8f};
        EXPECT_GE(place.x, 0) << label.text;
        EXPECT_LE(place.right(), drawing.size.width) << label.text;
        for (const Rect& other : places) {
          const Rect both = intersect(place, other);
          EXPECT_TRUE(both.width <= 0 || both.height <= 0) << label.text;
        }
        places.push_back(place);
      }
    }
}

TEST(SweepView, WhatHasNoRoomIsCounted) {
  const SweepStudy bars = testing::made_sweep({{"model", {"gpt2"}}, long_axis("seq", 1000)});
  const Drawing drawing = drawn(bars);
  const std::size_t shown = cells_of(drawing).size();
  EXPECT_LT(shown, 1000u);
  EXPECT_TRUE(
      testing::says(drawing, std::to_string(1000 - shown) + " more combinations are in the table"));
  const SweepStudy maps = testing::made_sweep(
      {{"model", {"a", "b"}}, long_axis("seq", 8), long_axis("tp", 8), long_axis("pp", 8)});
  EXPECT_EQ(cells_of(drawn(maps)).size(), maps.rows.size());
}

TEST(SweepView, ACellThatWasNotReachedIsEmpty) {
  SweepStudy study = testing::made_maps();
  study.rows.resize(5);
  EXPECT_EQ(cells_of(drawn(study)).size(), 5u);
  study.rows.clear();
  EXPECT_TRUE(cells_of(drawn(study)).empty());
}

TEST(SweepView, EveryRowIsDescribed) {
  const SweepStudy study = testing::made_maps();
  for (std::size_t i = 0; i < study.rows.size(); ++i) {
    const Hover hover = describe_sweep(study, SweepFigure::Step, {ItemKind::Cell, i});
    EXPECT_EQ(hover.title.rfind(study.value(i, 0), 0), 0u);
    EXPECT_EQ(hover.where, verdict_word(study.rows[i]));
    EXPECT_EQ(hover.lines.back(), study.rows[i].reason);
  }
  EXPECT_EQ(describe_sweep(study, SweepFigure::Step, {ItemKind::Cell, 99}).title, "");
  EXPECT_EQ(describe_sweep(study, SweepFigure::Step, {ItemKind::Legend, 0}).title, "");
}

TEST(SweepView, RowsOfTheTableHaveEveryDigit) {
  const SweepStudy study = testing::made_maps();
  const std::vector<CsvRecord> read = parse_csv(to_csv(sweep_table(study)), "test");
  ASSERT_EQ(read.size(), 1 + study.rows.size());
  const std::vector<std::string>& heads = read.front().fields;
  const auto field = [&](std::size_t row, const std::string& head) {
    const auto at = std::find(heads.begin(), heads.end(), head);
    return at == heads.end() ? "no column " + head
                             : read[row + 1].fields[static_cast<std::size_t>(at - heads.begin())];
  };
  for (std::size_t i = 0; i < study.rows.size(); ++i) {
    const SweepRow& row = study.rows[i];
    EXPECT_EQ(field(i, "model"), study.value(i, 0));
    EXPECT_EQ(field(i, "seq"), study.value(i, 2));
    EXPECT_EQ(field(i, "verdict"), verdict_word(row));
    EXPECT_EQ(field(i, "reason"), row.reason);
    if (!row.result) {
      EXPECT_EQ(field(i, "step (s)"), "");
      continue;
    }
    const Result& r = *row.result;
    EXPECT_EQ(field(i, "set"), "tp=2 global-batch=64");
    EXPECT_EQ(seconds(std::stod(field(i, "step (s)"))), r.step.value);
    EXPECT_EQ(std::stod(field(i, "throughput")), rate(r).value);
    EXPECT_EQ(std::stod(field(i, "MFU")), r.mfu);
    EXPECT_EQ(std::stoll(field(i, "spare (B)")), r.verdict.margin.value);
    EXPECT_EQ(std::stod(field(i, "money for 1e9 tokens or 1e6 samples (US$)")),
              money_for_work(r)->value);
    EXPECT_EQ(field(i, "energy per step (J)"), "");
  }
}

TEST(SweepView, TheSummaryHasTheSameFiguresAndSaysWhyThereIsNoPlan) {
  const SweepStudy study = testing::made_maps();
  const DataTable all = sweep_table(study), brief = sweep_summary(study);
  ASSERT_EQ(brief.rows, study.rows.size());
  const auto column = [](const DataTable& table, const std::string& name) {
    const auto at = std::find_if(table.columns.begin(), table.columns.end(),
                                 [&](const DataColumn& head) { return head.name == name; });
    EXPECT_NE(at, table.columns.end()) << name;
    return static_cast<std::size_t>(at - table.columns.begin());
  };
  EXPECT_EQ(brief.columns.front().name, "model");
  const std::pair<const char*, const char*> same[] = {
      {"verdict", "verdict"},
      {"step", "step"},
      {"tokens per second", "throughput"},
      {"per device", "throughput per device"},
      {"MFU", "MFU"},
      {"peak", "peak"},
      {"spare", "spare"},
      {"money for 1e9 tokens", "money for 1e9 tokens or 1e6 samples"}};
  for (std::size_t i = 0; i < brief.rows; ++i) {
    EXPECT_EQ(brief.item(i), all.item(i));
    for (const auto& [mine, theirs] : same)
      EXPECT_EQ(brief.cell(i, column(brief, mine)), all.cell(i, column(all, theirs))) << mine;
    EXPECT_EQ(brief.cell(i, column(brief, "seq")),
              DataCell(std::int64_t{std::stoll(study.value(i, 2))}))
        << "a whole number is sorted as one";
    EXPECT_EQ(brief.cell(i, column(brief, "plan")), DataCell(plan_words(study.rows[i])));
    EXPECT_EQ(brief.cell(i, brief.columns.size() - 1), DataCell(remark(study.rows[i])));
    if (!study.rows[i].result) {
      EXPECT_EQ(remark(study.rows[i]), study.rows[i].reason);
    }
  }
}

}  // namespace
}  // namespace trainyard
