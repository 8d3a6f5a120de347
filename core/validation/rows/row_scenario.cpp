#include "core/validation/rows/row_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <thread>
#include <utility>

#include "core/cost/physical.h"
#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"
#include "core/validation/rows/row_context.h"
#include "core/validation/rows/row_parts.h"

namespace trainyard {
namespace {

PreparedRow prepared(const MeasuredRow& row, std::vector<Assumption> assumptions) {
  PreparedRow out;
  Scenario scenario;
  scenario.model = row_model(row, assumptions);
  scenario.cluster = row_cluster(row, assumptions);
  scenario.plan = row_plan(row, scenario.model, scenario.cluster, assumptions);
  const Measurement measured = row_measurement(row, scenario, assumptions);
  out.metric = measured.metric;
  out.measured = measured.value;
  for (const Diagnostic& d : check(scenario))
    if (d.severity == Diagnostic::Severity::Error)
      throw Error(Error::Kind::Unsupported, "cannot be planned: " + d.message);
  out.workload = prepare(scenario);
  out.routed = is_routed(scenario.model);
  out.tunable = row.trust != Trust::C && row.suspect.empty();
  out.row = row;
  out.assumptions = std::move(assumptions);
  return out;
}

// Sources publish what their allocator or the driver holds, not the sum of live tensors.
double most(const std::vector<Bytes>& reserved) {
  return static_cast<double>(std::max_element(reserved.begin(), reserved.end())->value);
}

bool fits(const PreparedRow& row) {
  const double capacity =
      static_cast<double>(row.workload.scenario.cluster.device.memory.value.value);
  return most(predict_whole(row, Parameters{}).reserved) <= capacity;
}

constexpr std::string_view kFastest = "not stated; the fastest that fits";

// Authors who publish a step time have usually chosen the best setting, so of those that fit the
// fastest is taken. Replaces the row by one with the setting filled in where that is faster;
// returns false where the plan is invalid or does not fit.
bool try_setting(PreparedRow& best, const MeasuredRow& other, const std::vector<Assumption>& given,
                 const char* setting, std::int64_t taken) {
  const MeasuredRow row = best.row;
  try {
    std::vector<Assumption> with = given;
    with.push_back({setting, std::to_string(taken), std::string(kFastest)});
    PreparedRow tried = prepared(other, std::move(with));
    if (tried.workload.scenario.plan.batch.global != best.workload.scenario.plan.batch.global ||
        tried.measured != best.measured || !fits(tried))
      return false;
    if (predict(tried, Parameters{}) >= predict(best, Parameters{})) return true;
    tried.row = other;
    best = std::move(tried);
    return true;
  } catch (const Error&) {
    return false;  // the value does not divide the layers or the batch
  }
}

bool assumed(const PreparedRow& row, std::string_view setting) {
  return std::any_of(row.assumptions.begin(), row.assumptions.end(),
                     [&](const Assumption& a) { return a.setting == setting; });
}

void try_settings(PreparedRow& best, const std::vector<Assumption>& given) {
  if (best.metric != RowMetric::StepTime) return;
  const MeasuredRow row = best.row;
  const Plan& plan = best.workload.scenario.plan;
  const std::int64_t layers = row.layers.value_or(0), stages = plan.mesh.pp;
  const bool core = plan.software.framework == "megatron-core";
  if (core && stages > 1 && !row.vpp && row.schedule.empty())
    for (std::int64_t chunks = 2; chunks * stages <= layers; ++chunks) {
      if (layers % (chunks * stages) != 0) continue;
      MeasuredRow other = row;
      other.vpp = chunks, other.schedule = "interleaved-1F1B";
      try_setting(best, other, given, "virtual-stages", chunks);
    }
  std::vector<Assumption> chosen = given;
  for (const Assumption& a : best.assumptions)
    if (a.why == kFastest) chosen.push_back(a);
  if (assumed(best, "micro-batch"))
    for (const std::int64_t micro : {2, 4, 8}) {
      MeasuredRow other = best.row;
      other.micro_batch = micro;
      if (!try_setting(best, other, chosen, "micro-batch", micro)) break;
    }
  best.row = row;
}

double sum(const PreparedRow& row, const std::vector<Bytes>& reserved) {
  Bytes all{};
  for (const Bytes device : reserved) all += device;
  const Scenario& s = row.workload.scenario;
  return static_cast<double>(all.value) * static_cast<double>(s.cluster.count) /
         static_cast<double>(reserved.size());
}

}  // namespace

std::variant<PreparedRow, SkippedRow> prepare_filled(const FilledRow& filled) {
  try {
    PreparedRow row = prepared(filled.row, filled.assumptions);
    try_settings(row, filled.assumptions);
    return row;
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::Unsupported && error.kind() != Error::Kind::InvalidInput)
      throw;
    return SkippedRow{filled.row, error.what()};
  }
}

std::variant<PreparedRow, SkippedRow> prepare_row(const MeasuredRow& row) {
  RowContext alone;
  alone.see(row);
  alone.settle();
  return prepare_filled(alone.filled(row));
}

RowSet prepare_rows(const std::vector<MeasuredRow>& rows) {
  RowContext context;
  for (const MeasuredRow& row : rows) context.see(row);
  context.settle();
  std::vector<std::variant<PreparedRow, SkippedRow>> done(rows.size());
  std::atomic<std::size_t> next{0};
  std::exception_ptr failed;
  std::atomic<bool> stop{false};
  const auto work = [&] {
    for (std::size_t i = next++; i < rows.size() && !stop; i = next++) try {
        done[i] = prepare_filled(context.filled(rows[i]));
      } catch (...) {
        if (!stop.exchange(true)) failed = std::current_exception();
      }
  };
  {
    const std::jthread other(work);
    work();
  }
  if (failed) std::rethrow_exception(failed);
  RowSet set;
  for (auto& one : done) {
    if (auto* row = std::get_if<PreparedRow>(&one))
      set.rows.push_back(std::move(*row));
    else
      set.skipped.push_back(std::move(std::get<SkippedRow>(one)));
  }
  return set;
}

StepEstimate predict_whole(const PreparedRow& row, const Parameters& parameters) {
  const auto cost = physical_cost_model(row.workload.scenario, parameters);
  return estimate_step(row.workload, *cost);
}

double predict(const PreparedRow& row, const Parameters& parameters) {
  const auto cost = physical_cost_model(row.workload.scenario, parameters);
  switch (row.metric) {
    case RowMetric::StepTime:
      return to_seconds(estimate_step(row.workload, *cost).step);
    case RowMetric::LayerTime: {
      const StageTime stage = stage_times(row.workload, *cost).front();
      return to_seconds(stage.forward.total() + stage.backward.total());
    }
    case RowMetric::Memory:
      return most(estimate_step(row.workload, *cost).reserved);
    case RowMetric::MemoryTotal:
      return sum(row, estimate_step(row.workload, *cost).reserved);
  }
  return 0;
}

}  // namespace trainyard
