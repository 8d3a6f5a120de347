#include "planners/sensitivity/recompute_effect.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/units_text.h"
#include "core/estimate/estimate.h"
#include "core/methods/settings/settings.h"

namespace trainyard {
namespace {

constexpr auto kKept = static_cast<std::size_t>(Category::Activations);

struct Side {
  Workload workload;
  StepEstimate step;
  std::size_t worst = 0;
};

Side side_of(const Scenario& scenario, const CostOf& cost) {
  Side side;
  side.workload = prepare(scenario);
  side.step = estimate_step(side.workload, *cost(scenario));
  side.worst = static_cast<std::size_t>(
      std::max_element(side.step.reserved.begin(), side.step.reserved.end()) -
      side.step.reserved.begin());
  return side;
}

bool has_op(const Model& model, std::string_view name) {
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes)
      if (node.op->name == name) return true;
  return false;
}

// Explains why not a single byte less is kept.
std::string nothing_dropped(const Side& with, const std::string& policy) {
  const Scenario& s = with.workload.scenario;
  if (std::none_of(s.model.blocks.begin(), s.model.blocks.end(),
                   [](const Block& b) { return b.layer; }))
    return "the model has no repeated layers, and nothing else is recomputed";
  if (policy == "selective" && !has_op(s.model, "attention"))
    return "it drops what attention keeps, and the model has no attention";
  if (policy == "selective" && s.plan.flash_attention)
    return "it drops the scores of attention, and fused attention never keeps them "
           "(flash-attention=on)";
  return "all that it drops is the input of a layer, which has to be kept";
}

std::string_view category_words(std::size_t category) {
  constexpr std::string_view kWords[] = {
      "framework overhead", "weights",         "optimizer state", "gradients",
      "activations",        "what is rebuilt", "traffic",         "workspace"};
  static_assert(std::size(kWords) == kCategories);
  return kWords[category];
}

// The categories that grew on the device while activations fell: "what is rebuilt +1.2 GiB".
std::string risen(const CategoryBytes& before, const CategoryBytes& after) {
  std::string text;
  for (std::size_t c = 0; c < before.size(); ++c)
    if (c != kKept && after[c] > before[c])
      text += fmt::format("{}{} +{}", text.empty() ? "" : ", ", category_words(c),
                          readable(after[c] - before[c]));
  return text;
}

std::size_t largest_category(const CategoryBytes& bytes) {
  return static_cast<std::size_t>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin());
}

std::string explain(const Side& without, const Side& with, const RecomputeEffect& e) {
  const Bytes dropped = e.kept_without - e.kept_with, freed = e.reserved_without - e.reserved_with;
  if (dropped.value <= 0)
    return fmt::format("recompute={} frees nothing: {}", e.policy, nothing_dropped(with, e.policy));
  std::string text =
      fmt::format("recompute={} keeps {} less on device {}, and the peak falls by {}", e.policy,
                  readable(dropped), e.worst_without.value, readable(freed));
  if (e.worst_with != e.worst_without) {
    const CategoryBytes& there = with.step.memory[with.worst];
    const std::size_t most = largest_category(there);
    text += fmt::format("; device {} is the fullest then, most of it {} ({})", e.worst_with.value,
                        category_words(most), readable(there[most]));
  }
  const std::string more =
      risen(without.step.memory[without.worst], with.step.memory[without.worst]);
  if (!more.empty() && freed * 4 < dropped * 3)
    text += fmt::format("; more is held at the peak of device {}: {}", e.worst_without.value, more);
  return text;
}

}  // namespace

RecomputeEffect recompute_effect(const Scenario& scenario, const CostOf& cost) {
  Scenario plain = scenario;
  const Side with = side_of(scenario, cost);
  plain.plan.batch = with.workload.scenario.plan.batch;
  apply_setting(plain.plan, "recompute", "none");
  const Side without = side_of(plain, cost);
  RecomputeEffect e;
  e.policy = setting(with.workload.scenario.plan, "recompute");
  e.worst_without = DeviceId{static_cast<std::uint32_t>(without.worst)};
  e.worst_with = DeviceId{static_cast<std::uint32_t>(with.worst)};
  e.kept_without = without.step.memory[without.worst][kKept];
  e.kept_with = with.step.memory[without.worst][kKept];
  e.reserved_without = without.step.reserved[without.worst];
  e.reserved_with = with.step.reserved[with.worst];
  if (e.policy == "none") {
    e.sentence = "recompute=none: everything that backward reads is kept, " +
                 readable(e.kept_with) + " on device " + std::to_string(e.worst_with.value);
    return e;
  }
  e.sentence = explain(without, with, e);
  return e;
}

}  // namespace trainyard
