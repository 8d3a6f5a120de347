#include "core/validation/features.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.h"
#include "core/cost/physical.h"
#include "core/methods/settings/settings.h"

namespace trainyard {
namespace {

struct Run {
  const Workload& work;
  const StepEstimate& step;
  int blanks = 0;
  const Scenario& scenario() const { return work.scenario; }
  const Plan& plan() const { return work.scenario.plan; }
};

double seconds_of(Duration d) { return static_cast<double>(d.count()) / 1e9; }
double log2_of(std::int64_t n) {
  return std::log2(static_cast<double>(std::max<std::int64_t>(n, 1)));
}

// Returns the decimal logarithm of the microseconds of device work per layer and microbatch: below
// some thousand, the host that launches kernels becomes the bottleneck.
double layer_work(const Run& run) {
  const Breakdown& b = run.step.breakdown;
  const double pieces = std::max(1, layer_count(run.scenario().model) / run.plan().mesh.pp) *
                        static_cast<double>(std::max(1, microbatches(run.plan())));
  return std::log10(1e6 * seconds_of(b.forward + b.backward + b.recompute) / pieces + 1);
}

double full(const Run& run) {
  Bytes peak{};
  for (const CategoryBytes& bytes : run.step.memory) peak = std::max(peak, total(bytes));
  const Bytes capacity = run.scenario().cluster.device.memory.value;
  return capacity.value > 0
             ? std::min(1.5, static_cast<double>(peak.value) / static_cast<double>(capacity.value))
             : 0;
}

// Returns the share of these categories in the peak of the fullest device.
double share(const Run& run, std::initializer_list<Category> categories) {
  CategoryBytes most{};
  for (const CategoryBytes& bytes : run.step.memory)
    if (total(most) < total(bytes)) most = bytes;
  double sum = 0;
  for (const Category c : categories)
    sum += static_cast<double>(most[static_cast<std::size_t>(c)].value);
  return total(most).value > 0 ? sum / static_cast<double>(total(most).value) : 0;
}

double kept_again(const Run& run) {
  const std::string recompute = setting(run.plan(), "recompute");
  return recompute.empty() || recompute == "none" ? 0 : recompute == "full" ? 1 : 0.5;
}

double bytes_of_math(const Run& run) {
  const double bits = 8 * bytes_of(run.work.layout.precision.math);
  return std::log2(std::max(bits, 4.0)) - 4;
}

double of_generation(const Run& run, Generation g) {
  return generation(run.scenario().cluster.device) == g ? 1 : 0;
}

double of_kernels(const Run& run, KernelClass k) {
  return settle(run.plan().software, run.scenario().cluster.device).kernels == k ? 1 : 0;
}

double zero_stage(const Run& run) {
  const std::string stage = setting(run.plan(), "zero");
  return stage.empty() ? 0 : stage[0] - '0';
}

bool adapted(const Plan& plan) {
  return find_choice(plan, "lora") != nullptr || find_choice(plan, "frozen") != nullptr;
}

bool routed(const Model& model) { return active_parameters(model) < parameters(model); }

struct Feature {
  const char* name;
  double (*of)(const Run&);
  double scale;         // the size of a large difference
  double time, memory;  // weights of the difference; 0 = it does not matter
};

constexpr Feature kFeatures[] = {
    {"layer-work", layer_work, 0.7, 2, 0},
    {"nodes", [](const Run& r) { return log2_of(nodes(r.scenario().cluster)); }, 5, 1, 0.2},
    {"sequence", [](const Run& r) { return log2_of(r.plan().batch.sequence); }, 4, 1, 0.5},
    {"parameters",
     [](const Run& r) {
       return std::log10(
           static_cast<double>(std::max<std::int64_t>(1, parameters(r.scenario().model))));
     },
     1.5, 1, 1},
    {"traffic", [](const Run& r) { return r.step.exposed_communication_fraction; }, 0.2, 1.5, 0},
    {"bubble", [](const Run& r) { return r.step.bubble_fraction; }, 0.25, 1, 0},
    {"recompute", kept_again, 1, 0.5, 1},
    {"tensor-parallel", [](const Run& r) { return log2_of(r.plan().mesh.tp); }, 3, 0.7, 0.7},
    {"pipeline", [](const Run& r) { return log2_of(r.plan().mesh.pp); }, 4, 0.5, 1},
    {"context-parallel", [](const Run& r) { return log2_of(r.plan().mesh.cp); }, 3, 1, 1},
    {"zero", zero_stage, 3, 0.5, 1},
    {"precision", bytes_of_math, 1, 1, 0.3},
    {"volta", [](const Run& r) { return of_generation(r, Generation::Volta); }, 1, 0.5, 0.2},
    {"ampere", [](const Run& r) { return of_generation(r, Generation::Ampere); }, 1, 0.5, 0.2},
    {"hopper", [](const Run& r) { return of_generation(r, Generation::Hopper); }, 1, 0.5, 0.2},
    {"blackwell", [](const Run& r) { return of_generation(r, Generation::Blackwell); }, 1, 0.5,
     0.2},
    {"tpu", [](const Run& r) { return of_generation(r, Generation::Tpu); }, 1, 0.5, 0.2},
    {"other-device", [](const Run& r) { return of_generation(r, Generation::Other); }, 1, 0.5, 0.2},
    {"eager", [](const Run& r) { return of_kernels(r, KernelClass::Eager); }, 1, 0.3, 0.3},
    {"compiled", [](const Run& r) { return of_kernels(r, KernelClass::Compiled); }, 1, 0.3, 0.3},
    {"fused", [](const Run& r) { return of_kernels(r, KernelClass::Fused); }, 1, 0.3, 0.3},
    {"framework-open", [](const Run& r) { return r.plan().software.framework.empty() ? 1.0 : 0.0; },
     1, 0.5, 0.5},
    {"routed", [](const Run& r) { return routed(r.scenario().model) ? 1.0 : 0.0; }, 1, 2, 2},
    {"adapted", [](const Run& r) { return adapted(r.plan()) ? 1.0 : 0.0; }, 1, 2, 2},
    {"unfused-attention", [](const Run& r) { return r.plan().flash_attention ? 0.0 : 1.0; }, 1, 0.5,
     1},
    {"fullness", full, 0.5, 0.5, 0.5},
    {"activations",
     [](const Run& r) {
       return share(r, {Category::Activations, Category::Recomputed, Category::Communication});
     },
     0.5, 0, 1},
    {"blanks", [](const Run& r) { return static_cast<double>(std::min(r.blanks, 3)); }, 2, 1, 1},
};

std::string generation_words(const Device& device) {
  switch (generation(device)) {
    case Generation::Volta:
      return "Volta devices";
    case Generation::Ampere:
      return "Ampere devices";
    case Generation::Hopper:
      return "Hopper devices";
    case Generation::Blackwell:
      return "Blackwell devices";
    case Generation::Tpu:
      return "TPUs";
    case Generation::Other:
      break;
  }
  return device.name;
}

}  // namespace

std::vector<std::string> feature_names() {
  std::vector<std::string> names;
  for (const Feature& feature : kFeatures) names.emplace_back(feature.name);
  return names;
}

RunFeatures features(const Workload& work, const StepEstimate& step, int blanks) {
  const Run run{work, step, blanks};
  RunFeatures found;
  for (const Feature& feature : kFeatures) found.values.push_back(feature.of(run) / feature.scale);
  return found;
}

bool routes(const RunFeatures& run) {
  static const std::vector<std::string> names = feature_names();
  static const auto at = std::find(names.begin(), names.end(), "routed") - names.begin();
  return run.values[static_cast<std::size_t>(at)] > 0;
}

double distance(const RunFeatures& a, const RunFeatures& b, bool memory) {
  double sum = 0;
  for (std::size_t i = 0; i < std::size(kFeatures); ++i) {
    const double apart = a.values[i] - b.values[i];
    sum += (memory ? kFeatures[i].memory : kFeatures[i].time) * apart * apart;
  }
  return std::sqrt(sum);
}

std::vector<std::string> parts_of(const Workload& work) {
  const Scenario& scenario = work.scenario;
  const Plan& plan = scenario.plan;
  std::vector<std::string> parts = {generation_words(scenario.cluster.device),
                                    "precision " + setting(plan, "precision"),
                                    "optimizer " + plan.optimizer};
  const auto add = [&](bool has, const char* words) {
    if (has) parts.emplace_back(words);
  };
  if (plan.mesh.pp > 1) parts.push_back("schedule " + setting(plan, "schedule"));
  add(!scenario.model.tokens, "a model without tokens");
  add(routed(scenario.model), "routed experts");
  add(adapted(plan), "frozen weights");
  add(find_choice(plan, "sparse") != nullptr, "sparse weights");
  add(plan.mesh.tp > 1, "tensor parallel");
  add(plan.mesh.cp > 1, "context parallel");
  add(plan.mesh.ep > 1, "expert parallel");
  add(plan.mesh.tp > devices_per_node(scenario.cluster), "tensor parallel over nodes");
  const StepEstimate none;
  const double zero = zero_stage({work, none, 0});
  if (zero > 0) parts.push_back("ZeRO " + std::to_string(static_cast<int>(zero)));
  add(zero == 3 && plan.mesh.pp > 1, "FSDP under a pipeline");
  add(!setting(plan, "hybrid").empty() && setting(plan, "hybrid") != "0", "hybrid sharding");
  add(!plan.order.empty(), "an edited order");
  add(setting(plan, "input") != "none", "input that is read and decoded");
  const std::string recompute = setting(plan, "recompute");
  if (!recompute.empty() && recompute != "none")
    parts.push_back("recompute " + recompute.substr(0, recompute.find('=')));
  std::sort(parts.begin(), parts.end());
  return parts;
}

}  // namespace trainyard
