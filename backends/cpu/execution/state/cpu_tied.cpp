// Handles tables that the first and the last stage share while each has its own copy: before an
// update every copy takes the sum of all their gradients, so that the copies stay equal. This is
// part of the update, as programs have no instruction for it.
#include <algorithm>
#include <map>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/memory/tensor_part.h"

namespace trainyard {
namespace {

std::byte* first_element(const Allocation& set, std::int64_t at, DType type) {
  return set.data + static_cast<std::size_t>(at) * static_cast<std::size_t>(bytes_of(type));
}

void read_all(const std::byte* from, DType type, std::vector<float>& into) {
  if (type == DType::F32) {
    std::copy_n(reinterpret_cast<const float*>(from), into.size(), into.data());
    return;
  }
  const std::span<const std::uint16_t> bits(reinterpret_cast<const std::uint16_t*>(from),
                                            into.size());
  type == DType::BF16 ? from_bf16(bits, into.data()) : from_f16(bits, into.data());
}

void write_all(const std::vector<float>& from, std::byte* to, DType type) {
  if (type == DType::F32) {
    std::copy(from.begin(), from.end(), reinterpret_cast<float*>(to));
    return;
  }
  auto* bits = reinterpret_cast<std::uint16_t*>(to);
  type == DType::BF16 ? to_bf16(from, bits) : to_f16(from, bits);
}

void add(std::vector<float>& sum, const std::vector<float>& part) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
}

}  // namespace

// Finds tied tensors by the name of the owner; a stage that exists twice contributes both copies.
void CpuExecution::find_tied() {
  const Model& model = plan_.workload.scenario.model;
  if (!plan_.workload.layout.tied_copies) return;
  std::map<std::string, std::vector<TiedTensor>> owners, others;
  for (std::size_t at = 0; at < plan_.places.size(); ++at) {
    const StagePlacement& place = plan_.places[at];
    for (std::size_t l = 0; l < place.layers.size(); ++l) {
      const PlacedLayer& layer = place.layers[l];
      const int block = plan_.layouts[static_cast<std::size_t>(layer.layout)].body->block;
      for (std::size_t p = 0; p < layer.parameters.size(); ++p) {
        const PlacedParameter& parameter = layer.parameters[p];
        if (parameter.frozen) continue;
        if (!parameter.tied_to.empty())
          others[parameter.tied_to].push_back({at, l, p});
        else
          owners[model.blocks[static_cast<std::size_t>(block)].name + "/" + parameter.name]
              .push_back({at, l, p});
      }
    }
  }
  for (const auto& [name, copies] : others) {
    std::vector<TiedTensor> group = owners[name];
    group.insert(group.end(), copies.begin(), copies.end());
    tied_.push_back(std::move(group));
  }
}

// Calls f(device, index among its gradients, first element, count) for the parts of the tensor's
// gradient that the peer and those with whom it divides its state hold summed: all of it, or each
// its own. Parts on devices of other processes are left to these.
template <class F>
void CpuExecution::each_gradient_part(const TiedTensor& t, int peer, F&& f) {
  const StagePlacement& place = plan_.places[t.place];
  const PlacedLayer& layer = place.layers[t.layer];
  const PlacedParameter& p = layer.parameters[t.parameter];
  const StatePart& part = layer.part_of(p);
  const DividedState& held = gradients_to_update(part);
  for (int member : plan_.members(state_group(), peer)) {
    const PartRange own = held_range(part, part.optimizer, member);
    const std::int64_t begin = std::max(p.offset, own.first),
                       end = std::min(p.offset + p.elements, own.first + own.count);
    if (begin < end && here(place.device, member))
      f(state(place.device, member).stage(t.place),
        held.at + begin - (held.shards > 1 ? own.first : part.first), begin - p.offset,
        end - begin);
  }
}

// The sum over all gradient sets of the place, in the owner's [rows, columns] layout.
std::vector<float> CpuExecution::gradient_sum(const TiedTensor& t, int peer) {
  const PlacedParameter& p = plan_.places[t.place].layers[t.layer].parameters[t.parameter];
  const DType type = plan_.workload.layout.precision.gradient;
  std::vector<float> sum(static_cast<std::size_t>(p.elements)), part;
  each_gradient_part(
      t, peer, [&](StageState& stage, std::int64_t at, std::int64_t first, std::int64_t count) {
        part.resize(static_cast<std::size_t>(count));
        for (const Allocation& set : stage.to_update()) {
          read_all(first_element(set, at, type), type, part);
          for (std::size_t i = 0; i < part.size(); ++i)
            sum[static_cast<std::size_t>(first) + i] += part[i];
        }
      });
  if (processes() != nullptr) {  // one of them has an element, and the others have 0
    std::vector<double> of_all(sum.begin(), sum.end());
    processes()->sum(of_all);
    std::transform(of_all.begin(), of_all.end(), sum.begin(),
                   [](double value) { return static_cast<float>(value); });
  }
  return p.transposed ? transposed(sum, p.local_shape[0], p.local_shape[1]) : sum;
}

void CpuExecution::set_gradient(const TiedTensor& t, int peer, const std::vector<float>& sum) {
  const PlacedParameter& p = plan_.places[t.place].layers[t.layer].parameters[t.parameter];
  const DType type = plan_.workload.layout.precision.gradient;
  const std::vector<float> own =
      p.transposed ? transposed(sum, p.local_shape[1], p.local_shape[0]) : sum;
  each_gradient_part(
      t, peer, [&](StageState& stage, std::int64_t at, std::int64_t first, std::int64_t count) {
        std::vector<float> part(own.begin() + first, own.begin() + first + count);
        for (const Allocation& set : stage.to_update()) {
          write_all(part, first_element(set, at, type), type);
          std::fill(part.begin(), part.end(), 0.0f);  // the first set holds the sum
        }
      });
}

void CpuExecution::sum_tied_gradients() {
  for (const std::vector<TiedTensor>& group : tied_)
    for (int peer = 0; peer < plan_.peers.count(); ++peer) {
      if (plan_.members(state_group(), peer).front() != peer) continue;  // the first speaks for all
      std::vector<float> sum;
      for (const TiedTensor& t : group) {
        // Both copies of a stage already hold the sum over both.
        const bool second =
            t.place > 0 && plan_.places[t.place - 1].stage == plan_.places[t.place].stage;
        if (second) continue;
        const std::vector<float> part = gradient_sum(t, peer);
        if (sum.empty())
          sum = part;
        else
          add(sum, part);
      }
      for (const TiedTensor& t : group) set_gradient(t, peer, sum);
    }
}

bool CpuExecution::is_tied_copy(std::size_t norm) const {
  return std::any_of(tied_.begin(), tied_.end(), [&](const std::vector<TiedTensor>& group) {
    return std::any_of(group.begin(), group.end(), [&](const TiedTensor& t) {
      const PlacedLayer& layer = plan_.places[t.place].layers[t.layer];
      return norms_at_[t.place][t.layer] + t.parameter == norm &&
             !layer.parameters[t.parameter].tied_to.empty();
    });
  });
}

}  // namespace trainyard
