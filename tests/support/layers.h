// Scenarios of known transformer layers, and text forms of what methods made of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/lowering/lower.h"
#include "core/methods/catalogue.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/builders.h"

namespace trainyard::testing {

struct GptSizes {
  std::int64_t layers = 4, hidden = 1024, heads = 16, sequence = 512, vocab = 51200;
};

/// GPT-2's layer: fused query, key and value, an MLP of width 4 h, and dropout. The output head is
/// tied.
inline Model gpt(const GptSizes& z = {}) {
  TransformerSpec spec = family_spec("gpt2");
  spec.name = "gpt";
  spec.layers = z.layers;
  spec.hidden = z.hidden;
  spec.heads = z.heads;
  spec.ffn = 4 * z.hidden;
  spec.vocab = z.vocab;
  spec.sequence = z.sequence;
  return build_decoder(spec);
}

/// Mixtral's layer: grouped queries (4 of 16 heads), and 8 experts of which a token uses 2.
inline Model mixture() {
  TransformerSpec spec = family_spec("mixtral");
  spec.name = "mixture";
  spec.layers = 4;
  spec.hidden = 512;
  spec.heads = 16;
  spec.kv_heads = 4;
  spec.ffn = 1024;
  spec.vocab = 32000;
  spec.sequence = 512;
  spec.experts.count = 8;
  spec.experts.top_k = 2;
  spec.experts.ffn = 1024;
  return build_decoder(spec);
}

using Settings = std::vector<std::string_view>;
/// The settings, followed by more.
inline Settings with(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

inline Scenario scenario(Model model, std::int64_t devices, const Settings& settings,
                         std::string_view kind = "a100-sxm-80") {
  Scenario s{std::move(model), make_cluster(device(kind), devices), {}};
  for (std::string_view one : settings) apply_setting(s.plan, one);
  return s;
}

/// The first body of a block that counts as a layer.
inline const Body& layer(const Workload& w) {
  for (const Body& body : w.bodies)
    if (w.scenario.model.blocks[static_cast<std::size_t>(body.block)].layer) return body;
  throw Error(Error::Kind::Internal, "the model has no layer");
}

inline std::string words(CollectiveKind kind, Group group, std::int64_t bytes) {
  return std::string(to_string(kind)) + " " + std::string(to_string(group)) + " " +
         std::to_string(bytes);
}

using Words = std::vector<std::string>;

/// The collectives of a list in order: "all-reduce tensor 4096".
inline Words collectives(const std::vector<BodyOp>& ops) {
  Words found;
  for (const BodyOp& op : ops)
    if (op.communication) found.push_back(words(op.collective, op.group, op.bytes.value));
  return found;
}

/// The names of a list in order, with collectives in brackets.
inline Words names(const std::vector<BodyOp>& ops) {
  Words found;
  for (const BodyOp& op : ops) found.push_back(op.communication ? "[" + op.name + "]" : op.name);
  return found;
}

/// The bytes of training state per parameter: weights, gradients and optimizer state.
inline std::int64_t bytes_per_parameter(const Settings& settings) {
  const Workload w = prepare(scenario(gpt(), 1, settings));
  Body body;
  body.parameters.dense = 1;
  const StateBytes state = state_bytes(body, w.layout);
  return (state.weights + state.gradients + state.optimizer).value;
}

/// The result of a method's check on a scenario whose plan is completed first.
inline Diagnostics check_of(std::string_view name, Scenario s) {
  s.plan = complete(s);
  const Method& m = method(name);
  return m.check(s, find_choice(s.plan, name) != nullptr ? find_choice(s.plan, name)->params
                                                         : with_defaults({}, m.params));
}

}  // namespace trainyard::testing
