#include "core/lowering/lower.h"

#include <algorithm>
#include <cassert>

#include "core/lowering/phase_writer.h"
#include "core/lowering/phases.h"
#include "core/methods/catalogue.h"

namespace trainyard {
namespace {

bool makes_gradients(Phase phase) {
  return phase == Phase::Backward || phase == Phase::BackwardWeight;
}

bool splits_backward(const Order& order) {
  for (const Lane& lane : order.lanes)
    for (const Action& a : lane.actions)
      if (a.phase == Phase::BackwardInput) return true;
  return false;
}

// State that is there before the first instruction and after the last.
void hold_state(const Workload& w, Draft& draft) {
  const auto persistent = [&](StageId stage, Category category, std::string_view name, Bytes bytes,
                              Provenance provenance) {
    Buffer buffer;
    buffer.name = draft.name(name);
    buffer.stage = stage;
    buffer.device = device_of_stage(w, stage);
    buffer.category = category;
    buffer.provenance = provenance;
    buffer.persistent = true;
    buffer.bytes = bytes;
    return bytes.value > 0 ? draft.buffer(buffer) : BufferId{};
  };
  const auto parts = [&](BufferId id, const StageState& state, Bytes StateBytes::* kind) {
    if (!id.valid()) return;
    Program& program = draft.program;
    program.buffers[id.value].first_part = static_cast<std::uint32_t>(program.parts.size());
    for (const auto& [block, bytes] : state.blocks)
      if ((bytes.*kind).value > 0)
        program.parts.push_back(
            {draft.name(w.scenario.model.blocks[static_cast<std::size_t>(block)].name),
             bytes.*kind});
    program.buffers[id.value].parts =
        static_cast<std::uint32_t>(program.parts.size()) - program.buffers[id.value].first_part;
  };
  for (std::uint32_t s = 0; s < w.table.size(); ++s) {
    const StageId stage{s};
    const StageState state = stage_state(w, stage);
    if (s < static_cast<std::uint32_t>(w.scenario.plan.mesh.pp))  // once a device
      persistent(stage, Category::Framework, "driver context and libraries",
                 w.scenario.cluster.device.context.value, Provenance::Guessed);
    parts(persistent(stage, Category::Weights, "weights", state.total.weights, Provenance::Exact),
          state, &StateBytes::weights);
    parts(persistent(stage, Category::OptimizerState, "optimizer state", state.total.optimizer,
                     Provenance::Exact),
          state, &StateBytes::optimizer);
    parts(persistent(stage, Category::Gradients, "gradients", state.total.gradients,
                     Provenance::Exact),
          state, &StateBytes::gradients);
  }
}

// Walks the order and writes the program: computation and its collectives through a PhaseWriter,
// and around them sends, receives, updates. One pass, because each step needs only what the one
// before left for the same action.
class Lowering {
 public:
  Lowering(const Workload& w, const Order& order, const LowerOptions& options)
      : w_(w),
        order_(order),
        options_(options),
        stages_(w.table.size()),
        microbatches_(microbatches(w.scenario.plan)) {
    make_streams();
    hold_state(w, draft_);
    const bool split = splits_backward(order);
    writer_ = options.grain == Grain::Order ? order_grain(w, draft_, devices_, split)
                                            : op_grain(w, draft_, devices_, split);
    make_transfer_tasks();
    make_update_tasks();
    const std::size_t cells =
        stages_ * static_cast<std::size_t>(microbatches_) * static_cast<std::size_t>(options.steps);
    forward_.resize(cells), backward_.resize(cells), weight_.resize(cells);
  }

  Program run() {
    for (int step = 0; step < options_.steps; ++step) {
      for (std::size_t i = 0; i < order_.lanes.size(); ++i) {
        if (options_.stop.stop_requested())
          throw Error(Error::Kind::Cancelled, "lowering was stopped");
        write_lane(i, step);
      }
      update_weights(step);
    }
    connect_stages();
    add_precedences();
    Program program = draft_.finish();
    program.devices = w_.scenario.plan.mesh.pp;
    program.stages = static_cast<int>(stages_);
    program.placement = w_.placement;
    program.microbatches = microbatches_;
    program.steps = options_.steps;
    program.replicas = w_.scenario.cluster.count / w_.scenario.plan.mesh.pp;
    program.shard = w_.shard;
    return program;
  }

 private:
  // One action as written, by stage and microbatch.
  struct Cell {
    Written written;
    Ref send, receive;
    bool here = false;
  };

  void make_streams() {
    for (int d = 0; d < w_.scenario.plan.mesh.pp; ++d) {
      const DeviceId id{static_cast<std::uint32_t>(d)};
      for (const Lane& lane : order_.lanes)
        if (lane.device == id)
          lane_streams_.push_back({id, draft_.stream(id, lane.name, true, lane.delay)});
      devices_.push_back(
          {draft_.stream(id, "comm", false), draft_.stream(id, "gather", false),
           draft_.stream(id, "reduce", false), draft_.stream(id, "send forward", false),
           draft_.stream(id, "receive forward", false), draft_.stream(id, "send backward", false),
           draft_.stream(id, "receive backward", false)});
    }
    std::vector<std::size_t> used(devices_.size(), 0);
    for (const Lane& lane : order_.lanes) {
      std::size_t seen = used[lane.device.value]++;
      for (const auto& [device, stream] : lane_streams_)
        if (device == lane.device && seen-- == 0) {
          lanes_.push_back({stream, {}, {}});
          break;
        }
    }
    reduced_.resize(stages_);
    arrived_.resize(stages_);
  }

  void make_transfer_tasks() {
    const auto make = [&](TaskKind kind, Phase phase, StageId stage, std::string_view name,
                          Bytes bytes) {
      Task task;
      task.kind = kind;
      task.phase = phase;
      task.stage = stage;
      task.name = draft_.name(name);
      task.pass = draft_.name("connect_stages");
      task.group = Group::Pipeline;
      task.bytes = bytes;
      return draft_.task(task);
    };
    for (std::uint32_t s = 0; s < stages_; ++s) {
      const StageId stage{s};
      const PhaseBytes bytes = phase_bytes(w_, stage);
      const Bytes from_before = s > 0 ? phase_bytes(w_, {s - 1}).send_forward : Bytes{};
      const Bytes from_after = s + 1 < stages_ ? phase_bytes(w_, {s + 1}).send_backward : Bytes{};
      transfers_.push_back(
          {make(TaskKind::Send, Phase::Forward, stage, "send activations", bytes.send_forward),
           make(TaskKind::Receive, Phase::Forward, stage, "receive activations", from_before),
           make(TaskKind::Send, Phase::Backward, stage, "send gradients", bytes.send_backward),
           make(TaskKind::Receive, Phase::Backward, stage, "receive gradients", from_after)});
    }
  }

  void make_update_tasks() {
    for (std::uint32_t s = 0; s < stages_; ++s) {
      Task task;
      task.phase = Phase::Update;
      task.stage = StageId{s};
      task.name = draft_.name("optimizer");
      task.pass = draft_.name("update_weights");
      const TaskId id = draft_.task(task);
      for (const WorkCount& c : update_work(w_, StageId{s}))
        draft_.work(id, c.work, c.count, c.pass, false);
      updates_.push_back(id);
    }
  }

  std::size_t cell(StageId stage, std::int32_t microbatch) const {
    return static_cast<std::size_t>(microbatch) * stages_ + stage.value;
  }
  DeviceId device(StageId stage) const { return device_of_stage(w_, stage); }
  const DeviceStreams& streams(StageId stage) const { return devices_[device(stage).value]; }

  void write_lane(std::size_t lane_index, int step) {
    const Lane& lane = order_.lanes[lane_index];
    LaneState& state = lanes_[lane_index];
    std::vector<int> forwards(stages_, 0), backwards(stages_, 0);
    for (Action action : lane.actions) {
      Moment moment;
      if (action.phase == Phase::Forward)
        moment.first_forward = forwards[action.stage.value]++ == 0;
      if (makes_gradients(action.phase))
        moment.last_backward = ++backwards[action.stage.value] == last_count(action.stage);
      action.microbatch += step * microbatches_;
      switch (action.phase) {
        case Phase::Forward:
          forward(action, moment, state);
          break;
        case Phase::Backward:
        case Phase::BackwardInput:
          backward(action, moment, state);
          break;
        case Phase::BackwardWeight:
          weight(action, moment, state);
          break;
        case Phase::Update:
          break;  // synchronous schedules leave updates to update_weights
      }
    }
  }

  // Every lane of a stage sees all of its own microbatches; the last of them completes the
  // gradients.
  int last_count(StageId stage) {
    if (counts_.empty()) {
      counts_.resize(stages_, 0);
      for (const Lane& lane : order_.lanes)
        for (const Action& a : lane.actions)
          if (makes_gradients(a.phase)) ++counts_[a.stage.value];
    }
    return counts_[stage.value];
  }

  void forward(const Action& a, Moment moment, LaneState& lane) {
    Cell& here = forward_[cell(a.stage, a.microbatch)];
    Refs inputs;
    const bool first = a.stage.value == 0, last = a.stage.value + 1 == stages_;
    if (!first && device({a.stage.value - 1}) != device(a.stage)) {
      here.receive =
          draft_.add(streams(a.stage).receive_forward, transfers_[a.stage.value].receive_forward,
                     a.microbatch, {}, a.wave);
      inputs.add(here.receive);
    }
    if (moment.first_forward) inputs.add(arrived_[a.stage.value]);
    here.written = writer_->write(a, moment, lane, inputs);
    here.here = true;
    if (!last && device({a.stage.value + 1}) != device(a.stage))
      here.send = draft_.add(streams(a.stage).send_forward, transfers_[a.stage.value].send_forward,
                             a.microbatch, here.written.done, a.wave);
  }

  void backward(const Action& a, Moment moment, LaneState& lane) {
    Cell& here = backward_[cell(a.stage, a.microbatch)];
    Refs inputs;
    const bool first = a.stage.value == 0, last = a.stage.value + 1 == stages_;
    if (!last && device({a.stage.value + 1}) != device(a.stage)) {
      here.receive =
          draft_.add(streams(a.stage).receive_backward, transfers_[a.stage.value].receive_backward,
                     a.microbatch, {}, a.wave);
      inputs.add(here.receive);
    }
    here.written = writer_->write(a, moment, lane, inputs);
    here.here = true;
    note_reduced(a, here.written);
    if (!first && device({a.stage.value - 1}) != device(a.stage))
      here.send =
          draft_.add(streams(a.stage).send_backward, transfers_[a.stage.value].send_backward,
                     a.microbatch, here.written.done, a.wave);
  }

  void weight(const Action& a, Moment moment, LaneState& lane) {
    Cell& here = weight_[cell(a.stage, a.microbatch)];
    here.written = writer_->write(a, moment, lane, {});
    here.here = true;
    note_reduced(a, here.written);
  }

  void note_reduced(const Action& a, const Written& written) {
    if (!written.reduced.empty()) reduced_[a.stage.value] = written.reduced;
  }

  // After the last action of a step on each device: each stage's update waits for its reduced
  // gradients.
  void update_weights(int step) {
    for (std::uint32_t s = 0; s < stages_; ++s) {
      LaneState* lane = lane_of(device({s}));
      if (lane == nullptr) continue;
      Refs after = reduced_[s];
      after.add(lane->tail);
      for (std::size_t i = 0; i < order_.lanes.size(); ++i)
        if (order_.lanes[i].device == device({s})) after.add(lanes_[i].tail);
      const Ref updated = draft_.add(lane->stream, updates_[s], step, after);
      lane->last_compute = updated;
      lane->tail = {};
      Refs done;
      done.add(updated);
      arrived_[s] = writer_->gather({s}, step, done);
      if (arrived_[s].empty()) arrived_[s] = done;
    }
  }

  LaneState* lane_of(DeviceId id) {
    for (std::size_t i = 0; i < order_.lanes.size(); ++i)
      if (order_.lanes[i].device == id) return &lanes_[i];
    return nullptr;
  }

  // Pairs sends with receives; neighbouring stages on one device hand over directly.
  void connect_stages() {
    for (std::size_t i = 0; i < forward_.size(); ++i) {
      const std::size_t stage = i % stages_;
      if (stage > 0)
        connect(forward_[i - 1], forward_[i], device_at(stage - 1) == device_at(stage));
      if (stage + 1 < stages_)
        connect(backward_[i + 1], backward_[i], device_at(stage + 1) == device_at(stage));
      wait(backward_[i], forward_[i]);
      wait(weight_[i], backward_[i]);
    }
  }

  DeviceId device_at(std::size_t stage) const { return w_.table[stage].device; }

  void connect(const Cell& from, const Cell& to, bool same_device) {
    if (!from.here || !to.here) return;
    if (same_device)
      wait(to, from);
    else
      draft_.pair(from.send, to.receive);
  }

  void wait(const Cell& later, const Cell& earlier) {
    if (!later.here || !earlier.here) return;
    for (Ref ref : earlier.written.done)
      if (ref.stream != later.written.first.stream) draft_.wait(later.written.first, ref);
    // The same lane works in order; across lanes the computation itself is what there is to wait
    // for.
    if (earlier.written.first.stream != later.written.first.stream)
      draft_.wait(later.written.first, earlier.written.first);
  }

  const Cell& cell_of(const Action& a) const {
    const std::size_t at = cell(a.stage, a.microbatch);
    return a.phase == Phase::Forward          ? forward_[at]
           : a.phase == Phase::BackwardWeight ? weight_[at]
                                              : backward_[at];
  }

  void add_precedences() {
    for (const Precedence& p : order_.precedences) wait(cell_of(p.after), cell_of(p.before));
  }

  struct Transfers {
    TaskId send_forward, receive_forward, send_backward, receive_backward;
  };

  const Workload& w_;
  const Order& order_;
  const LowerOptions& options_;
  std::size_t stages_;
  int microbatches_;
  Draft draft_;
  std::unique_ptr<PhaseWriter> writer_;
  std::vector<DeviceStreams> devices_;
  std::vector<std::pair<DeviceId, std::uint32_t>> lane_streams_;
  std::vector<LaneState> lanes_;
  std::vector<Transfers> transfers_;
  std::vector<TaskId> updates_;
  std::vector<Cell> forward_, backward_, weight_;
  std::vector<Refs> reduced_, arrived_;
  std::vector<int> counts_;
};

// A program of more takes gigabytes. Check() keeps one step at order grain below it.
constexpr double kMostInstructions = 1 << 26;

void expect_room(const Workload& w, const LowerOptions& options) {
  double a_microbatch = 0;
  for (const std::vector<Workload::Run>& runs : w.runs) {
    constexpr double kAtOrderGrain = 16;  // two phases with their collectives and transfers
    if (options.grain == Grain::Order) a_microbatch += kAtOrderGrain;
    if (options.grain == Grain::Op)
      for (const Workload::Run& run : runs) {
        const Body& body = w.bodies[static_cast<std::size_t>(run.body)];
        a_microbatch += static_cast<double>(body.forward.size() + body.backward.size()) * run.count;
      }
  }
  const double count = a_microbatch * microbatches(w.scenario.plan) * options.steps;
  if (count > kMostInstructions)
    throw Error(Error::Kind::InvalidInput,
                "the program would have some " + std::to_string(static_cast<std::int64_t>(count)) +
                    " instructions, more than 2^26; order grain, fewer steps or a smaller "
                    "global-batch need fewer",
                {"plan#/batch/global"});
}

}  // namespace

Order order(const Workload& w, const PhaseTimes& times, int steps) {
  const Choice& choice = *chosen_on(w.scenario.plan, MethodAxis::Schedule);
  ScheduleShape shape;
  shape.devices = w.scenario.plan.mesh.pp;
  shape.stages = static_cast<int>(w.table.size());
  shape.microbatches = microbatches(w.scenario.plan);
  shape.steps = steps;
  shape.times = times;
  shape.placement = w.placement;
  return method(choice.method).order(shape, choice.params);
}

Program lower(const Workload& w, const LowerOptions& options) {
  expect_room(w, options);
  const Order plan = order(w, options.times);
  Program program = Lowering(w, plan, options).run();
  if (options.verify) throw_if_errors(verify(program));
  if (options.observer) options.observer("lower", program);
  return program;
}

Program lower(const Scenario& scenario, const LowerOptions& options) {
  return lower(prepare(scenario), options);
}

}  // namespace trainyard
