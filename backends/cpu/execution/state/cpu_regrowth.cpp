// Implements moves of sparse patterns, after the update that they follow.
#include "backends/cpu/execution/state/updated_parts.h"
#include "core/training/regrowth.h"

namespace trainyard {

// Sparse weights are in 4-byte floats and whole on every device that holds their stage.
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
      const std::span pattern(
          reinterpret_cast<float*>(held.held.of(weights, p.offset - held.first)),
          static_cast<std::size_t>(p.elements));
      const auto count = static_cast<std::size_t>(part.elements);
      const std::span values(static_cast<float*>(part.weights), count);
      const PatternMove move = move_blocks(
          shape, places_of(shape, pattern), block_sizes<float>(shape, values), share,
          pattern_random(seed_of(training, RandomSource::Weights), layer.model_layer, *weight),
          updates);
      const std::vector<float> moved = pattern_of(shape, move.places);
      std::copy(moved.begin(), moved.end(), pattern.begin());
      follow(move, shape, values);
      for (void* const slot : part.state)
        follow(move, shape, std::span(static_cast<float*>(slot), count));
    });
  }
}

}  // namespace trainyard
