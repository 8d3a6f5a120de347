// Implements flipped bits of a run (core/training/numbers/bit_flips.h): where they come into what
// devices hold, and where checks look at it. Tensors and elements are those of the whole model, so
// that every plan flips the same bits, and every process those of its devices. What tensor and
// context ranks make of a microbatch is each rank's own: there every one of them flips others.
#include <algorithm>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/execution/state/updated_parts.h"
#include "backends/cpu/kernels/convert.h"
#include "backends/processes.h"
#include "core/base/packed.h"
#include "core/model/layer_name.h"

namespace trainyard {
namespace {

// A tensor's number has room for what is kept of it: its weights, the slots of the optimizer, and
// its gradients.
constexpr std::uint64_t kKinds = 16, kGradients = kKinds - 1;
constexpr std::uint64_t kTensorsOfLayer = 1 << 20;
// Messages between stages are no tensors of a layer's graph.
constexpr std::uint64_t kForwardMessage = kTensorsOfLayer - 1,
                        kBackwardMessage = kTensorsOfLayer - 2;

std::int64_t elements_of(const PlacedParameter& p) {
  std::int64_t elements = 1;
  for (const std::int64_t size : p.whole_shape) elements *= size;
  return elements;
}

std::uint64_t number_of(int model_layer, std::uint64_t tensor) {
  return (static_cast<std::uint64_t>(model_layer) * kTensorsOfLayer + tensor) * kKinds;
}

bool is_float(DType type) {
  return type == DType::F32 || type == DType::BF16 || type == DType::F16;
}

// Flips bits of a number as it is stored.
float flipped_number(float number, DType type, int bit) {
  std::byte stored[sizeof(float)];
  from_floats(&number, stored, type, 1);
  flip_bit(stored, bytes_of(type), bit);
  to_floats(stored, type, &number, 1);
  return number;
}

// Calls f(element of the part, flip or number) for those of a list in rising order of elements of
// the whole tensor that a part of it has. Elements of the part follow each other from `first` in
// what the device has of the tensor.
template <class Listed, class F>
void each_in_part(const std::vector<Listed>& list, const TensorPart& held, std::int64_t first,
                  std::int64_t elements, F&& f) {
  if (list.empty()) return;
  for (std::int64_t e = 0; e < elements; ++e) {
    const std::int64_t in_whole = held.index(first + e);
    const auto before = [](const Listed& one, std::int64_t element) {
      return one.element < element;
    };
    for (auto at = std::lower_bound(list.begin(), list.end(), in_whole, before);
         at != list.end() && at->element == in_whole; ++at)
      f(e, *at);
  }
}

void flip_part(const std::vector<BitFlip>& flips, const TensorPart& held, std::int64_t first,
               std::int64_t elements, std::byte* numbers, int bytes) {
  each_in_part(flips, held, first, elements, [&](std::int64_t e, const BitFlip& flip) {
    flip_bit(numbers + e * bytes, bytes, flip.bit);
  });
}

// A weight whose bits have flipped.
struct NewWeight {
  std::int64_t element = 0;  // of the whole tensor
  float number = 0;
};
using NewWeights = std::map<std::uint64_t, std::vector<NewWeight>>;  // by number of the tensor

// The owners of weights tell all processes, in which there may be copies of them.
NewWeights told_to_all(NewWeights own, Processes* processes) {
  if (processes == nullptr) return own;
  std::string bytes;
  for (const auto& [tensor, weights] : own) {
    append(bytes, tensor);
    append_list(bytes, weights);
  }
  NewWeights all;
  for (const std::string& one : processes->all_gather(bytes))
    for (Pieces pieces(one); pieces.left();) {
      std::vector<NewWeight>& into = all[pieces.next<std::uint64_t>()];
      const std::vector<NewWeight> more = pieces.list<NewWeight>();
      into.insert(into.end(), more.begin(), more.end());
    }
  return all;
}

}  // namespace

DType CpuExecution::type_of_slot(std::string_view slot) const {
  return is_pure_bf16(weight_update_) ? DType::BF16 : slot_format(formats(), slot);
}

std::string CpuExecution::flip_name(std::string_view what, const PlacedLayer& layer,
                                    std::string_view name) const {
  return std::string(what) + " \"" + std::string(name) + "\" in " +
         layer_name(plan_.workload.scenario.model, static_cast<std::size_t>(layer.model_layer));
}

// Calls f(layer, parameter, its part that a device updates, what that device has of the whole
// tensor) for all parameters that are trained, on every device that is here.
template <class F>
void CpuExecution::each_updated(F&& f) {
  for (std::size_t at = 0; at < plan_.places.size(); ++at)
    for (int peer = 0; peer < peers() && plan_.places[at].gradients > 0; ++peer)
      if (here(plan_.places[at].device, peer)) each_updated_by(at, peer, f);
}

template <class F>
void CpuExecution::each_updated_by(std::size_t at, int peer, F&& f) {
  const StagePlacement& place = plan_.places[at];
  DeviceState& device = state(place.device, peer);
  for (std::size_t l = 0; l < place.layers.size(); ++l)
    each_part_of(device, at, 0, l, 0, [&](const ParameterPart& part, std::size_t norm) {
      const PlacedParameter& p = *parameter_of_[norm];
      f(place.layers[l], p, part, tensor_part(p, plan_.peers.part_of(p, peer)));
    });
}

std::map<FlipKey, FlipSight> CpuExecution::sights_of_state() {
  std::map<FlipKey, FlipSight> sights;
  const std::vector<std::string_view> slots = rule().slots();
  each_updated([&](const PlacedLayer& layer, const PlacedParameter& p, const ParameterPart& part,
                   const TensorPart& held) {
    const std::uint64_t number = number_of(layer.model_layer, p.tensor.value);
    const auto see = [&](FlipClass of, std::uint64_t kind, const void* numbers, DType type) {
      sights[{of, number + kind, 0}] +=
          flip_sight(static_cast<const std::byte*>(numbers), type, part.elements,
                     [&](std::int64_t e) { return held.index(part.first + e); });
    };
    if (part.master != nullptr)
      see(FlipClass::Weights, 0, part.master, DType::F32);
    else
      see(FlipClass::Weights, 0, part.weights, part.weight_type);
    for (std::size_t k = 0; k < part.state.size(); ++k)
      see(FlipClass::Optimizer, k + 1, part.state[k], type_of_slot(slots[k]));
  });
  return sights;
}

void CpuExecution::see_state() {
  if (flips_ != nullptr && flips_->looks()) sights_ = sights_of_state();
}

void CpuExecution::begin_flips() {
  flips_->begin_step(updates_);
  if (flips_->looks() && sights_.empty()) see_state();
  if (flips_->flips(FlipClass::Weights)) flip_weights();
  if (flips_->flips(FlipClass::Optimizer)) flip_optimizer();
  if (flips_->looks()) look_at_state();
  flips_->settle(processes());
}

void CpuExecution::look_at_state() {
  const std::map<FlipKey, FlipSight> now = sights_of_state();
  std::map<std::uint64_t, std::string> names;
  each_updated([&](const PlacedLayer& layer, const PlacedParameter& p, const ParameterPart&,
                   const TensorPart&) {
    names.try_emplace(number_of(layer.model_layer, p.tensor.value), flip_name("", layer, p.name));
  });
  for (const auto& [key, seen] : now)
    flips_->look(key, sights_.at(key), seen,
                 (key.of == FlipClass::Weights ? "weight" : "optimizer state of the weight") +
                     names.at(key.tensor - key.tensor % kKinds));
}

// A stage that two devices hold, and replicas, flip alike. Who updates a weight flips it, and all
// that hold copies take over what it has become.
void CpuExecution::flip_weights() {
  const DType type = weight_update_ == WeightUpdate::Master
                         ? DType::F32
                         : plan_.workload.layout.precision.parameter;
  NewWeights flipped;
  each_updated([&](const PlacedLayer& layer, const PlacedParameter& p, const ParameterPart& part,
                   const TensorPart& held) {
    const std::uint64_t number = number_of(layer.model_layer, p.tensor.value);
    const std::vector<BitFlip>& flips = flips_->flipped(
        {FlipClass::Weights, number, 0}, elements_of(p), type, flip_name("weight", layer, p.name));
    std::vector<NewWeight> mine;
    each_in_part(flips, held, part.first, part.elements, [&](std::int64_t e, const BitFlip& flip) {
      if (mine.empty() || mine.back().element != flip.element) {
        float now = 0;
        if (part.master != nullptr)
          now = part.master[e];
        else
          to_floats(static_cast<const std::byte*>(part.weights) + e * bytes_of(type), type, &now,
                    1);
        mine.push_back({flip.element, now});
      }
      mine.back().number = flipped_number(mine.back().number, type, flip.bit);
    });
    if (mine.empty()) return;
    std::vector<NewWeight>& all = flipped[number];
    all.insert(all.end(), mine.begin(), mine.end());
  });
  flipped = told_to_all(std::move(flipped), processes());
  for (auto& [tensor, weights] : flipped)
    std::sort(weights.begin(), weights.end(),
              [](const NewWeight& a, const NewWeight& b) { return a.element < b.element; });
  for (std::size_t at = 0; at < plan_.places.size() && !flipped.empty(); ++at)
    for (int peer = 0; peer < peers(); ++peer)
      if (here(plan_.places[at].device, peer)) set_weights(at, peer, flipped);
  if (!flipped.empty()) gather_all();
}

// Writes them into what a device has of the weights and of their master copy.
template <class Weights>
void CpuExecution::set_weights(std::size_t at, int peer, const Weights& flipped) {
  const StagePlacement& place = plan_.places[at];
  const DType type = plan_.workload.layout.precision.parameter;
  StageState& stage = state(place.device, peer).stage(at);
  for (const PlacedLayer& layer : place.layers)
    for (const PlacedParameter& p : layer.parameters) {
      const auto found = flipped.find(number_of(layer.model_layer, p.tensor.value));
      if (found == flipped.end() || !has_own_state(p) || p.frozen) continue;
      const StatePart& part = layer.part_of(p);
      // Calls f(index in what is held of a kind of state, number).
      const auto each_held = [&](const DividedState& of, auto&& f) {
        const PartRange range = held_range(part, of, peer);
        const std::int64_t begin = std::max(range.first, p.offset),
                           end = std::min(range.first + range.count, p.offset + p.elements);
        if (begin < end)
          each_in_part(found->second, tensor_part(p, plan_.peers.part_of(p, peer)),
                       begin - p.offset, end - begin, [&](std::int64_t e, const auto& weight) {
                         f(begin - range.first + e, weight.number);
                       });
      };
      each_held(part.weights, [&](std::int64_t index, float number) {
        for (Allocation& set : stage.weights)
          from_floats(&number, part.held.of(set.data, index), type, 1);
      });
      if (weight_update_ != WeightUpdate::Master) continue;
      each_held(part.optimizer, [&](std::int64_t index, float number) {
        for (Allocation& set : stage.optimizer)
          reinterpret_cast<float*>(set.data)[part.optimizer.at + index] = number;
      });
    }
}

void CpuExecution::flip_optimizer() {
  const std::vector<std::string_view> slots = rule().slots();
  each_updated([&](const PlacedLayer& layer, const PlacedParameter& p, const ParameterPart& part,
                   const TensorPart& held) {
    for (std::size_t k = 0; k < part.state.size(); ++k) {
      const DType type = type_of_slot(slots[k]);
      const FlipKey key{FlipClass::Optimizer, number_of(layer.model_layer, p.tensor.value) + k + 1,
                        0};
      flip_part(flips_->flipped(key, elements_of(p), type,
                                flip_name("optimizer state of the weight", layer, p.name)),
                held, part.first, part.elements, static_cast<std::byte*>(part.state[k]),
                bytes_of(type));
    }
  });
}

// Gradients have come from other replicas where there are some.
void CpuExecution::flip_gradients(std::size_t at, int peer) {
  if (plan_.peers.dp == 1 || !(flips_->flips(FlipClass::Messages) || flips_->looks())) return;
  each_updated_by(at, peer,
                  [&](const PlacedLayer& layer, const PlacedParameter& p, const ParameterPart& part,
                      const TensorPart& held) {
                    if (p.routed && plan_.members(Group::ExpertData, peer).size() == 1) return;
                    const FlipKey key{FlipClass::Messages,
                                      number_of(layer.model_layer, p.tensor.value) + kGradients, 0};
                    auto* const numbers =
                        static_cast<std::byte*>(const_cast<void*>(part.gradients));
                    const std::string name = flip_name("gradient of the weight", layer, p.name);
                    const auto see = [&] {
                      return flip_sight(numbers, part.gradient_type, part.elements,
                                        [&](std::int64_t e) { return held.index(part.first + e); });
                    };
                    const FlipSight before = flips_->looks() ? see() : FlipSight{};
                    flip_part(flips_->flipped(key, elements_of(p), part.gradient_type, name), held,
                              part.first, part.elements, numbers, bytes_of(part.gradient_type));
                    if (flips_->looks()) flips_->look(key, before, see(), name);
                  });
}

void CpuExecution::flip_all_gradients() {
  for (std::size_t at = 0; at < plan_.places.size(); ++at)
    for (int peer = 0; peer < peers() && plan_.places[at].gradients > 0; ++peer)
      if (here(plan_.places[at].device, peer)) flip_gradients(at, peer);
}

std::int64_t CpuExecution::rank_of_replica(int peer) const {
  const Peers& ranks = plan_.peers;
  return ranks.tensor_rank(peer) + std::int64_t{ranks.tp} * ranks.context_rank(peer);
}

// A message has no tensor beside what its stage sends: it is of the first layer that takes it.
void CpuExecution::flip_message(const At& to, bool forward, std::span<std::byte> arrived,
                                DType type) {
  const StagePlacement& place = plan_.places[to.place];
  const PlacedLayer& layer = forward ? place.layers.front() : place.layers.back();
  const FlipKey key{FlipClass::Messages,
                    number_of(layer.model_layer, forward ? kForwardMessage : kBackwardMessage),
                    samples_before() + sample(to.microbatch, plan_.peers.replica(to.peer)),
                    rank_of_replica(to.peer)};
  flips_->store(key, arrived.data(), type,
                static_cast<std::int64_t>(arrived.size()) / bytes_of(type),
                flip_name("message", layer,
                          forward ? "input of the layer" : "gradient of the layer's output"));
}

// Activations that forward makes again for backward have the same flipped bits.
void CpuExecution::flip_output(const At& a, std::size_t l, NodeId node, const TensorView& made) {
  if (!made.there() || made.rank < 2 || !is_float(made.type)) return;
  const PlacedLayer& layer = plan_.places[a.place].layers[l];
  const Graph& graph = *plan_.layouts[static_cast<std::size_t>(layer.layout)].graph;
  flips_->store({FlipClass::Activations, number_of(layer.model_layer, node.value),
                 samples_before() + sample(a.microbatch, plan_.peers.replica(a.peer)),
                 rank_of_replica(a.peer)},
                static_cast<std::byte*>(made.data), made.type, made.elements(),
                flip_name("output", layer, graph.nodes[node.value].name));
}

}  // namespace trainyard
