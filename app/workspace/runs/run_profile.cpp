#include "app/workspace/runs/run_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "app/workspace/scenario/priced_scenario.h"
#include "backends/cpu/calibration/calibrate.h"
#include "core/cost/kernel_times.h"

namespace trainyard {
namespace {

// The relative errors of the medians of the other steps' parts against the kept step.
std::vector<double> held_back(Duration kept, const std::vector<Duration>& step_times) {
  constexpr std::size_t kParts = 5;
  std::vector<double> off;
  if (step_times.size() < 2 || kept <= Duration{}) return off;
  const std::size_t count = step_times.size() - 1, parts = std::min(kParts, count);
  for (std::size_t part = 0; part < parts; ++part) {
    std::vector<std::int64_t> times;
    for (std::size_t i = part * count / parts; i < (part + 1) * count / parts; ++i)
      times.push_back(step_times[1 + i].count());
    const auto middle = static_cast<double>(quantile(std::move(times), 0.5));
    if (middle > 0) off.push_back(std::abs(static_cast<double>(kept.count()) / middle - 1));
  }
  std::sort(off.begin(), off.end());
  return off;
}

}  // namespace

RunMachine run_machine(const Calibration* prior) {
  if (prior != nullptr) return {describe_machine(), prior->copy, prior->reduce};
  return {describe_machine(), measure_copies(), measure_reduction()};
}

Calibration run_calibration(const Experiment& predicted, const Timeline& measured,
                            const std::vector<Duration>& step_times, const CostModel& cost,
                            const RunMachine& machine) {
  const Program& p = predicted.program;
  const Device& device = predicted.workload.scenario.cluster.device;
  KernelTable seen;
  for (std::uint32_t i = 0; i < p.instructions.size(); ++i) {
    const Task& task = p.task(InstructionId{i});
    const Duration took = measured.spans[i].length();
    if (task.kind != TaskKind::Compute || took <= Duration{}) continue;
    add_together(seen, std::span(p.works).subspan(task.first_work, task.works), took, cost, device);
  }
  Calibration c;
  c.machine = machine.name;
  c.copy = machine.copy;
  c.reduce = machine.reduce;
  for (const auto& [key, one] : seen) c.kernels.push_back(timing_of(one));
  const std::vector<double> off = held_back(step_window(measured, p).length(), step_times);
  if (!off.empty()) c.residual_median = off[off.size() / 2], c.residual_worst = off.back();
  c.notes.push_back("times are of a training run, with what its executor adds to each kernel");
  return c;
}

RunProfile run_profile(const TrainingReport& report, const Training& training,
                       const CostModel& cost, const RunMachine& machine,
                       const std::stop_token& stop) {
  RunProfile profile;
  profile.calibration =
      run_calibration(*report.predicted, report.run.timeline, report.run.step_times, cost, machine);
  profile.measured = report.step;
  profile.before = report.predicted->result.step.value;
  profile.updates = static_cast<std::int64_t>(report.run.losses.size());
  Scenario scenario = report.predicted->workload.scenario;
  const std::unique_ptr<CostModel> own = priced_by(profile.calibration, scenario);
  profile.after = predict_training(scenario, training, own.get(), stop)->result.step.value;
  return profile;
}

Calibration named_after_run(const RunProfile& profile, std::optional<std::int64_t> run,
                            const std::string& name) {
  Calibration c = profile.calibration;
  const std::string which = run ? fmt::format("run {}", *run) : std::string("a run");
  c.machine += fmt::format(", in {} of {}", which, name);
  c.notes.push_back(fmt::format("{} updates of {}", profile.updates, name));
  return c;
}

}  // namespace trainyard
