// Implements weights that are kept or gathered in 8 bits: an update rounds the master copy to the
// layout's format and then to codes, whose scales follow from what the steps before have seen of
// the whole tensor. A product would have cast the same numbers to the same codes.
#include <algorithm>
#include <memory>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/kernels/convert.h"

namespace trainyard {
namespace {

std::uint8_t* bytes(std::byte* at) { return reinterpret_cast<std::uint8_t*>(at); }

}  // namespace

// The scale of a weight in the first step is that of the whole tensor, whatever part of it a rank
// has.
void CpuExecution::begin_with(const PlacedLayer& layer, const PlacedParameter& p,
                              const std::vector<float>& whole) {
  if (scales_ == nullptr || !narrow_->whole_tensor || plan_.asynchronous) return;
  const LayerLayout& layout = plan_.layouts[static_cast<std::size_t>(layer.layout)];
  const std::vector<Node>& nodes = layout.graph->nodes;
  const bool is_weight = std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    return is_narrow(layout, node) && node.inputs[1] == p.tensor;
  });
  if (!is_weight) return;
  const std::vector<float> numbers = rounded(whole, plan_.workload.layout.precision.parameter);
  scales_->begin_with(operand_of(layer, p.tensor),
                      largest_size(numbers.data(), static_cast<std::int64_t>(numbers.size())));
}

// The codes of a stage lie behind its other weights: all of them once, and where weights have a
// scale for a block once more along the other dimension, and then the scales of both.
WeightCodes CpuExecution::codes_at(std::size_t at, std::byte* stage_weights,
                                   std::byte* codes) const {
  const StagePlacement& place = plan_.places[at];
  if (narrow_->whole_tensor) return {{bytes(codes), bytes(codes)}, {}};
  std::byte* const first =
      stage_weights + place.weights * bytes_of(plan_.workload.layout.precision.parameter);
  std::byte* const scales = first + 2 * place.codes + (codes - first) / narrow_->block;
  return {{bytes(codes), bytes(codes + place.codes)},
          {bytes(scales), bytes(scales + place.codes / narrow_->block)}};
}

// Weights with a scale for a block are whole here, because nothing divides their state.
void CpuExecution::write_codes(std::size_t at, const PlacedLayer& layer, const PlacedParameter& p,
                               std::byte* stage_weights, std::byte* to,
                               std::span<const float> numbers, bool next) const {
  const WeightCodes codes = codes_at(at, stage_weights, to);
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

float CpuExecution::number_of_code(std::size_t at, const PlacedLayer& layer,
                                   const PlacedParameter& p, std::byte* stage_weights,
                                   std::byte* first, std::int64_t index) const {
  const WeightCodes codes = codes_at(at, stage_weights, first);
  const float number = narrow_number(narrow_->element, codes.codes[1][index]);
  return number * (narrow_->whole_tensor
                       ? tensor_scale(narrow_->element, scales_->known(operand_of(layer, p.tensor)))
                       : power_of_code(codes.scales[1][index / narrow_->block]));
}

// Casts what a rank has of a part for a gather, where it keeps these weights in the layout's
// format.
std::vector<std::byte> CpuExecution::codes_of(std::size_t at, std::size_t l, const StatePart& part,
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
    const std::int64_t from = begin - range.first;
    float scale = 0;
    to_narrow(*narrow_, narrow_->element, {1, end - begin, 1},
              scales_->known(operand_of(layer, p.tensor)), numbers.data() + from,
              bytes(codes.data() + from), &scale);
  }
  return codes;
}

// A shard cuts through blocks that share a scale, so that ranks gather the layout's format.
bool CpuExecution::casts_what_came(const StatePart& part) const {
  return part.held.codes() && !narrow_->whole_tensor && part.optimizer.shards > 1;
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
                   std::byte* const weights =
                       state(plan_.places[at].device, peers[r]).stage(at).weights[0].data;
                   for (const PlacedParameter& p : layer.parameters) {
                     if (p.owner >= 0 || &layer.part_of(p) != &part) continue;
                     const std::int64_t first = p.offset - part.first;
                     std::vector<float> numbers(static_cast<std::size_t>(p.elements));
                     to_floats((*messages)[r].data() + static_cast<std::size_t>(first) * each, type,
                               numbers.data(), p.elements);
                     write_codes(at, layer, p, weights, part.held.of(weights, first), numbers,
                                 false);
                   }
                 }
                 return nullptr;
               });
}

void CpuExecution::apply_narrow(ParameterPart& part, const StepFacts& facts,
                                const TensorNorms& norms, std::size_t norm, std::size_t at,
                                std::byte* stage_weights) const {
  const DType type = plan_.workload.layout.precision.parameter;
  std::byte* const codes =
      part.weight_type == DType::F8 ? static_cast<std::byte*>(part.weights) : nullptr;
  std::vector<std::byte> between;
  if (codes != nullptr) {
    between.resize(static_cast<std::size_t>(part.elements * bytes_of(type)));
    part.weights = between.data();
    part.weight_type = type;
  }
  rule_->apply(part, facts, norms);
  std::vector<float> numbers(static_cast<std::size_t>(part.elements));
  to_floats(part.weights, type, numbers.data(), part.elements);
  const PlacedParameter& p = *parameter_of_[norm];
  const std::vector<std::size_t>& first = norms_at_[at];
  const auto after = std::upper_bound(first.begin(), first.end(), norm);
  const PlacedLayer& layer =
      plan_.places[at].layers[static_cast<std::size_t>(after - first.begin()) - 1];
  if (narrow_->whole_tensor)
    scales_->see_next(operand_of(layer, p.tensor), largest_size(numbers.data(), part.elements));
  if (codes != nullptr && !casts_what_came(layer.part_of(p)))
    write_codes(at, layer, p, stage_weights, codes, numbers, true);
}

// The ranks that have each cast a part of a tensor learn how large its elements are in all of them.
TravelPtr CpuExecution::agree_on_sizes(const At& a, std::span<const int> members) {
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

}  // namespace trainyard
