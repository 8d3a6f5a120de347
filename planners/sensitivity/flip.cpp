#include "planners/sensitivity/flip.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "core/base/units_text.h"
#include "core/timeline/compare.h"

namespace trainyard {
namespace {

constexpr double kFar = 64;
constexpr int kSteps = 12;  // steps up to kFar, each by a factor of the square root of two
constexpr double kClose = 1.001;

// Two plans, the better one named first.
struct Rivals {
  Scenario winner, runner_up;  // complete plans
};

// The figures of both plans; either may be illegal under another batch.
struct Outcome {
  std::optional<PlanFigures> winner, runner_up;
  bool known() const { return winner && runner_up; }
  bool flipped() const {
    if (winner->fits != runner_up->fits) return runner_up->fits;
    return winner->fits && runner_up->step < winner->step;
  }
};

std::optional<PlanFigures> figures(const Scenario& scenario, const CostOf& cost) {
  try {
    return figures_of(scenario, cost);
  } catch (const Error& e) {
    if (e.kind() == Error::Kind::Cancelled) throw;
    return std::nullopt;
  }
}

Outcome outcome(const Rivals& rivals, const Lever& lever, double factor, const CostOf& cost) {
  return {figures(with_lever(rivals.winner, lever, factor), cost),
          figures(with_lever(rivals.runner_up, lever, factor), cost)};
}

bool of_batch(const Lever& lever) {
  return lever.kind == LeverKind::GlobalBatch || lever.kind == LeverKind::Sequence;
}

std::int64_t value_of(const Lever& lever, const Plan& plan) {
  return lever.kind == LeverKind::GlobalBatch ? plan.batch.global : plan.batch.sequence;
}

// The unit of which all values that both plans can have are multiples.
std::int64_t unit_of(const Lever& lever, const Rivals& rivals) {
  const Plan &a = rivals.winner.plan, &b = rivals.runner_up.plan;
  if (lever.kind == LeverKind::GlobalBatch)
    return std::lcm(a.batch.micro * *a.mesh.dp, b.batch.micro * *b.mesh.dp);
  const auto parts = [](const Mesh& m) { return std::int64_t{m.tp} * m.cp * (m.cp > 1 ? 2 : 1); };
  return std::lcm(std::lcm(parts(a.mesh), parts(b.mesh)),
                  a.batch.sequence >= 1024 ? std::int64_t{128} : std::int64_t{1});
}

std::vector<Lever> levers(const Scenario& scenario) {
  std::vector<Lever> all;
  for (std::size_t level = 0; level < scenario.cluster.levels.size(); ++level) {
    all.push_back({LeverKind::Bandwidth, level});
    all.push_back({LeverKind::Latency, level});
  }
  for (const LeverKind kind : {LeverKind::MemoryCapacity, LeverKind::MemoryBandwidth,
                               LeverKind::Peak, LeverKind::HostLink, LeverKind::GlobalBatch})
    all.push_back({kind, 0});
  if (scenario.model.tokens) all.push_back({LeverKind::Sequence, 0});
  return all;
}

std::string what(const Lever& lever, const Cluster& cluster) {
  const auto links = [&] {
    const std::string& name = cluster.levels[lever.level].name;
    return lever.level == 0 ? "the links in a node" : "the " + (name.empty() ? "network" : name);
  };
  switch (lever.kind) {
    case LeverKind::Bandwidth:
      return "bandwidth of " + links();
    case LeverKind::Latency:
      return "latency of " + links();
    case LeverKind::MemoryCapacity:
      return "memory of a device";
    case LeverKind::MemoryBandwidth:
      return "memory bandwidth";
    case LeverKind::Peak:
      return "peak of a device";
    case LeverKind::HostLink:
      return "link to the host";
    case LeverKind::GlobalBatch:
      return "global batch";
    case LeverKind::Sequence:
      return "sequence";
  }
  return "";
}

// The 16-bit peak, if the device has one.
FlopsPerSecond half_peak(const Device& device) {
  const Peak* found = &device.peaks.front();
  for (const Peak& p : device.peaks)
    if (p.type == DType::BF16 || (p.type == DType::F16 && found->type != DType::BF16)) found = &p;
  return found->rate.value;
}

std::string value_words(const Lever& lever, const Scenario& s) {
  const Device& device = s.cluster.device;
  switch (lever.kind) {
    case LeverKind::Bandwidth:
      return readable(s.cluster.levels[lever.level].bandwidth.value);
    case LeverKind::Latency:
      return readable(s.cluster.levels[lever.level].latency.value);
    case LeverKind::MemoryCapacity:
      return readable(device.memory.value);
    case LeverKind::MemoryBandwidth:
      return readable(device.memory_bandwidth.value);
    case LeverKind::Peak:
      return readable(half_peak(device));
    case LeverKind::HostLink:
      return readable(device.host_link.value);
    case LeverKind::GlobalBatch:
    case LeverKind::Sequence:
      return std::to_string(value_of(lever, s.plan));
  }
  return "";
}

// Formats with five digits, so that two nearly equal steps do not read the same.
std::string five_digits(Duration d) {
  const double s = to_seconds(d);
  if (s >= 1) return fmt::format("{:.5g} s", s);
  if (s >= 1e-3) return fmt::format("{:.5g} ms", s * 1e3);
  return fmt::format("{:.5g} us", s * 1e6);
}

std::string against(const PlanFigures& runner_up, const PlanFigures& winner) {
  if (!winner.fits)
    return fmt::format("{} against a plan that is then {} over", five_digits(runner_up.step),
                       readable(-winner.margin));
  return five_digits(runner_up.step) + " against " + five_digits(winner.step);
}

FlipPoint point_of(const Rivals& rivals, const Lever& lever, double factor, double short_of,
                   const CostOf& cost) {
  const Outcome at = outcome(rivals, lever, factor, cost);
  FlipPoint p;
  p.lever = lever;
  p.what = what(lever, rivals.winner.cluster);
  p.now = value_words(lever, rivals.winner);
  p.at = value_words(lever, with_lever(rivals.winner, lever, factor));
  p.factor = factor, p.short_of = short_of;
  p.winner = at.winner->step, p.runner_up = at.runner_up->step;
  p.sentence = fmt::format("{} {} instead of {}: {}", p.what,
                           of_batch(lever) ? "of " + p.at
                           : factor > 1    ? "of at least " + p.at
                                           : "of at most " + p.at,
                           p.now, against(*at.runner_up, *at.winner));
  return p;
}

// Walks away from the present value until the runner-up wins, then bisects the remaining interval.
std::optional<FlipPoint> hardware_flip(const Rivals& rivals, const Lever& lever, bool upward,
                                       const CostOf& cost) {
  double before = 1;
  for (int step = 1; step <= kSteps; ++step) {
    const double far = std::pow(kFar, (upward ? 1.0 : -1.0) * step / kSteps);
    const Outcome here = outcome(rivals, lever, far, cost);
    if (!here.known()) return std::nullopt;
    if (!here.flipped()) {
      before = far;
      continue;
    }
    double won = far;
    while (std::max(won / before, before / won) > kClose) {
      const double middle = std::sqrt(won * before);
      const Outcome at = outcome(rivals, lever, middle, cost);
      (at.known() && at.flipped() ? won : before) = middle;
    }
    return point_of(rivals, lever, won, before, cost);
  }
  return std::nullopt;
}

// Does the same for whole multiples of the unit; skips values that one of the plans cannot have.
std::optional<FlipPoint> batch_flip(const Rivals& rivals, const Lever& lever, bool upward,
                                    const CostOf& cost) {
  const std::int64_t unit = unit_of(lever, rivals), now = value_of(lever, rivals.winner.plan);
  const auto factor = [&](std::int64_t k) {
    return static_cast<double>(k * unit) / static_cast<double>(now);
  };
  const auto at = [&](std::int64_t k) { return outcome(rivals, lever, factor(k), cost); };
  std::int64_t before = now / unit;
  if (before * unit != now && !upward) ++before;
  for (int step = 1; step <= kSteps; ++step) {
    const double wanted = static_cast<double>(now) / static_cast<double>(unit) *
                          std::pow(kFar, (upward ? 1.0 : -1.0) * step / kSteps);
    const std::int64_t k = upward ? std::max<std::int64_t>(before + 1, std::llround(wanted))
                                  : std::min<std::int64_t>(before - 1, std::llround(wanted));
    if (k < 1) return std::nullopt;
    const Outcome here = at(k);
    if (!here.known()) continue;
    if (!here.flipped()) {
      before = k;
      continue;
    }
    std::int64_t won = k;
    // Bisects with the value nearest to the middle that both plans can have; stops if there is none
    // in between.
    while (std::abs(won - before) > 1) {
      const std::int64_t low = std::min(won, before), high = std::max(won, before);
      std::optional<std::int64_t> middle;
      Outcome there;
      for (std::int64_t away = 0; !middle && away <= std::min<std::int64_t>(32, (high - low) / 2);
           ++away)
        for (const std::int64_t m : {(low + high) / 2 - away, (low + high) / 2 + away})
          if (!middle && m > low && m < high) {
            there = at(m);
            if (there.known()) middle = m;
          }
      if (!middle) break;
      (there.flipped() ? won : before) = *middle;
    }
    return point_of(rivals, lever, factor(won), factor(before), cost);
  }
  return std::nullopt;
}

std::vector<FlipPoint> find_points(const Rivals& rivals, const CostOf& cost) {
  const std::vector<Lever> all = levers(rivals.winner);
  std::vector<std::optional<FlipPoint>> found(2 * all.size());
  tbb::parallel_for(std::size_t{0}, found.size(), [&](std::size_t i) {
    const Lever& lever = all[i / 2];
    found[i] = of_batch(lever) ? batch_flip(rivals, lever, i % 2 == 0, cost)
                               : hardware_flip(rivals, lever, i % 2 == 0, cost);
  });
  std::vector<FlipPoint> points;
  for (std::optional<FlipPoint>& p : found)
    if (p) points.push_back(*std::move(p));
  std::stable_sort(points.begin(), points.end(), [](const FlipPoint& a, const FlipPoint& b) {
    return std::abs(std::log(a.factor)) < std::abs(std::log(b.factor));
  });
  return points;
}

std::vector<FlipCause> causes_of(const PlanFigures& winner, const PlanFigures& runner_up) {
  const Duration gap = runner_up.step - winner.step;
  std::vector<FlipCause> causes;
  for (const NamedPart& part : breakdown_parts()) {
    FlipCause cause{part.name, winner.breakdown.*part.part, runner_up.breakdown.*part.part};
    if (cause.runner_up <= cause.winner) continue;
    cause.enough = gap > Duration{} && cause.runner_up >= gap;
    if (cause.enough) cause.falls_to = cause.runner_up - gap;
    causes.push_back(cause);
  }
  std::stable_sort(causes.begin(), causes.end(), [](const FlipCause& a, const FlipCause& b) {
    return a.runner_up - a.winner > b.runner_up - b.winner;
  });
  return causes;
}

std::string sentence_of(const Flip& f) {
  std::string text;
  if (!f.runner_up.fits)
    text = fmt::format("The runner-up is {} over", readable(-f.runner_up.margin));
  else
    text = fmt::format("The runner-up is {:.1f} % slower, {} against {}",
                       100 * (to_seconds(f.runner_up.step) / to_seconds(f.winner.step) - 1),
                       five_digits(f.runner_up.step), five_digits(f.winner.step));
  if (!f.winner.fits)
    text += fmt::format(", and the other plan is {} over", readable(-f.winner.margin));
  if (f.points.empty())
    return text +
           "; no single figure of the hardware, batch or sequence within 64 times what it "
           "is would let it win";
  text += "; it would win with a " + f.points.front().sentence;
  if (f.points.size() > 1)
    text += fmt::format("; {} other figure{} would do it too", f.points.size() - 1,
                        f.points.size() == 2 ? "" : "s");
  return text + ". A price does not: both pay for the same devices";
}

void expect_rivals(const Scenario& a, const Scenario& b) {
  const auto expect = [](bool same, const char* what, const std::string& x, const std::string& y) {
    if (!same)
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("expected two plans for one {}, found {} and {}", what, x, y),
                  {"--against"});
  };
  expect(a.model.name == b.model.name, "model", a.model.name, b.model.name);
  expect(a.cluster.count == b.cluster.count && a.cluster.device == b.cluster.device &&
             a.cluster.levels == b.cluster.levels,
         "cluster", a.cluster.name, b.cluster.name);
  const Batch &x = a.plan.batch, &y = b.plan.batch;
  expect(x.global == y.global, "global batch", std::to_string(x.global), std::to_string(y.global));
  expect(x.sequence == y.sequence, "sequence", std::to_string(x.sequence),
         std::to_string(y.sequence));
}

}  // namespace

Scenario with_lever(Scenario scenario, const Lever& lever, double factor) {
  Device& device = scenario.cluster.device;
  const auto scale = [&](auto& sourced) { sourced.value.value *= factor; };
  const auto rounded = [&](std::int64_t n) {
    return std::max<std::int64_t>(1, std::llround(static_cast<double>(n) * factor));
  };
  switch (lever.kind) {
    case LeverKind::Bandwidth:
      scale(scenario.cluster.levels[lever.level].bandwidth);
      break;
    case LeverKind::Latency: {
      Duration& latency = scenario.cluster.levels[lever.level].latency.value;
      latency = Duration{rounded(latency.count())};
      break;
    }
    case LeverKind::MemoryCapacity:
      device.memory.value = Bytes{rounded(device.memory.value.value)};
      break;
    case LeverKind::MemoryBandwidth:
      scale(device.memory_bandwidth);
      break;
    case LeverKind::Peak:
      for (Peak& peak : device.peaks) scale(peak.rate);
      break;
    case LeverKind::HostLink:
      scale(device.host_link);
      break;
    case LeverKind::GlobalBatch:
      scenario.plan.batch.global = rounded(scenario.plan.batch.global);
      break;
    case LeverKind::Sequence:
      scenario.plan.batch.sequence = rounded(scenario.plan.batch.sequence);
      break;
  }
  return scenario;
}

Flip flip(const Scenario& a, const Scenario& b, const CostOf& cost) {
  const Workload first = prepare(a), second = prepare(b);
  expect_rivals(first.scenario, second.scenario);
  Flip found;
  found.winner = figures_of(first, *cost(a)), found.runner_up = figures_of(second, *cost(b));
  found.swapped = Outcome{found.winner, found.runner_up}.flipped();
  Rivals rivals{first.scenario, second.scenario};
  if (found.swapped) {
    std::swap(found.winner, found.runner_up);
    std::swap(rivals.winner, rivals.runner_up);
  }
  found.causes = causes_of(found.winner, found.runner_up);
  found.points = find_points(rivals, cost);
  found.sentence = sentence_of(found);
  return found;
}

}  // namespace trainyard
