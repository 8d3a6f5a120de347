// This file builds the layers that mix tokens by a recurrence instead of attention. What is one
// projection in a checkpoint is written as a product for each of its column ranges, because heads
// and groups are divided over tensor ranks each by themselves.
#include "core/model/graph_builder.h"

namespace trainyard {

TensorId TransformerLayer::mix(TensorId x) {
  if (spec.mixer == Mixer::StateSpace) return state_space_mixer(x);
  if (spec.mixer == Mixer::SelectiveScan) return selective_scan_mixer(x);
  if (spec.mixer == Mixer::GatedDelta) return gated_delta_mixer(x);
  return self_attention(x);
}

TensorId TransformerLayer::convolved(const std::string& name, TensorId x, std::int64_t taps,
                                     bool bias) {
  const Dim channels = builder.graph[x].shape.back();
  std::vector<TensorId> inputs = {x, builder.parameter(name + ".weight", {channels, whole(taps)})};
  if (bias) inputs.push_back(builder.parameter(name + ".bias", {channels}));
  return builder.node(name, causal_convolution(), std::move(inputs), {}, TensorSplit::Inside);
}

// Where heads are in groups, the norm of a checkpoint is over each group; here it is one over all,
// which has the same weights and traffic.
TensorId TransformerLayer::state_space_mixer(TensorId x) {
  const StateSpaceSpec& s = spec.state_space;
  const Dim inner{s.heads * s.width, Axis::Heads, s.heads}, each{s.heads, Axis::Heads, s.heads},
      group{s.groups * s.state, Axis::KvHeads, s.groups};
  const auto project = [&](const char* name, Dim to) {
    return builder.linear(name, x, to, s.bias, TensorSplit::Column);
  };
  const auto turned = [&](const char* name, TensorId from) {
    return convolved(name, from, s.taps, s.convolution_bias);
  };
  const TensorId z = project("z_proj", inner), xs = project("x_proj", inner),
                 b = project("b_proj", group), c = project("c_proj", group),
                 dt = project("dt_proj", each);
  std::vector<TensorId> inputs = {turned("x_conv", xs), dt, turned("b_conv", b),
                                  turned("c_conv", c)};
  for (const char* name : {"A_log", "D", "dt_bias"})
    inputs.push_back(builder.parameter(name, {each}));
  TensorId y = builder.node("state_space", state_space(), std::move(inputs),
                            {{"heads", s.heads}, {"groups", s.groups}, {"chunk", s.chunk}},
                            TensorSplit::Inside);
  y = builder.node("mixer.gate", gated_silu(), {z, y}, {}, TensorSplit::Inside);
  y = builder.norm("mixer.norm", y, NormKind::Rms, inner);
  return builder.linear("out_proj", y, whole(spec.hidden), s.bias, TensorSplit::Row);
}

// Steps, B and C are sums over all channels, so that the product that makes them leaves the tensor
// region and that of the steps enters it again.
TensorId TransformerLayer::selective_scan_mixer(TensorId x) {
  const SelectiveSpec& s = spec.selective;
  const Dim inner{s.inner, Axis::Heads, 0};
  const TensorId z = builder.linear("z_proj", x, inner, s.bias, TensorSplit::Column);
  const TensorId xs =
      convolved("conv1d", builder.linear("x_in_proj", x, inner, s.bias, TensorSplit::Column),
                s.taps, s.convolution_bias);
  const auto project = [&](const std::string& name, std::int64_t to) {
    const TensorId made = builder.linear(name + "_proj", xs, whole(to), false, TensorSplit::Row);
    return s.norms ? builder.norm(name + "_layernorm", made, NormKind::Rms, to) : made;
  };
  const TensorId step = project("step", s.step_rank), b = project("b", s.state),
                 c = project("c", s.state);
  const TensorId dt = builder.linear("dt_proj", step, inner, true, TensorSplit::Column);
  TensorId y = builder.node("selective_scan", selective_scan(),
                            {xs, dt, b, c, builder.parameter("A_log", {inner, whole(s.state)}),
                             builder.parameter("D", {inner})},
                            {}, TensorSplit::Inside);
  y = builder.node("mixer.gate", gated_silu(), {z, y}, {}, TensorSplit::Inside);
  return builder.linear("out_proj", y, whole(spec.hidden), s.bias, TensorSplit::Row);
}

TensorId TransformerLayer::gated_delta_mixer(TensorId x) {
  const DeltaSpec& d = spec.delta;
  const Dim key{d.key_heads * d.key_width, Axis::KvHeads, d.key_heads},
      value{d.value_heads * d.value_width, Axis::Heads, d.value_heads},
      each{d.value_heads, Axis::Heads, d.value_heads};
  const auto project = [&](const char* name, Dim to) {
    return builder.linear(name, x, to, false, TensorSplit::Column);
  };
  const TensorId q = project("q_proj", key), k = project("k_proj", key),
                 v = project("v_proj", value), z = project("z_proj", value),
                 strength = project("b_proj", each), decay = project("a_proj", each);
  std::vector<TensorId> inputs = {convolved("q_conv", q, d.taps, false),
                                  convolved("k_conv", k, d.taps, false),
                                  convolved("v_conv", v, d.taps, false), strength, decay};
  for (const char* name : {"A_log", "dt_bias"}) inputs.push_back(builder.parameter(name, {each}));
  TensorId y =
      builder.node("gated_delta", gated_delta(), std::move(inputs),
                   {{"heads", d.value_heads}, {"key_heads", d.key_heads}}, TensorSplit::Inside);
  y = builder.norm("mixer.norm", y, NormKind::Rms, d.value_width);
  y = builder.node("mixer.gate", gated_silu(), {z, y}, {}, TensorSplit::Inside);
  return builder.linear("out_proj", y, whole(spec.hidden), false, TensorSplit::Row);
}

}  // namespace trainyard
