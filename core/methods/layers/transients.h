// This file determines when each tensor of a layer is alive, as an executor of its ops must hold
// it. Tensors that are not kept live from the op that makes them to the last op that reads them:
//
//  forward    an output lives from its op on (one that is reduced to parts: in full until the
//             reduction has ended, in parts from the reduction's start); the layer's input from the
//             first op; the layer's output to the last op of the phase, where the next layer or a
//             message takes it over
//  views      compute nothing (a reshape): their output is written at the first op that reads it,
//             and their input must be alive until then
//  backward   the gradient of the layer's output lives from the first op; any other gradient from
//             the first op that writes or adds to it; both until the ops of the node that made the
//             tensor have read it. A view's backward runs at the first op that needs its input's
//             gradient. The gradient of the layer's input lives to the last op of the (input) pass
//  again      outputs of recomputed ops that backward does not keep live among the ops of backward
//
//  stages     operators that run beside each other (core/methods/parallel/operator_stages.h) hold
//             from the start of their stage, and to its end, all that one of them makes or reads
//
//  late       the gradient of a parameter that an op makes in its input pass (a bias of attention,
//             the rates of a scan), where full gradients live in the weight pass only, to be
//             scattered at its end: under a split backward it lives from that op to the first op of
//             the weight pass behind it, which adds it to them
//
// Indices and other data from outside, unless kept, live from the first op that reads them to the
// last. Other gradients of parameters, parameters, and statistics of a loss are not part of this.
#pragma once

#include "core/methods/layers/body.h"

namespace trainyard {

/// Stands for "no op".
inline constexpr std::uint32_t kNoOp = static_cast<std::uint32_t>(-1);

/// Sets when each saved tensor is made and freed, the transients, and the peak that they hold at
/// once. Must be called after all methods have rewritten the body.
void find_lifetimes(Body&, const Graph&, const Layout&);

/// Returns the first op that reads the output of the layer before (in backward: the gradient from
/// the layer after). Collectives of weights do not count; in backward the op is one of the input
/// pass where there is one and operators run one after another. kNoOp where there is none.
std::uint32_t first_op(const std::vector<BodyOp>&);

/// Returns the peak bytes of body.transients and body.saved for a layer with this graph.
TransientBytes transient_bytes(const Body&, const Graph&);

/// Returns whether the transient is the gradient of a parameter on its way from the input pass of a
/// split backward to its weight pass. A backward in one part has none.
inline bool is_late_gradient(const Graph& graph, const Transient& t) {
  return t.gradient && graph[t.tensor].kind == TensorKind::Parameter;
}

/// Returns the parameters whose gradients the op, of an input pass, makes beside those of its
/// inputs, because its node has no weight pass; none where it is frozen.
std::vector<TensorId> made_in_input_pass(const Body&, const Graph&, const BodyOp&);

}  // namespace trainyard
