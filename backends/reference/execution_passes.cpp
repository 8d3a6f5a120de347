// Forward and backward of one op, and the messages between stages.
#include "backends/documents.h"
#include "backends/reference/execution.h"
#include "core/base/error.h"

namespace trainyard {
namespace {

std::string microbatch_text(const Step& step) { return std::to_string(step.microbatch); }

}  // namespace

template <class F>
void ReferenceExecution::with_context_of(const Step& step, int replica,
                                         std::span<const HostTensor* const> parameters, F&& f) {
  const LayerPlan& layer = plan(step);
  const std::int64_t number = sample(step.microbatch, replica);
  // The anchor drops what the weights have dropped of the same samples.
  const std::int64_t drawn_for = number - (reads_anchor(step.microbatch) ? 1 : 0);
  const std::function<Value(TensorId)> from_outside = [&](TensorId id) {
    return data(layer, id, number);
  };
  DocumentBounds bounds;
  const bool bounded = options_.documents && reads_documents((*layer.graph)[step.node]);
  if (bounded) bounds = options_.documents(number);
  const int model_layer = s_.places[step.place].model_layers[static_cast<std::size_t>(step.layer)];
  f(LayerContext{
      layer, s_.workload.layout.binding, s_.workload.layout.flash_attention, parameters,
      options_.seed,
      (static_cast<std::uint64_t>(drawn_for) << 20) + static_cast<std::uint64_t>(model_layer),
      from_outside, bounded ? &bounds : nullptr});
}

bool ReferenceExecution::reads_anchor(std::int32_t microbatch) const {
  return options_.halp && !options_.halp->is_pass(microbatch / s_.program.microbatches) &&
         microbatch % 2 == 1;
}

// --- forward ---

ReferenceExecution::Activations ReferenceExecution::take_output(std::int32_t place,
                                                                const Step& step, int replica) {
  const auto from = static_cast<std::uint32_t>(place);
  if (place < 0 || !has_flight(from, step.microbatch) ||
      flight(from, step.microbatch, replica).output.main == nullptr)
    refuse("activations of microbatch " + microbatch_text(step) +
           " are read, and they are not there");
  Activations taken = std::exchange(flight(from, step.microbatch, replica).output, {});
  let_go(from, step.microbatch);
  return taken;
}

void ReferenceExecution::forward(const Step& step, bool again) {
  const StagePlace& place = s_.places[step.place];
  WeightVersions& versions = weights(step);
  const StageWeights& read =
      reads_anchor(step.microbatch) ? versions.anchor() : versions.get(step.weights);
  const auto at = static_cast<std::size_t>(step.layer);
  for (int r = 0; r < s_.replicas; ++r) {
    Flight& f = flight(step.place, step.microbatch, r);
    LayerState& layer = f.layers[at];
    if (!again && at == 0 && place.stage.value > 0 && !layer.started()) {
      if (f.input.main == nullptr) f.input = take_output(place.before, step, r);
      layer.set_side(plan(step), std::move(f.input.side));
      layer.set_input(plan(step), std::move(f.input.main));
      f.input = {};
    }
    if (!again) f.version = step.weights;
    // Recomputed with newer weights, a forward is part of its backward.
    const auto parameters =
        again && f.version != step.weights ? read.backward(at) : read.forward(at);
    with_context_of(step, r, parameters, [&](const LayerContext& c) {
      layer.forward(c, step.node, again);
      if (!again && step.node == c.plan.last_forward) end_forward(step, f, r, c);
    });
  }
  versions.done_reading(step.weights);
}

void ReferenceExecution::end_forward(const Step& step, Flight& f, int replica,
                                     const LayerContext& c) {
  const auto at = static_cast<std::size_t>(step.layer);
  Activations output{f.layers[at].output(c), f.layers[at].side(c.plan)};
  const bool last_stage = s_.places[step.place].stage.value + 1 == s_.workload.runs.size();
  if (at + 1 < f.layers.size()) {
    const StagePlace& place = s_.places[step.place];
    const LayerPlan& next = s_.plans[static_cast<std::size_t>(place.plans[at + 1])];
    f.layers[at + 1].set_side(next, std::move(output.side));
    f.layers[at + 1].set_input(next, std::move(output.main));
  } else if (last_stage) {
    run_.losses[static_cast<std::size_t>(sample(step.microbatch, replica))] =
        output.main->values[0];
  } else {
    f.output = std::move(output);
  }
  f.layers[at].end_forward(c.plan);
  if (c.plan.has_backward()) return;
  f.layers[at].clear();
  --f.layers_left;
}

// --- backward ---

ReferenceExecution::Gradients ReferenceExecution::take_gradient(std::int32_t place,
                                                                const Step& step, int replica) {
  const auto from = static_cast<std::uint32_t>(place);
  if (place < 0 || !has_flight(from, step.microbatch) ||
      !flight(from, step.microbatch, replica).gradient_ready)
    refuse("gradients of microbatch " + microbatch_text(step) +
           " are read, and they are not there");
  Flight& f = flight(from, step.microbatch, replica);
  Gradients taken = std::exchange(f.passed, {});
  f.gradient_ready = false;
  let_go(from, step.microbatch);
  return taken;
}

void ReferenceExecution::backward(const Step& step) {
  const StagePlace& place = s_.places[step.place];
  WeightVersions& versions = weights(step);
  const StageWeights& read =
      reads_anchor(step.microbatch) ? versions.anchor() : versions.get(step.weights);
  const auto at = static_cast<std::size_t>(step.layer);
  if (!has_flight(step.place, step.microbatch))
    refuse("activations of microbatch " + microbatch_text(step) +
           " are read, and they are not there");
  for (int r = 0; r < s_.replicas; ++r) {
    Flight& f = flight(step.place, step.microbatch, r);
    LayerState& layer = f.layers[at];
    const bool same = f.version == step.weights;
    ++run_.backwards;
    run_.consistent_backwards += same ? 1 : 0;
    if (at + 1 == f.layers.size() && !layer.has_output_gradient()) {
      const bool last_stage = place.stage.value + 1 == s_.workload.runs.size();
      if (!last_stage && !f.gradient_arrived) f.arrived = take_gradient(place.after, step, r);
      if (last_stage)
        f.arrived = {HostTensor{{}, {reads_anchor(step.microbatch) ? -1.0 : 1.0}}, {}};
      layer.set_output_gradient(plan(step), std::move(f.arrived.main));
      layer.set_side_gradient(plan(step), std::move(f.arrived.side));
    }
    std::vector<ParameterGradient> found;
    with_context_of(step, r, same ? read.forward(at) : read.backward(at),
                    [&](const LayerContext& c) {
                      layer.backward(c, step.node, step.pass, found);
                      if (step.pass == Pass::BackwardInput && step.node == c.plan.last_input)
                        pass_gradient(step, f, c);
                    });
    GradientSums& sums = places_[step.place]
                             .waves[static_cast<std::size_t>(step.wave)]
                             .replicas[static_cast<std::size_t>(r)];
    for (const auto& [tensor, gradient] : found)
      for (std::uint32_t p : place.of_layer[at])
        if (place.parameters[p].tensor == tensor && !place.parameters[p].frozen)
          accumulate(sums, place.parameters, p, gradient);
    if (step.pass == Pass::BackwardWeight && step.node == plan(step).last_weight)
      layer.weight_done = true;
    finish_layer(step, f, r);
  }
  versions.done_reading(step.weights);
  let_go(step.place, step.microbatch);
}

// All of the layer's input gradient is there: it goes to the layer before, or out of the stage.
void ReferenceExecution::pass_gradient(const Step& step, Flight& f, const LayerContext& c) {
  const StagePlace& place = s_.places[step.place];
  const auto at = static_cast<std::size_t>(step.layer);
  LayerState& layer = f.layers[at];
  if (at > 0) {
    const LayerPlan& before = s_.plans[static_cast<std::size_t>(place.plans[at - 1])];
    if (before.has_backward()) {
      f.layers[at - 1].set_output_gradient(before, layer.input_gradient(c));
      f.layers[at - 1].set_side_gradient(before, layer.side_gradient(c));
    }
  } else if (place.stage.value > 0) {
    f.passed = {layer.input_gradient(c), layer.side_gradient(c)};
    f.gradient_ready = true;
  }
  layer.end_input(c.plan);
  layer.input_done = true;
}

void ReferenceExecution::finish_layer(const Step& step, Flight& f, int replica) {
  const auto at = static_cast<std::size_t>(step.layer);
  LayerState& layer = f.layers[at];
  if (!layer.input_done || !layer.weight_done) return;
  GradientSums& sums = places_[step.place]
                           .waves[static_cast<std::size_t>(step.wave)]
                           .replicas[static_cast<std::size_t>(replica)];
  const StagePlace& place = s_.places[step.place];
  for (std::uint32_t p : place.of_layer[at])
    if (!place.parameters[p].frozen) ++sums.counts[p];
  layer.clear();
  --f.layers_left;
}

// --- between stages ---

void ReferenceExecution::receive(const Step& step) {
  for (int r = 0; r < s_.replicas; ++r) {
    if (step.forward_message) {
      flight(step.place, step.microbatch, r).input =
          take_output(static_cast<std::int32_t>(step.other), step, r);
      continue;
    }
    Gradients gradient = take_gradient(static_cast<std::int32_t>(step.other), step, r);
    if (!has_flight(step.place, step.microbatch))
      refuse("gradients of microbatch " + microbatch_text(step) + " arrive where it has not been");
    Flight& f = flight(step.place, step.microbatch, r);
    f.arrived = std::move(gradient);
    f.gradient_arrived = true;
  }
}

}  // namespace trainyard
