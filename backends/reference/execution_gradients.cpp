// Gradients on their way from the microbatches to the update that takes them in.
#include <algorithm>
#include <optional>

#include "backends/reference/execution.h"
#include "core/base/error.h"

namespace trainyard {
void ReferenceExecution::reduce_replicas(const Step& step) {
  const StagePlace& place = s_.places[step.place];
  for (Accumulators* sums : reduced_by(step))
    for (std::uint32_t p : place.of_layer[static_cast<std::size_t>(step.layer)]) {
      if (place.parameters[p].expert != step.experts) continue;
      for (GradientSums& replica : sums->replicas) {
        sums->reduced.add(p, replica);
        replica.clear(p);
      }
    }
}

// Waves that update for themselves each reduce their own gradients. Otherwise one reduction is of
// what all waves of the device have added up.
std::vector<ReferenceExecution::Accumulators*> ReferenceExecution::reduced_by(const Step& step) {
  std::vector<Accumulators*> found;
  std::vector<Accumulators>& waves = places_[step.place].waves;
  for (std::size_t w = 0; w < waves.size(); ++w)
    if (!s_.places[step.place].own_waves || w == static_cast<std::size_t>(step.wave))
      found.push_back(&waves[w]);
  return found;
}

// The first replica of each group holds the group's sum.
void ReferenceExecution::reduce_shards(const Step& step) {
  const StagePlace& place = s_.places[step.place];
  for (Accumulators* sums : reduced_by(step))
    for (std::uint32_t p : place.of_layer[static_cast<std::size_t>(step.layer)])
      for (std::size_t r = 0; r < sums->replicas.size(); ++r) {
        const std::size_t first =
            r / static_cast<std::size_t>(s_.shard) * static_cast<std::size_t>(s_.shard);
        if (r == first || place.parameters[p].expert) continue;
        sums->replicas[first].add(p, sums->replicas[r]);
        sums->replicas[r].clear(p);
      }
}

void ReferenceExecution::reduce_copies(const Step& step) {
  const auto join = [](GradientSums& a, GradientSums& b) {
    for (std::size_t p = 0; p < a.values.size(); ++p) {
      a.add(p, b);
      b.values[p] = a.values[p];
      b.counts[p] = a.counts[p];
    }
  };
  // Each copy has gathered its own waves; their sum becomes the first wave's.
  const auto gather = [](PlaceState& state) {
    Accumulators& all = state.waves[0];
    for (std::size_t w = 1; w < state.waves.size(); ++w)
      for (std::size_t p = 0; p < all.reduced.values.size(); ++p) {
        all.reduced.add(p, state.waves[w].reduced);
        state.waves[w].reduced.clear(p);
        for (std::size_t r = 0; r < all.replicas.size(); ++r) {
          all.replicas[r].add(p, state.waves[w].replicas[r]);
          state.waves[w].replicas[r].clear(p);
        }
      }
  };
  PlaceState &a = places_[std::min(step.place, step.other)],
             &b = places_[std::max(step.place, step.other)];
  gather(a), gather(b);
  join(a.waves[0].reduced, b.waves[0].reduced);
  for (std::size_t r = 0; r < a.waves[0].replicas.size(); ++r)
    join(a.waves[0].replicas[r], b.waves[0].replicas[r]);
}

// --- update ---

void ReferenceExecution::move_patterns(const StagePlace& place, std::int64_t updates,
                                       std::vector<ParameterState>& state) const {
  const double share = options_.regrowth ? options_.regrowth->dropped(updates, options_.steps) : 0;
  if (share == 0) return;
  std::vector<MovingWeight> before;
  std::vector<std::pair<ParameterState*, ParameterState*>> moving;  // values and pattern of each
  for (std::size_t i = 0; i < place.parameters.size(); ++i) {
    const StageParameter& p = place.parameters[i];
    const Graph& graph = s_.workload.scenario.model.blocks[static_cast<std::size_t>(p.block)].graph;
    const std::optional<SparseWeight> weight = sparse_weight_of(graph, p.tensor);
    if (!weight || weight->values != p.tensor) continue;
    const auto pattern_of_layer = std::find_if(
        place.parameters.begin(), place.parameters.end(), [&](const StageParameter& other) {
          return other.layer == p.layer && other.tensor == weight->pattern;
        });
    ParameterState& pattern =
        state[static_cast<std::size_t>(pattern_of_layer - place.parameters.begin())];
    const SparseShape& shape = weight->shape;
    std::vector<std::int64_t> places =
        places_of(shape, std::vector<float>(pattern.weights.begin(), pattern.weights.end()));
    const std::span<const double> values(state[i].weights);
    std::vector<double> sizes = block_sizes<double>(
        shape, values.first(places.size() * static_cast<std::size_t>(shape.block)));
    before.push_back({shape, std::move(places), std::move(sizes),
                      pattern_random(options_.weight_seed, p.model_layer, *weight)});
    moving.emplace_back(&state[i], &pattern);
  }
  const std::vector<PatternMove> moves = moves_of(*options_.regrowth, before, share, updates);
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const SparseShape& shape = before[i].shape;
    const auto& [values, pattern] = moving[i];
    const std::vector<float> moved = pattern_of(shape, moves[i].places);
    pattern->weights.assign(moved.begin(), moved.end());
    follow(moves[i], shape, std::span(values->weights));
    if (!values->velocity.empty()) follow(moves[i], shape, std::span(values->velocity));
  }
}

void ReferenceExecution::update(const Step& step) {
  const StagePlace& place = s_.places[step.place];
  PlaceState& state = places_[step.place];
  GradientSums total = gradient_sums(place.parameters);
  for (std::size_t w = 0; w < state.waves.size(); ++w) {
    if (place.own_waves && w != static_cast<std::size_t>(step.wave)) continue;
    Accumulators& sums = state.waves[w];
    for (std::size_t p = 0; p < place.parameters.size(); ++p) {
      total.add(p, sums.reduced);
      sums.reduced.clear(p);
      if (s_.replicas == 1) {
        total.add(p, sums.replicas[0]);
        sums.replicas[0].clear(p);
      }
      for (const GradientSums& replica : sums.replicas)
        if (replica.counts[p] > 0)
          refuse("gradients of " + place.parameters[p].name + " are not reduced over the " +
                 std::to_string(s_.replicas) + " replicas");
    }
  }
  for (std::size_t p = 0; p < place.parameters.size(); ++p) {
    if (place.parameters[p].frozen) continue;
    if (total.counts[p] == 0)
      refuse("there are no gradients of " + place.parameters[p].name + " to update it with");
    for (double& g : total.values[p]) g /= static_cast<double>(total.counts[p]);
  }
  WeightVersions& versions = weights(step);
  versions.update(step.weights, total.values, [&](std::vector<ParameterState>& parameters) {
    move_patterns(place, step.weights, parameters);
  });
  // Version t is of the weights before step t.
  if (options_.halp && options_.halp->is_pass(step.weights - 1) &&
      !options_.halp->is_pass(step.weights))
    versions.keep_anchor();
  if (s_.average.follows(step.weights)) versions.take_mean(state.weights);
  if (options_.updated) options_.updated(place.stage, step.weights, versions.state());
}

}  // namespace trainyard
