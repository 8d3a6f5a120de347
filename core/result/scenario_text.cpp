#include "core/result/scenario_text.h"

#include <fmt/format.h>

#include "core/methods/settings/resharding.h"
#include "core/methods/settings/settings.h"
#include "core/model/formula.h"
#include "core/plan/shared_statistics.h"

namespace trainyard {
namespace {

void write(std::string& text, const Block& block) {
  text += fmt::format("block {} x{}\n", block.name, block.count);
  for (const Tensor& tensor : block.graph.tensors)
    text += fmt::format("  {} {}\n", tensor.name, to_text(tensor.shape));
  for (const Node& node : block.graph.nodes) {
    if (node.formulas == nullptr) continue;
    text += fmt::format("  {} formula {}", node.name, node.formulas->value.text());
    for (const Formula& gradient : node.formulas->gradients) text += "; " + gradient.text();
    text += "\n";
  }
}

void write(std::string& text, const Level& level) {
  text += fmt::format("level {} {} {} {} {}\n", level.name, level.size,
                      static_cast<std::int64_t>(level.bandwidth.value.value),
                      level.latency.value.count(), static_cast<int>(level.topology));
}

bool leaves_by_layer(const Plan& plan) {
  const std::string layers = setting(plan, "offload-layers");
  return !layers.empty() && layers != "together";
}

bool trades_blocks(const Plan& plan) { return setting(plan, "sparse-regrowth") == "across"; }

// These settings were added later; a plan that does not state them keeps its old text, and so its
// digest.
bool unsaid(std::string_view key, const Plan& plan) {
  return (key == "order" && plan.order.empty()) || (key == "etp" && !plan.mesh.etp) ||
         (key == "framework" && plan.software.framework.empty()) ||
         (key == "kernels" && plan.software.kernels.empty()) ||
         (key == "attention" && plan.software.attention.empty()) ||
         (key == "cuda-graphs" && plan.software.graphs.empty()) ||
         (key == "release" && plan.software.release.empty()) ||
         (key == "offload-tier" && setting(plan, key) != "nvme") ||
         ((key == "offload-layers" || key == "offload-in-flight") && !leaves_by_layer(plan)) ||
         ((key == "offload" || key == "frozen") && find_choice(plan, key) == nullptr) ||
         ((key == "packing" || key == "lengths") && find_choice(plan, "packing") == nullptr) ||
         ((key == "widths" || key == "packing-order") && setting(plan, "packing") != "longest") ||
         (key == "reduce" && find_choice(plan, "adasum") == nullptr) ||
         ((key == "compression" || key == "evaluation" || key == "operator-stages" ||
           key == "optimizer-norms" || key == "sync" || key == "input") &&
          find_choice(plan, key) == nullptr) ||
         (key == "batch-norm" && find_choice(plan, kBatchNormStatistics) == nullptr) ||
         (key == "batch-ramp" && find_choice(plan, "batch-ramp") == nullptr) ||
         (key.starts_with("lora") && find_choice(plan, "lora") == nullptr) ||
         (key.starts_with("spars") && find_choice(plan, "sparse") == nullptr) ||
         ((key == "sparse-regrowth" || key == "sparse-capacity") && !trades_blocks(plan)) ||
         (key.starts_with("tt-") && find_choice(plan, "tensor-train") == nullptr) ||
         (key == "tt-start" && setting(plan, key) != "published") ||
         ((key == "first-moment-dtype" || key == "second-moment-dtype" ||
           key == "main-weights-dtype" || key == "reduce-dtype" || key == "boundary-dtype" ||
           key == "gather-dtype") &&
          find_choice(plan, "tensor-formats") == nullptr) ||
         (key == "reshard-after-forward" && reshards_after_forward(plan)) ||
         (key == "zero-reduce" && setting(plan, key) == "framework");
}

// Returns the text of one parameter; "" where its value is the same as leaving it out.
std::string said(const Plan& plan, const Choice& choice, std::string_view param,
                 const ParamValue& value) {
  if (choice.method == "zero" && param == "reshard")
    return reshards_after_forward(plan) ? "" : " reshard=false";
  if (choice.method == "zero" && param == "reduce" && value == ParamValue{std::string("framework")})
    return "";
  if (choice.method == "offload" &&
      (value == ParamValue{std::string("host")} ||
       ((param == "layers" || param == "in-flight") && !leaves_by_layer(plan))))
    return "";
  if (choice.method == "sparse" && (param == "regrowth" || param == "capacity") &&
      !trades_blocks(plan))
    return "";
  if (choice.method == "tensor-train" && value == ParamValue{std::string("normalised")}) return "";
  if (choice.method == "packing" && (param == "widths" || param == "order") &&
      setting(plan, "packing") != "longest")
    return "";
  if (choice.method == "expert-parallel" && (value == ParamValue{0.0} || value == ParamValue{1.0}))
    return "";
  return fmt::format(" {}={}", param, to_text(value));
}

}  // namespace

std::string scenario_text(const Scenario& scenario) {
  std::string text = fmt::format("model {}\n", scenario.model.name);
  for (const Block& block : scenario.model.blocks) write(text, block);
  text += fmt::format("cluster {} {} {}\n", scenario.cluster.name, scenario.cluster.device.id,
                      scenario.cluster.count);
  for (const Level& level : scenario.cluster.levels) write(text, level);
  const Cluster& cluster = scenario.cluster;
  if (cluster.host_memory.value.value > 0 || cluster.host_bandwidth.value.value > 0)
    text += fmt::format("host {} {}\n", cluster.host_memory.value.value,
                        static_cast<std::int64_t>(cluster.host_bandwidth.value.value));
  if (cluster.nvme.value.value > 0 || cluster.nvme_read.value.value > 0 ||
      cluster.nvme_write.value.value > 0)
    text += fmt::format("nvme {} {} {}\n", cluster.nvme.value.value,
                        static_cast<std::int64_t>(cluster.nvme_read.value.value),
                        static_cast<std::int64_t>(cluster.nvme_write.value.value));
  if (cluster.device.on_chip_memory) text += "memory on chip\n";
  for (const DeviceKind& kind : cluster.mixed)
    text += fmt::format("mixed {} {}\n", kind.device.id, kind.count);
  if (cluster.site != Site{})
    text += fmt::format("site {} {}\n", cluster.site.region, cluster.site.overhead);
  for (const Setting& one : settings())
    if (!unsaid(one.key, scenario.plan))
      text += fmt::format("{}={}\n", one.key,
                          one.key == "reshard-after-forward" ? "off" : one.read(scenario.plan));
  text += "layers";
  for (const int layers : scenario.plan.split.layers) text += fmt::format(" {}", layers);
  for (const Choice& choice : scenario.plan.choices) {
    text += "\nmethod " + choice.method;
    for (const auto& [name, value] : choice.params.values())
      text += said(scenario.plan, choice, name, value);
  }
  return text + "\n";
}

}  // namespace trainyard
