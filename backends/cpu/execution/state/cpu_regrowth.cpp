// Implements moves of sparse patterns, after the update that they follow.
#include "backends/cpu/execution/state/updated_parts.h"
#include "backends/cpu/kernels/convert.h"
#include "core/training/regrowth.h"

namespace trainyard {
namespace {

// Numbers of 4 or 2 bytes, of which zero is the one without a bit.
void follow_bits(const PatternMove& move, const SparseShape& shape, void* numbers, int each) {
  const auto count = static_cast<std::size_t>(shape.room());
  if (each == 2)
    follow(move, shape, std::span(static_cast<std::uint16_t*>(numbers), count));
  else
    follow(move, shape, std::span(static_cast<std::uint32_t*>(numbers), count));
}

}  // namespace

// Sparse weights are in 4 or 2 bytes and whole on every device that holds their stage, which is all
// of the model where they trade blocks. The patterns move by the 4-byte copy of weights, where the
// optimizer has one.
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
  // Calls f(part, weight, its pattern, where that is kept) for each sparse weight of the place.
  const auto each_sparse = [&](auto&& f) {
    for (std::size_t l = 0; l < place.layers.size(); ++l) {
      const PlacedLayer& layer = place.layers[l];
      const Graph& graph = *plan_.layouts[static_cast<std::size_t>(layer.layout)].graph;
      each_part_of(a.device, a.place, set, l, job, [&](ParameterPart& part, std::size_t norm) {
        const std::optional<SparseWeight> weight =
            sparse_weight_of(graph, parameter_of_[norm]->tensor);
        if (!weight) return;
        const PlacedParameter& p =
            layer.parameters[static_cast<std::size_t>(layer.of_tensor[weight->pattern.value])];
        const StatePart& held = layer.part_of(p);
        f(part, *weight, p, held.held.of(weights, p.offset - held.first), layer.model_layer);
      });
    }
  };
  std::vector<MovingWeight> before;
  each_sparse([&](const ParameterPart& part, const SparseWeight& weight, const PlacedParameter& p,
                  const std::byte* kept, int layer) {
    const SparseShape& shape = weight.shape;
    std::vector<float> pattern(static_cast<std::size_t>(p.elements)),
        values(static_cast<std::size_t>(part.elements));
    to_floats(kept, part.weight_type, pattern.data(), p.elements);
    if (part.master != nullptr)
      std::copy_n(part.master, values.size(), values.begin());
    else
      to_floats(part.weights, part.weight_type, values.data(), part.elements);
    std::vector<std::int64_t> places = places_of(shape, pattern);
    values.resize(places.size() * static_cast<std::size_t>(shape.block));
    before.push_back({shape, std::move(places), block_sizes<float>(shape, values),
                      pattern_random(seed_of(training, RandomSource::Weights), layer, weight)});
  });
  const std::vector<PatternMove> moves = moves_of(*regrowth, before, share, updates);
  const std::vector<std::string_view> slots = rule().slots();
  std::size_t next = 0;
  each_sparse([&](const ParameterPart& part, const SparseWeight& weight, const PlacedParameter& p,
                  std::byte* kept, int) {
    const PatternMove& move = moves[next++];
    const SparseShape& shape = weight.shape;
    from_floats(pattern_of(shape, move.places).data(), kept, part.weight_type, p.elements);
    follow_bits(move, shape, part.weights, bytes_of(part.weight_type));
    if (part.master != nullptr)
      follow(move, shape, std::span(part.master, static_cast<std::size_t>(part.elements)));
    for (std::size_t k = 0; k < slots.size(); ++k)
      follow_bits(move, shape, part.state[k], bytes_of_slot(slots[k]));
  });
}

}  // namespace trainyard
