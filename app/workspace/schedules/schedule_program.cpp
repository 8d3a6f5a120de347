#include "app/workspace/schedules/schedule_program.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/lowering/hold_phase.h"

namespace trainyard {
namespace {

struct ActionKey {
  Phase phase;
  StageId stage;
  std::int32_t microbatch;
  friend auto operator<=>(const ActionKey&, const ActionKey&) = default;
};

bool backward(Phase phase) { return phase == Phase::Backward || phase == Phase::BackwardInput; }

class Draft {
 public:
  Draft(const Order& order, const ScheduleRequest& request, Placement placement)
      : request_(request) {
    program_.devices = request.devices;
    program_.stages = request.devices * request.virtual_stages;
    program_.placement = placement;
    program_.microbatches = request.microbatches;
    program_.steps = request.steps;
    for (const Lane& lane : order.lanes) add_lane(lane);
    for (const auto& [key, id] : ids_) depend(key, id);
    wait_as_pairs(order);
    for (std::size_t lane = 0; lane < order.lanes.size(); ++lane) wait_for_versions(order, lane);
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
    hold_phase(program_, order, prices_.time);
  }

  ScheduleProgram take() { return {std::move(program_), std::move(prices_)}; }

 private:
  // The writer of a version of a stage's weights on one device.
  using Version = std::tuple<DeviceId, StageId, std::int16_t>;
  struct Writer {
    std::size_t lane;
    InstructionId update;
  };

  void add_lane(const Lane& lane) {
    Stream stream;
    stream.device = lane.device;
    stream.name = lane.name;
    stream.delay = lane.delay * request_.virtual_stages;
    stream.compute = true;
    stream.first = static_cast<std::uint32_t>(program_.instructions.size());
    stream.count = static_cast<std::uint32_t>(lane.actions.size());
    for (const Action& action : lane.actions) {
      Instruction instruction;
      instruction.task = task(action);
      instruction.microbatch = action.microbatch;
      instruction.wave = action.wave;
      instruction.weights = action.weights;
      const InstructionId id{static_cast<std::uint32_t>(program_.instructions.size())};
      ids_[{action.phase, action.stage, action.microbatch}] = id;
      if (action.phase == Phase::Update)
        writers_[{lane.device, action.stage, action.weights}].push_back(
            {program_.streams.size(), id});
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
      prices_.fill.push_back(fill_of(action.phase, request_));
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
  // Adds dependencies: data flows forward through the stages and back, and a weight gradient
  // follows its input gradient.
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

  // Nothing is sent inside passes here, so that the computations of a pair follow each other; the
  // first one also waits for what the second one needs.
  void wait_as_pairs(const Order& order) {
    for (const Lane& lane : order.lanes)
      for (std::size_t i = 1; i < lane.actions.size(); ++i) {
        if (!lane.actions[i].paired) continue;
        std::vector<InstructionId>& first = waits_[find(lane.actions[i - 1]).value];
        const std::vector<InstructionId>& second = waits_[find(lane.actions[i]).value];
        first.insert(first.end(), second.begin(), second.end());
      }
  }

  // An action that reads a version which another lane of its device writes waits for that update.
  void wait_for_versions(const Order& order, std::size_t lane) {
    for (const Action& a : order.lanes[lane].actions) {
      if (a.phase == Phase::Update || a.weights == 0) continue;
      const auto written = writers_.find({order.lanes[lane].device, a.stage, a.weights});
      if (written == writers_.end()) continue;
      const std::vector<Writer>& writers = written->second;
      const bool own = std::any_of(writers.begin(), writers.end(),
                                   [&](const Writer& w) { return w.lane == lane; });
      if (!own) waits_[find(a).value].push_back(writers.front().update);
    }
  }

  const ScheduleRequest& request_;
  Program program_;
  TaskPrices prices_;
  std::map<ActionKey, InstructionId> ids_;
  std::map<std::pair<Phase, StageId>, TaskId> tasks_;
  std::map<Version, std::vector<Writer>> writers_;
  std::vector<std::vector<InstructionId>> waits_;
};

}  // namespace

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

double fill_of(Phase phase, const ScheduleRequest& r) {
  return phase == Phase::Forward ? r.forward_fill : r.backward_fill;
}

ScheduleProgram schedule_program(const Order& order, const ScheduleRequest& request,
                                 Placement placement) {
  return Draft(order, request, placement).take();
}

}  // namespace trainyard
