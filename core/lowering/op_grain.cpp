// Op grain: one instruction per operator of every layer, with the lifetime of every tensor that is
// kept.
#include <algorithm>

#include "core/lowering/phase_writer.h"
#include "core/lowering/phases.h"

namespace trainyard {
namespace {

struct OpTask {
  TaskId task;
  const BodyOp* op = nullptr;  // of Workload::bodies, which outlive the writer
};

struct LayerTasks {
  std::vector<OpTask> forward, backward, reduce, gather;
};

struct Lifetime {
  std::size_t op;  // index into the ops of a phase
  BufferId buffer;
  bool allocate, at_end;
};

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

// First (or last) computing op of a phase that satisfies `is`, else kNowhere.
template <class Is>
std::size_t first_op(const std::vector<BodyOp>& ops, Is is) {
  for (std::size_t i = 0; i < ops.size(); ++i)
    if (!ops[i].communication && is(ops[i])) return i;
  return kNowhere;
}
template <class Is>
std::size_t last_op(const std::vector<BodyOp>& ops, Is is) {
  for (std::size_t i = ops.size(); i-- > 0;)
    if (!ops[i].communication && is(ops[i])) return i;
  return kNowhere;
}

class OpGrain final : public PhaseWriter {
 public:
  OpGrain(const Workload& w, const StageCopies& places, Draft& draft, BackwardKinds kinds)
      : w_(w), draft_(draft), split_(kinds.split) {
    for (const StageCopy& place : places) {
      std::vector<LayerTasks> layers;
      for (const Workload::Run& run : w.runs[place.stage.value])
        for (int i = 0; i < run.count; ++i)
          layers.push_back(
              make_layer(place, w.bodies[static_cast<std::size_t>(run.body)], run.first_layer + i));
      stages_.push_back(std::move(layers));
    }
  }

  Written write(const Action& action, std::size_t place, Moment moment, LaneState& lane,
                const Refs& inputs) override {
    Walk walk{action, lane, lane.to, inputs, {}, {}, {}, {}, {}};
    walk.chain.add(lane.tail);
    walk.before_previous_layer = lane.last_compute;
    std::vector<LayerTasks>& layers = stages_[place];
    const bool forward = action.phase == Phase::Forward;
    const bool gradients = action.phase == Phase::Backward || action.phase == Phase::BackwardWeight;
    const bool reduce = gradients && (moment.last_backward || w_.layout.reduce_every_microbatch);
    Ref reduced;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const LayerTasks& layer = layers[forward ? i : layers.size() - 1 - i];
      if (moment.first_forward && overlapped(layer.gather)) prefetch(layer.gather, walk);
      write_layer(forward ? layer.forward : layer.backward, walk);
      if (reduce && overlapped(layer.reduce)) reduced = collect(layer.reduce, walk.chain, walk);
    }
    if (reduce)
      for (std::size_t i = layers.size(); i-- > 0;)
        if (!overlapped(layers[i].reduce)) {
          const Ref done = collect(layers[i].reduce, walk.chain, walk);
          if (done.valid()) reduced = done;
        }
    lane.tail = walk.chain;
    lane.last_compute = walk.last_compute.valid() ? walk.last_compute : lane.last_compute;
    Written written{walk.first, walk.chain, {}};
    written.reduced.add(reduced);
    const bool beside = std::any_of(layers.begin(), layers.end(), [](const LayerTasks& layer) {
      return overlapped(layer.reduce);
    });
    if (reduced.valid() && !moment.last_backward && !beside) lane.tail.add(reduced);
    return written;
  }

  Refs gather(const LaneState& lane, std::size_t place, std::int32_t step,
              const Refs& updated) override {
    Refs done;
    Ref last;
    for (const LayerTasks& layer : stages_[place]) {
      if (overlapped(layer.gather)) continue;
      for (const OpTask& op : layer.gather)
        last = draft_.add(lane.to.gather, op.task, step, updated);
    }
    done.add(last);
    return done;
  }

 private:
  // Where writing one action stands.
  struct Walk {
    const Action& action;
    LaneState& lane;
    const LaneStreams& to;
    Refs inputs;  // for the first computation
    Refs chain;   // what the next computation waits for
    Refs beside;  // runs beside the next computation
    Ref first, last_compute, before_previous_layer;
  };

  static bool overlapped(const std::vector<OpTask>& ops) {
    return !ops.empty() && ops.front().op->overlapped;
  }

  bool belongs(const BodyOp& op, Phase phase) const {
    if (phase == Phase::Forward || phase == Phase::Backward) return true;
    return (op.pass == Pass::BackwardWeight) == (phase == Phase::BackwardWeight);
  }

  Ref add(std::uint32_t stream, TaskId task, const Refs& after, const Walk& walk) {
    return draft_.add(stream, task, walk.action.microbatch, after, walk.action.wave,
                      walk.action.weights);
  }

  // Weights of a layer are fetched while the layer before computes: as soon as the one before that
  // is done.
  void prefetch(const std::vector<OpTask>& gather, Walk& walk) {
    Refs after;
    after.add(walk.before_previous_layer);
    for (const OpTask& op : gather) walk.chain.add(add(walk.to.gather, op.task, after, walk));
  }

  void write_layer(const std::vector<OpTask>& ops, Walk& walk) {
    const Ref before = walk.last_compute.valid() ? walk.last_compute : walk.lane.last_compute;
    for (const OpTask& op : ops) {
      if (!belongs(*op.op, walk.action.phase)) continue;
      if (!op.op->communication)
        compute(op.task, walk);
      else if (!op.op->overlapped)
        block(op.task, walk);
      else if (op.op->group == Group::Context)
        walk.beside.add(add(walk.to.comm, op.task, ready(walk), walk));
      else
        prefetch({op}, walk);
    }
    walk.before_previous_layer = before;
  }

  static Refs ready(const Walk& walk) {
    Refs all = walk.chain;
    if (!walk.first.valid()) all.add(walk.inputs);
    return all;
  }

  void compute(TaskId task, Walk& walk) {
    const Ref ref = add(walk.lane.stream, task, ready(walk), walk);
    if (!walk.first.valid()) walk.first = ref;
    walk.last_compute = ref;
    walk.chain = {};
    walk.chain.add(ref);
    walk.chain.add(walk.beside);
    walk.beside = {};
  }

  void block(TaskId task, Walk& walk) {
    const Refs after = ready(walk);
    const Ref ref = add(walk.to.comm, task, after, walk);
    walk.chain = {};
    walk.chain.add(ref);
    if (!walk.first.valid())
      for (Ref input : after) walk.chain.add(input);
  }

  Ref collect(const std::vector<OpTask>& reduce, const Refs& after, Walk& walk) {
    Ref last;
    for (const OpTask& op : reduce) last = add(walk.to.reduce, op.task, after, walk);
    return last;
  }

  // --- tasks of a layer, made once ---

  LayerTasks make_layer(const StageCopy& place, const Body& body, int layer) {
    const std::string prefix = w_.scenario.model.blocks[static_cast<std::size_t>(body.block)].name;
    const BufferId gathered = buffer(place, "gathered weights", Category::Communication,
                                     Provenance::Modelled, body.gathered);
    std::vector<Lifetime> forward, backward;
    for (const SavedTensor& s : body.saved) keep(place, prefix, s, body, forward, backward);
    if (body.gathered.value > 0) {
      around(body.forward, gathered, forward);
      around(body.backward, gathered, backward);
    }
    std::vector<Lifetime> reduce;
    hold_gradients(place, body, backward, reduce);
    LayerTasks made;
    made.forward = make_ops(place, Phase::Forward, layer, body.forward, forward);
    made.backward = make_ops(place, Phase::Backward, layer, body.backward, backward);
    made.reduce = make_ops(place, Phase::Backward, layer, body.reduce, reduce);
    made.gather = make_ops(place, Phase::Forward, layer, body.gather, {});
    return made;
  }

  BufferId buffer(const StageCopy& place, std::string_view name, Category category,
                  Provenance provenance, Bytes bytes) {
    Buffer made;
    made.name = draft_.name(name);
    made.stage = place.stage;
    made.device = place.device;
    made.category = category;
    made.provenance = provenance;
    made.bytes = bytes;
    return draft_.buffer(made);
  }

  // From the gather (the first op of the phase) to the end of the last computation.
  // Under a split backward, of the input pass: weight gradients need no weights.
  void around(const std::vector<BodyOp>& ops, BufferId buffer, std::vector<Lifetime>& list) const {
    const auto gather =
        std::find_if(ops.begin(), ops.end(), [](const BodyOp& op) { return op.communication; });
    const std::size_t last =
        last_op(ops, [&](const BodyOp& op) { return !split_ || op.pass != Pass::BackwardWeight; });
    if (gather == ops.end() || last == kNowhere) return;
    list.push_back({static_cast<std::size_t>(gather - ops.begin()), buffer, true, false});
    list.push_back({last, buffer, false, true});
  }

  // Gradients in full live while the layer makes them and, in a bucket of their own, while they are
  // scattered.
  void hold_gradients(const StageCopy& place, const Body& body, std::vector<Lifetime>& backward,
                      std::vector<Lifetime>& reduce) {
    const auto makes = [&](const BodyOp& op) {
      return !op.recomputed && (!split_ || op.pass == Pass::BackwardWeight);
    };
    const std::size_t first = first_op(body.backward, makes), last = last_op(body.backward, makes);
    if (body.unreduced.value == 0 || first == kNowhere) return;
    const auto hold = [&](std::string_view name, std::vector<Lifetime>& list, std::size_t from,
                          std::size_t to) {
      const BufferId id =
          buffer(place, name, Category::Communication, Provenance::Modelled, body.unreduced);
      list.push_back({from, id, true, false});
      list.push_back({to, id, false, true});
    };
    hold("gradients in full", backward, first, last);
    hold("gradients being scattered", reduce, 0, body.reduce.size() - 1);
  }

  // A tensor lives from the op that makes it to the end of the last backward op that reads it. One
  // made by an op that computes nothing (a view) appears with the next that does.
  void keep(const StageCopy& place, const std::string& prefix, const SavedTensor& s,
            const Body& body, std::vector<Lifetime>& forward, std::vector<Lifetime>& backward) {
    const std::vector<BodyOp>& making = s.recomputed ? body.backward : body.forward;
    const auto makes = [&](const BodyOp& op) { return op.recomputed == s.recomputed; };
    std::size_t from =
        s.producer.valid()
            ? first_op(making, [&](const BodyOp& op) { return makes(op) && op.node >= s.producer; })
            : first_op(making, makes);
    if (from == kNowhere) from = last_op(making, makes);
    const bool until_weight = s.for_weight && split_;
    const NodeId user = until_weight ? s.last_weight_user : s.last_user;
    const auto frees = [&](const BodyOp& op) {
      return !op.recomputed && (!split_ || (op.pass == Pass::BackwardWeight) == until_weight);
    };
    std::size_t to =
        last_op(body.backward, [&](const BodyOp& op) { return frees(op) && op.node == user; });
    if (to == kNowhere) to = last_op(body.backward, frees);
    if (from == kNowhere || to == kNowhere) return;
    const BufferId id = buffer(place, prefix + " " + s.name,
                               s.recomputed ? Category::Recomputed : Category::Activations,
                               Provenance::Exact, s.bytes);
    (s.recomputed ? backward : forward).push_back({from, id, true, false});
    backward.push_back({to, id, false, true});
  }

  std::vector<OpTask> make_ops(const StageCopy& place, Phase phase, int layer,
                               const std::vector<BodyOp>& ops,
                               const std::vector<Lifetime>& lifetimes) {
    std::vector<OpTask> made;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const BodyOp& op = ops[i];
      const BufferId workspace =
          buffer(place, "workspace", Category::Workspace, Provenance::Modelled,
                 op.communication ? Bytes{} : op.workspace);
      Task task;
      task.kind = op.communication ? TaskKind::Collective : TaskKind::Compute;
      task.phase = phase != Phase::Backward || !split_ ? phase
                   : op.pass == Pass::BackwardWeight   ? Phase::BackwardWeight
                                                       : Phase::BackwardInput;
      task.stage = place.stage;
      task.name = draft_.name(op.name);
      task.pass = draft_.name(op.pass_name);
      task.node = op.node;
      task.layer = layer;
      task.collective = op.collective;
      task.group = op.group;
      task.bytes = op.bytes;
      const TaskId id = draft_.task(task);
      if (!op.communication) draft_.work(id, op.work, 1, op.pass, op.recomputed);
      for (const Lifetime& l : lifetimes)
        if (l.op == i && l.allocate) draft_.effect(id, l.buffer, true, l.at_end);
      draft_.effect(id, workspace, true, false);
      draft_.effect(id, workspace, false, true);
      for (const Lifetime& l : lifetimes)
        if (l.op == i && !l.allocate) draft_.effect(id, l.buffer, false, l.at_end);
      made.push_back({id, &op});
    }
    return made;
  }

  const Workload& w_;
  Draft& draft_;
  bool split_;
  std::vector<std::vector<LayerTasks>> stages_;
};

}  // namespace

std::unique_ptr<PhaseWriter> op_grain(const Workload& w, const StageCopies& places, Draft& draft,
                                      BackwardKinds kinds) {
  return std::make_unique<OpGrain>(w, places, draft, kinds);
}

}  // namespace trainyard
