// Implements training against bit errors (RandBET): of two microbatches with the same samples the
// first reads weights as codes of a robust quantiser, the second the same codes after errors of a
// chip that is drawn for it. Gradients go straight through to the weights themselves.
#include <algorithm>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/kernels/convert.h"
#include "core/training/numbers/bit_errors.h"

namespace trainyard {
namespace {

constexpr std::uint64_t kTrainingChips = 0xb175;  // stream of the chips that are drawn

}  // namespace

// The loss of the first microbatch of a pair is known when the second one begins, because both are
// of one device that holds all layers.
double CpuExecution::bit_error_rate(const At& a) const {
  const std::int64_t own = sample(a.microbatch, plan_.peers.replica(a.peer));
  const bool repeats = own % 2 == 1;
  if (!repeats || loss(static_cast<std::size_t>(own - 1)) >= training_.bit_errors_below) return 0;
  return training_.bit_errors;
}

TensorView CpuExecution::as_stored(const At& a, std::size_t l, TensorId tensor, TensorView view,
                                   Scratch& scratch) const {
  const PlacedLayer& layer = plan_.places[a.place].layers[l];
  const PlacedParameter* stored =
      &layer.parameters[static_cast<std::size_t>(layer.of_tensor[tensor.value])];
  const PlacedLayer* of = &layer;
  if (stored->owner >= 0) {
    of = &plan_.places[a.place].layers[static_cast<std::size_t>(stored->owner_layer)];
    stored = &of->parameters[static_cast<std::size_t>(stored->owner)];
  }
  if (!stored->matrix) return view;
  const std::int64_t count = view.elements();
  auto* const numbers =
      static_cast<float*>(scratch.take(static_cast<std::size_t>(count) * sizeof(float)));
  to_floats(view.data, view.type, numbers, count);
  const std::int64_t pair =
      (samples_before() + sample(a.microbatch, plan_.peers.replica(a.peer))) / 2;
  const Random chips(seed_of(training_, RandomSource::Rounding), kTrainingChips);
  constexpr std::uint64_t kMostParameters = 1 << 20;  // of a layer
  const auto id = static_cast<std::uint64_t>(of->model_layer) * kMostParameters +
                  static_cast<std::uint64_t>(stored - of->parameters.data());
  const std::span<float> weights(numbers, static_cast<std::size_t>(count));
  store_with_errors(training_.bit_error_bits,
                    {bit_error_rate(a), chips.bits(static_cast<std::uint64_t>(pair)), id}, weights);
  if (const auto most = static_cast<float>(training_.weight_clip); most > 0)
    for (float& weight : weights) weight = std::clamp(weight, -most, most);
  view.data = numbers;
  if (view.type == DType::F32) return view;
  view.data = scratch.take(static_cast<std::size_t>(view.bytes().value));
  from_floats(numbers, view.data, view.type, count);
  return view;
}

}  // namespace trainyard
