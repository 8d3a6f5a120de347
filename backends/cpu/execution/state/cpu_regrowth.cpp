// Implements moves of sparse patterns, after the update that they follow.
#include "backends/cpu/execution/state/updated_parts.h"
#include "backends/cpu/kernels/convert.h"
#include "core/training/regrowth.h"

namespace trainyard {
namespace {

// Numbers of 4 or 2 bytes, of which zero is the one without a bit.
void follow_bits(const PatternMove& move, const SparseShape& shape, void* numbers, int each) {
  const auto count = static_cast<std::size_t>(shape.stored());
  if (each == 2)
    follow(move, shape, std::span(static_cast<std::uint16_t*>(numbers), count));
  else
    follow(move, shape, std::span(static_cast<std::uint32_t*>(numbers), count));
}

}  // namespace

// Sparse weights are in 4 or 2 bytes and whole on every device that holds their stage. The pattern
// moves by the 4-byte copy of weights, where the optimizer has one.
void CpuExecution::move_patterns(const At& a, std::size_t set, std::size_t job) {
  const std::optional<Regrowth> regrowth = regrowth_of(plan_.workload.scenario.plan);
  if (!regrowth) return;
  const Training& training = jobs_[job].training;
  const std::int64_t updates = updates_ + 1;
  const double share = regrowth->dropped(updates, training.steps);
  if (share == 0) return;
  const StagePlacement& place = plan_.places[a.place];
  StageState& stage = a.device.stage(a.place);
  std::byte* const weights = stage.weights[std::min(set, stage.weights.size() - 1)].data +
                             static_cast<std::ptrdiff_t>(job) * a.device.arena().stride();
  const std::vector<std::string_view> slots = rule().slots();
  for (std::size_t l = 0; l < place.layers.size(); ++l) {
    const PlacedLayer& layer = place.layers[l];
    const Graph& graph = *plan_.layouts[static_cast<std::size_t>(layer.layout)].graph;
    each_part_of(a.device, a.place, set, l, job, [&](const ParameterPart& part, std::size_t norm) {
      const std::optional<SparseWeight> weight =
          sparse_weight_of(graph, parameter_of_[norm]->tensor);
      if (!weight) return;
      const SparseShape& shape = weight->shape;
      const PlacedParameter& p =
          layer.parameters[static_cast<std::size_t>(layer.of_tensor[weight->pattern.value])];
      const StatePart& held = layer.part_of(p);
      std::byte* const kept = held.held.of(weights, p.offset - held.first);
      std::vector<float> pattern(static_cast<std::size_t>(p.elements)),
          values(static_cast<std::size_t>(part.elements));
      to_floats(kept, part.weight_type, pattern.data(), p.elements);
      if (part.master != nullptr)
        std::copy_n(part.master, values.size(), values.begin());
      else
        to_floats(part.weights, part.weight_type, values.data(), part.elements);
      const PatternMove move = move_blocks(
          shape, places_of(shape, pattern), block_sizes<float>(shape, values), share,
          pattern_random(seed_of(training, RandomSource::Weights), layer.model_layer, *weight),
          updates);
      from_floats(pattern_of(shape, move.places).data(), kept, part.weight_type, p.elements);
      follow_bits(move, shape, part.weights, bytes_of(part.weight_type));
      if (part.master != nullptr) follow(move, shape, std::span(part.master, values.size()));
      for (std::size_t k = 0; k < slots.size(); ++k)
        follow_bits(move, shape, part.state[k], bytes_of_slot(slots[k]));
    });
  }
}

}  // namespace trainyard
