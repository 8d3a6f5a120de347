#include "planners/sensitivity/boundary.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "core/base/nearest.h"
#include "core/base/units_text.h"
#include "core/methods/settings/settings.h"
#include "planners/sensitivity/knob_values.h"

namespace trainyard {
namespace {

// Beyond this length no step can be laid out and figures are meaningless.
constexpr std::int64_t kLongestSequence = std::int64_t{1} << 40;

std::string state_words(const KnobValue& v) {
  if (!v.legal) return "is not legal: " + v.why_not;
  return v.figures.fits ? fmt::format("fits with {} spare ({} a step)", readable(v.figures.margin),
                                      readable_step(v.figures.step))
                        : fmt::format("is {} over", readable(-v.figures.margin));
}

// A plan with its batch and sequence stated explicitly.
struct Fixed {
  Scenario scenario;
  Plan complete;
  PlanFigures now;
};

Fixed fixed(const Scenario& scenario, const CostOf& cost) {
  const Workload workload = prepare(scenario);
  Fixed base{scenario, workload.scenario.plan, figures_of(workload, *cost(scenario))};
  base.scenario.plan.batch = base.complete.batch;
  return base;
}

KnobValue priced_knob(const Fixed& base, std::string value, std::string words, std::int64_t devices,
                      const CostOf& cost) {
  KnobValue v;
  v.value = std::move(value);
  v.words = std::move(words);
  v.devices = devices;
  try {
    const Scenario scenario = changed(base.scenario, v);
    const Workload workload = prepare(scenario);
    v.figures = figures_of(workload, *cost(scenario));
    v.legal = true;
    v.change = v.figures.time_of_work() / base.now.time_of_work() - 1;
    v.maths = maths_between(workload.scenario.model, base.complete, workload.scenario.plan);
  } catch (const Error& e) {
    if (e.kind() == Error::Kind::Cancelled) throw;
    v.why_not = e.what();
    v.field = e.place().text;
  }
  return v;
}

bool good(const KnobValue& v) { return v.legal && v.figures.fits; }

// Bisects for the boundary of a property that holds up to some index; at(i) is defined for 0 <= i <
// count.
KnobBoundary bisect(std::string key, std::int64_t count,
                    const std::function<KnobValue(std::int64_t)>& at) {
  KnobBoundary found;
  found.key = std::move(key);
  std::optional<KnobValue> low, high;
  std::int64_t last = -1, next = 1;
  // Doubles first, because the boundary is usually near the start and distant values may not be
  // legal.
  for (; next <= count; next *= 2) {
    KnobValue v = at(next - 1);
    ++found.tried;
    if (!good(v)) {
      high = std::move(v);
      break;
    }
    low = std::move(v), last = next - 1;
  }
  std::int64_t bad = high ? next - 1 : count;
  while (bad - last > 1) {
    const std::int64_t middle = last + (bad - last) / 2;
    KnobValue v = at(middle);
    ++found.tried;
    if (good(v))
      low = std::move(v), last = middle;
    else
      high = std::move(v), bad = middle;
  }
  found.last = std::move(low), found.next = std::move(high);
  return found;
}

// Tries all divisors, because not every one is legal under every schedule.
KnobBoundary largest_micro_batch(const Fixed& base, const CostOf& cost) {
  const std::vector<std::int64_t> sizes =
      divisors(base.complete.batch.global / *base.complete.mesh.dp);
  std::vector<KnobValue> values(sizes.size());
  tbb::parallel_for(std::size_t{0}, sizes.size(), [&](std::size_t i) {
    const std::string size = std::to_string(sizes[i]);
    values[i] = priced_knob(base, size, "micro-batch=" + size, base.scenario.cluster.count, cost);
  });
  KnobBoundary found;
  found.key = "micro-batch";
  for (KnobValue& v : values) {
    if (!v.legal) continue;
    ++found.tried;
    if (v.figures.fits)
      found.last = std::move(v), found.next.reset();
    else if (!found.next)
      found.next = std::move(v);
  }
  if (!found.next && found.last)
    found.sentence = fmt::format(
        "micro-batch={} is all that a rank has of a global batch of {}, and {}; --largest "
        "global-batch goes beyond",
        found.last->value, base.complete.batch.global, state_words(*found.last));
  return found;
}

KnobBoundary largest_global_batch(const Fixed& base, const CostOf& cost) {
  const std::int64_t each = base.complete.batch.global / base.complete.batch.micro;
  return bisect("global-batch", std::min<std::int64_t>(100'000'000, 10'000'000'000 / each),
                [&](std::int64_t i) {
                  const std::string batch = std::to_string(each * (i + 1));
                  return priced_knob(base, batch,
                                     fmt::format("micro-batch={} global-batch={}", i + 1, batch),
                                     base.scenario.cluster.count, cost);
                });
}

KnobBoundary largest_sequence(const Fixed& base, const CostOf& cost) {
  const Mesh& mesh = base.complete.mesh;
  std::int64_t unit = std::int64_t{mesh.tp} * mesh.cp * (mesh.cp > 1 ? 2 : 1);
  if (base.complete.batch.sequence >= 1024) unit = std::lcm(unit, std::int64_t{128});
  return bisect(
      "seq", std::min<std::int64_t>(1'000'000'000, kLongestSequence) / unit, [&](std::int64_t i) {
        const std::string tokens = std::to_string(unit * (i + 1));
        return priced_knob(base, tokens, "seq=" + tokens, base.scenario.cluster.count, cost);
      });
}

// Degrees of tensor parallelism within a node: its divisors, and powers of two.
std::vector<std::int64_t> tensor_degrees(std::int64_t node) {
  std::vector<std::int64_t> found = divisors(node);
  for (std::int64_t tp = 1; tp <= node; tp *= 2) found.push_back(tp);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// Every mesh that may be legal, by number of devices; the replicas divide the samples of a step.
std::map<std::int64_t, std::vector<std::string>> meshes(const Fixed& base, std::int64_t most) {
  const std::int64_t node = base.scenario.cluster.levels.front().size;
  const Plan& plan = base.complete;
  std::map<std::int64_t, std::vector<std::string>> found;
  for (const std::int64_t tp : tensor_degrees(node))
    for (std::int64_t pp = 1; pp <= layer_count(base.scenario.model); ++pp)
      for (const std::int64_t dp : divisors(plan.batch.global / plan.batch.micro)) {
        const std::int64_t devices = tp * pp * plan.mesh.cp * dp;
        if (devices > most) break;
        if (devices < node ? node % devices == 0 : devices % node == 0)
          found[devices].push_back(fmt::format("tp={} pp={} dp={}", tp, pp, dp));
      }
  return found;
}

// Prefers the fastest plan that fits, then the legal plan that exceeds memory least, then any.
bool better_boundary(const KnobValue& a, const KnobValue& b) {
  if (a.legal != b.legal) return a.legal;
  if (!a.legal) return false;
  if (a.figures.fits != b.figures.fits) return a.figures.fits;
  return a.figures.fits ? a.figures.step < b.figures.step : a.figures.margin > b.figures.margin;
}

KnobValue best_on(const Fixed& base, std::int64_t devices, const std::vector<std::string>& words,
                  const CostOf& cost, std::int64_t& tried) {
  std::vector<KnobValue> values(words.size());
  tbb::parallel_for(std::size_t{0}, words.size(), [&](std::size_t i) {
    values[i] = priced_knob(base, std::to_string(devices), words[i], devices, cost);
  });
  tried += std::count_if(values.begin(), values.end(), [](const KnobValue& v) { return v.legal; });
  std::stable_sort(values.begin(), values.end(), better_boundary);
  return values.front();
}

std::string both_sides(const KnobBoundary& b) {
  if (!b.last && !b.next) return b.key + ": no value is legal";
  if (!b.last)
    return fmt::format("{}: not even {} fits: it {}", b.key, b.next->value, state_words(*b.next));
  std::string text = fmt::format("{}={} {}", b.key, b.last->value, state_words(*b.last));
  if (b.next) text += fmt::format("; {}={} {}", b.key, b.next->value, state_words(*b.next));
  return text;
}

}  // namespace

const std::vector<std::string_view>& largest_keys() {
  static const std::vector<std::string_view> keys = {"micro-batch", "global-batch", "seq"};
  return keys;
}

KnobBoundary largest(const Scenario& scenario, std::string_view key, const CostOf& cost) {
  const std::vector<std::string_view>& keys = largest_keys();
  if (std::find(keys.begin(), keys.end(), key) == keys.end())
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected micro-batch, global-batch or seq, found \"{}\"{}",
                            key.substr(0, 80), did_you_mean(key.substr(0, 80), keys)),
                {"--largest"});
  const Fixed base = fixed(scenario, cost);
  KnobBoundary found = key == "seq"           ? largest_sequence(base, cost)
                       : key == "micro-batch" ? largest_micro_batch(base, cost)
                                              : largest_global_batch(base, cost);
  if (found.sentence.empty()) found.sentence = both_sides(found);
  return found;
}

KnobBoundary fewest_devices(const Scenario& scenario, const CostOf& cost) {
  const Fixed base = fixed(scenario, cost);
  KnobBoundary found;
  found.key = kDevicesKnob;
  for (const auto& [devices, words] :
       meshes(base, std::min(kMostDevices, 4 * base.scenario.cluster.count))) {
    KnobValue best = best_on(base, devices, words, cost, found.tried);
    if (good(best)) {
      found.last = std::move(best);
      break;
    }
    if (best.legal || !found.next) found.next = std::move(best);
  }
  found.sentence = both_sides(found);
  if (found.last) found.sentence += "; no mesh on fewer fits";
  return found;
}

}  // namespace trainyard
