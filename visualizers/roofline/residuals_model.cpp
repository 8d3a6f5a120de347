#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "core/model/ops.h"
#include "visualizers/roofline/residuals_view.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

std::string kernel_words(const Work& work) {
  return work.kernel < 0 ? "optimizer" : kernel_name(work.kernel);
}

double off(Duration predicted, Duration measured) {
  return std::abs(to_seconds(predicted) / to_seconds(measured) - 1);
}

// What the rows of other sizes say of one size: both placements of a size are one measurement.
std::optional<Duration> fitted_by_others(const NcclTable& table, Bytes size) {
  NcclTable others = table;
  std::erase_if(others.rows, [&](const NcclRow& row) { return row.bytes == size; });
  try {
    const LinkFit fit = fit_links(others);
    if (!(fit.bandwidth.value > 0)) return std::nullopt;
    const double wire = static_cast<double>(size.value) * fit.bus_factor;
    return fit.start + seconds(wire / fit.bandwidth.value);
  } catch (const Error&) {
    return std::nullopt;  // fewer than two sizes are left
  }
}

// "q_proj, down_proj and 3 more".
std::string nodes_text(const std::vector<std::string>& nodes) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, nodes.size()); ++i)
    text += (i > 0 ? ", " : "") + nodes[i];
  if (nodes.size() > kShown) text += " and " + std::to_string(nodes.size() - kShown) + " more";
  return text;
}

DataCell ratio_cell(std::optional<Duration> predicted, Duration measured) {
  if (!predicted || measured.count() <= 0) return {};
  return to_seconds(*predicted) / to_seconds(measured);
}

}  // namespace

std::string shape_text(const Work& work) {
  if (work.m <= 0 && work.n <= 0 && work.k <= 0) return "";
  std::string text = work.count > 1 ? format_count(work.count) + " of " : "";
  bool first = true;
  for (const std::int64_t size : {work.m, work.n, work.k}) {
    if (size <= 0) continue;
    text += (first ? "" : " x ") + std::to_string(size);
    first = false;
  }
  return text;
}

ResidualsModel residuals_model(const Calibration& calibration, const KernelResiduals& found) {
  ResidualsModel model;
  model.title = "Kernels of " + calibration.machine;
  model.what = "kernels";
  model.by = "predicted before";
  model.predicted = found.before;
  model.held_out = found.held_out;
  model.learned = found.learned_held_out;
  model.band = calibration.residual_worst;
  for (const KernelResidual& one : found.kernels) {
    const KernelTiming& timing = calibration.kernels[one.kernel];
    model.points.push_back({kernel_words(timing.work), shape_text(timing.work), one.measured,
                            one.before, one.held_out, timing.repeats, one.learned});
  }
  return model;
}

ResidualsModel residuals_model(const NcclTable& table, const LinkFit& fit) {
  ResidualsModel model;
  model.title = "Messages of " + (fit.collective.empty() ? table.source : fit.collective);
  model.what = "messages";
  model.by = "fitted to all";
  model.name_head = "size", model.shape_head = "placement";
  std::vector<double> by_all, by_others;
  for (const LinkResidual& row : fit.residuals) {
    ResidualPoint point{format_bytes(row.bytes), row.in_place ? "in place" : "out of place",
                        row.measured, row.fitted, fitted_by_others(table, row.bytes)};
    by_all.push_back(std::abs(row.error()));
    if (point.held_out) by_others.push_back(off(*point.held_out, row.measured));
    model.points.push_back(std::move(point));
  }
  model.predicted = residual_shares(std::move(by_all));
  model.held_out = residual_shares(std::move(by_others));
  return model;
}

ResidualsModel residuals_model(const TraceMatch& match, const std::string& title) {
  ResidualsModel model;
  model.title = title;
  model.what = "kinds of work";
  model.by = "predicted by the plan";
  model.name_head = "kind of work", model.shape_head = "nodes";
  std::vector<double> by_plan, by_others;
  for (const MatchedFamily& family : match.families) {
    model.points.push_back({to_string(family.family), nodes_text(family.nodes), family.measured,
                            family.predicted, family.held_out, family.measured_calls});
    by_plan.push_back(off(family.predicted, family.measured));
    if (family.held_out) by_others.push_back(off(*family.held_out, family.measured));
  }
  model.predicted = residual_shares(std::move(by_plan));
  model.held_out = residual_shares(std::move(by_others));
  return model;
}

DataTable unmatched_table(const TraceMatch& match) {
  std::vector<std::vector<DataCell>> rows;
  for (const UnmatchedWork& one : match.kernels)
    rows.push_back({one.name, std::string("recording"), one.why, one.time.count(), one.count});
  for (const UnmatchedWork& one : match.nodes)
    rows.push_back({one.name, std::string("plan"), one.why, one.time.count(), one.count});
  return listed_table("Unmatched",
                      {{"name", DataUnit::Words},
                       {"of", DataUnit::Words},
                       {"why", DataUnit::Words},
                       {"time per step", DataUnit::Time},
                       {"count per step", DataUnit::Count}},
                      std::move(rows));
}

std::string residuals_words(const ResidualsModel& model) {
  if (model.points.empty()) return "nothing was measured";
  std::string words = fmt::format("{} {}: {}, median error {}, 90th percentile {}",
                                  format_count(static_cast<std::int64_t>(model.points.size())),
                                  model.what, model.by, format_percent(model.predicted.median),
                                  format_percent(model.predicted.p90));
  if (model.held_out.points > 0)
    words += fmt::format("; held-out {} and {}", format_percent(model.held_out.median),
                         format_percent(model.held_out.p90));
  if (model.learned.points > 0)
    words += fmt::format("; learned {} and {}", format_percent(model.learned.median),
                         format_percent(model.learned.p90));
  if (model.band > 0)
    words += fmt::format("; 90 % range of a step ± {}", format_percent(model.band));
  return words;
}

DataTable residuals_table(const ResidualsModel& model) {
  std::vector<std::vector<DataCell>> rows;
  std::vector<Item> items;
  const auto time_cell = [](const std::optional<Duration>& time) {
    return time ? DataCell{time->count()} : DataCell{};
  };
  const bool learned = model.learned.points > 0;
  for (const ResidualPoint& p : model.points) {
    items.push_back({ItemKind::Dot, rows.size()});
    rows.push_back({p.name, p.shape, p.measured.count(), p.predicted.count(),
                    ratio_cell(p.predicted, p.measured), time_cell(p.held_out),
                    ratio_cell(p.held_out, p.measured), p.count});
    if (learned) rows.back().push_back(time_cell(p.learned));
    if (learned) rows.back().push_back(ratio_cell(p.learned, p.measured));
  }
  std::vector<DataColumn> columns = {{model.name_head, DataUnit::Words},
                                     {model.shape_head, DataUnit::Words},
                                     {"measured", DataUnit::Time},
                                     {model.by, DataUnit::Time},
                                     {"ratio to measured", DataUnit::Share},
                                     {"held out", DataUnit::Time},
                                     {"held out to measured", DataUnit::Share},
                                     {"count", DataUnit::Count}};
  if (learned) columns.push_back({"learned", DataUnit::Time});
  if (learned) columns.push_back({"learned to measured", DataUnit::Share});
  return listed_table(model.title, std::move(columns), std::move(rows), std::move(items));
}

}  // namespace trainyard
