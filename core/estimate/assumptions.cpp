#include "core/estimate/assumptions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/base/units_text.h"
#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/methods/settings/settings.h"
#include "core/model/ops.h"
#include "core/model/uses_op.h"
#include "core/plan/software.h"

namespace trainyard {
namespace {

constexpr double kLeast = 0.005;

struct Open {
  std::string_view key;
  std::string taken, other, what;
};

// Returns the kernel that runs use most often apart from the one taken.
std::string other_attention(AttentionKernel taken, Generation generation) {
  if (generation == Generation::Hopper)
    return taken == AttentionKernel::Flash2 ? "cudnn" : "flash-2";
  if (generation == Generation::Ampere)
    return taken == AttentionKernel::Flash2 ? "triton" : "flash-2";
  return "unfused";
}

std::vector<Open> left_open(const Scenario& s, const Given& given) {
  std::vector<Open> open;
  const Plan& plan = s.plan;
  if (!given.micro_batch)
    open.push_back({"micro-batch", std::to_string(plan.batch.micro),
                    std::to_string(2 * plan.batch.micro), "micro-batch"});
  if (find_choice(plan, "recompute") == nullptr)
    open.push_back({"recompute", "none", "full", "recompute"});
  const Device& device = s.cluster.device;
  const Generation chip = generation(device);
  if (!given.priced_by_software || chip == Generation::Other || chip == Generation::Tpu)
    return open;
  const SettledSoftware settled = settle(plan.software, device);
  if (plan.software.attention.empty() && plan.flash_attention && uses_op(s.model, attention()))
    open.push_back({"attention", std::string(to_string(settled.attention)),
                    other_attention(settled.attention, chip), "attention kernel"});
  if (plan.software.kernels.empty())
    open.push_back({"kernels", std::string(to_string(settled.kernels)),
                    settled.kernels == KernelClass::Eager ? "compiled" : "eager",
                    plan.software.framework.empty() ? "framework and kernels" : "kernels"});
  if (plan.software.release.empty() && active_parameters(s.model) < parameters(s.model))
    open.push_back({"release", std::string(kUsualRelease), "2026-08", "release of the framework"});
  return open;
}

// Returns nanoseconds per sample, because a larger microbatch may come with a larger batch.
double sample_time(const Scenario& s, const CostOf& cost_of) {
  const Workload w = prepare(s);
  const double step = static_cast<double>(estimate_step(w, *cost_of(w.scenario)).step.count());
  return step / static_cast<double>(std::max<std::int64_t>(1, w.scenario.plan.batch.global));
}

}  // namespace

std::vector<Assumed> assumptions(const Scenario& as_given, const Given& given, Duration step,
                                 const CostOf& cost_of) {
  std::vector<Assumed> list;
  const double base = sample_time(as_given, cost_of);
  if (!(base > 0)) return list;
  for (const Open& open : left_open(as_given, given)) {
    Scenario changed = as_given;
    apply_setting(changed.plan, open.key, open.other);
    if (has_errors(check(changed))) continue;
    Assumed one{std::string(open.key), open.taken, open.other, {}, 0, ""};
    one.change = sample_time(changed, cost_of) / base - 1;
    if (std::abs(one.change) < kLeast) continue;
    one.step = Duration{std::llround(static_cast<double>(step.count()) * (1 + one.change))};
    one.sentence = fmt::format("{} not stated, {} assumed; {} would be {}, {:+.1f} %", open.what,
                               one.taken, one.other, readable_step(one.step), 100 * one.change);
    list.push_back(std::move(one));
  }
  std::stable_sort(list.begin(), list.end(), [](const Assumed& a, const Assumed& b) {
    return std::abs(a.change) > std::abs(b.change);
  });
  return list;
}

}  // namespace trainyard
