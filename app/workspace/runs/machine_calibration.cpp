#include "app/workspace/runs/machine_calibration.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "app/workspace/scenario/local_cluster.h"
#include "core/base/random.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/builders.h"
#include "core/model/zoo/presets.h"
#include "core/model/zoo/zoo.h"

namespace trainyard {
namespace {

constexpr std::string_view kStandard[] = {"mlp-small", "resnet-20", "gpt-tiny", "lstm-tiny",
                                          "dlrm-tiny"};

// Draws sizes of networks one after the other.
class Sizes {
 public:
  explicit Sizes(std::uint64_t seed, std::uint64_t network) : random_(seed, network) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return random_.between(index_++, low, high);
  }
  /// As likely between 16 and 32 as between 512 and 1,024.
  std::int64_t of_any_scale(std::int64_t low, std::int64_t high) {
    const double share = random_.uniform(index_++);
    return std::llround(static_cast<double>(low) *
                        std::pow(static_cast<double>(high) / static_cast<double>(low), share));
  }

 private:
  Random random_;
  std::uint64_t index_ = 0;
};

Model random_network(Sizes& sizes) {
  switch (sizes.between(0, 3)) {
    case 0:
      return preset_model(fmt::format("rnn:layers=1,hidden={},vocab={},seq={}",
                                      sizes.of_any_scale(32, 512), sizes.of_any_scale(32, 1024),
                                      sizes.of_any_scale(16, 64)));
    case 1: {
      // These two have different norms, activations and positions.
      TransformerSpec spec = family_spec(sizes.between(0, 1) == 0 ? "llama" : "gpt2");
      spec.name = "random transformer";
      spec.layers = 1;
      spec.heads = sizes.between(2, 8);
      spec.hidden = spec.heads * 8 * sizes.between(2, 8);
      spec.ffn = sizes.of_any_scale(128, 2048);
      spec.vocab = sizes.of_any_scale(64, 2048);
      spec.sequence = 8 * sizes.between(4, 32);
      return build_decoder(spec);
    }
    default:
      return preset_model(fmt::format(
          "cnn:stages=2,blocks=1,channels={},width={},image={},classes={}", sizes.between(1, 4),
          4 * sizes.between(2, 16), 4 * sizes.between(2, 8), sizes.of_any_scale(2, 128)));
  }
}

}  // namespace

std::vector<Workload> random_workloads(int count, std::uint64_t seed) {
  if (count < 1) throw std::invalid_argument("expected at least one network");
  std::vector<Workload> list;
  for (int n = 0; n < count; ++n) {
    Sizes sizes(seed, static_cast<std::uint64_t>(n));
    Scenario scenario{.model = random_network(sizes), .cluster = local_cluster(1, {}), .plan = {}};
    const std::int64_t batch = std::int64_t{1} << sizes.between(0, 4);
    apply_setting(scenario.plan, "precision=fp32");
    apply_setting(scenario.plan, fmt::format("micro-batch={}", batch));
    apply_setting(scenario.plan, fmt::format("global-batch={}", batch));
    list.push_back(prepare(scenario));
  }
  return list;
}

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
