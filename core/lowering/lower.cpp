#include "core/lowering/lower.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <map>

#include "core/lowering/lane_facts.h"
#include "core/lowering/phase_writer.h"
#include "core/lowering/phases.h"
#include "core/lowering/transfers.h"

namespace trainyard {
namespace {

// State that is there before the first instruction and after the last.
class HeldState {
 public:
  HeldState(const Workload& w, const std::vector<Bytes>& framework, Draft& draft)
      : w_(w), framework_(framework), draft_(draft) {}

  void hold_all(const StageCopies& places, const Order& order) {
    for (int d = 0; d < w_.scenario.plan.mesh.pp; ++d) {
      const DeviceId device{static_cast<std::uint32_t>(d)};
      waves_.push_back(wave_state(order, device));
      const auto first = std::find_if(places.begin(), places.end(),
                                      [&](const StageCopy& p) { return p.device == device; });
      hold(*first, Category::Framework, "driver context and libraries",
           d < static_cast<int>(framework_.size()) ? framework_[device.value]
                                                   : w_.scenario.cluster.device.context.value,
           Provenance::Guessed, Holds::Other);
    }
    for (const StageCopy& place : places) hold_stage(place);
  }

 private:
  BufferId hold(const StageCopy& place, Category category, std::string_view name, Bytes bytes,
                Provenance provenance, Holds holds, int item = 0) {
    Buffer buffer;
    buffer.name = draft_.name(name);
    buffer.stage = place.stage;
    buffer.device = place.device;
    buffer.category = category;
    buffer.provenance = provenance;
    buffer.persistent = true;
    buffer.bytes = bytes;
    buffer.holds = holds;
    if (holds != Holds::Other) buffer.item = item;
    return bytes.value > 0 ? draft_.buffer(buffer) : BufferId{};
  }

  void hold_stage(const StageCopy& place) {
    const StateByBlock& state = stage_state(w_, place.stage);
    const WaveState& waves = waves_[place.device.value];
    const auto sets = [&](Category category, std::string_view name, Bytes StateBytes::* kind,
                          Holds holds, int count) {
      for (int i = 0; i < count; ++i) {
        const std::string which = i == 0 ? "" : ", wave " + std::to_string(i);
        name_parts(hold(place, category, std::string(name) + which, state.total.*kind,
                        Provenance::Exact, holds, i),
                   state, kind);
      }
    };
    sets(Category::Weights, "weights", &StateBytes::weights, Holds::Weights, 1 + waves.replicas);
    if (waves.stashes > 0)
      name_parts(hold(place, Category::Weights, "weights, one version older",
                      state.total.weights * waves.stashes, Provenance::Exact, Holds::OlderWeights),
                 state, &StateBytes::weights);
    sets(Category::OptimizerState, "optimizer state", &StateBytes::optimizer, Holds::OptimizerState,
         1 + waves.replicas);
    sets(Category::Gradients, "gradients", &StateBytes::gradients, Holds::Gradients,
         1 + waves.gradients);
    name_parts(hold(place, Category::Communication, "gathered weights", state.total.gathered,
                    Provenance::Modelled, Holds::Other),
               state, &StateBytes::gathered);
  }

  void name_parts(BufferId id, const StateByBlock& state, Bytes StateBytes::* kind) {
    if (!id.valid()) return;
    Program& program = draft_.program;
    program.buffers[id.value].first_part = static_cast<std::uint32_t>(program.parts.size());
    for (const auto& [block, bytes] : state.blocks)
      if ((bytes.*kind).value > 0)
        program.parts.push_back(
            {draft_.name(w_.scenario.model.blocks[static_cast<std::size_t>(block)].name),
             bytes.*kind});
    program.buffers[id.value].parts =
        static_cast<std::uint32_t>(program.parts.size()) - program.buffers[id.value].first_part;
  }

  const Workload& w_;
  const std::vector<Bytes>& framework_;
  Draft& draft_;
  std::vector<WaveState> waves_;  // by device
};

// Walks the order and writes the program: computation and its collectives through a PhaseWriter,
// and around them transfers and updates. One pass, because each step needs only what the one before
// left for the same action.
class Lowering {
 public:
  Lowering(const Workload& w, const Order& order, const LowerOptions& options, int steps)
      : w_(w),
        order_(order),
        options_(options),
        stages_(w.table.size()),
        microbatches_(microbatches(w.scenario.plan)),
        steps_(steps),
        asynchronous_(has_updates(order)),
        places_(w),
        boundaries_(w, places_, draft_),
        transfers_(w, places_, boundaries_, order, draft_, microbatches_ * steps),
        host_(w, places_, order, options.grain, draft_) {
    for (const Lane& lane : order.lanes) {
      moments_.push_back(moments(lane, stages_));
      held_.push_back(held_versions(lane, stages_));
    }
    make_streams();
    HeldState(w, options.framework, draft_).hold_all(places_, order);
    const BackwardKinds kinds = backward_kinds(order);
    writer_ = options.grain == Grain::Order
                  ? order_grain(w, places_, boundaries_, draft_, kinds, host_)
                  : op_grain(w, places_, boundaries_, draft_, kinds, host_);
    for (std::size_t place = 0; w.layout.host_activations && place < places_.size(); ++place)
      host_.make_copies(place, writer_->kept(place));
    // One lane a device works in order: only other lanes ask what an action left.
    const std::size_t cells = stages_ * static_cast<std::size_t>(microbatches_ * steps_);
    keeps_cells_ = !order.precedences.empty() ||
                   order.lanes.size() > static_cast<std::size_t>(w.scenario.plan.mesh.pp);
    if (keeps_cells_) forward_.resize(cells), backward_.resize(cells), weight_.resize(cells);
  }

  Program run() {
    for (int pass = 0; pass < (asynchronous_ ? 1 : steps_); ++pass) {
      transfers_.post(pass * microbatches_);
      for (std::size_t i = 0; i < order_.lanes.size(); ++i) {
        if (options_.stop.requested()) throw Error(Error::Kind::Cancelled, "lowering was stopped");
        write_lane(i, pass);
      }
      if (!asynchronous_) update_all(pass);
    }
    hand_over();
    if (asynchronous_ && keeps_cells_) wait_for_versions();
    add_precedences();
    Program program = draft_.finish();
    program.devices = w_.scenario.plan.mesh.pp;
    program.stages = static_cast<int>(stages_);
    program.placement = w_.placement;
    program.microbatches = microbatches_;
    program.steps = steps_;
    program.replicas = w_.scenario.cluster.count / w_.scenario.plan.mesh.pp;
    program.shard = w_.shard;
    return program;
  }

 private:
  // One action as written, by stage and microbatch.
  struct Cell {
    Written written;
    DeviceId device;
    bool here() const { return device.valid(); }
  };
  // An update of an asynchronous order.
  struct Update {
    std::uint32_t stage;
    std::int32_t index;
    std::int16_t weights;
    std::size_t lane;
    Ref ref;
  };

  void make_streams() {
    lanes_.resize(order_.lanes.size());
    for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(w_.scenario.plan.mesh.pp); ++d) {
      const DeviceId id{d};
      for (std::size_t i = 0; i < order_.lanes.size(); ++i)
        if (const Lane& lane = order_.lanes[i]; lane.device == id)
          lanes_[i].stream = draft_.stream(id, lane.name, true, lane.delay);
      bool first = true;
      for (std::size_t i = 0; i < order_.lanes.size(); ++i)
        if (order_.lanes[i].device == id) {
          const std::string which = first ? "" : " " + order_.lanes[i].name;
          lanes_[i].to = {draft_.stream(id, "comm" + which, false),
                          draft_.stream(id, "gather" + which, false),
                          draft_.stream(id, "reduce" + which, false)};
          first = false;
        }
      transfers_.add_streams(id);
      if (w_.layout.host_optimizer || w_.layout.host_activations) host_.add_streams(id);
    }
    reduced_.assign(order_.lanes.size(), std::vector<Refs>(places_.size()));
    arrived_ = reduced_;
  }

  std::size_t cell(StageId stage, std::int32_t microbatch) const {
    return static_cast<std::size_t>(microbatch) * stages_ + stage.value;
  }

  void write_lane(std::size_t index, int pass) {
    const Lane& lane = order_.lanes[index];
    for (std::size_t i = 0; i < lane.actions.size(); ++i) {
      Action action = lane.actions[i];
      if (action.phase == Phase::Update) {
        update(index, action, held_[index][i]);
        continue;
      }
      if (!asynchronous_) {
        action.microbatch += pass * microbatches_;
        action.weights = static_cast<std::int16_t>(pass);
      }
      write(index, action, moments_[index][i], host_.moves(index, i));
    }
  }

  void write(std::size_t index, const Action& a, Moment moment, bool moves) {
    const DeviceId device = order_.lanes[index].device;
    const std::size_t place = places_.of(a.stage, device);
    Refs inputs;
    if (a.phase != Phase::BackwardWeight)
      inputs.add(transfers_.received(a.phase, a.stage, a.microbatch));
    if (moment.first_forward) inputs.add(arrived_[index][place]);
    if (w_.layout.host_activations) {
      if (moves) inputs.add(host_.before(index, place, a));
      Refs start = inputs;
      start.add(lanes_[index].tail);
      host_.begins(index, a.phase, start);
    }
    const Written written = writer_->write(a, place, moment, lanes_[index], inputs);
    if (moves && a.phase == Phase::Forward) host_.take(index, place, a, written.done);
    if (moment.last_backward)
      reduced_[index][place] = written.reduced.empty() ? written.done : written.reduced;
    if (a.phase != Phase::BackwardWeight) send(lanes_[index], a, written.done);
    if (keeps_cells_) cells_of(a.phase)[cell(a.stage, a.microbatch)] = {written, device};
  }

  void send(LaneState& lane, const Action& a, const Refs& done) {
    const Ref sent = transfers_.send_after(a.phase, a.stage, a.microbatch, done);
    if (w_.layout.blocking_sends) lane.tail.add(sent);
  }

  std::vector<Cell>& cells_of(Phase phase) {
    return phase == Phase::Forward          ? forward_
           : phase == Phase::BackwardWeight ? weight_
                                            : backward_;
  }

  // Of one place; `grows`: by how many older versions of its weights more (or fewer) are held from
  // now on.
  TaskId update_task(std::size_t place, int grows) {
    const auto [entry, is_new] = updates_.try_emplace({place, grows});
    if (!is_new) return entry->second;
    const StageCopy& at = places_[place];
    BufferId older;
    if (grows != 0) older = older_weights(place);
    Task task;
    task.phase = Phase::Update;
    task.stage = at.stage;
    task.name = draft_.name("optimizer");
    task.pass = draft_.name("update_weights");
    entry->second = draft_.task(task);
    for (const WorkCount& c : update_work(w_, at.stage))
      draft_.work(entry->second, c.work, c.count, c.pass, false);
    for (int i = 0; i < std::abs(grows); ++i) draft_.effect(entry->second, older, grows > 0, false);
    return entry->second;
  }

  BufferId older_weights(std::size_t place) {
    const auto [entry, is_new] = older_.try_emplace(place);
    if (!is_new) return entry->second;
    Buffer buffer;
    buffer.name = draft_.name("weights, older versions");
    buffer.stage = places_[place].stage;
    buffer.device = places_[place].device;
    buffer.category = Category::Weights;
    buffer.holds = Holds::OlderWeights;
    buffer.bytes = stage_state(w_, places_[place].stage).total.weights;
    return entry->second = draft_.buffer(buffer);
  }

  // An update that the order itself asks for: with the gradients of its own lane.
  void update(std::size_t index, const Action& a, int grows) {
    LaneState& lane = lanes_[index];
    const std::size_t place = places_.of(a.stage, order_.lanes[index].device);
    Refs after = reduced_[index][place];
    after.add(lane.tail);
    const Ref updated =
        draft_.add(lane.stream, update_task(place, grows), a.microbatch, after, a.wave, a.weights);
    written_.push_back({a.stage.value, a.microbatch, a.weights, index, updated});
    arrived_[index][place] = finish_update(lane, place, a.microbatch, updated);
  }

  // Returns what the next forward waits for.
  Refs finish_update(LaneState& lane, std::size_t place, std::int32_t step, Ref updated) {
    lane.last_compute = updated;
    lane.tail = {};
    Refs done;
    done.add(updated);
    const Refs gathered = writer_->gather(lane, place, step, done);
    return gathered.empty() ? done : gathered;
  }

  // After the last action of a synchronous step: each place's update waits for its reduced
  // gradients, on the first lane of its device and after all of them.
  void update_all(int step) {
    if (places_.copied()) reduce_copies(step);
    const auto version = static_cast<std::int16_t>(step + 1);
    for (std::size_t place = 0; place < places_.size(); ++place) {
      const std::size_t first = first_lane(places_[place].device);
      if (first == order_.lanes.size()) continue;
      Refs after = copies_reduced_.empty() ? Refs{} : copies_reduced_[place];
      for (std::size_t i = first; i < order_.lanes.size(); ++i)
        if (order_.lanes[i].device == places_[place].device)
          after.add(reduced_[i][place]), after.add(lanes_[i].tail);
      const Refs arrived =
          w_.layout.host_optimizer
              ? update_on_host(lanes_[first], place, step, after, version)
              : finish_update(lanes_[first], place, step,
                              draft_.add(lanes_[first].stream, update_task(place, 0), step, after,
                                         0, version));
      for (std::size_t i = first; i < order_.lanes.size(); ++i)
        if (order_.lanes[i].device == places_[place].device) arrived_[i][place] = arrived;
    }
  }

  // The device has no part in it but to gather what comes back.
  Refs update_on_host(LaneState& lane, std::size_t place, std::int32_t step, const Refs& after,
                      std::int16_t version) {
    const Ref updated = host_.update(place, step, after, version);
    Refs done;
    done.add(updated);
    if (updated.valid()) lane.last_compute = updated;
    const Refs gathered = writer_->gather(lane, place, step, done);
    return gathered.empty() ? done : gathered;
  }

  // The two copies of a stage add their gradients before either is updated.
  void reduce_copies(std::int32_t step) {
    copies_reduced_.assign(places_.size(), {});
    for (std::uint32_t s = 0; s < stages_; ++s) {
      const Bytes bytes = stage_state(w_, StageId{s}).total.gradients;
      if (bytes.value == 0) continue;
      Task task;
      task.kind = TaskKind::Collective;
      task.phase = Phase::Backward;
      task.stage = StageId{s};
      task.name = draft_.name("copies all-reduce");
      task.pass = draft_.name("update_weights");
      task.collective = CollectiveKind::AllReduce;
      task.group = Group::Copies;
      task.bytes = bytes;
      if (step == 0) copies_tasks_.push_back(draft_.task(task));
      Ref ends[2];
      for (int copy = 0; copy < 2; ++copy) {
        const std::size_t place = places_.index(StageId{s}, copy);
        const DeviceId device = places_[place].device;
        ends[copy] = draft_.add(lanes_[first_lane(device)].to.reduce, copies_tasks_[s], step,
                                reduced_[first_lane(device)][place]);
        copies_reduced_[place].add(ends[copy]);
      }
      draft_.pair(ends[0], ends[1]);
    }
  }

  /// The number of lanes when the device has none.
  std::size_t first_lane(DeviceId id) const {
    std::size_t i = 0;
    while (i < order_.lanes.size() && order_.lanes[i].device != id) ++i;
    return i;
  }

  // Neighbouring stages on one device hand over directly; what a lane does for another lane's
  // action is waited for.
  void hand_over() {
    for (std::size_t i = 0; i < forward_.size(); ++i) {
      const std::size_t stage = i % stages_;
      if (stage > 0 && forward_[i - 1].device == forward_[i].device)
        wait(forward_[i], forward_[i - 1]);
      if (stage + 1 < stages_ && backward_[i + 1].device == backward_[i].device)
        wait(backward_[i], backward_[i + 1]);
      wait(backward_[i], forward_[i]);
      wait(weight_[i], backward_[i]);
    }
  }

  void wait(const Cell& later, const Cell& earlier) {
    if (!later.here() || !earlier.here()) return;
    // A lane works in order, and each of its actions waits for all that the one before left.
    if (earlier.written.first.stream == later.written.first.stream) return;
    for (Ref ref : earlier.written.done) draft_.wait(later.written.first, ref);
    // Across lanes the computation itself is what there is to wait for.
    draft_.wait(later.written.first, earlier.written.first);
  }

  // A wave that reads a version which another one wrote waits for that update.
  void wait_for_versions() {
    for (std::size_t index = 0; index < order_.lanes.size(); ++index)
      for (const Action& a : order_.lanes[index].actions) {
        if (a.phase == Phase::Update || a.weights == 0) continue;
        const auto wrote = [&](const Update& u) {
          return u.stage == a.stage.value && u.weights == a.weights &&
                 order_.lanes[u.lane].device == order_.lanes[index].device;
        };
        if (first_lane(order_.lanes[index].device) == index && !several_lanes(index)) break;
        const auto own = std::find_if(written_.begin(), written_.end(),
                                      [&](const Update& u) { return wrote(u) && u.lane == index; });
        if (own != written_.end()) continue;
        const auto other = std::find_if(written_.begin(), written_.end(), wrote);
        if (other == written_.end()) continue;
        const Cell& cell_here = cells_of(a.phase)[cell(a.stage, a.microbatch)];
        if (cell_here.here()) draft_.wait(cell_here.written.first, other->ref);
      }
  }

  bool several_lanes(std::size_t index) const {
    const DeviceId device = order_.lanes[index].device;
    return std::count_if(order_.lanes.begin(), order_.lanes.end(),
                         [&](const Lane& lane) { return lane.device == device; }) > 1;
  }

  void add_precedences() {
    for (const Precedence& p : order_.precedences)
      for (int pass = 0; pass < (asynchronous_ ? 1 : steps_); ++pass) {
        Action before = p.before, after = p.after;
        before.microbatch += pass * microbatches_, after.microbatch += pass * microbatches_;
        const Cell earlier = find(before), later = find(after);
        wait(later, earlier);
      }
  }

  Cell find(const Action& a) {
    if (a.phase != Phase::Update) return cells_of(a.phase)[cell(a.stage, a.microbatch)];
    Cell found;
    for (const Update& u : written_)
      if (u.stage == a.stage.value && u.index == a.microbatch) {
        found.written.first = u.ref;
        found.written.done.add(u.ref);
        found.device = order_.lanes[u.lane].device;
      }
    return found;
  }

  const Workload& w_;
  const Order& order_;
  const LowerOptions& options_;
  std::size_t stages_;
  int microbatches_, steps_;
  bool asynchronous_, keeps_cells_ = false;
  Draft draft_;
  StageCopies places_;
  Boundaries boundaries_;
  Transfers transfers_;
  HostLanes host_;
  std::unique_ptr<PhaseWriter> writer_;
  std::vector<LaneState> lanes_;
  std::vector<std::vector<Moment>> moments_;  // by lane and action
  std::vector<std::vector<int>> held_;
  std::map<std::pair<std::size_t, int>, TaskId> updates_;  // by place and change of versions held
  std::map<std::size_t, BufferId> older_;                  // by place
  std::vector<TaskId> copies_tasks_;                       // by stage
  std::vector<Cell> forward_, backward_, weight_;
  std::vector<std::vector<Refs>> reduced_, arrived_;  // by lane and place
  std::vector<Refs> copies_reduced_;                  // by place
  std::vector<Update> written_;
};

// A program of more takes gigabytes. Check() keeps one step at order grain below it.
constexpr double kMostInstructions = 1 << 26;

void expect_room(const Workload& w, const LowerOptions& options, int steps) {
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
  const double count = a_microbatch * microbatches(w.scenario.plan) * steps;
  if (count > kMostInstructions)
    throw Error(Error::Kind::InvalidInput,
                "the program would have some " + std::to_string(static_cast<std::int64_t>(count)) +
                    " instructions, more than 2^26; order grain, fewer steps or a smaller "
                    "global-batch need fewer",
                {"plan#/batch/global"});
}

}  // namespace

Program lower(const Workload& w, const LowerOptions& options) {
  const ScheduleShape shape = schedule_shape(w, options.times, options.steps);
  expect_room(w, options, shape.steps);
  return lower(w, order(w, shape), shape.steps, options);
}

Program lower(const Workload& w, const Order& order, int steps, const LowerOptions& options) {
  expect_room(w, options, steps);
  Program program = Lowering(w, order, options, steps).run();
  if (options.verify) throw_if_errors(verify(program));
  return program;
}

Program lower(const Scenario& scenario, const LowerOptions& options) {
  return lower(prepare(scenario), options);
}

}  // namespace trainyard
