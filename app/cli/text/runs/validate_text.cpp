#include "app/cli/text/runs/validate_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

std::string in_percent(double share) { return fmt::format("{:.1f}", 100 * share); }

std::string assumed_text(const PreparedRow& row) {
  std::string text;
  for (const Assumption& a : row.assumptions)
    text += fmt::format("{}{}={} ({})", text.empty() ? "" : "; ", a.setting, a.taken, a.why);
  return text;
}

}  // namespace

std::string measured_text(RowMetric metric, double value) {
  if (metric_name(metric) == "memory") return fmt::format("{:.4g} GB", value / 1e9);
  return value < 1 ? fmt::format("{:.4g} ms", 1e3 * value) : fmt::format("{:.4g} s", value);
}

std::string score_table(const std::string& title, const std::vector<Score>& scores) {
  std::string text =
      fmt::format("\n{:<44}{:>6}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>9}\n", title, "rows", "groups",
                  "mean", "median", "p90", "max", "bias", "in band");
  for (const Score& s : scores)
    text += fmt::format("  {:<42}{:>6}{:>8}{:>8}{:>8}{:>8}{:>8}{:>+8.1f}{:>9}\n",
                        s.metric + ": " + s.name, s.rows, s.groups, in_percent(s.mean),
                        in_percent(s.median), in_percent(s.p90), in_percent(s.max), 100 * s.bias,
                        in_percent(s.inside_band));
  return text;
}

std::string row_table(const RowSet& set, const Validation& v) {
  std::size_t width = 4;
  for (const PreparedRow& row : set.rows) width = std::max(width, row.row.id.size());
  std::string text = fmt::format("\n{:<{}}  {:>12}{:>9}{:>12}{:>9}  {}\n", "row", width, "measured",
                                 "its MFU", "predicted", "error", "what the row leaves open");
  for (const RowVerdict& verdict : v.rows) {
    const PreparedRow& row = set.rows[verdict.row];
    text += fmt::format("{:<{}}  {:>12}{:>9}{:>12}{:>+7.1f} %  {}{}{}\n", row.row.id, width,
                        measured_text(row.metric, row.measured),
                        verdict.implied_mfu > 0 ? readable_share(verdict.implied_mfu) : "",
                        measured_text(row.metric, verdict.predicted), 100 * verdict.error,
                        row.row.trust == Trust::C ? "[trust C] " : "",
                        row.row.suspect.empty() ? "" : "[suspect: " + row.row.suspect + "] ",
                        assumed_text(row));
  }
  return text;
}

std::string fit_table(const FitResult& fit) {
  std::string text = fmt::format(
      "\n{} iterations; name, value, prior; moved: spreads of the prior; sure: posterior over "
      "prior "
      "spread, 1 = no row says anything\n",
      fit.iterations);
  std::size_t free = 0;
  for (const ParameterInfo& row : parameter_table()) {
    if (row.fitted_on.empty()) continue;
    text += fmt::format("    \"{}\", {:.4g}, {:.4g},  // was {:.4g}, moved {:+.2f}, sure {:.2f}\n",
                        row.name, fit.parameters[row.parameter], row.prior, row.value,
                        fit.moved[free], fit.determined[free]);
    ++free;
  }
  return text;
}

std::string worst_rows(const std::vector<ExplainedRow>& worst) {
  std::string text =
      worst.empty() ? "" : "\nthe rows farthest off, and what would have to be true\n";
  for (const auto& [row, verdict] : worst) {
    text += fmt::format("  {}: {} measured, {} predicted ({:+.1f} %)\n    {}\n", row.row.id,
                        measured_text(row.metric, row.measured),
                        measured_text(row.metric, verdict.predicted), 100 * verdict.error,
                        verdict.explanation);
    if (!row.assumptions.empty()) text += fmt::format("    assumed: {}\n", assumed_text(row));
  }
  return text;
}

std::string difference_table(const RowSet& set, const std::vector<SimulatedRow>& rows) {
  std::string text = fmt::format("\n{:<44}{:>6}{:>8}{:>8}{:>8}{:>8}   {}\n",
                                 "simulator against closed form", "rows", "median", "p90", "max",
                                 "bias", "what the simulator has more of, in percent of a step");
  for (const DifferenceScore& s : difference_scores(set, rows))
    text += fmt::format("  {:<42}{:>6}{:>8}{:>8}{:>8}{:>+8.1f}   {} {:+.1f}\n", s.name, s.rows,
                        in_percent(s.median), in_percent(s.p90), in_percent(s.max), 100 * s.bias,
                        s.cause.name, 100 * s.cause.share);
  std::vector<const SimulatedRow*> farthest;
  for (const SimulatedRow& row : rows) farthest.push_back(&row);
  std::stable_sort(farthest.begin(), farthest.end(), [](const auto* a, const auto* b) {
    return std::abs(a->difference()) > std::abs(b->difference());
  });
  farthest.resize(std::min<std::size_t>(farthest.size(), 8));
  text += "  farthest apart\n";
  for (const SimulatedRow* row : farthest) {
    const Cause cause = largest_cause(*row);
    text += fmt::format("    {}: {} by closed form, {} simulated ({:+.1f} %), {} {:+.1f} %\n",
                        set.rows[row->row].row.id, measured_text(RowMetric::StepTime, row->closed),
                        measured_text(RowMetric::StepTime, row->simulated), 100 * row->difference(),
                        cause.name, 100 * cause.share);
  }
  return text;
}

std::string skipped_table(const ValidationSummary& summary) {
  if (summary.skipped == 0) return "";
  std::vector<std::pair<std::size_t, std::string>> reasons;
  for (const auto& [reason, count] : summary.reasons) reasons.push_back({count, reason});
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = fmt::format("\n{} rows skipped, because they are or have\n", summary.skipped);
  for (const auto& [count, reason] : reasons) text += fmt::format("  {:>4}  {}\n", count, reason);
  return text;
}

}  // namespace trainyard
