#include "visualizers/descent/halp_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace trainyard {
namespace {

constexpr float kHalpWidth = 900, kHalpHeight = 360;
constexpr double kMostErrorDrawn = 10;  // of runs that diverge, in first errors
constexpr std::array kBitInks = {Ink::Forward,   Ink::Backward, Ink::Communication, Ink::Optimizer,
                                 Ink::Recompute, Ink::Text2,    Ink::Text3};

double drawn_error(const HalpRun& run) { return std::min(run.error(), kMostErrorDrawn); }

CurveModel error_curve(const HalpStudy& s) {
  CurveModel curve;
  curve.title =
      fmt::format("Error after {} rounds, as a share of the first one", s.question.rounds);
  curve.x_label = "bits of an offset";
  curve.log_y = true;
  CurveModel::Line centred{"HALP: the grid follows the gradient", Ink::Forward, {}},
      fixed{"the grid stays", Ink::Backward, {}}, floats{"floats", Ink::Text3, {}, true};
  std::vector<const HalpRow*> rows;
  for (const HalpRow& row : s.rows) rows.push_back(&row);
  std::sort(rows.begin(), rows.end(),
            [](const HalpRow* a, const HalpRow* b) { return a->bits < b->bits; });
  for (const HalpRow* row : rows) {
    curve.x.push_back(row->bits);
    curve.x_names.push_back(std::to_string(row->bits));
    centred.values.push_back(drawn_error(row->centred));
    fixed.values.push_back(drawn_error(row->fixed));
    floats.values.push_back(s.floats.error());
    if (const Convergence how = row->centred.convergence(); how != Convergence::Converges)
      curve.marks.push_back(
          {static_cast<double>(row->bits), drawn_error(row->centred), std::string(to_string(how))});
  }
  curve.lines = {std::move(centred), std::move(fixed), std::move(floats)};
  return curve;
}

CurveModel grid_curve(const HalpStudy& s) {
  CurveModel curve;
  curve.title = "Step of the grid by round";
  curve.x_label = "round";
  curve.log_y = true;
  for (std::int64_t k = 0; k < s.question.rounds; ++k) {
    curve.x.push_back(static_cast<double>(k + 1));
    curve.x_names.push_back(std::to_string(k + 1));
  }
  for (std::size_t i = 0; i < s.rows.size(); ++i) {
    const HalpRow& row = s.rows[i];
    CurveModel::Line line{fmt::format("{} bits", row.bits),
                          kBitInks[i % kBitInks.size()],
                          {},
                          row.centred.convergence() != Convergence::Converges};
    for (const HalpRound& round : row.centred.rounds) line.values.push_back(round.step);
    line.values.resize(curve.x.size(), std::numeric_limits<double>::quiet_NaN());
    curve.lines.push_back(std::move(line));
  }
  return curve;
}

}  // namespace

std::optional<CurveModel> halp_curve(const HalpStudy& s, HalpPicture picture) {
  CurveModel curve = picture == HalpPicture::Error ? error_curve(s) : grid_curve(s);
  return curve.x.size() > 1 ? std::optional(std::move(curve)) : std::nullopt;
}

Drawing halp_picture(const HalpStudy& s) {
  Drawing drawing({kHalpWidth, 2 * kHalpHeight});
  float y = 0;
  for (const HalpPicture picture : {HalpPicture::Error, HalpPicture::Grid}) {
    if (const auto curve = halp_curve(s, picture))
      draw_curve(drawing, {0, y, kHalpWidth, kHalpHeight}, *curve);
    y += kHalpHeight;
  }
  return drawing;
}

DataTable halp_table(const HalpStudy& s) {
  std::vector<std::vector<DataCell>> rows;
  for (const HalpRow& row : s.rows)
    for (std::size_t k = 0; k < row.centred.rounds.size(); ++k) {
      const HalpRound& round = row.centred.rounds[k];
      rows.push_back({std::int64_t{row.bits}, static_cast<std::int64_t>(k) + 1, round.gradient_norm,
                      round.step, round.distance, round.clipped});
    }
  return listed_table("HALP",
                      {{"bits", DataUnit::Count},
                       {"round", DataUnit::Count},
                       {"full gradient", DataUnit::Digits},
                       {"step of the grid", DataUnit::Digits},
                       {"error", DataUnit::Digits},
                       {"clipped", DataUnit::Count}},
                      std::move(rows));
}

}  // namespace trainyard
