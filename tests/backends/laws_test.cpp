// Tests laws that hold for every plan, whatever the figures: on random scenarios, by the closed
// form and by the simulator, with the cost model of predictions.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <string>

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
  double bubble = 0;     // seconds per microbatch, mean over devices
  CategoryBytes peak{};  // of the fullest device
  bool splits = false;   // the schedule splits backward
  Bytes of(Category c) const { return peak[static_cast<std::size_t>(c)]; }
};

void keep_fuller(CategoryBytes& most, const CategoryBytes& one) {
  if (total(one) > total(most)) most = one;
}

Found found(const Workload& w, Duration step, double bubble_share) {
  return {step,
          bubble_share * to_seconds(step) / microbatches(w.scenario.plan),
          {},
          splits_backward(w)};
}

Found by_closed_form(const Scenario& s) {
  const Workload w = prepare(s);
  const StepEstimate e = estimate_step(w, *physical_cost_model(w.scenario));
  Found one = found(w, e.step, e.bubble_fraction);
  for (const CategoryBytes& device : e.memory) keep_fuller(one.peak, device);
  return one;
}

Found by_simulator(const Scenario& s) {
  const Workload w = prepare(s);
  const auto cost = physical_cost_model(w.scenario);
  const Program p = lower(w, {.times = phase_times(w, *cost)});
  const Timeline t = simulate(p, price(p, w.scenario.plan.mesh, w.scenario.cluster, *cost));
  Found one = found(w, step_window(t, p).length(), bubble_fraction(t, p));
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(p.devices); ++d) {
    const MemoryWave wave = memory_wave(t, p, {d});
    keep_fuller(one.peak, wave.samples[wave.peak].bytes);
  }
  return one;
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

struct Pair {
  const Scenario &worse, &better;
  const Found &before, &after;
  const Road& road;
};

struct Law {
  const char* name;
  // The better of the two scenarios; empty if the law does not apply to this one.
  std::function<std::optional<Scenario>(const Scenario&)> better;
  std::function<double(const Found&)> figure;  // never larger in the better one
  // The physical reason why it may still be larger; null if there is none.
  const char* (*reason)(const Pair&);
};

Order timed_order(const Scenario& s) {
  const Workload w = prepare(s);
  return order(w, schedule_shape(w, phase_times(w, *physical_cost_model(w.scenario))));
}

// A schedule that orders its passes by their times may find a worse order for better times.
const char* reordered(const Pair& pair) {
  if (timed_order(pair.worse) != timed_order(pair.better))
    return "passes are ordered by their times";
  // Weight passes of adapters take microseconds, so that messages which followed one another may
  // come to share a link; no pass is slower.
  const Plan& plan = pair.worse.plan;
  const bool adapts = find_choice(plan, "lora") != nullptr && plan.mesh.pp > 1;
  const double before = to_seconds(pair.before.step), after = to_seconds(pair.after.step);
  return adapts && after <= 1.001 * before ? "messages meet that did not: within 0.1 %" : nullptr;
}

std::optional<Scenario> with(Scenario s, const char* key, const std::string& value) {
  apply_setting(s.plan, key, value);
  if (has_errors(check(s))) return {};
  return s;
}

double step_of(const Found& f) { return to_seconds(f.step); }
double peak_of(const Found& f) { return static_cast<double>(total(f.peak).value); }

// An order in which each further round waits, as happens if passes are not as long as the order
// assumes: few microbatches are finished before its rounds begin. Each round waits equally long, so
// the bubble is at most that of so many rounds.
const char* every_round_waits(const Pair& pair) {
  // With more microbatches it pays to hide more messages, for a longer wait at both ends.
  if (has_pairs(timed_order(pair.worse)) != has_pairs(timed_order(pair.better)))
    return "passes run together only in one";
  Scenario more = pair.better;
  more.plan.batch.global *= 2;
  const Found later = pair.road.find(more);
  const double further = 2 * later.bubble - pair.after.bubble;  // of each further microbatch
  if (further >= pair.before.bubble * (1 - 1e-6)) return "each further round of the order waits";
  if (pair.after.bubble <= 1.01 * pair.before.bubble) return "rounds are not alike: within 1 %";
  // A device that is delayed by its gradients makes its neighbours wait once their pipeline is
  // full.
  return prepare(pair.worse).layout.reduce_every_microbatch
             ? "neighbours wait while gradients of a microbatch are reduced"
             : nullptr;
}

// For a stage with few layers, unsharded layers that are gathered or not yet scattered dominate the
// shards of all.
const char* whole_layers(const Pair& pair) {
  const Bytes more = total(pair.after.peak) - total(pair.before.peak);
  return more <= pair.after.of(Category::Communication) ? "layers in full beside their shards"
                                                        : nullptr;
}

// What an input pass recomputes stays until the weight pass, in addition to the input of each
// layer.
const char* rebuilt_waits(const Pair& pair) {
  const Found& after = pair.after;
  const Bytes more = total(after.peak) - total(pair.before.peak);
  return after.splits && more <= after.of(Category::Activations) &&
                 after.of(Category::Recomputed).value > 0
             ? "what is rebuilt waits for the weight pass"
             : nullptr;
}

const Law kLaws[] = {
    {"faster device, step",
     [](Scenario s) {
       s.cluster.device = faster_device(s.cluster.device);
       return std::optional(s);
     },
     step_of, reordered},
    {"next generation on the same links, step",
     [](Scenario s) -> std::optional<Scenario> {
       const std::string& now = s.cluster.device.id;
       s.cluster.device = device(now == "v100-sxm3-32"  ? "a100-sxm-80"
                                 : now == "a100-sxm-80" ? "h100-sxm"
                                                        : "b200-hgx");
       if (has_errors(check(s))) return {};
       return s;
     },
     step_of, reordered},
    {"faster links, step",
     [](Scenario s) {
       for (Level& level : s.cluster.levels) level.bandwidth.value = level.bandwidth.value * 1.3;
       return std::optional(s);
     },
     step_of, reordered},
    {"shorter latency, step",
     [](Scenario s) {
       for (Level& level : s.cluster.levels) level.latency.value = level.latency.value / 2;
       return std::optional(s);
     },
     step_of, reordered},
    {"more microbatches, bubble of each",
     [](Scenario s) {
       s.plan.batch.global *= 2;
       return std::optional(s);
     },
     [](const Found& f) { return f.bubble; }, every_round_waits},
    {"zero one higher, memory",
     [](const Scenario& s) -> std::optional<Scenario> {
       const std::string zero = setting(s.plan, "zero");
       if (zero == "3") return {};
       return with(s, "zero", std::to_string(zero[0] - '0' + 1));
     },
     peak_of, whole_layers},
    {"more recomputation, memory",
     [](const Scenario& s) -> std::optional<Scenario> {
       const std::string now = setting(s.plan, "recompute");
       if (now == "none") return with(s, "recompute", "selective");
       if (now == "selective" || now == "op" || now == "blocks=1")
         return with(s, "recompute", "full");
       return {};
     },
     peak_of, rebuilt_waits},
};

TEST(Laws, HoldOverRandomScenarios) {
  struct Count {
    int looked = 0, excused = 0;
  };
  std::map<std::string, Count> counts;
  const std::uint64_t n = testing::cases(1500, 200);
  for (std::uint64_t i = 0; i < n; ++i) {
    const Scenario s = DrawnScenario(i).scenario();
    for (const Road& road : kRoads) {
      const Found base = road.find(s);
      for (const Law& law : kLaws) {
        const std::optional<Scenario> better = law.better(s);
        if (!better) continue;
        ++counts[law.name].looked;
        const Found other = road.find(*better);
        const double before = law.figure(base), after = law.figure(other);
        if (after <= before * (1 + 1e-6) + 1e-9) continue;
        const char* reason = law.reason({s, *better, base, other, road});
        EXPECT_NE(reason, nullptr) << law.name << " by " << road.name << ": " << before << " -> "
                                   << after << "\nseed " << i << ", " << in_words(s);
        if (reason != nullptr) ++counts[std::string(law.name) + ": " + reason].excused;
      }
    }
  }
  for (const auto& [name, count] : counts)
    if (count.excused > 0)
      std::printf("    %-70s %5d\n", name.c_str(), count.excused);
    else
      std::printf("  %-72s %5d pairs\n", name.c_str(), count.looked);
}

}  // namespace
}  // namespace trainyard
