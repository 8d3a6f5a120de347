#include "visualizers/scaling/scaling_view.h"

#include <gtest/gtest.h>

#include "core/base/csv.h"
#include "core/result/figures.h"
#include "tests/support/non_empty.h"
#include "tests/support/scaling_studies.h"
#include "tests/visualizers/golden.h"
#include "tests/visualizers/labels.h"
#include "visualizers/drawing/svg.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/scaling/scaling_chart.h"

namespace trainyard {
namespace {

// It stops paying, has bands, does not fit on many devices and is not legal on some.
ScalingStudy telling_study() {
  return testing::made_study({.work = 1, .serial = 1, .band = 0.12, .most = 128},
                             {1, 2, 4, 8, 12, 16, 32, 64, 128, 256});
}

Drawing drawn(const ScalingStudy& study, Size size = kScalingSize) {
  Drawing drawing(size);
  draw_scaling(drawing, whole(size), study, {});
  return drawing;
}

TEST(ScalingView, LooksAsApproved) {
  testing_golden::expect_golden(drawn(telling_study()), "scaling");
}

TEST(ScalingView, NoWordsOverlap) {
  for (const Size size : {kScalingSize, Size{860, 560}, Size{1600, 900}}) {
    const Drawing drawing = drawn(telling_study(), size);
    std::vector<Rect> places;
    for (const Label& label : testing::non_empty(drawing.labels)) {
      const float width = text_width(label);
      const float left = label.align == Align::Left     ? label.at.x
                         : label.align == Align::Center ? label.at.x - width / 2
                                                        : label.at.x - width;
      const Rect place{left, label.at.y - label.size * 0.4f, width, label.size * 0.8f};
      for (const Rect& other : places) {
        const Rect both = intersect(place, other);
        EXPECT_TRUE(both.width <= 0 || both.height <= 0) << label.text;
      }
      places.push_back(place);
    }
  }
}

TEST(ScalingView, EveryPointIsDescribed) {
  const ScalingStudy study = telling_study();
  for (const ScalingLaw law : {ScalingLaw::Strong, ScalingLaw::Weak})
    for (std::size_t i = 0; i < study.strong.points.size(); ++i) {
      const Hover hover = describe_scaling(study, scaling_item(law, i));
      const ScalingPoint& point = (law == ScalingLaw::Strong ? study.strong : study.weak).points[i];
      EXPECT_EQ(hover.title,
                std::to_string(point.devices) + (point.devices == 1 ? " device" : " devices"));
      if (!point.fits()) {
        EXPECT_EQ(hover.lines.back(), point.why_not);
      }
    }
  EXPECT_EQ(describe_scaling(study, scaling_item(ScalingLaw::Weak, 99)).title, "");
  EXPECT_EQ(describe_scaling(study, {ItemKind::Legend, 0}).title, "");
}

TEST(ScalingView, RowsAreThePointsWithEveryDigit) {
  const ScalingStudy study = telling_study();
  const std::vector<CsvRecord> read = parse_csv(to_csv(scaling_table(study)), "test");
  ASSERT_EQ(read.size(), 1 + 2 * study.strong.points.size());
  const std::vector<std::string>& heads = read.front().fields;
  const auto field = [&](std::size_t row, const std::string& head) {
    const auto at = std::find(heads.begin(), heads.end(), head);
    return at == heads.end() ? "no column " + head
                             : read[row].fields[static_cast<std::size_t>(at - heads.begin())];
  };
  std::size_t row = 0;
  for (const ScalingCurve* curve : {&study.strong, &study.weak})
    for (const ScalingPoint& point : curve->points) {
      ++row;
      EXPECT_EQ(field(row, "law"), to_string(curve->law));
      EXPECT_EQ(field(row, "devices"), std::to_string(point.devices));
      EXPECT_EQ(field(row, "fits"), point.fits() ? "yes" : point.result ? "no" : "not legal");
      EXPECT_EQ(field(row, "why not"), point.why_not);
      if (!point.result) continue;
      EXPECT_EQ(std::stod(field(row, "step (s)")), to_seconds(point.result->step.value));
      EXPECT_EQ(std::stod(field(row, "tokens per second")), rate(*point.result).value);
      EXPECT_EQ(std::stod(field(row, "MFU")), point.result->mfu);
    }
}

TEST(ScalingView, WithoutAPriceOneChartSaysSo) {
  const ScalingStudy study = scaling(testing::made_scenario(), {}, [](const Scenario& s) {
    Result r = testing::made_result(s, {});
    r.money.reset();
    return r;
  });
  EXPECT_TRUE(testing::says(drawn(study), "no price of an hour of"));
  EXPECT_FALSE(testing::says(drawn(telling_study()), "no price of an hour of"));
}

}  // namespace
}  // namespace trainyard
