#include <fmt/format.h>

#include "core/methods/settings/settings.h"
#include "core/model/divided_rows.h"
#include "core/model/ops.h"
#include "core/model/uses_op.h"
#include "core/result/verdict.h"

namespace trainyard {
namespace {

// Changes collects "key=value" where the plan has another value.
class Changes {
 public:
  explicit Changes(const Plan& plan) : plan_(plan) {}
  void add(std::string_view key, std::string_view value) {
    if (setting(plan_, key) != value) found_.push_back(fmt::format("{}={}", key, value));
  }
  void add(std::string_view key, std::int64_t value) {
    if (value >= 1) add(key, std::to_string(value));
  }
  void add_words(std::string words) { found_.push_back(std::move(words)); }
  std::vector<std::string> take() { return std::move(found_); }

 private:
  const Plan& plan_;
  std::vector<std::string> found_;
};

std::int64_t zero_stage(const Plan& plan) {
  const Choice* zero = find_choice(plan, "zero");
  return zero && zero->params.has("stage") ? zero->params.integer("stage") : 0;
}

std::string recompute_policy(const Plan& plan) {
  const Choice* recompute = find_choice(plan, "recompute");
  return recompute && recompute->params.has("policy") ? recompute->params.text("policy") : "none";
}

// Returns whether NVMe can hold optimizer state that the host's memory has no room for.
bool only_nvme_has_room(Scenario scenario) {
  if (scenario.cluster.host_memory.value.value == 0) return false;
  apply_setting(scenario.plan, "offload", "optimizer");
  if (!has_errors(check(scenario))) return false;
  apply_setting(scenario.plan, "offload-tier", "nvme");
  return !has_errors(check(scenario));
}

void to_save_memory(Changes& changes, const Workload& workload) {
  const Plan& plan = workload.scenario.plan;
  const bool attends = uses_op(workload.scenario.model, attention());
  const std::int64_t data = std::int64_t{plan.mesh.dp.value_or(1)} * plan.mesh.cp;
  if (attends) changes.add("flash-attention", "on");
  if (plan.mesh.tp > 1) changes.add("sequence-parallel", "on");
  if (data > 1)
    for (std::int64_t stage = zero_stage(plan) + 1; stage <= 3; ++stage)
      changes.add("zero", std::to_string(stage));
  if (recompute_policy(plan) == "none" && attends && !plan.flash_attention)
    changes.add("recompute", "selective");
  if (recompute_policy(plan) != "full") changes.add("recompute", "full");
  if (setting(plan, "offload") == "none") {
    changes.add("offload", "optimizer");
    if (only_nvme_has_room(workload.scenario))
      changes.add_words("offload=optimizer offload-tier=nvme");
    if (plan.mesh.pp > 3) changes.add("offload", "activations");
    changes.add_words("offload=activations offload-layers=all");
  }
  if (plan.batch.micro % 2 == 0) changes.add("micro-batch", plan.batch.micro / 2);
  if (find_choice(plan, "gpipe")) changes.add("schedule", "1f1b");
  if (workload.layout.precision.activation == DType::F32) changes.add("precision", "bf16");
  if (setting(plan, "gradient-dtype") == "fp32")
    changes.add("gradient-dtype", find_choice(plan, "fp16") ? "fp16" : "bf16");
  changes.add("tp", std::int64_t{2} * plan.mesh.tp);
  changes.add("pp", std::int64_t{2} * plan.mesh.pp);
  if (workload.scenario.model.sequence > 1 || has_divisible_rows(workload.scenario.model))
    changes.add("cp", std::int64_t{2} * plan.mesh.cp);
}

void to_save_time(Changes& changes, const Workload& workload) {
  const Plan& plan = workload.scenario.plan;
  changes.add("overlap", "on");
  if (setting(plan, "input") == "storage") changes.add("input", "cached");
  if (uses_op(workload.scenario.model, attention())) changes.add("flash-attention", "on");
  if (recompute_policy(plan) != "none") {
    changes.add("recompute", "none");
    if (!plan.flash_attention) changes.add("recompute", "selective");
  }
  if (workload.layout.precision.math == DType::F32) changes.add("precision", "bf16");
  if (plan.mesh.tp > 1) changes.add("sequence-parallel", "on");
  if (plan.batch.micro % 2 == 0) changes.add("micro-batch", plan.batch.micro / 2);
  changes.add("micro-batch", plan.batch.micro * 2);
  if (zero_stage(plan) > 1) changes.add("zero", "1");
  if (plan.mesh.pp > 1 && plan.virtual_stages == 1)
    changes.add_words("schedule=interleaved virtual-stages=2");
  if (plan.mesh.tp % 2 == 0) changes.add("tp", plan.mesh.tp / 2);
  if (plan.mesh.pp % 2 == 0) changes.add("pp", plan.mesh.pp / 2);
  if (plan.mesh.cp % 2 == 0) changes.add("cp", plan.mesh.cp / 2);
  // Fewer replicas mean more microbatches for each, and so a smaller bubble.
  changes.add("tp", std::int64_t{2} * plan.mesh.tp);
  if (workload.scenario.model.sequence > 1 || has_divisible_rows(workload.scenario.model))
    changes.add("cp", std::int64_t{2} * plan.mesh.cp);
}

}  // namespace

std::vector<std::string> candidate_changes(const Workload& workload, bool fits) {
  Changes changes(workload.scenario.plan);
  if (fits)
    to_save_time(changes, workload);
  else
    to_save_memory(changes, workload);
  return changes.take();
}

}  // namespace trainyard
