// This file explains why a prediction is off: what it consists of, and the one thing that would
// have to be different.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/units_text.h"
#include "core/cost/physical.h"
#include "core/timeline/compare.h"
#include "core/validation/validation.h"

namespace trainyard {
namespace {

double log_error(const PreparedRow& row, const Parameters& parameters) {
  return std::log(predict(row, parameters) / row.measured);
}

struct Part {
  std::string_view name;
  double value = 0;
};

std::string shares(std::vector<Part> parts, double whole) {
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.value > b.value; });
  std::string text;
  for (const Part& part : parts)
    if (part.value > 0.005 * whole)
      text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", part.name,
                          100 * part.value / whole);
  return text;
}

std::string made_of_time(const Breakdown& b) {
  std::vector<Part> parts;
  for (const NamedPart& part : breakdown_parts())
    parts.push_back({part.name, to_seconds(b.*part.part)});
  return shares(parts, to_seconds(b.sum()));
}

std::string made_of_bytes(const std::vector<CategoryBytes>& memory) {
  const auto fullest = std::max_element(
      memory.begin(), memory.end(),
      [](const CategoryBytes& a, const CategoryBytes& b) { return total(a) < total(b); });
  std::vector<Part> parts;
  for (std::size_t c = 0; c < fullest->size(); ++c)
    parts.push_back(
        {to_string(static_cast<Category>(c)), static_cast<double>((*fullest)[c].value)});
  return shares(parts, static_cast<double>(total(*fullest).value));
}

// Finds the parameter that needs to move least, in spreads of its prior, to close the gap.
std::string parameter_needed(const PreparedRow& row, const Parameters& parameters) {
  const double now = log_error(row, parameters);
  constexpr double kStep = 0.02;
  double least = 1e300, value = 0;
  const ParameterInfo* which = nullptr;
  for (const Parameter p : parameters_of(row.workload.scenario.cluster.device)) {
    Parameters moved = parameters;
    moved[p] = parameters[p] * std::exp(kStep);
    const double slope = (log_error(row, moved) - now) / kStep;
    if (std::abs(slope) < 1e-3) continue;
    const double change = -now / slope;
    const ParameterInfo& known = info(p);
    const double target = parameters[p] * std::exp(change);
    if (std::abs(change) / known.spread >= least || target < known.low || target > known.high)
      continue;
    least = std::abs(change) / known.spread, value = target, which = &known;
  }
  if (which == nullptr) return "no single parameter closes the gap within what is possible";
  return fmt::format(
      "{} would have to be {:.3g} {} instead of {:.3g} ({:.1f} spreads of its prior)", which->name,
      value, which->unit, parameters[which->parameter], least);
}

// Finds the blank setting whose other value comes nearest to the measurement.
std::string setting_needed(const PreparedRow& row, const Parameters& parameters) {
  struct Other {
    std::string_view setting, value;
    void (*write)(MeasuredRow&);
  };
  const Other others[] = {
      {"micro-batch", "2", [](MeasuredRow& r) { r.micro_batch = 2; }},
      {"micro-batch", "4", [](MeasuredRow& r) { r.micro_batch = 4; }},
      {"recompute", "full", [](MeasuredRow& r) { r.recompute = "full"; }},
      {"flash-attention", "on", [](MeasuredRow& r) { r.flash_attention = "yes"; }},
      {"flash-attention", "off", [](MeasuredRow& r) { r.flash_attention = "no"; }},
      {"virtual-stages", "2", [](MeasuredRow& r) { r.vpp = 2; }},
      {"virtual-stages", "4", [](MeasuredRow& r) { r.vpp = 4; }},
      {"zero", "0", [](MeasuredRow& r) { r.zero = "0"; }},
      {"zero", "1", [](MeasuredRow& r) { r.zero = "1"; }},
      {"zero", "3", [](MeasuredRow& r) { r.zero = "3"; }},
      {"sequence-parallel", "on", [](MeasuredRow& r) { r.sequence_parallel = "yes"; }},
      {"sequence-parallel", "off", [](MeasuredRow& r) { r.sequence_parallel = "no"; }},
  };
  const std::vector<std::string> blanks = row.blanks();
  double best = std::abs(log_error(row, parameters));
  std::string text;
  for (const Other& other : others) {
    if (std::find(blanks.begin(), blanks.end(), other.setting) == blanks.end()) continue;
    MeasuredRow changed = row.row;
    other.write(changed);
    const auto prepared = prepare_row(changed);
    const auto* ready = std::get_if<PreparedRow>(&prepared);
    if (ready == nullptr) continue;
    const double left = log_error(*ready, parameters);
    if (std::abs(left) >= 0.9 * best) continue;
    best = std::abs(left);
    text = fmt::format("with {}={}, which the row leaves open, the error would be {:+.1f} %",
                       other.setting, other.value, 100 * std::expm1(left));
  }
  return text;
}

}  // namespace

std::string explain(const PreparedRow& row, const Parameters& parameters) {
  const StepEstimate whole = predict_whole(row, parameters);
  std::string text = metric_name(row.metric) == "memory" ? made_of_bytes(whole.memory)
                                                         : made_of_time(whole.breakdown);
  text += "; " + parameter_needed(row, parameters);
  if (const std::string setting = setting_needed(row, parameters); !setting.empty())
    text += "; " + setting;
  return text;
}

}  // namespace trainyard
