// Implements weights that are kept or gathered in 8 bits: an update rounds the master copy to the
// layout's format and then to codes, whose scales follow from what the steps before have seen of
// the whole tensor. Where a tile has a scale, or a block, it follows from the numbers themselves:
// ranks that have updated parts of a tile agree on its largest size before they cast, and ranks
// that have updated parts of a block gather the numbers. A product would have cast the same numbers
// to the same codes.
#include <algorithm>
#include <memory>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/kernels/convert.h"

namespace trainyard {
namespace {

std::uint8_t* bytes(std::byte* at) { return reinterpret_cast<std::uint8_t*>(at); }

}  // namespace

void CpuExecution::hold_tiles(StageState& stage, const StagePlacement& place) const {
  if (narrow_ == nullptr || !narrow_->tiles) return;
  for (const PlacedLayer& layer : place.layers)
    for (const PlacedParameter& p : layer.parameters)
      stage.tiles.emplace_back(
          p.narrow ? static_cast<std::size_t>(tiles_of_weight(p.local_shape, *narrow_).count())
                   : 0);
  stage.own_tiles = stage.tiles;
}

std::size_t CpuExecution::tiles_at(std::size_t at, const PlacedLayer& layer,
                                   const PlacedParameter& p) const {
  const auto l = static_cast<std::size_t>(&layer - plan_.places[at].layers.data());
  return norms_at_[at][l] - first_norm(at) + static_cast<std::size_t>(&p - layer.parameters.data());
}

// The scale of a weight in the first step is that of the whole tensor, whatever part of it a rank
// has.
void CpuExecution::begin_with(StageState& stage, std::size_t at, const PlacedLayer& layer,
                              const PlacedParameter& p, const std::vector<float>& whole,
                              const std::vector<float>& own) {
  if (scales_ == nullptr || plan_.asynchronous) return;
  const DType type = plan_.workload.layout.precision.parameter;
  if (narrow_->tiles && p.narrow) {
    std::vector<float>& sizes = stage.tiles[tiles_at(at, layer, p)];
    std::fill(sizes.begin(), sizes.end(), 0.0f);
    see_tiles(tiles_of_weight(p.local_shape, *narrow_), 0, rounded(own, type), sizes);
    stage.own_tiles[tiles_at(at, layer, p)] = sizes;  // ranks may agree before they update
  }
  if (!narrow_->whole_tensor) return;
  const LayerLayout& layout = plan_.layouts[static_cast<std::size_t>(layer.layout)];
  const std::vector<Node>& nodes = layout.graph->nodes;
  const bool is_weight = std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    return is_narrow(layout, node) && node.inputs[1] == p.tensor;
  });
  if (!is_weight) return;
  const std::vector<float> numbers = rounded(whole, type);
  scales_->begin_with(operand_of(layer, p.tensor),
                      largest_size(numbers.data(), static_cast<std::int64_t>(numbers.size())));
}

// The codes of a stage lie behind its other weights: all of them once, and where weights have a
// scale for a block once more along the other dimension, and then the scales of both.
WeightCodes CpuExecution::codes_at(std::size_t at, std::byte* stage_weights,
                                   std::byte* codes) const {
  const StagePlacement& place = plan_.places[at];
  if (narrow_->whole_tensor || narrow_->tiles) return {{bytes(codes), bytes(codes)}, {}};
  std::byte* const first =
      stage_weights + place.weights * bytes_of(plan_.workload.layout.precision.parameter);
  std::byte* const scales = first + 2 * place.codes + (codes - first) / narrow_->block;
  return {{bytes(codes), bytes(codes + place.codes)},
          {bytes(scales), bytes(scales + place.codes / narrow_->block)}};
}

// Weights with a scale for a block are whole here, because nothing divides them.
void CpuExecution::write_codes(const StageState& stage, std::size_t at, const PlacedLayer& layer,
                               const PlacedParameter& p, std::byte* stage_weights, std::byte* to,
                               std::int64_t first, std::span<const float> numbers,
                               bool next) const {
  const WeightCodes codes = codes_at(at, stage_weights, to);
  if (narrow_->tiles)
    return tiles_to_narrow(narrow_->element, tiles_of_weight(p.local_shape, *narrow_), first,
                           numbers, stage.tiles[tiles_at(at, layer, p)], codes.codes[0]);
  if (narrow_->whole_tensor) {
    const std::size_t operand = operand_of(layer, p.tensor);
    float scale = 0;
    to_narrow(*narrow_, narrow_->element, {1, static_cast<std::int64_t>(numbers.size()), 1},
              next ? scales_->upcoming(operand) : scales_->known(operand), numbers.data(),
              codes.codes[0], &scale);
    return;
  }
  for (const bool along_outputs : {false, true}) {
    const Lines lines = lines_of_weight(p.local_shape, along_outputs);
    std::vector<float> scales(static_cast<std::size_t>(scale_count(*narrow_, lines)));
    to_narrow(*narrow_, narrow_->element, lines, 0, numbers.data(), codes.codes[along_outputs],
              scales.data());
    std::transform(scales.begin(), scales.end(), codes.scales[along_outputs], code_of_power);
  }
}

float CpuExecution::number_of_code(const StageState& stage, std::size_t at,
                                   const PlacedLayer& layer, const PlacedParameter& p,
                                   std::byte* stage_weights, std::byte* first,
                                   std::int64_t index) const {
  const WeightCodes codes = codes_at(at, stage_weights, first);
  const float number = narrow_number(narrow_->element, codes.codes[1][index]);
  if (narrow_->tiles) {
    const std::int64_t tile = tiles_of_weight(p.local_shape, *narrow_).of(index);
    return number *
           tensor_scale(narrow_->element,
                        stage.tiles[tiles_at(at, layer, p)][static_cast<std::size_t>(tile)]);
  }
  return number * (narrow_->whole_tensor
                       ? tensor_scale(narrow_->element, scales_->known(operand_of(layer, p.tensor)))
                       : power_of_code(codes.scales[1][index / narrow_->block]));
}

// Casts what a rank has of a part for a gather, where it keeps these weights in the layout's
// format.
std::vector<std::byte> CpuExecution::codes_of(const StageState& stage, std::size_t at,
                                              std::size_t l, const StatePart& part,
                                              const PartRange& range,
                                              const std::byte* weights) const {
  const PlacedLayer& layer = plan_.places[at].layers[l];
  std::vector<float> numbers(static_cast<std::size_t>(range.count));
  to_floats(weights, plan_.workload.layout.precision.parameter, numbers.data(), range.count);
  std::vector<std::byte> codes(numbers.size());
  for (const PlacedParameter& p : layer.parameters) {
    if (p.owner >= 0 || &layer.part_of(p) != &part) continue;
    const std::int64_t first = p.offset - part.first, begin = std::max(range.first, first),
                       end = std::min(range.first + range.count, first + p.elements);
    if (begin >= end) continue;
    const auto from = static_cast<std::size_t>(begin - range.first);
    write_codes(stage, at, layer, p, nullptr, codes.data() + from, begin - first,
                std::span(numbers).subspan(from, static_cast<std::size_t>(end - begin)), false);
  }
  return codes;
}

// A shard cuts through blocks that share a scale, so that ranks gather the layout's format.
bool CpuExecution::casts_what_came(const StatePart& part) const {
  return part.held.codes() && narrow_->block > 0 && !narrow_->tiles && part.optimizer.shards > 1;
}

// Each rank gives its share of the master copy, rounded, and casts what came: a message that the
// ledger does not have, as it has none of other messages.
TravelPtr CpuExecution::gather_and_cast(const Company& company, std::size_t at, std::size_t l,
                                        const StatePart& part, std::span<const int> members) {
  const DType type = plan_.workload.layout.precision.parameter;
  const auto each = static_cast<std::size_t>(bytes_of(type));
  const std::size_t ranks = members.size();
  const auto messages = std::make_shared<std::vector<std::vector<std::byte>>>(ranks);
  std::vector<PartRange> shares;
  std::vector<const std::byte*> from(ranks, nullptr);
  std::vector<std::byte*> into(ranks, nullptr);
  for (std::size_t r = 0; r < ranks; ++r) {
    const PartRange held = held_range(part, part.optimizer, members[r]);
    shares.push_back({held.first - part.first, std::max<std::int64_t>(0, held.count)});
    if (!company.here(r)) continue;
    std::vector<std::byte>& whole = (*messages)[r];
    whole.resize(static_cast<std::size_t>(part.elements) * each);
    into[r] = whole.data();
    std::byte* const own = whole.data() + static_cast<std::size_t>(shares[r].first) * each;
    const StageState& stage = state(plan_.places[at].device, members[r]).stage(at);
    from_floats(reinterpret_cast<const float*>(stage.optimizer[0].data) + part.optimizer.at, own,
                type, shares[r].count);
    from[r] = own;
  }
  return after(all_gather(company, from, into, shares, type),
               [this, company, at, l, &part, messages, type, each,
                peers = std::vector<int>(members.begin(), members.end())]() -> TravelPtr {
                 const PlacedLayer& layer = plan_.places[at].layers[l];
                 for (std::size_t r = 0; r < peers.size(); ++r) {
                   if (!company.here(r)) continue;
                   const StageState& stage = state(plan_.places[at].device, peers[r]).stage(at);
                   std::byte* const weights = stage.weights[0].data;
                   for (const PlacedParameter& p : layer.parameters) {
                     if (p.owner >= 0 || &layer.part_of(p) != &part) continue;
                     const std::int64_t first = p.offset - part.first;
                     std::vector<float> numbers(static_cast<std::size_t>(p.elements));
                     to_floats((*messages)[r].data() + static_cast<std::size_t>(first) * each, type,
                               numbers.data(), p.elements);
                     write_codes(stage, at, layer, p, weights, part.held.of(weights, first), 0,
                                 numbers, false);
                   }
                 }
                 return nullptr;
               });
}

void CpuExecution::apply_narrow(ParameterPart& part, const StepFacts& facts,
                                const TensorNorms& norms, std::size_t norm, std::size_t at,
                                StageState& stage, std::byte* stage_weights) const {
  const DType type = plan_.workload.layout.precision.parameter;
  std::byte* const codes =
      part.weight_type == DType::F8 ? static_cast<std::byte*>(part.weights) : nullptr;
  std::vector<std::byte> between;
  if (codes != nullptr) {
    between.resize(static_cast<std::size_t>(part.elements * bytes_of(type)));
    part.weights = between.data();
    part.weight_type = type;
  }
  rule().apply(part, facts, norms);
  std::vector<float> numbers(static_cast<std::size_t>(part.elements));
  to_floats(part.weights, type, numbers.data(), part.elements);
  const PlacedParameter& p = *parameter_of_[norm];
  const std::vector<std::size_t>& first = norms_at_[at];
  const auto after = std::upper_bound(first.begin(), first.end(), norm);
  const PlacedLayer& layer =
      plan_.places[at].layers[static_cast<std::size_t>(after - first.begin()) - 1];
  if (narrow_->whole_tensor)
    scales_->see_next(operand_of(layer, p.tensor), largest_size(numbers.data(), part.elements));
  // A rank casts what it has updated alone when the ranks that have updated the rest are known.
  const bool alone = layer.part_of(p).optimizer.shards > 1;
  if (narrow_->tiles) {
    std::vector<float>& sizes = (alone ? stage.own_tiles : stage.tiles)[tiles_at(at, layer, p)];
    std::fill(sizes.begin(), sizes.end(), 0.0f);
    see_tiles(tiles_of_weight(p.local_shape, *narrow_), part.first, numbers, sizes);
  }
  if (codes != nullptr && (narrow_->whole_tensor || !alone))
    write_codes(stage, at, layer, p, stage_weights, codes, part.first, numbers, true);
}

// The ranks that have each cast a part of a tensor learn how large its elements are in all of them.
TravelPtr CpuExecution::agree_on_sizes(const At& a, std::span<const int> members) {
  if (narrow_->tiles) return agree_on_tiles(a, members);
  const PlacedLayer& layer = plan_.places[a.place].layers[plan_.layer_of(a.task.layer)];
  std::vector<std::size_t> operands;
  for (const PlacedParameter& p : layer.parameters)
    if (p.narrow && !p.frozen && p.routed == (a.task.group == Group::ExpertData))
      operands.push_back(operand_of(layer, p.tensor));
  const auto found = std::make_shared<std::vector<float>>();
  for (const std::size_t operand : operands) found->push_back(scales_->next(operand));
  const std::vector<const std::byte*> from(members.size(),
                                           reinterpret_cast<const std::byte*>(found->data()));
  return spread(company_of(a, members), from,
                std::vector<std::size_t>(members.size(), found->size() * sizeof(float)),
                [this, operands, found](std::span<const std::byte* const> all) -> TravelPtr {
                  for (const std::byte* one : all)
                    for (std::size_t i = 0; i < operands.size(); ++i)
                      scales_->see_next(operands[i], reinterpret_cast<const float*>(one)[i]);
                  return nullptr;
                });
}

// Ranks that have each updated a part of a tile agree on its largest size, and then cast what they
// have of the weights that are kept as codes.
TravelPtr CpuExecution::agree_on_tiles(const At& a, std::span<const int> members) {
  const std::size_t at = a.place, ranks = members.size();
  const PlacedLayer& layer = plan_.places[at].layers[plan_.layer_of(a.task.layer)];
  std::vector<const PlacedParameter*> agreed;
  std::size_t count = 0;
  for (const PlacedParameter& p : layer.parameters) {
    if (!p.narrow || p.frozen || p.routed != (a.task.group == Group::ExpertData)) continue;
    agreed.push_back(&p);
    count += static_cast<std::size_t>(tiles_of_weight(p.local_shape, *narrow_).count());
  }
  const Company company = company_of(a, members);
  const auto found = std::make_shared<std::vector<std::vector<float>>>(ranks);
  std::vector<const std::byte*> from(ranks, nullptr);
  std::vector<StageState*> stages(ranks, nullptr);
  for (std::size_t r = 0; r < ranks; ++r) {
    if (!company.here(r)) continue;
    stages[r] = &state(a.device.device(), members[r]).stage(at);
    for (const PlacedParameter* const p : agreed) {
      const std::vector<float>& sizes = stages[r]->own_tiles[tiles_at(at, layer, *p)];
      (*found)[r].insert((*found)[r].end(), sizes.begin(), sizes.end());
    }
    from[r] = reinterpret_cast<const std::byte*>((*found)[r].data());
  }
  return spread(company, from, std::vector<std::size_t>(ranks, count * sizeof(float)),
                [this, at, &layer, agreed, found, stages, count,
                 peers = std::vector<int>(members.begin(), members.end())](
                    std::span<const std::byte* const> all) -> TravelPtr {
                  std::vector<float> most(count, 0);
                  for (const std::byte* const one : all)
                    for (std::size_t i = 0; i < count; ++i)
                      most[i] = std::max(most[i], reinterpret_cast<const float*>(one)[i]);
                  for (std::size_t r = 0; r < stages.size(); ++r) {
                    if (stages[r] == nullptr) continue;
                    auto next = most.begin();
                    for (const PlacedParameter* const p : agreed) {
                      std::vector<float>& sizes = stages[r]->tiles[tiles_at(at, layer, *p)];
                      std::copy_n(next, sizes.size(), sizes.begin());
                      next += static_cast<std::ptrdiff_t>(sizes.size());
                      cast_own(*stages[r], at, layer, *p, peers[r]);
                    }
                  }
                  return nullptr;
                });
}

void CpuExecution::cast_own(StageState& stage, std::size_t at, const PlacedLayer& layer,
                            const PlacedParameter& p, int peer) const {
  const StatePart& part = layer.part_of(p);
  const PartRange own = held_range(part, part.optimizer, peer);
  const std::int64_t begin = std::max(own.first, p.offset),
                     end = std::min(own.first + own.count, p.offset + p.elements);
  if (!part.held.codes() || begin >= end) return;
  const float* const master = reinterpret_cast<const float*>(stage.optimizer[0].data) +
                              part.optimizer.at + begin - own.first;
  std::byte* const weights = stage.weights[0].data;
  write_codes(stage, at, layer, p, weights,
              part.held.of(weights, begin - (part.weights.shards > 1 ? own.first : part.first)),
              begin - p.offset,
              rounded({master, static_cast<std::size_t>(end - begin)},
                      plan_.workload.layout.precision.parameter),
              false);
}

}  // namespace trainyard
