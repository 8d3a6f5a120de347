#include "app/workspace/runs/machine_calibration.h"

#include "app/workspace/scenario/local_cluster.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"

namespace trainyard {
namespace {

constexpr std::string_view kStandard[] = {"mlp-small", "resnet-20", "gpt-tiny", "lstm-tiny",
                                          "dlrm-tiny"};

}  // namespace

std::vector<Workload> standard_workloads() {
  std::vector<Workload> list;
  for (const std::string_view name : kStandard) {
    if (find_in_zoo(name) == nullptr) continue;
    for (const char* micro : {"micro-batch=1", "micro-batch=4", "micro-batch=16"}) {
      Scenario scenario{.model = zoo_model(name), .cluster = local_cluster(1, {}), .plan = {}};
      for (const char* setting : {"precision=fp32", "global-batch=16", micro})
        apply_setting(scenario.plan, setting);
      list.push_back(prepare(scenario));
    }
  }
  return list;
}

std::vector<Workload> local_workloads(const Request& request) {
  const Scenario scenario = open(request);
  expect_local(scenario);
  throw_if_errors(check(scenario));
  std::vector<Workload> list;
  list.push_back(prepare(scenario));
  return list;
}

KernelResiduals machine_residuals(const Calibration& calibration, const std::stop_token& stop) {
  const bool local = calibration.device.empty();
  Scenario scenario{
      .model = zoo_model(kStandard[0]),
      .cluster = local ? local_cluster(1, {}) : make_cluster(device(calibration.device), 1),
      .plan = {}};
  if (local) apply_setting(scenario.plan, "precision=fp32");
  return kernel_residuals(calibration, cost_model(scenario), scenario.cluster.device, stop);
}

}  // namespace trainyard
