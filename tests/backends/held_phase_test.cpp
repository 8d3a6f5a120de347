// Tests laws of waves that share a device: whatever their work takes, they keep their distance and
// together hold no more than was promised.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "backends/simulator/simulator.h"
#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/non_empty.h"
#include "tests/support/scenarios.h"

namespace trainyard {
namespace {

/// The program of waves that share a device, and its prices as they are predicted.
struct HeldWaves {
  Program program;
  TaskPrices prices;
};

Scenario drawn_waves() {
  Scenario s;
  s.model = zoo_model(*rc::gen::element<std::string>("mlp-small", "gpt-tiny", "resnet-20"));
  s.cluster = make_cluster(device("h100-sxm"), 1);
  const int waves = *rc::gen::inRange(2, 5), share = *rc::gen::inRange(1, 3);
  const auto set = [&](const char* key, const std::string& value) {
    apply_setting(s.plan, key, value);
  };
  set("schedule", "tick-tock");
  set("tick-tock.waves", std::to_string(waves));
  set("tick-tock.policy",
      *rc::gen::element<std::string>("half-cycle", "exclusive", "custom", "aligned"));
  set("tick-tock.sync", *rc::gen::element<std::string>("accumulate", "async", "local"));
  set("tick-tock.offset", *rc::gen::element<std::string>("0.1", "0.35", "0.5", "1"));
  set("recompute", *rc::gen::element<std::string>("none", "full"));
  s.plan.batch.micro = 2;
  s.plan.batch.global = 2 * waves * share;
  return s;
}

HeldWaves predicted_waves(const Scenario& s) {
  HeldWaves made;
  const Workload w = prepare(s);
  const auto cost = physical_cost_model(w.scenario);
  const auto price_of = [&](const Program& p) {
    return price(p, w.scenario.plan.mesh, w.scenario.cluster, *cost);
  };
  made.program = lower(w, {.grain = Grain::Op,
                           .steps = 3,
                           .times = phase_times(w, *cost),
                           .price = [&](const Program& p) { return price_of(p).time; }});
  made.prices = price_of(made.program);
  // As if every wave had the device to itself.
  std::fill(made.prices.fill.begin(), made.prices.fill.end(), 1e-6);
  return made;
}

// Prices that nobody predicted: each kind of work up to e^2 times as long or short, and as much of
// the device as it likes.
TaskPrices wrong(TaskPrices prices) {
  for (std::size_t t = 0; t < prices.time.size(); ++t) {
    const double factor = std::exp(*rc::gen::inRange(-200, 201) / 100.0);
    prices.time[t] = Duration{std::llround(static_cast<double>(prices.time[t].count()) * factor)};
    prices.fill[t] = *rc::gen::inRange(1, 101) / 100.0;
  }
  return prices;
}

Bytes peak_at(const Program& program, const TaskPrices& prices) {
  return peak_of(memory_wave(simulate(program, prices), program, DeviceId{0}));
}

TEST(HeldPhase, WavesNeverHoldMoreThanWasPromised) {
  EXPECT_TRUE(rc::check([] {
    const HeldWaves waves = predicted_waves(drawn_waves());
    const Bytes promised = peak_at(waves.program, waves.prices);
    for (int i = 0; i < 3; ++i)
      RC_ASSERT(peak_at(waves.program, wrong(waves.prices)).value <= promised.value);
  }));
}

/// How many instructions of a stream begin before, and how many at, an instant.
struct Begun {
  std::ptrdiff_t before, by;
};
Begun begun(const Timeline& t, const Stream& stream, Instant at) {
  const auto first = t.spans.begin() + stream.first, last = first + stream.count;
  const auto starts_before = [](const Span& span, Instant instant) { return span.start < instant; };
  const auto starts_after = [](Instant instant, const Span& span) { return instant < span.start; };
  return {std::lower_bound(first, last, at, starts_before) - first,
          std::upper_bound(first, last, at, starts_after) - first};
}

// The point of the work at which an instruction begins is the same in every run: what the other
// waves have begun by then.
TEST(HeldPhase, EveryInstructionBeginsWhereTheOthersAreAsPredicted) {
  EXPECT_TRUE(rc::check([] {
    const HeldWaves waves = predicted_waves(drawn_waves());
    const Program& p = waves.program;
    const Timeline planned = simulate(p, waves.prices), ran = simulate(p, wrong(waves.prices));
    for (const Stream& own : p.streams)
      for (const Stream& other : p.streams) {
        if (!own.compute || !other.compute || &own == &other) continue;
        for (std::uint32_t i = own.first; i < own.first + own.count; ++i) {
          const Begun plan = begun(planned, other, planned.spans[i].start),
                      run = begun(ran, other, ran.spans[i].start);
          RC_ASSERT(run.before <= plan.by);
          RC_ASSERT(run.by >= plan.before);
        }
      }
  }));
}

// At the prices that it is laid out for, holding costs no time.
TEST(HeldPhase, NobodyWaitsAtThePredictedPrices) {
  for (const char* model : {"mlp-small", "gpt-tiny", "resnet-20"})
    for (int waves : {2, 3, 4}) {
      Scenario s;
      s.model = zoo_model(model);
      s.cluster = make_cluster(device("h100-sxm"), 1);
      apply_setting(s.plan, "schedule", "tick-tock");
      apply_setting(s.plan, "tick-tock.waves", std::to_string(waves));
      apply_setting(s.plan, "tick-tock.sync", "local");  // no wave waits for another's update
      s.plan.batch.micro = 2;
      s.plan.batch.global = 2 * waves;
      const HeldWaves held = predicted_waves(s);
      const Timeline t = simulate(held.program, held.prices);
      for (const Stream& stream : testing::non_empty(held.program.streams)) {
        if (!stream.compute) continue;
        for (std::uint32_t i = stream.first; i + 1 < stream.first + stream.count; ++i)
          EXPECT_EQ(t.spans[i + 1].start, t.spans[i].end) << model << " " << waves << " " << i;
      }
    }
}

}  // namespace
}  // namespace trainyard
