// Implements flipped bits of a run (core/training/numbers/bit_flips.h): where they come into what
// devices hold, and where checks look at it. Tensors and elements are those of the whole model, so
// that every plan flips the same bits.
#include <algorithm>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/execution/state/updated_parts.h"
#include "backends/cpu/kernels/convert.h"
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

// Flips those bits that a part of a tensor holds, whose elements follow each other from `first` in
// what the device has of it.
void flip_part(const std::vector<BitFlip>& flips, const TensorPart& held, std::int64_t first,
               std::int64_t elements, std::byte* numbers, int bytes) {
  if (flips.empty()) return;
  for (std::int64_t e = 0; e < elements; ++e) {
    const std::int64_t in_whole = held.index(first + e);
    for (auto flip = std::lower_bound(flips.begin(), flips.end(), BitFlip{in_whole, 0});
         flip != flips.end() && flip->element == in_whole; ++flip)
      flip_bit(numbers + e * bytes, bytes, flip->bit);
  }
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
// tensor) for all parameters that are trained, on every device.
template <class F>
void CpuExecution::each_updated(F&& f) {
  for (std::size_t at = 0; at < plan_.places.size(); ++at)
    for (int peer = 0; peer < peers() && plan_.places[at].gradients > 0; ++peer)
      each_updated_by(at, peer, f);
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
  if (!flips_->looks()) return;
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

// A stage that two devices hold, and replicas, flip alike.
void CpuExecution::flip_weights() {
  const DType type = weight_update_ == WeightUpdate::Master
                         ? DType::F32
                         : plan_.workload.layout.precision.parameter;
  bool any = false;
  for (std::size_t at = 0; at < plan_.places.size(); ++at) {
    const StagePlacement& place = plan_.places[at];
    for (std::size_t l = 0; l < place.layers.size(); ++l)
      for (const PlacedParameter& p : place.layers[l].parameters) {
        if (!has_own_state(p) || p.frozen) continue;
        const FlipKey key{FlipClass::Weights,
                          number_of(place.layers[l].model_layer, p.tensor.value), 0};
        const std::vector<BitFlip>& flips = flips_->flipped(
            key, elements_of(p), type, flip_name("weight", place.layers[l], p.name));
        if (flips.empty()) continue;
        any = true;
        std::vector<float> whole = whole_parameter(at, place.layers[l], p);
        for (const BitFlip& flip : flips) {
          float& number = whole[static_cast<std::size_t>(flip.element)];
          number = flipped_number(number, type, flip.bit);
        }
        for (int peer = 0; peer < peers(); ++peer)
          set_parameter(state(place.device, peer), at, l, p, whole);
      }
  }
  if (any) gather_all();
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
      flip_gradients(at, peer);
}

// A message has no tensor beside what its stage sends: it is of the first layer that takes it.
void CpuExecution::flip_message(const At& to, bool forward, std::span<std::byte> arrived,
                                DType type) {
  const StagePlacement& place = plan_.places[to.place];
  const PlacedLayer& layer = forward ? place.layers.front() : place.layers.back();
  const FlipKey key{FlipClass::Messages,
                    number_of(layer.model_layer, forward ? kForwardMessage : kBackwardMessage),
                    samples_before() + sample(to.microbatch, plan_.peers.replica(to.peer))};
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
                 samples_before() + sample(a.microbatch, plan_.peers.replica(a.peer))},
                static_cast<std::byte*>(made.data), made.type, made.elements(),
                flip_name("output", layer, graph.nodes[node.value].name));
}

}  // namespace trainyard
