#include "app/workspace/schedule_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "backends/simulator/simulator.h"
#include "core/base/units_text.h"
#include "core/methods/catalogue.h"

namespace trainyard {
namespace {

// Whoever reads a schedule has a screen; a program of it has no such limit.
constexpr std::int64_t kMostActions = 4'000'000;

struct ActionKey {
  Phase phase;
  StageId stage;
  std::int32_t microbatch;
  friend auto operator<=>(const ActionKey&, const ActionKey&) = default;
};

bool backward(Phase phase) { return phase == Phase::Backward || phase == Phase::BackwardInput; }

// Of one chunk, in chunk time.
Duration time_of(Phase phase, const ScheduleRequest& r) {
  switch (phase) {
    case Phase::Forward:
      return r.forward;
    case Phase::Backward:
      return r.backward_input + r.backward_weight;
    case Phase::BackwardInput:
      return r.backward_input;
    case Phase::BackwardWeight:
      return r.backward_weight;
    case Phase::Update:
      break;
  }
  return Duration{0};
}

// The order as a program of bare compute: dependencies, no messages, no memory.
class Draft {
 public:
  Draft(const ScheduleRequest& request, const Order& order) : request_(request) {
    program_.devices = request.devices;
    program_.stages = request.devices * request.virtual_stages;
    program_.microbatches = request.microbatches;
    for (const Lane& lane : order.lanes) add_lane(lane);
    for (const auto& [key, id] : ids_) depend(key, id);
    for (const Precedence& p : order.precedences)
      waits_[find(p.after).value].push_back(find(p.before));
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
      Instruction& instruction = program_.instructions[i];
      instruction.first_after = static_cast<std::uint32_t>(program_.after.size());
      instruction.afters = static_cast<std::uint32_t>(waits_[i].size());
      program_.after.insert(program_.after.end(), waits_[i].begin(), waits_[i].end());
    }
    prices_.recompute_share.assign(program_.tasks.size(), 0.0);
    prices_.flops.assign(program_.tasks.size(), {});
    prices_.model_flops.assign(program_.tasks.size(), {});
  }

  const Program& program() const { return program_; }
  const TaskPrices& prices() const { return prices_; }

 private:
  void add_lane(const Lane& lane) {
    Stream stream;
    stream.device = lane.device;
    stream.name = lane.name;
    stream.delay = lane.delay;
    stream.compute = true;
    stream.first = static_cast<std::uint32_t>(program_.instructions.size());
    stream.count = static_cast<std::uint32_t>(lane.actions.size());
    for (const Action& action : lane.actions) {
      Instruction instruction;
      instruction.task = task(action);
      instruction.microbatch = action.microbatch;
      const InstructionId id{static_cast<std::uint32_t>(program_.instructions.size())};
      ids_[{action.phase, action.stage, action.microbatch}] = id;
      program_.instructions.push_back(instruction);
    }
    program_.streams.push_back(std::move(stream));
    waits_.resize(program_.instructions.size());
  }

  TaskId task(const Action& action) {
    const auto [found, added] = tasks_.try_emplace(
        {action.phase, action.stage}, TaskId{static_cast<std::uint32_t>(program_.tasks.size())});
    if (added) {
      Task made;
      made.phase = action.phase;
      made.stage = action.stage;
      made.name = program_.names.intern(std::string(1, letter(action.phase)));
      made.pass = program_.names.intern("schedule");
      program_.tasks.push_back(made);
      prices_.time.push_back(time_of(action.phase, request_));
      prices_.fill.push_back(1.0);
      prices_.resource.push_back(0);
    }
    return found->second;
  }

  InstructionId find(const Action& action) const {
    return ids_.at({action.phase, action.stage, action.microbatch});
  }
  void wait_for(InstructionId id, const ActionKey& key) {
    if (const auto found = ids_.find(key); found != ids_.end())
      waits_[id.value].push_back(found->second);
  }
  // Data flows forward through the stages and back; a weight gradient follows its input gradient.
  void depend(const ActionKey& key, InstructionId id) {
    const auto& [phase, stage, m] = key;
    if (phase == Phase::Forward && stage.value > 0)
      wait_for(id, {Phase::Forward, StageId{stage.value - 1}, m});
    if (phase == Phase::BackwardWeight) wait_for(id, {Phase::BackwardInput, stage, m});
    if (!backward(phase)) return;
    wait_for(id, {Phase::Forward, stage, m});
    wait_for(id, {Phase::Backward, StageId{stage.value + 1}, m});
    wait_for(id, {Phase::BackwardInput, StageId{stage.value + 1}, m});
  }

  const ScheduleRequest& request_;
  Program program_;
  TaskPrices prices_;
  std::map<ActionKey, InstructionId> ids_;
  std::map<std::pair<Phase, StageId>, TaskId> tasks_;
  std::vector<std::vector<InstructionId>> waits_;
};

// Live from the start of its forward to the end of its last backward; releases at one instant come
// before allocations.
std::vector<double> live_microbatches(const ScheduleStudy& study) {
  std::vector<std::vector<std::pair<Instant, int>>> events(
      static_cast<std::size_t>(study.request.devices));
  for (std::size_t l = 0; l < study.order.lanes.size(); ++l) {
    const Lane& lane = study.order.lanes[l];
    bool splits = false;
    for (const Action& a : lane.actions) splits = splits || a.phase == Phase::BackwardWeight;
    for (std::size_t i = 0; i < lane.actions.size(); ++i) {
      const Phase phase = lane.actions[i].phase;
      if (phase == Phase::Forward)
        events[lane.device.value].push_back({study.spans[l][i].start, 1});
      if (phase == Phase::Backward || phase == Phase::BackwardWeight ||
          (phase == Phase::BackwardInput && !splits))
        events[lane.device.value].push_back({study.spans[l][i].end, -1});
    }
  }
  std::vector<double> peaks;
  for (auto& list : events) {
    std::sort(list.begin(), list.end());  // -1 before +1 at one instant
    int live = 0, most = 0;
    for (const auto& [at, change] : list) most = std::max(most, live += change);
    peaks.push_back(static_cast<double>(most) / study.request.virtual_stages);
  }
  return peaks;
}

void measure(ScheduleStudy& study) {
  Duration makespan{0};
  std::vector<Duration> busy(static_cast<std::size_t>(study.request.devices));
  for (std::size_t l = 0; l < study.order.lanes.size(); ++l)
    for (const Span& span : study.spans[l]) {
      makespan = std::max(makespan, span.end);
      busy[study.order.lanes[l].device.value] += span.length();
    }
  const Duration whole = std::accumulate(busy.begin(), busy.end(), Duration{0});
  const double chunk_seconds = 1e9 * study.request.virtual_stages;
  study.makespan = static_cast<double>(makespan.count()) / chunk_seconds;
  study.ideal =
      static_cast<double>(std::max_element(busy.begin(), busy.end())->count()) / chunk_seconds;
  const double possible = static_cast<double>(makespan.count()) * study.request.devices;
  if (possible > 0) study.bubble_fraction = 1.0 - static_cast<double>(whole.count()) / possible;
  study.live_microbatches = live_microbatches(study);
}

ScheduleShape shape_of(const ScheduleRequest& r) {
  return {.devices = r.devices,
          .stages = r.devices * r.virtual_stages,
          .microbatches = r.microbatches,
          .steps = 1,
          .times = {r.forward, r.backward_input, r.backward_weight, Duration{0}}};
}

[[noreturn]] void refuse(const std::string& message, std::string place) {
  throw Error(Error::Kind::InvalidInput, message, {std::move(place)});
}

// The method's own check, on a plan with nothing but a pipeline, in the words of ScheduleRequest.
void check_legal(const Method& chosen, const ScheduleRequest& r) {
  if (!chosen.check) return;
  Scenario scenario;
  Plan& plan = scenario.plan;
  plan.mesh.pp = r.devices;
  plan.mesh.dp = 1;
  plan.virtual_stages = r.virtual_stages;
  plan.batch.global = r.microbatches;
  Diagnostics found = chosen.check(scenario, with_defaults({}, chosen.params));
  const auto replace = [](std::string& text, std::string_view from, std::string_view to) {
    if (const std::size_t at = text.find(from); at != std::string::npos)
      text.replace(at, from.size(), to);
  };
  for (Diagnostic& d : found) {
    replace(d.place.text, "plan#/virtual_stages", "virtual-stages");
    replace(d.place.text, "plan#/batch/global", "microbatches");
    replace(d.fix, "global-batch", "microbatches");
  }
  throw_if_errors(found);
}

void expect_times(const ScheduleRequest& r) {
  constexpr Duration kMost = std::chrono::hours(24 * 365);
  for (const Duration time : {r.forward, r.backward_input, r.backward_weight})
    if (time > kMost) refuse("expected times of at most 365 d, found " + to_text(time), "schedule");
}

}  // namespace

ScheduleStudy study(const ScheduleRequest& request, Order order, const std::string& name) {
  expect_times(request);
  Diagnostics wrong = check(order, shape_of(request));
  for (Diagnostic& d : wrong)
    if (d.place.text.rfind("order", 0) == 0) d.place.text.replace(0, 5, name);
  throw_if_errors(wrong);
  ScheduleStudy result;
  result.request = request;
  const Draft draft(request, order);
  const Timeline timeline = simulate(draft.program(), draft.prices());
  for (const Stream& stream : draft.program().streams)
    result.spans.emplace_back(timeline.spans.begin() + stream.first,
                              timeline.spans.begin() + stream.first + stream.count);
  result.order = std::move(order);
  measure(result);
  return result;
}

ScheduleStudy study(const ScheduleRequest& request) {
  const Method& chosen = method(request.name);
  if (!chosen.order)
    refuse(fmt::format("\"{}\" is a method, but not a schedule", request.name), "schedule");
  const std::int64_t actions =
      std::int64_t{3} * request.devices * request.virtual_stages * request.microbatches;
  if (actions > kMostActions)
    refuse(
        fmt::format("{} stages of {} microbatches are more than {} actions",
                    request.devices * request.virtual_stages, request.microbatches, kMostActions),
        "schedule");
  check_legal(chosen, request);
  return study(request, chosen.order(shape_of(request), with_defaults({}, chosen.params)));
}

namespace {

// One column is the longest time that divides every span.
Duration column_time(const ScheduleStudy& study) {
  std::int64_t unit = 0;
  for (const auto& lane : study.spans)
    for (const Span& span : lane)
      unit = std::gcd(std::gcd(unit, span.start.count()), span.end.count());
  return Duration{std::max<std::int64_t>(unit, 1)};
}

}  // namespace

std::string grid(const ScheduleStudy& study, std::size_t columns) {
  std::size_t cell = 3;
  for (const Lane& lane : study.order.lanes)
    for (const Action& action : lane.actions)
      cell = std::max(cell, fmt::format("{} ", action.microbatch).size() + 1 +
                                (study.request.virtual_stages > 1 ? 2 : 0));
  const Duration unit = column_time(study);
  const std::size_t most = std::max<std::size_t>(8, columns / cell);
  Duration end{0};
  for (const auto& lane : study.spans)
    if (!lane.empty()) end = std::max(end, lane.back().end);
  const auto whole = static_cast<std::size_t>(end / unit);
  const std::size_t shown = std::min(whole, most);
  std::string text;
  for (std::size_t l = 0; l < study.order.lanes.size(); ++l) {
    const Lane& lane = study.order.lanes[l];
    std::string row(shown * cell, ' ');
    for (std::size_t c = 0; c < shown; ++c) row[c * cell] = '.';
    for (std::size_t i = 0; i < lane.actions.size(); ++i) {
      const Action& action = lane.actions[i];
      const auto from = static_cast<std::size_t>(study.spans[l][i].start / unit);
      const auto to = std::min(shown, static_cast<std::size_t>(study.spans[l][i].end / unit));
      if (from >= to) continue;
      std::string label = fmt::format("{}{}", letter(action.phase), action.microbatch);
      if (study.request.virtual_stages > 1)
        label += fmt::format(
            "'{}", action.stage.value / static_cast<std::uint32_t>(study.request.devices));
      std::string box(cell * (to - from) - 1, '-');
      box.replace(0, std::min(box.size(), label.size()), label.substr(0, box.size()));
      row.replace(from * cell, box.size(), box);
    }
    text +=
        fmt::format("d{:<3} {}\n", lane.device.value, row.substr(0, row.find_last_not_of(' ') + 1));
  }
  if (shown < whole) text += fmt::format("     ... {} more columns\n", whole - shown);
  return text;
}

}  // namespace trainyard
