// Op grain: one instruction per operator of every layer, with the lifetime of every tensor that is
// kept.
#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "core/lowering/phase_writer.h"
#include "core/lowering/phases.h"
#include "core/methods/layers/transients.h"
#include "core/methods/parallel/optimizer_norms.h"

namespace trainyard {
namespace {

struct OpTask {
  TaskId task;
  const BodyOp* op = nullptr;  // points into Workload::bodies, which outlive the writer, or into
                               // the writer's own of_stages_
};

struct LayerTasks {
  // `backward`: in two parts if the order has any split backward; `whole`: at once, if the order
  // has both kinds.
  std::vector<OpTask> forward, backward, whole, reduce, gather;
  bool full = false;  // full gradients are held until they are scattered
};

// How an op changes a buffer.
struct BufferChange {
  std::size_t op;  // index into the ops of a phase
  BufferId buffer;
  bool allocate, at_end;
};

struct Lifetimes {
  // `in_parts` and `at_once`: releases that happen at different ops depending on whether a backward
  // runs in two parts.
  std::vector<BufferChange> forward, backward, in_parts, at_once, reduce;
};

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

// The first (or last) computing op of a phase that satisfies `is`, else kNowhere.
template <class Is>
std::size_t first_computing(const std::vector<BodyOp>& ops, Is is) {
  for (std::size_t i = 0; i < ops.size(); ++i)
    if (!ops[i].communication && is(ops[i])) return i;
  return kNowhere;
}
template <class Is>
std::size_t last_computing(const std::vector<BodyOp>& ops, Is is) {
  for (std::size_t i = ops.size(); i-- > 0;)
    if (!ops[i].communication && is(ops[i])) return i;
  return kNowhere;
}

class OpGrain final : public PhaseWriter {
 public:
  OpGrain(const Workload& w, const StageCopies& places, const Boundaries& boundaries, Draft& draft,
          BackwardKinds kinds, HostLanes& host)
      : w_(w), draft_(draft), split_(kinds.split), mixed_(kinds.split && kinds.whole), host_(host) {
    for (std::size_t i = 0; i < places.size(); ++i)
      stages_.push_back(make_stage(places[i], boundaries[i]));
  }

  Written write(const Action& action, std::size_t place, Moment moment, LaneState& lane,
                const Refs& inputs) override {
    Walk walk{action, lane, lane.to, inputs, {}, {}, {}, {}, {}, false};
    walk.chain.add(lane.tail);
    lane.stints.clear();
    walk.before_previous_layer = lane.last_compute;
    const std::vector<LayerTasks>& layers = stages_[place];
    const bool forward = action.phase == Phase::Forward;
    const bool gradients = action.phase == Phase::Backward || action.phase == Phase::BackwardWeight;
    const bool reduce = gradients && (moment.completes || w_.layout.reduce_every_microbatch);
    const bool to_host = gradients && moment.completes && w_.layout.host_optimizer;
    // A reduction waits for its own layer; gradients that are reduced in every microbatch are not
    // added up before.
    const auto complete = [&] {
      Refs all = walk.chain;
      if (!w_.layout.reduce_every_microbatch) all.add(moment.others);
      return all;
    };
    Ref reduced;
    // Gradients go to the host once they are made and reduced over all replicas.
    const auto send_gradients = [&](std::size_t i, Ref own) {
      Refs ready;
      if (own.valid())
        ready.add(own);
      else
        ready = walk.chain;
      ready.add(moment.others);
      host_.send_gradients(place, i, action.microbatch, ready);
    };
    const bool leaves_beside = to_host && host_work(w_, host_.stage(place)).overlapped;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const std::size_t at = forward ? i : layers.size() - 1 - i;
      const LayerTasks& layer = layers[at];
      if (moment.first_forward && overlapped(layer.gather)) prefetch(layer.gather, walk);
      if (host_.layers() != nullptr) walk.chain.add(host_.layers()->before(at, ready(walk)));
      write_layer(forward                                     ? layer.forward
                  : mixed_ && action.phase == Phase::Backward ? layer.whole
                                                              : layer.backward,
                  walk);
      if (forward && host_.layers() != nullptr) host_.layers()->after(at, walk.chain);
      const bool beside = reduce && overlapped(layer.reduce);
      if (beside) {
        reduced = collect(layer.reduce, complete(), walk);
        // At most two layers hold full gradients, one that makes them and one that scatters them:
        // before the next layer makes its own, the scatter of the one before the current must have
        // ended (as in FSDP2 and DeepSpeed).
        if (layer.full) walk.chain.add(std::exchange(lane.scattered, reduced));
      }
      if (leaves_beside && (beside || layer.reduce.empty()))
        send_gradients(at, beside ? reduced : Ref{});
    }
    for (std::size_t i = layers.size(); reduce && i-- > 0;) {
      if (overlapped(layers[i].reduce)) continue;
      const Ref done = collect(layers[i].reduce, complete(), walk);
      if (done.valid()) reduced = done;
      if (to_host && !(leaves_beside && layers[i].reduce.empty())) send_gradients(i, done);
    }
    lane.tail = walk.chain;
    lane.last_compute = walk.last_compute.valid() ? walk.last_compute : lane.last_compute;
    Written written{walk.first, walk.chain, {}};
    written.reduced.add(reduced);
    // Where the last layer of backward has nothing to reduce, its gradients are made later still.
    if (reduced.valid() && layers.front().reduce.empty()) written.reduced.add(walk.chain);
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

  std::vector<BufferId> kept(std::size_t place) const override { return kept_[place]; }

 private:
  // The state while one action is written.
  struct Walk {
    const Action& action;
    LaneState& lane;
    const LaneStreams& to;
    Refs inputs;  // the first computation waits for these
    Refs chain;   // the next computation waits for these
    Refs beside;  // runs during the next computation
    Ref first, last_compute, before_previous_layer;
    bool blocked = false;  // by a collective since the last computation
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

  // Weights of a layer are prefetched during the computation of the previous layer, from the end of
  // the layer before that.
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
      else if (is_context(op.op->group))
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
    if (walk.lane.in_pair) continue_stint(walk, ref);
    walk.chain = {};
    walk.chain.add(ref);
    walk.chain.add(walk.beside);
    walk.beside = {};
  }

  static void continue_stint(Walk& walk, Ref ref) {
    std::vector<Stint>& stints = walk.lane.stints;
    if (std::exchange(walk.blocked, false) || stints.empty())
      stints.push_back({ref, ref});
    else
      stints.back().last = ref;
  }

  void block(TaskId task, Walk& walk) {
    const Refs after = ready(walk);
    const Ref ref = add(walk.to.comm, task, after, walk);
    walk.blocked = true;
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

  // --- tasks of the layers of a stage, made once ---

  std::vector<LayerTasks> make_stage(const StageCopy& place, const Boundary& boundary) {
    std::vector<LayerOfStage> layers;
    for (const Workload::Run& run : w_.runs[place.stage.value])
      for (int i = 0; i < run.count; ++i)
        layers.push_back({&w_.bodies[static_cast<std::size_t>(run.body)], run.first_layer + i});
    std::vector<Lifetimes> lives(layers.size());
    kept_.emplace_back();
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const Body& body = *layers[i].body;
      for (std::size_t k = 0; k < body.saved.size(); ++k) keep(place, layers[i], k, lives[i]);
      for (std::size_t k = 0; k < body.transients.size(); ++k)
        if (!crosses(body, body.transients[k])) pass(place, layers[i], k, lives[i]);
      hold_parameters(place, layers[i], lives[i]);
    }
    keep_stage_tensors(place, layers, lives);
    hand_over(place, boundary, layers, lives, true);
    hand_over(place, boundary, layers, lives, false);
    std::vector<LayerTasks> made;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const Body* const body = layers[i].body;
      const int layer = layers[i].layer;
      LayerTasks tasks;
      tasks.forward = make_ops(place, Phase::Forward, BodyList::Forward, layer, body->forward,
                               lives[i].forward);
      const auto backward = [&](const std::vector<BufferChange>& ends) {
        std::vector<BufferChange> all = lives[i].backward;
        all.insert(all.end(), ends.begin(), ends.end());
        return make_ops(place, Phase::Backward, BodyList::Backward, layer, body->backward, all);
      };
      tasks.backward = backward(split_ ? lives[i].in_parts : lives[i].at_once);
      if (mixed_) tasks.whole = backward(lives[i].at_once);
      tasks.reduce =
          make_ops(place, Phase::Backward, BodyList::Reduce, layer, body->reduce, lives[i].reduce);
      tasks.gather = make_ops(place, Phase::Forward, BodyList::Gather, layer, body->gather, {});
      if (i == 0 && shares_norms(w_.scenario.plan)) {
        of_stages_.push_back({norms_exchange(trained_tensors(w_, w_.runs[place.stage.value]))});
        tasks.gather =
            make_ops(place, Phase::Forward, BodyList::Gather, layer, of_stages_.back(), {});
      }
      tasks.full = body->unreduced.value > 0;
      made.push_back(std::move(tasks));
    }
    if (host_.layers() != nullptr) host_.layers()->add_place(leaving(layers, made));
    return made;
  }

  // Returns what each layer of the stage that was made last sends to the host.
  std::vector<LeavingLayer> leaving(const std::vector<LayerOfStage>& layers,
                                    const std::vector<LayerTasks>& tasks) const {
    std::vector<LeavingLayer> found;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      LeavingLayer layer{
          layers[i].layer, {}, {}, waited_for(tasks[i].forward), waited_for(tasks[i].backward)};
      for (const BufferId id : kept_.back()) {
        const Buffer& buffer = draft_.program.buffers[id.value];
        if (buffer.holds != Holds::Saved || buffer.layer != layer.layer) continue;
        const Body& body = *layers[i].body;
        const SavedTensor& saved = body.saved[static_cast<std::size_t>(buffer.item)];
        if (!saved.leaves || buffer.bytes.value == 0) continue;
        if (saved.tensor == graph_of(body).output)
          layer.output = id;
        else
          layer.kept.push_back(id);
      }
      found.push_back(std::move(layer));
    }
    return found;
  }
  static std::vector<TaskId> waited_for(const std::vector<OpTask>& ops) {
    std::vector<TaskId> found;
    for (const OpTask& op : ops)
      if (!op.op->communication || !op.op->overlapped) found.push_back(op.task);
    return found;
  }

  const Graph& graph_of(const Body& body) const {
    return w_.scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
  }
  const std::string& block_of(const Body& body) const {
    return w_.scenario.model.blocks[static_cast<std::size_t>(body.block)].name;
  }

  // Returns whether it is handed to the next layer in forward, or to the previous one in backward.
  bool crosses(const Body& body, const Transient& t) const {
    const Graph& graph = graph_of(body);
    return t.form == Transient::Form::Local && t.gradient == t.backward &&
           t.tensor == (t.backward ? graph.input : graph.output);
  }

  // A layer's output (or its input's gradient) becomes what the next layer takes in, at the start
  // of the first op that does so.
  void hand_over(const StageCopy& place, const Boundary& boundary,
                 const std::vector<LayerOfStage>& layers, std::vector<Lifetimes>& lives,
                 bool forward) {
    BufferId held = forward ? boundary.forward_in : boundary.backward_in;
    const LayerOfStage* maker = nullptr;
    const Transient* made = nullptr;
    std::vector<BufferChange>* made_in = nullptr;
    const auto list = [&](std::size_t i) -> std::vector<BufferChange>& {
      return forward ? lives[i].forward : lives[i].backward;
    };
    const auto hold = [&](BufferId buffer) {
      if (made != nullptr) made_in->push_back({made->from, buffer, true, false});
      return made != nullptr ? buffer : BufferId{};
    };
    for (std::size_t n = 0; n < layers.size(); ++n) {
      const std::size_t i = forward ? n : layers.size() - 1 - n;
      const Body& body = *layers[i].body;
      const std::uint32_t takes = first_op(forward ? body.forward : body.backward);
      if (takes == kNoOp) continue;
      if (maker != nullptr) {
        const bool waits = !forward && split_ && body.held.takes_late;
        held = hold(made == nullptr ? BufferId{} : transient(place, *maker, *made, waits));
      }
      if (held.valid()) list(i).push_back({takes, held, false, false});
      held = {};
      maker = &layers[i], made = nullptr, made_in = &list(i);
      for (const Transient& t : body.transients)
        if (t.backward != forward && crosses(body, t)) made = &t;
    }
    if (made == nullptr) return;
    if (const BufferId out = forward ? boundary.forward_out : boundary.backward_out; out.valid()) {
      hold(out);
      return;
    }
    made_in->push_back({made->to, hold(transient(place, *maker, *made, false)), false, true});
  }

  void hold_parameters(const StageCopy& place, const LayerOfStage& layer, Lifetimes& lives) {
    const Body& body = *layer.body;
    if (body.gathered.value > 0) {
      const BufferId gathered =
          buffer(place, "gathered weights", Category::Communication, Provenance::Modelled,
                 body.gathered, Holds::Gathered, layer.layer);
      around(body.forward, gathered, lives.forward);
      around(body.backward, gathered, lives.backward);
    }
    hold_gradients(place, layer, lives);
  }

  BufferId buffer(const StageCopy& place, std::string_view name, Category category,
                  Provenance provenance, Bytes bytes, Holds holds, int layer,
                  std::int32_t item = -1) {
    Buffer made;
    made.name = draft_.name(name);
    made.stage = place.stage;
    made.device = place.device;
    made.category = category;
    made.provenance = provenance;
    made.bytes = bytes;
    made.holds = holds;
    made.layer = layer;
    made.item = item;
    return draft_.buffer(made);
  }

  // Adds the lifetime from the gather (the first op of the phase) to the end of the last
  // computation. If backward is split, that is of the input pass, because weight gradients need no
  // weights.
  void around(const std::vector<BodyOp>& ops, BufferId buffer,
              std::vector<BufferChange>& list) const {
    const auto gather =
        std::find_if(ops.begin(), ops.end(), [](const BodyOp& op) { return op.communication; });
    if (gather == ops.end()) return;
    const auto first = static_cast<std::size_t>(gather - ops.begin());
    const std::size_t last = last_computing(
        ops, [&](const BodyOp& op) { return !split_ || op.pass != Pass::BackwardWeight; });
    list.push_back({first, buffer, true, false});
    // A layer that has only weight gradients still gathers its weights and releases them.
    list.push_back({last == kNowhere ? first : last, buffer, false, true});
  }

  // Full gradients are held while the layer makes them and, in a separate bucket, while they are
  // scattered.
  void hold_gradients(const StageCopy& place, const LayerOfStage& layer, Lifetimes& lives) {
    const Body& body = *layer.body;
    const auto makes = [&](const BodyOp& op) {
      return !op.recomputed && (!split_ || op.pass == Pass::BackwardWeight);
    };
    const std::size_t first = first_computing(body.backward, makes),
                      last = last_computing(body.backward, makes);
    if (body.unreduced.value == 0 || first == kNowhere) return;
    const auto hold = [&](std::string_view name, std::vector<BufferChange>& list, std::size_t from,
                          std::size_t to, std::int32_t item) {
      const BufferId id = buffer(place, name, Category::Communication, Provenance::Modelled,
                                 body.unreduced, Holds::Unreduced, layer.layer, item);
      list.push_back({from, id, true, false});
      list.push_back({to, id, false, true});
    };
    hold("gradients in full", lives.backward, first, last, 0);
    hold("gradients being scattered", lives.reduce, 0, body.reduce.size() - 1, 1);
  }

  // Adds the lifetime from the first op of the stage's forward to the last op of its backward (of
  // the input).
  void keep_stage_tensors(const StageCopy& place, const std::vector<LayerOfStage>& layers,
                          std::vector<Lifetimes>& lives) {
    const Bytes bytes = phase_bytes(w_, place.stage).stage_tensors;
    if (bytes.value == 0) return;
    const auto ends = [&](const BodyOp& op) { return !split_ || op.pass != Pass::BackwardWeight; };
    std::size_t first = kNowhere, last = kNowhere;  // indices of layers
    for (std::size_t i = layers.size(); i-- > 0;) {
      if (first_op(layers[i].body->forward) != kNoOp) first = i;
      if (last_computing(layers[i].body->backward, ends) != kNowhere) last = i;
    }
    if (first == kNowhere || last == kNowhere) return;
    const BufferId id = buffer(place, kStageTensors, Category::Activations, Provenance::Modelled,
                               bytes, Holds::Other, layers[first].layer);
    lives[first].forward.push_back({first_op(layers[first].body->forward), id, true, false});
    lives[last].backward.push_back(
        {last_computing(layers[last].body->backward, ends), id, false, true});
    kept_.back().push_back(id);
  }

  void keep(const StageCopy& place, const LayerOfStage& layer, std::size_t item, Lifetimes& lives) {
    const SavedTensor& s = layer.body->saved[item];
    if (s.from == kNoOp || (split_ ? s.split_to : s.to) == kNoOp) return;
    const BufferId id =
        buffer(place, block_of(*layer.body) + " " + s.name,
               s.recomputed ? Category::Recomputed : Category::Activations, Provenance::Exact,
               s.bytes, Holds::Saved, layer.layer, static_cast<std::int32_t>(item));
    (s.recomputed ? lives.backward : lives.forward).push_back({s.from, id, true, false});
    lives.in_parts.push_back({s.split_to, id, false, true});
    lives.at_once.push_back({s.to, id, false, true});
    if (!s.recomputed) kept_.back().push_back(id);
  }

  // `waits`: the buffer waits for the weight pass of the layer that takes it, which has only that
  // pass.
  BufferId transient(const StageCopy& place, const LayerOfStage& layer, const Transient& t,
                     bool waits) {
    const bool carried = (t.carried && split_) || waits;
    std::string name = block_of(*layer.body) + " " + graph_of(*layer.body)[t.tensor].name;
    if (t.form == Transient::Form::Whole) name += ", whole";
    if (t.gradient) name += carried ? " gradient for weights" : " gradient";
    return buffer(place, name, carried ? Category::Activations : Category::Workspace,
                  Provenance::Exact, t.bytes, Holds::Transient, layer.layer,
                  static_cast<std::int32_t>(&t - layer.body->transients.data()));
  }

  void pass(const StageCopy& place, const LayerOfStage& layer, std::size_t item, Lifetimes& lives) {
    const Transient& t = layer.body->transients[item];
    if (!split_ && is_late_gradient(graph_of(*layer.body), t)) return;
    const BufferId id = transient(place, layer, t, false);
    std::vector<BufferChange>& list = t.backward ? lives.backward : lives.forward;
    list.push_back({t.from, id, true, false});
    list.push_back({t.to, id, false, true});
  }

  // "conv1, conv2 | conv3" of a stage whose second core runs the third.
  static std::string words_of(std::span<const BodyOp> stage) {
    std::string words = stage.front().name;
    for (std::size_t i = 1; i < stage.size(); ++i)
      words += (stage[i].place.core == stage[i - 1].place.core ? ", " : " | ") + stage[i].name;
    return words;
  }

  std::vector<OpTask> make_ops(const StageCopy& place, Phase phase, BodyList list, int layer,
                               const std::vector<BodyOp>& ops,
                               const std::vector<BufferChange>& lifetimes) {
    std::vector<OpTask> made;
    for (std::size_t i = 0, end = 0; i < ops.size(); i = end) {
      const BodyOp& op = ops[i];
      for (end = i + 1; op.place.stage != 0 && end < ops.size(); ++end)
        if (ops[end].place.stage != op.place.stage) break;
      Task task;
      task.kind = op.communication ? TaskKind::Collective : TaskKind::Compute;
      task.phase = phase != Phase::Backward || !split_ ? phase
                   : op.pass == Pass::BackwardWeight   ? Phase::BackwardWeight
                                                       : Phase::BackwardInput;
      task.stage = place.stage;
      task.name = draft_.name(words_of({ops.data() + i, end - i}));
      task.pass = draft_.name(op.pass_name);
      task.node = op.node;
      task.ops = static_cast<std::int32_t>(end - i);
      task.layer = layer;
      task.list = list;
      task.op = static_cast<std::int32_t>(i);
      task.collective = op.collective;
      task.group = op.group;
      task.bytes = op.bytes;
      task.every = op.every;
      task.tensor = op.tensor;
      task.of_gradient = op.of_gradient;
      const TaskId id = draft_.task(task);
      for (std::size_t k = i; !op.communication && k < end; ++k)
        draft_.work(id, ops[k].work, 1, ops[k].pass, ops[k].recomputed, ops[k].place);
      const WorkCount& beside = op.beside;
      const bool split = split_ || splits_backward(w_);
      if (beside.count > 0 && (!split || op.recomputed || beside.pass == op.pass))
        draft_.work(id, beside.work, beside.count, beside.pass, beside.recomputed);
      // In order of time: what is handed over is released before it is allocated again.
      for (const auto& [allocate, at_end] : {std::pair{false, false}, {true, false}, {false, true}})
        for (const BufferChange& l : lifetimes)
          if (l.op >= i && l.op < end && l.allocate == allocate && l.at_end == at_end)
            draft_.effect(id, l.buffer, allocate, at_end);
      made.push_back({id, &op});
    }
    return made;
  }

  const Workload& w_;
  Draft& draft_;
  bool split_, mixed_;
  HostLanes& host_;
  std::vector<std::vector<BodyOp>> of_stages_;  // that no layer's body has
  std::vector<std::vector<LayerTasks>> stages_;
  std::vector<std::vector<BufferId>> kept_;  // by place
};

}  // namespace

std::unique_ptr<PhaseWriter> op_grain(const Workload& w, const StageCopies& places,
                                      const Boundaries& boundaries, Draft& draft,
                                      BackwardKinds kinds, HostLanes& host) {
  return std::make_unique<OpGrain>(w, places, boundaries, draft, kinds, host);
}

}  // namespace trainyard
