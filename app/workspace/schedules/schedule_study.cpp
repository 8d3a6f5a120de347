#include "app/workspace/schedules/schedule_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "app/workspace/schedules/schedule_program.h"
#include "backends/simulator/simulator.h"
#include "core/base/units_text.h"
#include "core/methods/catalogue.h"
#include "core/timeline/metrics.h"

namespace trainyard {
namespace {

// A study is meant for a screen and so is limited; a program of the schedule has no such limit.
constexpr std::int64_t kMostStudied = 4'000'000;

// Runs the method's own check on a plan that has only a pipeline.
Diagnostics check_plan(const Method& chosen, const ScheduleRequest& r, int virtual_stages) {
  if (!chosen.check) return {};
  Scenario scenario;
  Plan& plan = scenario.plan;
  plan.mesh.pp = r.devices;
  plan.mesh.dp = 1;
  plan.virtual_stages = virtual_stages;
  plan.batch.global = r.microbatches;
  return chosen.check(scenario, r.params);
}

// Reports the check's errors in the terms of ScheduleRequest.
void check_legal(const Method& chosen, const ScheduleRequest& r) {
  Diagnostics found = check_plan(chosen, r, r.virtual_stages);
  const auto replace = [](std::string& text, std::string_view from, std::string_view to) {
    if (const std::size_t at = text.find(from); at != std::string::npos)
      text.replace(at, from.size(), to);
  };
  for (Diagnostic& d : found) {
    replace(d.place.text, "plan#/virtual_stages", "virtual-stages");
    replace(d.place.text, "plan#/batch/global", "microbatches");
    replace(d.place.text, "plan#/mesh/pp", "stages");
    replace(d.fix, "global-batch", "microbatches");
    if (d.fix.rfind("pp=", 0) == 0) d.fix.replace(0, 3, "stages=");
  }
  throw_if_errors(found);
}

// The number that the check's fix asks for if one is too few.
int least_virtual_stages(const Method& chosen, const ScheduleRequest& r) {
  constexpr std::string_view kFix = "virtual-stages=";
  for (const Diagnostic& d : check_plan(chosen, r, 1)) {
    if (d.fix.rfind(kFix, 0) != 0) continue;
    int count = 1;
    std::from_chars(d.fix.data() + kFix.size(), d.fix.data() + d.fix.size(), count);
    return std::max(1, count);
  }
  return 1;
}

ScheduleShape shape_asked(const Method& chosen, const ScheduleRequest& r) {
  return {.devices = r.devices,
          .stages = r.devices * r.virtual_stages,
          .microbatches = r.microbatches,
          .steps = r.steps,
          .times = {r.forward, r.backward_input, r.backward_weight, Duration{0}},
          .placement = chosen.placement};
}

void expect_times(const ScheduleRequest& r) {
  constexpr Duration kMost = std::chrono::hours(24 * 365);
  for (const Duration time : {r.forward, r.backward_input, r.backward_weight})
    if (time > kMost) refuse("schedule", "expected times of at most 365 d, found " + to_text(time));
}

void expect_few_actions(const ScheduleRequest& r) {
  const std::int64_t stages = std::int64_t{r.devices} * r.virtual_stages;
  const std::int64_t actions = 3 * stages * r.microbatches;
  if (actions > kMostStudied || actions * std::max(1, r.steps) > kMostStudied)
    refuse("schedule",
           fmt::format("{} stages of {} microbatches{} are more than {} actions", stages,
                       r.microbatches, r.steps > 1 ? fmt::format(" in {} steps", r.steps) : "",
                       kMostStudied));
}

// Fills in parameters and chunks that were left to defaults.
ScheduleRequest complete(const Method& chosen, ScheduleRequest r) {
  if (!chosen.order)
    refuse("schedule", fmt::format("\"{}\" is a method, but not a schedule", r.name));
  expect_times(r);
  throw_if_errors(check_params(r.params, chosen.params, {"schedule"}));
  r.params = with_defaults(r.params, chosen.params);
  if (r.virtual_stages == 0) r.virtual_stages = least_virtual_stages(chosen, r);
  expect_few_actions(r);
  return r;
}

// The number of steps in which it becomes steady; the middle one is measured.
int laid_out_steps(const Method& chosen, const ScheduleRequest& r) {
  if (chosen.settles)
    return r.steps > 0 ? r.steps
                       : std::max(0, chosen.settles(shape_asked(chosen, r), r.params)) + 1;
  if (r.steps > 1)
    refuse("steps",
           r.name + " begins and ends a step with nothing in flight; expected one step, found " +
               std::to_string(r.steps));
  return 1;
}

// --- what it comes to ---

class Measure {
 public:
  explicit Measure(ScheduleStudy& study)
      : study_(study), lanes_on_(static_cast<std::size_t>(study.request.devices)) {
    for (std::size_t l = 0; l < study.order.lanes.size(); ++l)
      lanes_on_[study.order.lanes[l].device.value].push_back(l);
    std::int32_t last = 0;
    for (const Lane& lane : study.order.lanes)
      for (const Action& a : lane.actions)
        if (a.phase == Phase::Update) last = std::max(last, a.microbatch);
    updates_of_a_step_ = std::max(1, (last + 1) / study.request.steps);
  }

  void run() {
    const double seconds = 1e-9 / study_.request.virtual_stages;
    StepWindow window{};
    for (std::size_t d = 0; d < lanes_on_.size(); ++d) {
      const StepWindow own = own_window(d);
      window.to = std::max(window.to, own.to);
      if (study_.asynchronous) window.from = std::max(window.from, own.from);
    }
    Duration busy{};
    for (std::size_t d = 0; d < lanes_on_.size(); ++d) {
      const StepWindow own = own_window(d);
      busy += busy_in(d, window);
      DeviceStudy device;
      device.span = static_cast<double>(own.length().count()) * seconds;
      if (own.length() > Duration{})
        device.bubble_fraction = 1.0 - static_cast<double>(busy_in(d, own).count()) /
                                           static_cast<double>(own.length().count());
      device.live = static_cast<double>(most_live(d)) / study_.request.virtual_stages;
      study_.devices.push_back(device);
      study_.ideal = std::max(study_.ideal, work(d) * seconds);
    }
    study_.makespan = static_cast<double>(window.length().count()) * seconds;
    const double possible =
        static_cast<double>(window.length().count()) * static_cast<double>(lanes_on_.size());
    if (possible > 0) study_.bubble_fraction = 1.0 - static_cast<double>(busy.count()) / possible;
    if (has_waves()) study_.over_one_wave = alone() / study_.makespan;
  }

 private:
  bool has_waves() const {
    if (study_.makespan <= 0 || copies(study_.method->placement) > 1) return false;
    return std::any_of(study_.order.lanes.begin(), study_.order.lanes.end(), [](const Lane& lane) {
      return std::any_of(lane.actions.begin(), lane.actions.end(),
                         [](const Action& a) { return a.wave > 0; });
    });
  }
  // The time in seconds of the same microbatches one after the other through all devices.
  double alone() const {
    const ScheduleRequest& r = study_.request;
    const Duration cycle = r.forward + r.backward_input + r.backward_weight;
    return to_seconds(cycle) * r.microbatches * r.devices;
  }

  // Calls f for every action of the device with its span.
  template <class F>
  void each(std::size_t device, F f) const {
    for (const std::size_t l : lanes_on_[device])
      for (std::size_t i = 0; i < study_.spans[l].size(); ++i)
        f(study_.order.lanes[l].actions[i], study_.spans[l][i]);
  }

  bool measured(const Action& a) const {
    return !study_.asynchronous || a.microbatch / study_.request.microbatches == study_.step;
  }

  // The time that the device would need for a step if it never waited, in chunk time.
  double work(std::size_t device) const {
    double sum = 0;
    each(device, [&](const Action& a, const Span&) {
      if (a.phase != Phase::Update && measured(a))
        sum += static_cast<double>(time_of(a.phase, study_.request).count()) *
               (lanes_on_[device].size() > 1 ? fill_of(a.phase, study_.request) : 1.0);
    });
    return sum;
  }

  // From its first start to its last end; for an asynchronous schedule, from the end of the
  // previous step's updates to the end of those of the measured step.
  StepWindow own_window(std::size_t device) const {
    StepWindow whole{Instant::max(), {}}, updates;
    each(device, [&](const Action& a, const Span& span) {
      whole = {std::min(whole.from, span.start), std::max(whole.to, span.end)};
      if (a.phase != Phase::Update) return;
      const std::int32_t step = a.microbatch / updates_of_a_step_;
      if (step == study_.step) updates.to = std::max(updates.to, span.end);
      if (step == study_.step - 1) updates.from = std::max(updates.from, span.end);
    });
    if (whole.to < whole.from) return {};
    return study_.asynchronous ? updates : whole;
  }

  // The time within the window in which any lane of the device works.
  Duration busy_in(std::size_t device, const StepWindow& window) const {
    std::vector<Span> spans;
    each(device, [&](const Action&, const Span& span) {
      if (span.end > window.from && span.start < window.to) spans.push_back(span);
    });
    std::sort(spans.begin(), spans.end(),
              [](const Span& a, const Span& b) { return a.start < b.start; });
    Duration busy{};
    Instant covered = window.from;
    for (const Span& span : spans) {
      const Instant end = std::min(span.end, window.to);
      busy += std::max(Duration{}, end - std::max(covered, span.start));
      covered = std::max(covered, end);
    }
    return busy;
  }

  // Counts chunks from the start of their forward to the end of their last backward; at equal
  // times, releases come before allocations.
  int most_live(std::size_t device) const {
    std::vector<std::pair<Instant, int>> events;
    bool splits = false;
    each(device, [&](const Action& a, const Span&) { splits |= a.phase == Phase::BackwardWeight; });
    each(device, [&](const Action& a, const Span& span) {
      if (a.phase == Phase::Forward) events.push_back({span.start, 1});
      if (a.phase == Phase::Backward || a.phase == Phase::BackwardWeight ||
          (a.phase == Phase::BackwardInput && !splits))
        events.push_back({span.end, -1});
    });
    std::sort(events.begin(), events.end());  // -1 before +1 at equal times
    int live = 0, most = 0;
    for (const auto& [at, change] : events) most = std::max(most, live += change);
    return most;
  }

  ScheduleStudy& study_;
  std::vector<std::vector<std::size_t>> lanes_on_;  // by device
  std::int32_t updates_of_a_step_ = 1;              // number, over all waves
};

}  // namespace

ScheduleStudy study(const ScheduleRequest& request, Order order, const std::string& name) {
  const Method& chosen = method(request.name);
  ScheduleStudy result;
  result.method = &chosen;
  result.request = complete(chosen, request);
  result.asynchronous = has_updates(order);
  result.request.steps =
      static_cast<int>(std::min<std::int64_t>(steps_of(order, request.microbatches), kMostStudied));
  expect_few_actions(result.request);
  Diagnostics wrong = check(order, shape_asked(chosen, result.request));
  for (Diagnostic& d : wrong)
    if (d.place.text.rfind("order", 0) == 0) d.place.text.replace(0, 5, name);
  throw_if_errors(wrong);
  const ScheduleProgram laid_out = schedule_program(order, result.request, chosen.placement);
  const Timeline timeline = simulate(laid_out.program, laid_out.prices);
  for (const Stream& stream : laid_out.program.streams)
    result.spans.emplace_back(timeline.spans.begin() + stream.first,
                              timeline.spans.begin() + stream.first + stream.count);
  result.order = std::move(order);
  result.step = result.request.steps / 2;
  Measure(result).run();
  result.facts = facts(laid_out.program);
  return result;
}

ScheduleStudy study(const ScheduleRequest& request) {
  const Method& chosen = method(request.name);
  ScheduleRequest whole = complete(chosen, request);
  check_legal(chosen, whole);
  whole.steps = laid_out_steps(chosen, whole);
  expect_few_actions(whole);
  return study(whole, chosen.order(shape_asked(chosen, whole), whole.params));
}

}  // namespace trainyard
