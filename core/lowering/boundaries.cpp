#include "core/lowering/boundaries.h"

#include <algorithm>

#include "core/methods/layers/transients.h"

namespace trainyard {
namespace {

// The index among the layer's transients of its output, or of its input's gradient; -1 if the layer
// keeps it or has none.
std::int32_t handed_on(const Workload& w, const Body& body, bool forward) {
  const Graph& graph = w.scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
  const auto found =
      std::find_if(body.transients.begin(), body.transients.end(), [&](const Transient& t) {
        return t.backward != forward && t.gradient != forward && t.form == Transient::Form::Local &&
               t.tensor == (forward ? graph.output : graph.input);
      });
  return found == body.transients.end()
             ? -1
             : static_cast<std::int32_t>(found - body.transients.begin());
}

}  // namespace

std::vector<LayerOfStage> layers_of(const Workload& w, StageId stage, bool forward) {
  std::vector<LayerOfStage> layers;
  for (const Workload::Run& run : w.runs[stage.value]) {
    const Body& body = w.bodies[static_cast<std::size_t>(run.body)];
    if (first_op(forward ? body.forward : body.backward) == kNoOp) continue;
    for (int i = 0; i < run.count; ++i) layers.push_back({&body, run.first_layer + i});
  }
  return layers;
}

Boundaries::Boundaries(const Workload& w, const StageCopies& places, Draft& draft)
    : list_(places.size()) {
  for (std::size_t place = 0; place < places.size(); ++place)
    for (const bool forward : {true, false}) connect(w, places, draft, place, forward);
}

void Boundaries::connect(const Workload& w, const StageCopies& places, Draft& draft,
                         std::size_t place, bool forward) {
  const StageCopy& at = places[place];
  if (forward ? at.stage.value + 1 == w.table.size() : at.stage.value == 0) return;
  const StageId next{forward ? at.stage.value + 1 : at.stage.value - 1};
  const DeviceId to = places.device(next, places.copy(at.stage, at.device));
  Boundary &from = list_[place], &taker = list_[places.of(next, to)];
  const std::vector<LayerOfStage> here = layers_of(w, at.stage, forward),
                                  there = layers_of(w, next, forward);
  if (here.empty() || there.empty()) return;

  const LayerOfStage& maker = forward ? here.back() : here.front();
  const std::int32_t item = handed_on(w, *maker.body, forward);
  const Bytes bytes = forward ? maker.body->output : maker.body->input;
  const bool sent = to != at.device;
  const auto make = [&](const StageCopy& on, std::string_view name, int layer,
                        std::int32_t of_layer) {
    Buffer buffer;
    buffer.name = draft.name(name);
    buffer.stage = on.stage;
    buffer.device = on.device;
    buffer.category = sent ? Category::Communication : Category::Workspace;
    buffer.bytes = bytes;
    buffer.holds = sent ? Holds::Message : Holds::Transient;
    buffer.layer = layer;
    buffer.item = of_layer;
    return draft.buffer(buffer);
  };
  BufferId &out = forward ? from.forward_out : from.backward_out,
           &in = forward ? taker.forward_in : taker.backward_in;
  if (item >= 0)
    out = make(at,
               sent      ? forward ? "activations to send" : "gradients to send"
               : forward ? "activations for the next stage"
                         : "gradients for the stage before",
               maker.layer, item);
  if (!sent) {
    in = out;
    return;
  }
  if (!in.valid())
    in = make({next, to}, forward ? "activations received" : "gradients received",
              forward ? there.front().layer : there.back().layer, -1);
  (forward ? from.sends_forward : from.sends_backward) = item >= 0;
  (forward ? taker.receives_forward : taker.receives_backward) = true;
}

}  // namespace trainyard
