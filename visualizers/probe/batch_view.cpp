#include "visualizers/probe/batch_view.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "visualizers/chart/axes.h"
#include "visualizers/chart/curve_view.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kBatchWidth = 1000, kBatchChart = 340, kBatchSentence = 17;

// The rate at a knee is the ceiling of its roofline. A knee outside of the batches is not drawn.
void add_knee(CurveModel& model, const Ridge& ridge, const char* words, double unit, bool truth) {
  if (ridge.batch && *ridge.batch >= model.x.front() && *ridge.batch <= model.x.back())
    model.marks.push_back({*ridge.batch, ridge.flops_per_second / unit, words, truth});
}

CurveModel batch_curve(const IntensityCurve& curve) {
  const bool large = curve.predicted.flops_per_second >= 1e12;
  const double unit = large ? 1e12 : 1e9;
  CurveModel model;
  model.title = curve.name;
  model.unit = large ? "TFLOP/s" : "GFLOP/s";
  model.x_label = curve.unit;
  model.log_x = model.log_y = true;
  CurveModel::Line roofline{"roofline, by formula", Ink::Backward, {}, true},
      measured{"measured", Ink::WeightGradient, {}, false};
  for (const BatchPoint& p : curve.points) {
    model.x.push_back(p.batch);
    model.x_names.push_back(digits_text(p.batch));
    roofline.values.push_back(p.flops / p.roofline() / unit);
    measured.values.push_back(p.measured ? p.flops / p.measured->value / unit
                                         : std::numeric_limits<double>::quiet_NaN());
  }
  model.lines.push_back(std::move(roofline));
  add_knee(model, curve.predicted, "knee, by formula", unit, false);
  if (curve.measured) {
    model.lines.push_back(std::move(measured));
    add_knee(model, *curve.measured, "knee, measured", unit, true);
  }
  return model;
}

}  // namespace

Drawing batch_picture(const BatchStudy& study) {
  const std::vector<std::string> sentences = batch_sentences(study);
  const float charts = kBatchChart * static_cast<float>(study.curves.size());
  Drawing drawing(
      {kBatchWidth, 24 + charts + 16 + kBatchSentence * static_cast<float>(sentences.size())});
  write_within(drawing, study.what, {10, 13}, kBatchWidth - 20, 11, Weight::SemiBold, Ink::Text);
  float y = 24;
  for (const IntensityCurve& curve : study.curves) {
    draw_curve(drawing, {0, y, kBatchWidth, kBatchChart}, batch_curve(curve));
    y += kBatchChart;
  }
  y += 8 + kBatchSentence / 2;
  for (const std::string& sentence : sentences) {
    write_within(drawing, sentence, {10, y}, kBatchWidth - 20, 11, Weight::Regular, Ink::Text2);
    y += kBatchSentence;
  }
  return drawing;
}

DataTable batch_table(const BatchStudy& study) {
  std::vector<std::vector<DataCell>> rows;
  for (const IntensityCurve& curve : study.curves)
    for (const BatchPoint& p : curve.points) {
      std::vector<DataCell> row{curve.name,
                                p.batch,
                                p.flops,
                                static_cast<std::int64_t>(std::llround(p.bytes)),
                                p.intensity(),
                                p.flops / p.roofline(),
                                {},
                                {}};
      if (p.measured) {
        row[6] = p.flops / p.measured->value;
        row[7] = seconds(p.measured->value).count();
      }
      rows.push_back(std::move(row));
    }
  return listed_table("Batch",
                      {{"products", DataUnit::Words},
                       {"batch", DataUnit::Number},
                       {"computed", DataUnit::FlopCount},
                       {"moved", DataUnit::ByteCount},
                       {"intensity", DataUnit::Intensity},
                       {"roofline", DataUnit::Throughput},
                       {"attained", DataUnit::Throughput},
                       {"measured", DataUnit::Time}},
                      std::move(rows));
}

}  // namespace trainyard
