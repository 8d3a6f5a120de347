#include "app/desktop/session/first_plan.h"

#include <algorithm>

#include "app/workspace/scenario/workspace.h"

namespace trainyard {
namespace {

// Per parameter: bf16 weight, fp32 gradient, master copy and two moments.
constexpr std::int64_t kStateBytes = 18;

std::string assignment(const char* key, std::int64_t value) {
  return std::string(key) + "=" + std::to_string(value);
}

}  // namespace

std::vector<std::string> first_plan(const std::string& model, const std::string& cluster) {
  try {
    const Scenario scenario =
        open({.model = model, .cluster = cluster, .plan = "", .settings = {}});
    const std::int64_t room = scenario.cluster.device.memory.value.value / 2;
    const std::int64_t state = parameters(scenario.model) * kStateBytes;
    const std::int64_t devices = scenario.cluster.count;
    const auto over = [&](std::int64_t parts) { return state / parts > room; };
    std::int64_t tp = 1, pp = 1;
    while (over(tp) && tp * 2 <= std::min(devices_per_node(scenario.cluster), devices) &&
           devices % (tp * 2) == 0)
      tp *= 2;
    const int layers = layer_count(scenario.model);
    while (over(tp * pp) && pp * 2 <= layers && layers % (pp * 2) == 0 &&
           devices % (tp * pp * 2) == 0)
      pp *= 2;
    const std::int64_t dp = std::max<std::int64_t>(1, devices / (tp * pp));
    std::vector<std::string> settings = {
        assignment("tp", tp), assignment("pp", pp),
        assignment("global-batch", dp * std::max<std::int64_t>(4 * pp, 8))};
    if (dp > 1) settings.push_back("zero=1");
    return settings;
  } catch (const Error&) {
    return {};  // the simulation will report the error
  }
}

Project with_first_plans_following(const Project& before, Project after) {
  if (before.model == after.model && before.cluster == after.cluster) return after;
  if (before.model.empty() || before.cluster.empty()) return after;
  const std::vector<std::string> first = first_plan(before.model, before.cluster);
  if (first.empty()) return after;
  std::vector<std::string> now;
  for (ProjectPlan& plan : after.plans) {
    if (!plan.file.empty() || plan.settings != first) continue;
    if (now.empty()) now = first_plan(after.model, after.cluster);
    if (!now.empty()) plan.settings = now;
  }
  return after;
}

}  // namespace trainyard
