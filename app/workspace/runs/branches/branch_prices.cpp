#include "app/workspace/runs/branches/branch_prices.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>
#include <variant>

#include "app/workspace/runs/branches/branch_stages.h"
#include "app/workspace/scenario/prices.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "core/cluster/local_device.h"
#include "core/cluster/processor_core.h"
#include "core/cost/cost_model.h"
#include "core/lowering/lower.h"

namespace trainyard {
namespace {

void expect_one_processor(const Cluster& cluster) {
  std::vector<std::string> ids;
  for (const Device& each : devices())
    if (is_processor(each)) ids.push_back(each.id);
  if (!is_processor(cluster.device))
    refuse_flag("cluster",
                fmt::format("expected a processor, whose cores are priced one by one ({}), found "
                            "{}; how kernels beside each other share the units of an accelerator "
                            "is not modelled",
                            fmt::join(ids, ", "), cluster.name));
  if (cluster.count != 1)
    refuse_flag("cluster", fmt::format("expected one device, {}:1, whose layers nothing divides, "
                                       "found {}",
                                       cluster.device.id, cluster.name));
}

// A machine that a calibration is of may have more cores than this one.
int priced_cores(const Device& device, int asked) {
  if (is_local_core(device))
    return asked > 0 ? asked : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  if (asked > device.units)
    refuse_flag("cores", fmt::format("expected at most the {} cores of {}, found {}", device.units,
                                     device.id, asked));
  return asked > 0 ? asked : device.units;
}

// Opens the prices; those of a calibration name the machine in the study.
std::unique_ptr<CostModel> open_prices(OperatorPrices by, const std::string& calibration,
                                       Scenario& scenario, BranchStudy& study) {
  const std::string word = priced_word(to_string(by), calibration);
  if (word.empty()) return cost_model(scenario);
  MeasuredPrices prices = open_measured_prices(word);
  const auto& measured = std::get<Calibration>(prices);
  if (!measured.device.empty())
    refuse_flag("calibration",
                fmt::format("expected kernels of one core, as \"trainyard calibrate\" measures "
                            "them here, found those of a recorded run of {}",
                            measured.device));
  study.machine = measured.machine;
  return priced_by(std::move(prices), scenario);
}

std::vector<std::string> left_out(const Device& device) {
  std::vector<std::string> list = {
      "the time to hand groups to other cores and to wait for them",
      "data that a core reads after another one wrote it",
      "copies around merged operators whose tensors do not lie side by side"};
  list.emplace_back(
      is_local_core(device)
          ? "memory that cores share, each of which is as quick beside others as alone"
          : "kernels made for few channels: a product takes whole tiles, as on an "
            "accelerator");
  return list;
}

}  // namespace

BranchStudy priced_branches(const Scenario& asked, const BranchQuestion& question,
                            const std::string& calibration) {
  Scenario scenario = asked;
  const Device& device = scenario.cluster.device;
  expect_one_processor(scenario.cluster);
  BranchStudy study;
  study.sharing.cores = priced_cores(device, question.cores);
  study.machine = is_local_core(device) ? "this machine" : device.name;
  study.leaves_out = left_out(device);
  const std::unique_ptr<CostModel> cost =
      open_prices(question.prices, calibration, scenario, study);
  const Workload w = prepare(scenario);
  const Device alone = core_of(device, 1), beside = core_of(device, study.sharing.cores);
  study_passes(study, w, question, [&](std::size_t body, bool backward) {
    BranchPass pass =
        operators_of(w, body, backward, question.strategy != StageStrategy::Concurrent);
    const auto add = [&](const Work& work) {
      const Duration least = cost->compute(work, alone);
      pass.times.push_back({least, std::max(least, cost->compute(work, beside))});
    };
    for (const BodyOp& op : ops_of(w.bodies[body], backward)) add(op.work);
    for (const Work& work : pass.works) add(work);
    if (pass.graph.operators.size() > 1) find_stages(pass, study.sharing, question);
    return pass;
  });
  return study;
}

}  // namespace trainyard
