#include "core/lowering/held_bytes.h"

#include <algorithm>

namespace trainyard {
namespace {

// The activations while backward goes from layer to layer: the present bytes and their peak.
struct Tide {
  Bytes now{}, most{};
  void layers(int count, Bytes rise, Bytes change) {
    if (count == 0) return;
    most = std::max({most, now + rise, now + change * (count - 1) + rise});
    now += change * count;
  }
};

// Adds gradients that are held until a layer with a late weight pass takes them.
void add_carried(PhaseBytes& sum, std::span<const LayerHeldRun> runs) {
  std::vector<const LayerHeldRun*> order;
  for (std::size_t i = runs.size(); i-- > 0;)
    if (runs[i].layer->has_backward) order.push_back(&runs[i]);
  if (!order.empty()) sum.takes_late = order.front()->layer->held.takes_late;
  Tide input, whole;
  for (std::size_t r = 0; r < order.size(); ++r) {
    const LayerHeld& layer = *order[r]->layer;
    const TransientBytes& held = layer.held;
    const auto add = [&](int count, bool late) {
      const Bytes waits = late ? held.input_gradient : Bytes{};
      sum.carried += (held.carried + waits) * count;
      input.layers(count, late ? held.late_input_rise : held.input_rise,
                   held.carried + waits - layer.until_input);
      whole.layers(count, late ? held.late_whole_rise : held.whole_rise,
                   Bytes{} - layer.until_input - layer.until_weight);
    };
    add(order[r]->count - 1, held.takes_late);
    add(1, r + 1 < order.size() && order[r + 1]->layer->held.takes_late);
  }
  sum.input_rise = input.most, sum.whole_rise = whole.most;
}

}  // namespace

LayerHeld layer_held(const Body& body) {
  LayerHeld layer;
  layer.held = body.held;
  layer.has_backward = !body.backward.empty();
  for (const SavedTensor& s : body.saved)
    if (!s.recomputed && !s.leaves)
      (s.for_weight ? layer.until_weight : layer.until_input) += s.bytes;
    else if (s.recomputed && s.for_weight)
      layer.recomputed_for_weight += s.bytes;
  return layer;
}

void add_held(PhaseBytes& sum, std::span<const LayerHeldRun> runs) {
  for (std::size_t i = runs.size(); i-- > 0;) {
    const LayerHeld& layer = *runs[i].layer;
    const TransientBytes& held = layer.held;
    const int count = runs[i].count;
    sum.until_input += layer.until_input * count;
    sum.until_weight += layer.until_weight * count;
    sum.recomputed = std::max(sum.recomputed, held.rebuilt);
    sum.whole_recomputed = std::max(sum.whole_recomputed, held.whole_rebuilt);
    const Bytes before_last = sum.recomputed_for_weight + layer.recomputed_for_weight * (count - 1);
    sum.recomputed_by_input = std::max(sum.recomputed_by_input, before_last + held.input_rebuilt);
    sum.recomputed_for_weight += layer.recomputed_for_weight * count;
    sum.forward_workspace = std::max(sum.forward_workspace, held.forward);
    sum.backward_workspace = std::max(sum.backward_workspace, held.backward);
    sum.whole_workspace = std::max(sum.whole_workspace, held.whole);
    sum.input_workspace = std::max(sum.input_workspace, held.input);
    sum.weight_workspace = std::max(sum.weight_workspace, held.weight);
  }
  add_carried(sum, runs);
}

KeptBytes kept_live(const PhaseBytes& b) { return {b.until_input + b.until_weight, {}}; }

KeptBytes kept_for_weight(const PhaseBytes& b) {
  return {b.until_weight + b.carried, b.recomputed_for_weight};
}

ActionBytes action_bytes(const PhaseBytes& b, Phase phase, bool split) {
  switch (phase) {
    case Phase::Forward:
      return {{}, {}, b.gathered, b.forward_workspace};
    case Phase::Backward:
      if (!split) return {{}, b.recomputed, b.backward_communication, b.backward_workspace};
      return {b.whole_rise, b.whole_recomputed, b.backward_communication, b.whole_workspace};
    case Phase::BackwardInput:
      return {b.input_rise, b.recomputed_by_input, b.gathered, b.input_workspace};
    case Phase::BackwardWeight:
      return {{}, {}, b.unreduced, b.weight_workspace};
    case Phase::Update:
      break;
  }
  return {};
}

}  // namespace trainyard
