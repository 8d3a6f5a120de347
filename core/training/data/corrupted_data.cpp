#include "core/training/data/corrupted_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "core/training/model_inputs.h"

namespace trainyard {
namespace {

/// The rows of an image; no rows where the sample is none.
struct ImageRows {
  std::int64_t height = 0, width = 0;
};

// A list of numbers is an image where it is a square: networks of whole layers read one row behind
// the other.
ImageRows image_rows(std::span<const std::int64_t> sample) {
  if (sample.size() == 3) return {sample[1], sample[2]};
  if (sample.size() != 1) return {};
  const std::int64_t side = std::llround(std::sqrt(static_cast<double>(sample[0])));
  return side > 1 && side * side == sample[0] ? ImageRows{side, side} : ImageRows{};
}

// The numbers of a request's samples, whose dimension of the batch may lie behind that of the
// sequence.
struct SamplesOfRequest {
  std::int64_t count = 0, outer = 1, inner = 1;
  std::size_t dimension = 0;  // of the batch
  bool there = false;         // the tensor has such a dimension

  SamplesOfRequest(const Shape& dims, std::span<const std::int64_t> shape) {
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (dims[d].axis == Axis::Batch)
        count = shape[d], dimension = d, there = true;
      else
        (there ? inner : outer) *= shape[d];
  }
  // Copies a sample out of the request's numbers, or into them.
  template <class Number, class Copy>
  void each(std::span<Number> all, std::int64_t sample, Copy&& copy) const {
    for (std::int64_t o = 0; o < outer; ++o)
      copy(all.subspan(static_cast<std::size_t>((o * count + sample) * inner),
                       static_cast<std::size_t>(inner)),
           static_cast<std::size_t>(o * inner));
  }
  template <class Number>
  std::vector<Number> read(std::span<Number> all, std::int64_t sample) const {
    std::vector<Number> one(static_cast<std::size_t>(outer * inner));
    each(all, sample, [&](std::span<Number> part, std::size_t at) {
      std::copy(part.begin(), part.end(), one.begin() + static_cast<std::ptrdiff_t>(at));
    });
    return one;
  }
  template <class Number>
  void write(const std::vector<Number>& one, std::span<Number> all, std::int64_t sample) const {
    each(all, sample, [&](std::span<Number> part, std::size_t at) {
      std::copy_n(one.begin() + static_cast<std::ptrdiff_t>(at), part.size(), part.begin());
    });
  }
};

bool comes_by_sample(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(),
                     [](const Dim& dim) { return dim.axis == Axis::Batch; });
}

bool can_corrupt(const ModelInput& input, CorruptionKind kind) {
  const Shape& shape = input.in_graph().shape;
  if (!comes_by_sample(shape) || kind == CorruptionKind::Bits) return false;
  if (input.role == InputRole::Rows) return kind == CorruptionKind::Replace;
  if (input.role != InputRole::Numbers || kind == CorruptionKind::Replace) return false;
  if (kind != CorruptionKind::Shift) return true;
  std::vector<std::int64_t> sizes;
  for (const Dim& dim : shape)
    if (dim.axis != Axis::Batch) sizes.push_back(dim.size);
  return image_rows(sizes).width > 0;
}

}  // namespace

Diagnostics check_corruption(const Model& model, const Corruption& corruption, const Place& place) {
  const std::vector<ModelInput> inputs = model_inputs(model);
  if (corruption.kind == CorruptionKind::Bits) return {};  // which changes weights
  if (std::any_of(inputs.begin(), inputs.end(),
                  [&](const ModelInput& input) { return can_corrupt(input, corruption.kind); }))
    return {};
  const bool reads_tokens = std::any_of(inputs.begin(), inputs.end(), [](const ModelInput& input) {
    return input.role == InputRole::Rows;
  });
  return {{Diagnostic::Severity::Error,
           fmt::format("expected inputs that can be corrupted so, found that {} reads {}",
                       model.name, reads_tokens ? "tokens" : "numbers that are no image"),
           place, reads_tokens ? "replace:0.1" : "noise:0.3"}};
}

template <class Number>
void CorruptedData::corrupt_samples(const DataRequest& request, std::span<Number> into) const {
  const SamplesOfRequest samples(request.graph[request.tensor].shape, request.shape);
  if (corruption_.amount == 0 || !samples.there) return;
  const ModelInput input = model_input(request);
  if (!can_corrupt(input, corruption_.kind)) return;
  std::vector<std::int64_t> shape(request.shape.begin(), request.shape.end());
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(samples.dimension));
  for (std::int64_t b = 0; b < samples.count; ++b) {
    const Random random(seed_, static_cast<std::uint64_t>(request.first_sample + b));
    std::vector<Number> sample = samples.read(into, b);
    if constexpr (std::is_same_v<Number, float>) {
      const ImageRows rows = image_rows(shape);
      corrupt(corruption_, random, rows.height, rows.width, sample);
    } else {
      corrupt(corruption_, random, input.limit, sample);
    }
    samples.write(sample, into, b);
  }
}
template void CorruptedData::corrupt_samples(const DataRequest&, std::span<float>) const;
template void CorruptedData::corrupt_samples(const DataRequest&, std::span<std::int64_t>) const;

template <class Number>
void PairedData::fill_pairs(const DataRequest& request, std::span<Number> into) const {
  const SamplesOfRequest samples(request.graph[request.tensor].shape, request.shape);
  if (request.evaluation || !samples.there) return source().fill(request, into);
  std::vector<std::int64_t> shape(request.shape.begin(), request.shape.end());
  shape[samples.dimension] = 1;
  std::vector<Number> sample(static_cast<std::size_t>(samples.outer * samples.inner));
  for (std::int64_t b = 0; b < samples.count; ++b) {
    const std::int64_t position = request.first_sample + b;
    DataRequest one = request;
    one.shape = shape, one.first_sample = position / 2;
    source().fill(one, std::span(sample));
    if (position % 2 == 1) corrupt_samples(one, std::span(sample));
    samples.write(sample, into, b);
  }
}

template void PairedData::fill_pairs(const DataRequest&, std::span<float>) const;
template void PairedData::fill_pairs(const DataRequest&, std::span<std::int64_t>) const;

}  // namespace trainyard
