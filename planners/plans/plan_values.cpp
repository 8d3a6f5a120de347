// Gives the values that each knob of a search takes if the user does not set a bound.
#include <algorithm>
#include <map>

#include "core/methods/catalogue.h"
#include "core/methods/settings/settings.h"
#include "core/model/ops.h"
#include "core/model/uses_op.h"
#include "core/plan/plan_limits.h"
#include "planners/plans/plan_space.h"

namespace trainyard {
namespace {

std::vector<std::int64_t> divisors_up_to(std::int64_t n, std::int64_t most) {
  std::vector<std::int64_t> found;
  for (std::int64_t d = 1; d <= std::min(n, most); ++d)
    if (n % d == 0) found.push_back(d);
  return found;
}

std::vector<std::string> as_text(const std::vector<std::int64_t>& numbers) {
  std::vector<std::string> words;
  for (const std::int64_t n : numbers) words.push_back(std::to_string(n));
  return words;
}

std::int64_t sequence(const Scenario& s) {
  return s.plan.batch.sequence > 0 ? s.plan.batch.sequence : s.model.sequence;
}

// The number of experts of the largest routed layer; 1 if there are none.
std::int64_t experts(const Model& model) {
  std::int64_t most = 1;
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes)
      if (node.op == &routed_matmul())
        most = std::max(most, block.graph[node.inputs[1]].shape.front().size);
  return most;
}

// With fewer tokens per rank, the ring of context parallelism takes longer than the computation
// that hides it.
constexpr std::int64_t kShortest = 4096;  // tokens per context rank
constexpr std::int64_t kMostTensor = 64, kMostMicro = 512;

std::vector<std::string> context_degrees(const Scenario& s) {
  const std::int64_t most = uses_op(s.model, attention()) ? sequence(s) / kShortest : 1;
  return as_text(divisors_up_to(s.cluster.count, std::max<std::int64_t>(1, most)));
}

// Mixes of layers are left to optimal_recompute(), which refines the plans that are found.
std::vector<std::string> recompute_policies(const Scenario& s) {
  std::vector<std::string> words{"none"};
  if (!s.plan.flash_attention && uses_op(s.model, attention())) words.emplace_back("selective");
  words.emplace_back("op");
  words.emplace_back("full");
  return words;
}

// Schedules that train exactly as one device would, so that convergence is not in question.
std::vector<std::string> synchronous_schedules() {
  return {"1f1b", "interleaved", "gpipe", "zb-h1",     "zb-h2",
          "zb-v", "v-half",      "v-min", "dualpipe-v"};
}

std::string as_base_has_it(const Scenario& s, std::string_view key) {
  std::string value = setting(s.plan, key);
  if (!value.empty()) return value;
  Plan whole = complete(s);
  return setting(whole, key);
}

}  // namespace

std::span<const std::string_view> knob_keys() {
  static constexpr std::string_view kKeys[] = {"devices",
                                               "tp",
                                               "cp",
                                               "ep",
                                               "etp",
                                               "pp",
                                               "dp",
                                               "rank-order",
                                               "zero",
                                               "hybrid",
                                               "offload",
                                               "sequence-parallel",
                                               "recompute",
                                               "precision",
                                               "overlap",
                                               "tensor-overlap",
                                               "micro-batch",
                                               "schedule",
                                               "virtual-stages"};
  return kKeys;
}

std::vector<std::string> default_values(const Scenario& s, std::string_view key) {
  const std::int64_t devices = s.cluster.count;
  if (key == "devices") return {std::to_string(devices)};
  if (key == "tp") return as_text(divisors_up_to(devices, kMostTensor));
  if (key == "cp") return context_degrees(s);
  if (key == "ep") return as_text(divisors_up_to(experts(s.model), devices));
  if (key == "etp" && experts(s.model) > 1) return {"tp", "1"};
  if (key == "pp") return as_text(divisors_up_to(devices, std::max(1, layer_count(s.model))));
  if (key == "dp") return {"rest"};
  if (key == "rank-order") return {"tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"};
  if (key == "zero") return {"0", "1", "2", "3"};
  if (key == "sequence-parallel") return {"on", "off"};
  if (key == "recompute") return recompute_policies(s);
  if (key == "micro-batch") return as_text(divisors_up_to(s.plan.batch.global, kMostMicro));
  if (key == "schedule") return synchronous_schedules();
  if (key == "virtual-stages")
    return as_text(divisors_up_to(std::max(1, layer_count(s.model)),
                                  std::clamp(layer_count(s.model) / 2, 1, kMostVirtualStages)));
  return {as_base_has_it(s, key)};
}

}  // namespace trainyard
