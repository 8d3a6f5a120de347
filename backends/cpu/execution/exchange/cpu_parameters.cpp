// Implements where a device's parameters and their gradients lie: as an op reads them, and of a
// whole tensor the part that is given to the device or asked of it.
#include <algorithm>
#include <cstring>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/kernels/convert.h"
#include "backends/cpu/memory/tensor_part.h"
#include "core/base/error.h"
#include "core/methods/layers/transients.h"
#include "core/training/optimizers/formatted_rule.h"

namespace trainyard {
namespace {

float number_at(const std::byte* base, DType type, std::int64_t index) {
  switch (type) {
    case DType::BF16:
      return from_bf16(reinterpret_cast<const std::uint16_t*>(base)[index]);
    case DType::F16:
      return from_f16(reinterpret_cast<const std::uint16_t*>(base)[index]);
    default:
      return reinterpret_cast<const float*>(base)[index];
  }
}

// State of another job, so many bytes behind that of the first.
template <class T>
T* after_jobs(T* state, std::ptrdiff_t behind) {
  return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(state) + behind);
}

}  // namespace

CpuExecution::Owned CpuExecution::owned(const At& a, std::size_t l, TensorId tensor) const {
  const StagePlacement& place = plan_.places[a.place];
  const PlacedLayer& layer = place.layers[l];
  const PlacedParameter& own =
      layer.parameters[static_cast<std::size_t>(layer.of_tensor[tensor.value])];
  TensorView view = plan_.layouts[static_cast<std::size_t>(layer.layout)].local[tensor.value];
  view.transposed = own.owner >= 0 && own.transposed;
  const PlacedLayer& owner =
      own.owner < 0 ? layer : place.layers[static_cast<std::size_t>(own.owner_layer)];
  const PlacedParameter& stored =
      own.owner < 0 ? own : owner.parameters[static_cast<std::size_t>(own.owner)];
  const StatePart& part = owner.part_of(stored);
  const std::int64_t offset = stored.offset - part.first;
  if (own.owner >= 0) return {view, offset, part, own.weights_full_at, own.gradients_full_at};
  return {view, offset, part, part.full.at + offset * part.full.each,
          part.gradients.full_at + offset};
}

TensorView CpuExecution::parameter(const At& a, std::size_t l, const LayerFlight& flight,
                                   TensorId tensor, Pass pass, Scratch& scratch) const {
  const StageState& stage = a.device.stage(a.place);
  auto [view, offset, part, weights_full_at, gradients_full_at] = owned(a, l, tensor);
  const bool divided = part.weights.shards > 1;
  if ((divided ? part.full : part.held).codes()) view.type = DType::F8;
  if (part.stays) {
    view.data = part.gathered.of(stage.gathered.data, offset);
    return view;
  }
  if (divided) {
    // A separate weight-gradient pass does not need the weights.
    if (!flight.gathered && pass == Pass::BackwardWeight) return view;
    if (!flight.gathered) refuse("the weights of a layer are read, and they are not gathered");
    view.data = flight.gathered.data + weights_full_at;
    return view;
  }
  if (const float* weights = derived_read(a, stage)) {
    weights += part.optimizer.at + offset;
    view.data = const_cast<float*>(weights);
    if (view.type == DType::F32) return view;
    view.data = scratch.take(static_cast<std::size_t>(view.bytes().value));
    from_floats(weights, view.data, view.type, view.elements());
    return view;
  }
  view.data = const_cast<std::byte*>(part.held.of(weights_read(a, stage), offset));
  return view;
}

// The weights of the version that the instruction names, unless it reads derived ones.
const std::byte* CpuExecution::weights_read(const At& a, const StageState& stage) const {
  const std::size_t set =
      std::min(static_cast<std::size_t>(a.instruction.wave), stage.weights.size() - 1);
  if (!plan_.asynchronous) return stage.weights[set].data;
  const int version = a.instruction.weights;
  const bool own = stage.weights.size() > 1;  // a wave with its own weights reads the newest
  if (version != stage.version && !own) {
    for (const StageState::Older& older : stage.older)
      if (older.version == version) return older.weights.data;
    refuse("weight version " + std::to_string(version) + " is read, and the newest is " +
           std::to_string(stage.version) +
           "; older ones that are held: " + std::to_string(stage.older.size()));
  }
  return stage.weights[set].data;
}

TensorView CpuExecution::parameter_gradient(const At& a, std::size_t l, const LayerFlight& flight,
                                            TensorId tensor) const {
  const StageState& stage = a.device.stage(a.place);
  auto [view, offset, part, weights_full_at, gradients_full_at] = owned(a, l, tensor);
  view.type = plan_.workload.layout.precision.gradient;
  const std::size_t each = static_cast<std::size_t>(bytes_of(view.type));
  if (flight.unreduced && part.gradients.shards > 1) {
    view.data = flight.unreduced.data + static_cast<std::size_t>(gradients_full_at) * each;
    return view;
  }
  if (part.gradients.shards > 1) {
    const std::vector<Transient>& transients =
        plan_.layouts[static_cast<std::size_t>(plan_.places[a.place].layers[l].layout)]
            .body->transients;
    for (std::size_t i = 0; i < transients.size(); ++i)
      if (transients[i].gradient && transients[i].tensor == tensor) {
        view.data = flight.transients[i].data;
        return view;
      }
  }
  const std::size_t set =
      std::min(static_cast<std::size_t>(a.instruction.wave), stage.gradients.size() - 1);
  view.data =
      stage.gradients[set].data + static_cast<std::size_t>(part.gradients.at + offset) * each;
  return view;
}

// The input pass of a split backward has made some of a layer's gradients. They join those that its
// weight pass makes, which begin as 0.
void CpuExecution::add_late_gradients(const At& a) const {
  const std::size_t l = plan_.layer_of(a.task.layer);
  LayerFlight& flight = a.device.flight(a.place, a.microbatch).layers[l];
  const LayerLayout& layout =
      plan_.layouts[static_cast<std::size_t>(plan_.places[a.place].layers[l].layout)];
  for (std::size_t i = 0; i < layout.body->transients.size(); ++i) {
    const Transient& t = layout.body->transients[i];
    if (!is_late_gradient(*layout.graph, t) || !flight.transients[i]) continue;
    auto* const to = static_cast<std::byte*>(parameter_gradient(a, l, flight, t.tensor).data);
    const std::byte* const from = flight.transients[i].data;
    a.device.each_job([&](std::ptrdiff_t job) {
      std::memcpy(to + job, from + job, static_cast<std::size_t>(t.bytes.value));
    });
  }
}

void CpuExecution::set_parameter(DeviceState& device, std::size_t at, std::size_t l,
                                 const PlacedParameter& p, const std::vector<float>& whole,
                                 std::size_t job) {
  const std::ptrdiff_t behind = static_cast<std::ptrdiff_t>(job) * device.arena().stride();
  const PlacedLayer& layer = plan_.places[at].layers[l];
  const DType type = plan_.workload.layout.precision.parameter;
  StageState& stage = device.stage(at);
  const std::vector<float> own =
      part_of_tensor(whole, tensor_part(p, plan_.peers.part_of(p, device.peer())));
  const StatePart& part = layer.part_of(p);
  begin_with(stage, at, layer, p, whole, own);
  // Calls f(index in what is held of a kind of state, numbers) with what this device has of it.
  const auto held = [&](const DividedState& of, auto&& f) {
    const PartRange range = held_range(part, of, device.peer());
    const std::int64_t begin = std::max(range.first, p.offset),
                       end = std::min(range.first + range.count, p.offset + p.elements);
    if (begin < end)
      f(begin - range.first, std::span(own).subspan(static_cast<std::size_t>(begin - p.offset),
                                                    static_cast<std::size_t>(end - begin)));
  };
  const bool remainder = formats().remainder;
  held(part.weights, [&](std::int64_t index, std::span<const float> numbers) {
    for (Allocation& set : stage.weights) {
      std::byte* const to = part.held.of(set.data, index) + behind;
      if (part.held.codes())
        write_codes(stage, at, layer, p, set.data, to,
                    held_range(part, part.weights, device.peer()).first + index - p.offset,
                    rounded(numbers, type), false);
      else if (remainder)
        divide_main_weights(numbers, reinterpret_cast<std::uint16_t*>(to), {});
      else
        from_floats(numbers.data(), to, type, static_cast<std::int64_t>(numbers.size()));
    }
  });
  const auto copy_to = [&](float* slot) {
    held(part.optimizer, [&](std::int64_t index, std::span<const float> numbers) {
      std::copy(numbers.begin(), numbers.end(), slot + part.optimizer.at + index);
    });
  };
  if (on_nvme()) {
    if (weight_update_ != WeightUpdate::Master) return;  // the host begins with the device's
    return held(part.optimizer, [&](std::int64_t index, std::span<const float> numbers) {
      write_nvme_weights(device, layer, part.optimizer.at + index - layer.optimizer_at,
                         std::as_bytes(numbers));
    });
  }
  begin_centre(stage, at, part, p, own);
  begin_server(device, at, layer, p, own);
  for (std::size_t set = 0; set < stage.optimizer.size(); ++set) {
    if (formats().scaled_main) {
      held(part.optimizer, [&](std::int64_t, std::span<const float> numbers) {
        scaled_main(stage.optimizer[set], behind, at, layer, p, device.peer()).write(0, 0, numbers);
      });
      continue;
    }
    if (remainder) {
      held(part.optimizer, [&](std::int64_t index, std::span<const float> numbers) {
        std::vector<std::uint16_t> weights(numbers.size());
        divide_main_weights(numbers, weights.data(),
                            {after_jobs(remainders(stage.optimizer[set], at, part), behind) + index,
                             numbers.size()});
      });
      continue;
    }
    if (weight_update_ == WeightUpdate::Master)
      copy_to(reinterpret_cast<float*>(stage.optimizer[set].data + behind));
    if (float* const weights = derived(stage, at, set)) copy_to(weights);
  }
}

std::uint16_t* CpuExecution::remainders(const Allocation& state, std::size_t at,
                                        const StatePart& part) const {
  return reinterpret_cast<std::uint16_t*>(state.data +
                                          plan_.places[at].optimizer * bytes_of_slots()) +
         part.optimizer.at;
}

std::vector<float> CpuExecution::whole_parameter(std::size_t at, const PlacedLayer& layer,
                                                 const PlacedParameter& p, std::size_t job) const {
  if (sync_.relaxed() && !p.frozen && has_own_state(p)) return parameter_of_all(at, layer, p);
  const DType type = plan_.workload.layout.precision.parameter;
  // The rank that updates a share has its newest values; other ranks may still have to gather them.
  // Frozen weights have no master copy: each rank gives the part that it holds.
  const StatePart& state_part = layer.part_of(p);
  const bool master = weight_update_ == WeightUpdate::Master && !p.frozen;
  const bool remainder = master && formats().remainder, scaled = master && formats().scaled_main;
  const DividedState& newest = p.frozen ? state_part.weights : state_part.optimizer;
  const std::int64_t shards = newest.shards, share = newest.share;
  std::int64_t elements = 1;
  for (std::int64_t d : p.whole_shape) elements *= d;
  std::vector<float> whole(static_cast<std::size_t>(elements));
  const std::ptrdiff_t behind =
      static_cast<std::ptrdiff_t>(job) * state(plan_.places[at].device, 0).arena().stride();
  for (std::int64_t part = 0; part < p.parts * p.expert_parts; ++part) {
    std::vector<const StageState*> by_rank;
    std::vector<std::vector<std::byte>> from_nvme;  // by rank, the layer's master weights
    std::vector<ScaledNumbers> main;                // by rank, where main weights have scales
    for (std::int64_t rank = 0; rank < shards; ++rank) {
      int peer = 0;
      while (plan_.peers.part_of(p, peer) != part ||
             plan_.peers.shard_rank(p.routed, shards, peer) != rank)
        ++peer;
      const DeviceState& device = state(plan_.places[at].device, peer);
      by_rank.push_back(&device.stage(at));
      if (master && on_nvme()) from_nvme.push_back(read_nvme_weights(device, layer));
      if (scaled)
        main.push_back(scaled_main(by_rank.back()->optimizer[0], behind, at, layer, p, peer));
    }
    const TensorPart held = tensor_part(p, part);
    for (std::int64_t e = 0; e < p.elements; ++e) {
      const std::int64_t in_whole = held.index(e);
      if (in_whole < 0) continue;
      const std::int64_t in_part = p.offset + e - state_part.first, rank = in_part / share;
      const StageState& stage = *by_rank[static_cast<std::size_t>(rank)];
      const DividedState& read = master ? state_part.optimizer : state_part.weights;
      const std::int64_t in_read = in_part - (read.shards > 1 ? rank * share : 0),
                         index = state_part.optimizer.at + in_read;
      if (!from_nvme.empty()) {
        whole[static_cast<std::size_t>(in_whole)] =
            static_cast<float>(number_at(from_nvme[static_cast<std::size_t>(rank)].data(),
                                         DType::F32, index - layer.optimizer_at));
        continue;
      }
      if (scaled) {
        const ScaledNumbers& own = main[static_cast<std::size_t>(rank)];
        whole[static_cast<std::size_t>(in_whole)] = own.number(0, e - own.first());
        continue;
      }
      if (remainder) {
        const std::int64_t in_weights =
            in_part - (state_part.weights.shards > 1 ? rank * share : 0);
        const auto* const weight = reinterpret_cast<const std::uint16_t*>(
            state_part.held.of(stage.weights[0].data, in_weights) + behind);
        const std::uint16_t lower =
            after_jobs(remainders(stage.optimizer[0], at, state_part), behind)[in_read];
        join_main_weights(weight, {&lower, 1}, &whole[static_cast<std::size_t>(in_whole)]);
        continue;
      }
      // Waves with weights of their own train one model, which is their mean.
      const std::vector<Allocation>& sets = master ? stage.optimizer : stage.weights;
      double sum = 0;
      for (const Allocation& set : sets)
        sum += static_cast<double>(
            master ? number_at(set.data + behind, DType::F32, index)
            : state_part.held.codes()
                ? number_of_code(stage, at, layer, p, set.data,
                                 state_part.held.of(set.data, in_read - e), e)
                : number_at(state_part.held.of(set.data, in_read) + behind, type, 0));
      whole[static_cast<std::size_t>(in_whole)] =
          static_cast<float>(sum / static_cast<double>(sets.size()));
    }
  }
  return whole;
}

}  // namespace trainyard
