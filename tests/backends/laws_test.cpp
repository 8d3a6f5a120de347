// Laws that hold for every plan, whatever the figures are: on random scenarios, by the closed form
// and by the simulator, with the cost model that predictions use.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "core/base/units_text.h"
#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "tests/support/cases.h"
#include "tests/support/random_scenarios.h"
#include "tests/support/scenarios.h"

namespace trainyard {
namespace {

using testing::DrawnScenario;
using testing::in_words;

struct Found {
  Duration step{};
  double bubble = 0;
  Bytes peak{};  // of the fullest device
  double microbatches = 1;
};

Found by_closed_form(const Scenario& s) {
  const Workload w = prepare(s);
  const StepEstimate e = estimate_step(w, *physical_cost_model(w.scenario));
  Found found{e.step, e.bubble_fraction, {}, microbatches(w.scenario.plan) * 1.0};
  for (const CategoryBytes& each : e.memory) found.peak = std::max(found.peak, total(each));
  return found;
}

Found by_simulator(const Scenario& s) {
  const Workload w = prepare(s);
  const auto cost = physical_cost_model(w.scenario);
  const Program p = lower(w, {.times = phase_times(w, *cost)});
  const Timeline t = simulate(p, price(p, w.scenario.plan.mesh, w.scenario.cluster, *cost));
  Found found{
      step_window(t, p).length(), bubble_fraction(t, p), {}, microbatches(w.scenario.plan) * 1.0};
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(p.devices); ++d) {
    const MemoryWave wave = memory_wave(t, p, {d});
    found.peak = std::max(found.peak, total(wave.samples[wave.peak].bytes));
  }
  return found;
}

struct Road {
  const char* name;
  Found (*find)(const Scenario&);
};
constexpr Road kRoads[] = {{"closed form", by_closed_form}, {"simulator", by_simulator}};

Device faster_device(Device d) {
  for (Peak& peak : d.peaks) peak.rate.value = peak.rate.value * 1.3;
  d.memory_bandwidth.value = d.memory_bandwidth.value * 1.3;
  return d;
}

struct Law {
  const char* name;
  // The better of the two scenarios, or nothing where the law says nothing of this one.
  std::function<std::optional<Scenario>(const Scenario&)> better;
  std::function<double(const Found&)> figure;  // never larger in the better one
};

std::optional<Scenario> with(Scenario s, const char* key, const std::string& value) {
  apply_setting(s.plan, key, value);
  if (has_errors(check(s))) return {};
  return s;
}

double step_of(const Found& f) { return to_seconds(f.step); }
double peak_of(const Found& f) { return static_cast<double>(f.peak.value); }

const Law kLaws[] = {
    {"faster device, step",
     [](Scenario s) {
       s.cluster.device = faster_device(s.cluster.device);
       return std::optional(s);
     },
     step_of},
    {"faster links, step",
     [](Scenario s) {
       for (Level& level : s.cluster.levels) level.bandwidth.value = level.bandwidth.value * 1.3;
       return std::optional(s);
     },
     step_of},
    {"shorter latency, step",
     [](Scenario s) {
       for (Level& level : s.cluster.levels) level.latency.value = level.latency.value / 2;
       return std::optional(s);
     },
     step_of},
    {"more microbatches, bubble",
     [](Scenario s) {
       s.plan.batch.global *= 2;
       return std::optional(s);
     },
     [](const Found& f) { return f.bubble; }},
    {"more microbatches, bubble of one",
     [](Scenario s) {
       s.plan.batch.global *= 2;
       return std::optional(s);
     },
     [](const Found& f) { return f.bubble * to_seconds(f.step) / f.microbatches; }},
    {"zero one higher, memory",
     [](const Scenario& s) -> std::optional<Scenario> {
       const std::string zero = setting(s.plan, "zero");
       if (zero == "3") return {};
       return with(s, "zero", std::to_string(zero[0] - '0' + 1));
     },
     peak_of},
    {"more recomputation, memory",
     [](const Scenario& s) -> std::optional<Scenario> {
       const std::string now = setting(s.plan, "recompute");
       if (now == "none") return with(s, "recompute", "selective");
       if (now == "selective" || now == "op" || now == "blocks=1")
         return with(s, "recompute", "full");
       return {};
     },
     peak_of},
};

TEST(Laws, HoldOverRandomScenarios) {
  std::map<std::string, int> looked, broken;
  std::map<std::string, double> worst;
  const std::uint64_t n = testing::cases(3000, 200);
  for (std::uint64_t i = 0; i < n; ++i) {
    const Scenario s = DrawnScenario(i).scenario();
    for (const Road& road : kRoads) {
      const Found base = road.find(s);
      for (const Law& law : kLaws) {
        const std::optional<Scenario> better = law.better(s);
        if (!better) continue;
        const std::string name = std::string(law.name) + " by " + road.name;
        ++looked[name];
        const double before = law.figure(base), after = law.figure(road.find(*better));
        if (after <= before * (1 + 1e-6) + 1e-9) continue;
        ++broken[name];
        const double by = before > 0 ? after / before - 1 : after;
        worst[name] = std::max(worst[name], by);
        std::printf("LAW %s\t%.5f\t%g -> %g\t%llu\t%s\n", name.c_str(), by, before, after,
                    static_cast<unsigned long long>(i), in_words(s).c_str());
      }
    }
  }
  for (const auto& [name, count] : looked)
    std::printf("  %-44s %5d scenarios, %d broken, worst %.3f %%\n", name.c_str(), count,
                broken[name], 100 * worst[name]);
}

}  // namespace
}  // namespace trainyard
