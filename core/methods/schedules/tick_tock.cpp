// Tick-Tock runs waves of microbatches on the same devices, each a part of the cycle behind the one
// before it, so that the memory of one wave rises while that of another falls. The distance is in
// work that the other wave has done, and lowering keeps it (core/lowering/hold_phase.h).
//
//   d0/wave 0  F0 B0    F2 B2    F4 B4          data parallel: waves share one device
//   d0/wave 1     F1 B1    F3 B3    F5 B5
//
//   d0  F0 F1    B0 F2 B1 F3 B2                 model parallel: K waves in flight over N devices
//   d1     F0 B0 F1 B1 F2 B2 F3                 keep min(1, K/N) of each busy
//
// There are three rules for how waves combine in the weights: accumulate (their gradients are added
// up before one update per step), async (each wave updates when it ends, and one older version of
// the weights is kept), local (each wave has weights of its own and averages them with the others'
// current weights after a number of cycles).
//
// Wang et al., "Wavelet: Efficient DNN Training with Tick-Tock Scheduling", MLSys 2021.
#include <fmt/format.h>

#include <algorithm>

#include "core/methods/catalogue.h"
#include "core/methods/orders/asynchronous.h"
#include "core/methods/schedules/wave_average.h"
#include "core/methods/schedules/wave_offset.h"

namespace trainyard {
namespace {

int waves_of(const Params& params) { return static_cast<int>(params.integer("waves")); }

// The part of a cycle that a wave on one device starts behind the one before it.
double offset_of(const Params& params) {
  const std::string& policy = params.text("policy");
  if (policy == "half-cycle") return 1.0 / waves_of(params);
  return policy == "custom" ? params.number("offset") : 0;
}

// Waves writes wave w of K on one device; a cycle is one wave's share of a step.
class Waves {
 public:
  Waves(const ScheduleShape& shape, const Params& params)
      : shape_(shape),
        params_(params),
        waves_(waves_of(params)),
        share_(shape.microbatches / waves_),
        sync_(params.text("sync")),
        policy_(params.text("policy")) {}

  Order run() {
    for (int w = 0; w < waves_; ++w) order_.lanes.push_back(lane(w));
    if (policy_ == "exclusive") exclude_like_phases();
    if (sync_ == "async") update_in_turn();
    if (sync_ == "local") meet_to_average();
    return std::move(order_);
  }

 private:
  int cycles() const { return sync_ == "accumulate" ? 1 : shape_.steps; }
  int microbatch(int wave, int cycle, int i) const {
    return cycle * shape_.microbatches + wave * share_ + i;
  }
  /// Updates are counted through all waves.
  int update(int wave, int cycle) const { return cycle * waves_ + wave; }

  int version_read(int wave, int cycle) const {
    if (sync_ == "accumulate") return 0;
    if (sync_ == "local") return cycle;
    return std::max(0, update(wave, cycle) - (waves_ - 1));
  }

  Action action(Phase phase, int wave, int index, int version) const {
    return {phase, StageId{0}, index, static_cast<std::int16_t>(wave),
            static_cast<std::int16_t>(version)};
  }
  Action forward(int wave, int cycle, int i) const {
    return action(Phase::Forward, wave, microbatch(wave, cycle, i), version_read(wave, cycle));
  }
  Action backward(int wave, int cycle, int i) const {
    return action(Phase::Backward, wave, microbatch(wave, cycle, i), version_read(wave, cycle));
  }
  Action updating(int wave, int cycle) const {
    const int version = sync_ == "local" ? cycle + 1 : update(wave, cycle) + 1;
    return action(Phase::Update, wave, update(wave, cycle), version);
  }

  Lane lane(int wave) const {
    Lane lane{DeviceId{0}, fmt::format("wave {}", wave)};
    if (wave > 0) lane.behind = offset_of(params_);
    for (int cycle = 0; cycle < cycles(); ++cycle) {
      for (int i = 0; i < share_; ++i) {
        lane.actions.push_back(forward(wave, cycle, i));
        lane.actions.push_back(backward(wave, cycle, i));
      }
      if (sync_ != "accumulate") lane.actions.push_back(updating(wave, cycle));
    }
    return lane;
  }

  // Forwards alternate between waves: wave 0, wave 1, ... and wave 0 again; so do backwards. No two
  // passes of one kind run at once.
  void exclude_like_phases() {
    const int rounds = cycles() * share_;
    for (int turn = 1; turn < rounds * waves_; ++turn) {
      const auto at = [&](int t, auto phase) {
        return (this->*phase)(t % waves_, t / waves_ / share_, t / waves_ % share_);
      };
      order_.precedences.push_back({at(turn - 1, &Waves::forward), at(turn, &Waves::forward)});
      order_.precedences.push_back({at(turn - 1, &Waves::backward), at(turn, &Waves::backward)});
    }
  }

  void update_in_turn() {
    for (int u = 1; u < cycles() * waves_; ++u)
      order_.precedences.push_back(
          {updating((u - 1) % waves_, (u - 1) / waves_), updating(u % waves_, u / waves_)});
  }

  // The update that ends a period takes the mean of all waves' weights. No wave waits for one that
  // is behind it: it takes the weights that the waves ahead of it have after the same cycle, and
  // those behind it after the cycle before. Updates around a mean are in turn, so that each finds
  // these weights whoever is faster.
  void meet_to_average() {
    const int period = static_cast<int>(params_.integer("period")), last = waves_ - 1;
    const auto in_turn = [&](Action before, Action after) {
      order_.precedences.push_back({before, after});
    };
    for (int cycle = period - 1; cycle < cycles(); cycle += period) {
      if (cycle > 0 && period > 1)
        for (int other = 1; other < waves_; ++other)
          in_turn(updating(other, cycle - 1), updating(0, cycle));
      for (int wave = 1; wave < waves_; ++wave)
        in_turn(updating(wave - 1, cycle), updating(wave, cycle));
      if (cycle + 1 < cycles())
        for (int other = 0; other < last; ++other)
          in_turn(updating(last, cycle), updating(other, cycle + 1));
    }
  }

  const ScheduleShape& shape_;
  const Params& params_;
  int waves_, share_;
  const std::string &sync_, &policy_;
  Order order_;
};

// There are K waves in flight, each F + B behind the one before it. On the way down and back no two
// of them meet on a device, and a wave begins its next microbatch when it has returned, after N (F
// + B).
Order through_devices(const ScheduleShape& shape, const Params& params) {
  const int waves = waves_of(params), n = shape.stages;
  Flow flow{.ahead = [n](int device) { return n - 1 - device; },
            .entering = std::min(waves, n),
            .of_places = n,
            .waves = waves};
  if (params.text("sync") == "async") return flow_order("tick-tock", shape, flow);
  ScheduleShape step = shape;
  step.steps = 1;
  Order order = flow_order("tick-tock", step, flow);
  for (Lane& lane : order.lanes) {
    std::erase_if(lane.actions, [](const Action& a) { return a.phase == Phase::Update; });
    for (Action& a : lane.actions) a.weights = 0;
  }
  return order;
}

Order order_tick_tock(const ScheduleShape& shape, const Params& params) {
  if (shape.stages > 1) return through_devices(shape, params);
  if (params.text("sync") == "async")
    expect_versions("tick-tock", shape, params.integer("waves") * shape.steps);
  return Waves(shape, params).run();
}

int settles_tick_tock(const ScheduleShape& shape, const Params& params) {
  if (params.text("sync") == "accumulate") return 0;
  if (shape.stages > 1) return settled_after(shape, shape.stages);
  // Two cycles until every wave has met all others, and as many for the last to end. The step in
  // the middle, the third of five, takes no mean unless every step does.
  return params.text("sync") == "local" && params.integer("period") == 3 ? 5 : 4;
}

void check_waves(Diagnostics& found, const Plan& plan, const Params& params) {
  const std::int64_t waves = params.integer("waves"), m = microbatches(plan);
  const auto refuse = [&](std::string message, std::string place, std::string fix) {
    found.push_back(
        {Diagnostic::Severity::Error, std::move(message), {std::move(place)}, std::move(fix)});
  };
  if (plan.mesh.pp == 1 && m % waves != 0)
    refuse(
        fmt::format("tick-tock's {} waves share the microbatches of a step, and {} do not divide "
                    "among them",
                    waves, m),
        "plan#/batch/global",
        fmt::format("global-batch={}", (m / waves + 1) * waves * plan.batch.micro * *plan.mesh.dp));
  if (plan.mesh.pp > 1 && waves > plan.mesh.pp)
    found.push_back({Diagnostic::Severity::Warning,
                     fmt::format("tick-tock has {} waves on {} devices, and {} keep all of them "
                                 "busy; the others wait",
                                 waves, plan.mesh.pp, plan.mesh.pp),
                     {"plan#/choices/tick-tock"},
                     fmt::format("tick-tock.waves={}", plan.mesh.pp)});
  if (plan.mesh.pp > 1 && params.text("sync") == "local")
    refuse("tick-tock's sync=local is of waves that share one device, and pp is " +
               std::to_string(plan.mesh.pp),
           "plan#/choices/tick-tock", "tick-tock.sync=async");
}

Diagnostics check_tick_tock(const Scenario& scenario, const Params& params) {
  const Plan& plan = scenario.plan;
  ScheduleShape shape;
  shape.stages = plan.mesh.pp;
  shape.microbatches = microbatches(plan);
  const std::int64_t updates = params.text("sync") != "async" ? 1
                               : plan.mesh.pp > 1             ? shape.microbatches
                                                              : params.integer("waves");
  Diagnostics found =
      check_asynchronous("tick-tock", scenario, updates, settles_tick_tock(shape, params) + 1);
  check_waves(found, plan, params);
  return found;
}

}  // namespace

bool states_wave_offset(const Plan& plan) {
  const Choice* chosen = find_choice(plan, "tick-tock");
  return chosen != nullptr && plan.mesh.pp == 1 &&
         waves_of(with_defaults(chosen->params, tick_tock().params)) > 1;
}

std::optional<double> wave_offset(const Plan& plan) {
  if (!states_wave_offset(plan)) return {};
  const Params params = with_defaults(find_choice(plan, "tick-tock")->params, tick_tock().params);
  if (params.text("policy") == "exclusive") return {};
  return offset_of(params);
}

WaveAverage wave_average(const Plan& plan) {
  const Choice* chosen = find_choice(plan, "tick-tock");
  if (chosen == nullptr || plan.mesh.pp > 1) return {};
  const Params params = with_defaults(chosen->params, tick_tock().params);
  if (params.text("sync") != "local" || waves_of(params) == 1) return {};
  return {static_cast<int>(params.integer("period")), waves_of(params)};
}

Method tick_tock() {
  return {
      .name = "tick-tock",
      .axis = MethodAxis::Schedule,
      .summary = "Waves that share devices, each a part of a cycle behind the one before.",
      .paper = {"Wavelet: Efficient DNN Training with Tick-Tock Scheduling", "Wang et al.", "MLSys",
                2021},
      .card = {.gains = "two waves at 1.25 of one's activations where backward takes twice "
                        "forward; K waves keep K/N of N devices busy",
               .costs = "nothing is gained where one wave already fills the device; async keeps "
                        "older weights, and gradients are one update old",
               .legal_when =
                   "virtual-stages is 1 and, on one device, waves divide the microbatches "
                   "of a step"},
      .file = "core/methods/schedules/tick_tock.cpp",
      .params = {{.name = "waves",
                  .fallback = std::int64_t{2},
                  .doc = "K: waves on a device, or in flight over the devices of a pipeline",
                  .low = 1,
                  .high = 64},
                 {.name = "policy",
                  .fallback = std::string("half-cycle"),
                  .doc =
                      "waves of one device: half-cycle (1/K of a cycle apart), exclusive (no two "
                      "forwards or backwards at once), aligned, custom",
                  .values = {"half-cycle", "exclusive", "aligned", "custom"}},
                 {.name = "offset",
                  .fallback = 0.5,
                  .doc = "policy custom: part of a cycle that a wave is behind the one before",
                  .low = 0,
                  .high = 1},
                 {.name = "sync",
                  .fallback = std::string("async"),
                  .doc =
                      "accumulate: one update per step; async: one update per wave, older weights "
                      "stashed; local: private weights, averaged every period",
                  .values = {"accumulate", "async", "local"}},
                 {.name = "period",
                  .fallback = std::int64_t{4},
                  .doc = "sync local: cycles from one average to the next; a step is timed "
                         "between two",
                  .low = 1,
                  .high = 1000}},
      .check = check_tick_tock,
      .order = order_tick_tock,
      .settles = settles_tick_tock,
  };
}

}  // namespace trainyard
