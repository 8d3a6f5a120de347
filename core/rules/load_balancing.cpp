// LoadBalancing: devices that work much more than others.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/units_text.h"
#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

// The earth mover's distance of two distributions of utilisation, in [0, 1]: how far it is from one
// to the other on average. Debugger compares histograms, which of a single step would be one bin.
double distance_of(std::vector<double> a, std::vector<double> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  const std::size_t steps = a.size() * b.size();
  double sum = 0;
  for (std::size_t i = 0; i < steps; ++i) sum += std::abs(a[i / b.size()] - b[i / a.size()]);
  return sum / static_cast<double>(steps);
}

double mean_busy(const DeviceTimes& d) {
  double sum = 0;
  for (const double share : d.busy) sum += share;
  return sum / static_cast<double>(d.busy.size());
}

void find_imbalanced(const Params& params, const TimelineFacts& facts, FiredRules& fired) {
  const DeviceTimes *most = nullptr, *least = nullptr;
  for (const DeviceTimes& d : facts.devices) {
    if (d.busy.empty()) continue;
    if (most == nullptr || mean_busy(d) > mean_busy(*most)) most = &d;
    if (least == nullptr || mean_busy(d) < mean_busy(*least)) least = &d;
  }
  if (most == least) return;
  const double distance = distance_of(most->busy, least->busy), limit = params.number("threshold");
  if (distance > limit)
    fired.push_back(
        fired_on(least->device, least->name, distance, limit,
                 fmt::format("{} works in {} of a step and {} in {}: {:.2f} apart, more than {:g}",
                             least->name, readable_share(mean_busy(*least)), most->name,
                             readable_share(mean_busy(*most)), distance, limit)));
}

}  // namespace

const Rule& load_balancing() {
  static const Rule made = {
      .name = "load-balancing",
      .summary = "two devices differ much in the share of a step in which they work",
      .advice = "another split of layers over stages, or experts with equal loads",
      .reads = RuleReads::Timeline,
      .params = {{"threshold", 0.5, "most distance of two distributions of utilisation", 0, 1}},
      .of_timeline = find_imbalanced};
  return made;
}

}  // namespace trainyard
