// Implements order grain: one computation per action, with the collectives that block it, run
// beside it or follow it.
#include <array>

#include "core/lowering/phase_writer.h"
#include "core/lowering/phases.h"

namespace trainyard {
namespace {

// The tasks of one stage in one phase, made once.
struct PhaseTasks {
  TaskId compute;
  std::vector<TaskId> blocking, beside, lead, gather;
};

struct StageTasks {
  std::array<PhaseTasks, kPhases> phase;
  std::vector<TaskId> reduce_others, reduce_last, gather_others, gather_last;
  bool reduce_overlapped = false, gather_overlapped = false;
};

struct StageBuffers {
  BufferId until_input, until_weight, recomputed, recomputed_by_input, recomputed_for_weight,
      forward_workspace, backward_workspace, input_workspace, weight_workspace, gathered, unreduced,
      backward_communication, rise, input_rise, carried;
};

class OrderGrain final : public PhaseWriter {
 public:
  OrderGrain(const Workload& w, const StageCopies& places, const Boundaries& boundaries,
             Draft& draft, BackwardKinds kinds, HostLanes& host)
      : w_(w), draft_(draft), kinds_(kinds), host_(host) {
    for (std::size_t i = 0; i < places.size(); ++i)
      stages_.push_back(make_stage(places[i], boundaries[i]));
  }

  Written write(const Action& action, std::size_t place, Moment moment, LaneState& lane,
                const Refs& inputs) override {
    const StageTasks& stage = stages_[place];
    const PhaseTasks& tasks = stage.phase[static_cast<std::size_t>(action.phase)];
    const LaneStreams& to = lane.to;
    const auto add = [&](std::uint32_t stream, TaskId task, const Refs& after) {
      return draft_.add(stream, task, action.microbatch, after, action.wave, action.weights);
    };
    Refs start = inputs;
    start.add(lane.tail);

    // The action waits for the weights of the first layer; the others arrive during the
    // computation.
    Refs before;
    before.add(lane.last_compute);
    const bool arriving = moment.first_forward && stage.gather_overlapped;
    Ref lead = chain(to.gather, tasks.lead, before, add);
    if (arriving) lead = chain(to.gather, stage.gather_last, before, add);
    Refs ready = start;
    ready.add(lead);
    // The second action of a pair sends its messages while the first one computes, and computes
    // after that, so that each hides the other's messages although an action is one computation
    // here.
    Ref hidden;
    if (action.paired) {
      hidden = chain(to.comm, tasks.blocking, start, add);
      ready.add(hidden);
    }
    Written written;
    written.first = add(lane.stream, tasks.compute, ready);
    if (lane.in_pair) lane.stints = {{written.first, written.first}};
    Ref gathered = chain(to.gather, tasks.gather, before, add);
    if (arriving) gathered = chain(to.gather, stage.gather_others, before, add);

    const Ref beside = chain(to.comm, tasks.beside, start, add);
    Refs computed;
    computed.add(written.first);
    Ref blocking, first_sent = hidden;
    if (!action.paired) {
      const auto add_first = [&](std::uint32_t stream, TaskId task, const Refs& after) {
        const Ref ref = add(stream, task, after);
        if (!first_sent.valid()) first_sent = ref;
        return ref;
      };
      blocking = chain(to.comm, tasks.blocking, computed, add_first);
    }
    if (lane.in_pair) lane.sent_first = first_sent, lane.sent_ahead = hidden;
    written.done.add(blocking.valid() ? blocking : written.first);
    written.done.add(beside);
    written.done.add(gathered);
    lane.tail = written.done;
    lane.last_compute = written.first;

    const bool makes_gradients =
        action.phase == Phase::Backward || action.phase == Phase::BackwardWeight;
    if (makes_gradients && (moment.completes || w_.layout.reduce_every_microbatch))
      reduce(stage, to, start, moment, written, lane, add);
    if (makes_gradients && moment.completes && w_.layout.host_optimizer)
      send_gradients(place, action.microbatch, start, moment, written);
    return written;
  }

  Refs gather(const LaneState& lane, std::size_t place, std::int32_t step,
              const Refs& updated) override {
    const StageTasks& stage = stages_[place];
    Refs done;
    if (stage.gather_overlapped) return done;
    const LaneStreams& to = lane.to;
    const auto add = [&](std::uint32_t stream, TaskId task, const Refs& after) {
      return draft_.add(stream, task, step, after);
    };
    const Ref first = chain(to.gather, stage.gather_last, updated, add),
              others = chain(to.gather, stage.gather_others, updated, add);
    done.add(others.valid() ? others : first);
    return done;
  }

  std::vector<BufferId> kept(std::size_t place) const override { return kept_[place]; }

 private:
  // Gradients of the layer that is ready last leave after the others.
  void send_gradients(std::size_t place, std::int32_t microbatch, Refs start, const Moment& moment,
                      const Written& written) {
    Refs ready = written.reduced.empty() ? written.done : written.reduced;
    ready.add(moment.others), start.add(moment.others);
    const bool overlapped = host_work(w_, host_.stage(place)).overlapped;
    host_.send_gradients(place, 0, microbatch, overlapped ? start : ready);
    host_.send_gradients(place, 1, microbatch, ready);
  }

  template <class Add>
  static Ref chain(std::uint32_t stream, const std::vector<TaskId>& tasks, Refs after,
                   const Add& add) {
    Ref last;
    for (TaskId task : tasks) {
      last = add(stream, task, after);
      after = {};
      after.add(last);
    }
    return last;
  }

  template <class Add>
  void reduce(const StageTasks& stage, const LaneStreams& to, Refs start, const Moment& moment,
              Written& written, LaneState& lane, const Add& add) {
    Refs done = written.done;
    // Gradients that are reduced in every microbatch are not added up before.
    if (!w_.layout.reduce_every_microbatch) start.add(moment.others), done.add(moment.others);
    const Ref others =
        chain(to.reduce, stage.reduce_others, stage.reduce_overlapped ? start : done, add);
    const Ref last = chain(to.reduce, stage.reduce_last, done, add);
    written.reduced.add(last.valid() ? last : others);
    if (!stage.reduce_overlapped && !moment.last_backward) lane.tail.add(written.reduced);
  }

  TaskId collective(StageId stage, Phase phase, const CollectiveRun& run) {
    Task task;
    task.kind = TaskKind::Collective;
    task.phase = phase;
    task.stage = stage;
    task.name =
        draft_.name(std::string(to_string(run.group)) + " " + std::string(to_string(run.kind)));
    task.pass = draft_.name(run.method);
    task.collective = run.kind;
    task.group = run.group;
    task.repeats = run.repeats;
    task.bytes = run.bytes;
    task.every = run.every;
    const TaskId id = draft_.task(task);
    if (run.beside.count > 0)
      draft_.work(id, run.beside.work, run.beside.count, run.beside.pass, run.beside.recomputed);
    return id;
  }

  std::vector<TaskId> collectives(StageId stage, Phase phase,
                                  const std::vector<CollectiveRun>& runs) {
    std::vector<TaskId> tasks;
    for (const CollectiveRun& run : runs) tasks.push_back(collective(stage, phase, run));
    return tasks;
  }

  StageTasks make_stage(const StageCopy& place, const Boundary& boundary) {
    StageTasks made;
    const StageId stage = place.stage;
    const StageBuffers buffers = make_buffers(place);
    kept_.push_back({buffers.until_input, buffers.until_weight});
    for (Phase phase :
         {Phase::Forward, Phase::Backward, Phase::BackwardInput, Phase::BackwardWeight}) {
      if (phase != Phase::Forward && !(phase == Phase::Backward ? kinds_.whole : kinds_.split))
        continue;
      const PhaseWork& work = phase_work(w_, stage, phase);
      PhaseTasks& tasks = made.phase[static_cast<std::size_t>(phase)];
      tasks.compute = compute(stage, phase, work, buffers, boundary);
      tasks.blocking = collectives(stage, phase, work.blocking);
      tasks.beside = collectives(stage, phase, work.beside);
      tasks.lead = collectives(stage, phase, work.lead);
      tasks.gather = collectives(stage, phase, work.gather);
    }
    const StepCollectives &reduce = reduce_collectives(w_, stage),
                          &gather = gather_collectives(w_, stage);
    made.reduce_overlapped = reduce.overlapped;
    made.reduce_others = collectives(stage, Phase::Backward, reduce.others);
    made.reduce_last = collectives(stage, Phase::Backward, reduce.last);
    made.gather_overlapped = gather.overlapped;
    made.gather_others = collectives(stage, Phase::Forward, gather.others);
    made.gather_last = collectives(stage, Phase::Forward, gather.last);
    return made;
  }

  TaskId compute(StageId stage, Phase phase, const PhaseWork& work, const StageBuffers& b,
                 const Boundary& boundary) {
    Task task;
    task.phase = phase;
    task.stage = stage;
    task.name = draft_.name(name_of(phase));
    task.pass = draft_.name("emit_compute");
    const TaskId id = draft_.task(task);
    for (const WorkCount& w : work.works)
      draft_.work(id, w.work, w.count, w.pass, w.recomputed, w.place);
    const auto during = [&](BufferId buffer) {
      draft_.effect(id, buffer, true, false);
      draft_.effect(id, buffer, false, true);
    };
    // What comes from a neighbour becomes what is kept or worked on; what leaves is held until it
    // is taken.
    const auto take = [&](BufferId buffer) {
      if (buffer.valid()) draft_.effect(id, buffer, false, false);
    };
    const auto leave = [&](BufferId buffer) {
      if (buffer.valid()) draft_.effect(id, buffer, true, true);
    };
    const bool late = phase_bytes(w_, stage).takes_late;
    switch (phase) {
      case Phase::Forward:
        take(boundary.forward_in);
        draft_.effect(id, b.until_input, true, false);
        draft_.effect(id, b.until_weight, true, false);
        during(b.gathered);
        during(b.forward_workspace);
        leave(boundary.forward_out);
        break;
      case Phase::Backward:
        take(boundary.backward_in);
        during(b.rise);
        during(b.recomputed);
        during(b.backward_communication);
        during(b.backward_workspace);
        draft_.effect(id, b.until_input, false, true);
        draft_.effect(id, b.until_weight, false, true);
        leave(boundary.backward_out);
        break;
      case Phase::BackwardInput:
        if (!late) take(boundary.backward_in);
        during(b.input_rise);
        during(b.recomputed_by_input);
        draft_.effect(id, b.recomputed_for_weight, true, true);
        during(b.gathered);
        during(b.input_workspace);
        draft_.effect(id, b.until_input, false, true);
        draft_.effect(id, b.carried, true, true);
        leave(boundary.backward_out);
        break;
      case Phase::BackwardWeight:
        if (late) take(boundary.backward_in);
        during(b.unreduced);
        during(b.weight_workspace);
        draft_.effect(id, b.until_weight, false, true);
        draft_.effect(id, b.carried, false, true);
        draft_.effect(id, b.recomputed_for_weight, false, true);
        break;
      case Phase::Update:
        break;
    }
    return id;
  }

  StageBuffers make_buffers(const StageCopy& place) {
    const StageId stage = place.stage;
    const PhaseBytes& bytes = phase_bytes(w_, stage);
    const auto make = [&](std::string_view name, Category category, Provenance provenance,
                          Bytes size, bool for_weight = false, bool with_parts = false) {
      Buffer buffer;
      buffer.name = draft_.name(name);
      buffer.stage = stage;
      buffer.device = place.device;
      buffer.category = category;
      buffer.provenance = provenance;
      buffer.bytes = size;
      if (with_parts && size.value > 0) add_parts(buffer, stage, for_weight, bytes.stage_tensors);
      return draft_.buffer(buffer);
    };
    return {
        make("activations", Category::Activations, Provenance::Exact, bytes.until_input, false,
             true),
        make("activations for weight gradients", Category::Activations, Provenance::Exact,
             bytes.until_weight, true, true),
        make("recomputed activations", Category::Recomputed, Provenance::Exact,
             !kinds_.whole  ? Bytes{}
             : kinds_.split ? bytes.whole_recomputed
                            : bytes.recomputed),
        make("recomputed activations", Category::Recomputed, Provenance::Exact,
             kinds_.split ? bytes.recomputed_by_input : Bytes{}),
        make("recomputed activations for weight gradients", Category::Recomputed, Provenance::Exact,
             kinds_.split ? bytes.recomputed_for_weight : Bytes{}),
        make("forward workspace", Category::Workspace, Provenance::Exact, bytes.forward_workspace),
        make("backward workspace", Category::Workspace, Provenance::Exact,
             kinds_.split ? bytes.whole_workspace : bytes.backward_workspace),
        make("input gradient workspace", Category::Workspace, Provenance::Exact,
             kinds_.split ? bytes.input_workspace : Bytes{}),
        make("weight gradient workspace", Category::Workspace, Provenance::Exact,
             kinds_.split ? bytes.weight_workspace : Bytes{}),
        make("gathered weights", Category::Communication, Provenance::Modelled, bytes.gathered),
        make("gradients in full", Category::Communication, Provenance::Modelled,
             kinds_.split ? bytes.unreduced : Bytes{}),
        make("gathered weights and gradients in full", Category::Communication,
             Provenance::Modelled, kinds_.whole ? bytes.backward_communication : Bytes{}),
        make("gradients for weights, on their way", Category::Activations, Provenance::Exact,
             kinds_.split ? bytes.whole_rise : Bytes{}),
        make("gradients for weights, on their way", Category::Activations, Provenance::Exact,
             kinds_.split ? bytes.input_rise : Bytes{}),
        make("gradients for weights", Category::Activations, Provenance::Exact,
             kinds_.split ? bytes.carried : Bytes{})};
  }

  // Lists the parts of one microbatch's activations: each saved tensor, summed over the layers of a
  // block.
  void add_parts(Buffer& buffer, StageId stage, bool for_weight, Bytes framework_holds) {
    Program& program = draft_.program;
    buffer.first_part = static_cast<std::uint32_t>(program.parts.size());
    for (const Workload::Run& run : w_.runs[stage.value]) {
      const Body& body = w_.bodies[static_cast<std::size_t>(run.body)];
      const std::string& block =
          w_.scenario.model.blocks[static_cast<std::size_t>(body.block)].name;
      for (const SavedTensor& s : body.saved)
        if (!s.recomputed && s.for_weight == for_weight && s.bytes.value > 0)
          program.parts.push_back({draft_.name(block + " " + s.name), s.bytes * run.count});
    }
    if (!for_weight && framework_holds.value > 0)
      program.parts.push_back({draft_.name(kStageTensors), framework_holds});
    buffer.parts = static_cast<std::uint32_t>(program.parts.size()) - buffer.first_part;
  }

  const Workload& w_;
  Draft& draft_;
  BackwardKinds kinds_;
  HostLanes& host_;
  std::vector<StageTasks> stages_;
  std::vector<std::vector<BufferId>> kept_;  // by place
};

}  // namespace

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::Forward:
      return "forward";
    case Phase::Backward:
      return "backward";
    case Phase::BackwardInput:
      return "input gradient";
    case Phase::BackwardWeight:
      return "weight gradient";
    case Phase::Update:
      return "update";
  }
  return "";
}

std::unique_ptr<PhaseWriter> order_grain(const Workload& w, const StageCopies& places,
                                         const Boundaries& boundaries, Draft& draft,
                                         BackwardKinds kinds, HostLanes& host) {
  return std::make_unique<OrderGrain>(w, places, boundaries, draft, kinds, host);
}

}  // namespace trainyard
