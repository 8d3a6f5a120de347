#include "core/result/flops_definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/base/nearest.h"

namespace trainyard {
namespace {

using D = FlopsDefinition;

constexpr FlopsDefinitionInfo kDefinitions[] = {
    {D::ModelFull, "model-full", "6 N + 12 L w s", false},
    {D::ModelFullProducts, "model-full-products", "6 (N - input embedding) + 12 L w s", false},
    {D::ModelCausal, "model-causal", "6 (N - input embedding) + 6 L w s", false},
    {D::HardwareFull, "hardware-full", "8 (N - input embedding) + 16 L w s - 2 V h", true},
    {D::HardwareParameters, "hardware-parameters", "8 N", true},
};

}  // namespace

std::span<const FlopsDefinitionInfo> flops_definitions() { return kDefinitions; }

const FlopsDefinitionInfo& info(FlopsDefinition d) {
  return kDefinitions[static_cast<std::size_t>(d)];
}

FlopsDefinition flops_definition_named(std::string_view name) {
  std::vector<std::string_view> names;
  for (const FlopsDefinitionInfo& d : kDefinitions) {
    if (d.name == name) return d.definition;
    names.push_back(d.name);
  }
  throw Error(Error::Kind::InvalidInput,
              fmt::format("expected a way to count FLOPs, found \"{}\"{}", name.substr(0, 80),
                          did_you_mean(name.substr(0, 80), names)));
}

FlopsFacts flops_facts(const Model& model) {
  FlopsFacts f;
  f.parameters = static_cast<double>(active_parameters(model));
  f.layers = layer_count(model);
  double table = 0, inner = 0;
  bool own_head = false;
  for (const Block& block : model.blocks)
    for (const Tensor& t : block.graph.tensors) {
      double vocab = 0, hidden = 1, heads = 0;
      for (const Dim& dim : t.shape) {
        if (dim.axis == Axis::Vocab)
          vocab = static_cast<double>(dim.size);
        else if (dim.axis == Axis::Heads)
          heads = static_cast<double>(dim.size);
        else
          hidden = static_cast<double>(dim.size);
      }
      if (t.kind != TensorKind::Parameter) continue;
      // A fused projection holds queries, keys and values; the projection after attention has the
      // width of one of them.
      if (heads > 0 && block.layer && (inner == 0 || heads < inner)) inner = heads;
      if (vocab == 0) continue;
      f.vocab = vocab;
      if (t.shape.size() < 2) continue;
      f.hidden = hidden;
      if (&block == &model.blocks.front())
        table = vocab * hidden;
      else
        own_head = own_head || t.tied_to.empty();
    }
  f.width = inner;
  f.embedding = own_head ? table : 0;
  return f;
}

double flops_per_token(FlopsDefinition d, const FlopsFacts& f, double sequence) {
  const double products = f.parameters - f.embedding;
  const double attention = f.layers * f.width * sequence;
  switch (d) {
    case D::ModelFull:
      return 6 * f.parameters + 12 * attention;
    case D::ModelFullProducts:
      return 6 * products + 12 * attention;
    case D::ModelCausal:
      return 6 * products + 6 * attention;
    case D::HardwareFull:  // the head is not recomputed
      return 8 * products + 16 * attention - 2 * f.vocab * f.hidden;
    case D::HardwareParameters:
      return 8 * f.parameters;
  }
  return 0;
}

double utilization(FlopsDefinition d, double flops_per_second, double peak) {
  if (!(peak > 0))
    throw Error(Error::Kind::InvalidInput, "expected a peak above 0 FLOP/s to compare with");
  const double share = flops_per_second / peak;
  if (share > 1)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("{:.1f} % of the peak, counted as {}: nothing computes faster than its "
                            "dense peak, so the count or the peak is another",
                            100 * share, info(d).formula));
  return share;
}

}  // namespace trainyard
