#include "core/training/document_stream.h"

#include <utility>

#include "core/training/sample_order.h"

namespace trainyard {

DocumentStream::DocumentStream(std::shared_ptr<const PackedSamples> plan, const Batch& batch,
                               std::uint64_t seed)
    : plan_(std::move(plan)), batch_(batch), seed_(seed) {}

std::size_t DocumentStream::at(std::int64_t sample) const {
  return static_cast<std::size_t>(
      sample_at(seed_, sample, static_cast<std::int64_t>(plan_->samples.size())));
}

std::vector<DocumentStream::Document> DocumentStream::documents(std::int64_t sample) const {
  const auto epoch = sample / static_cast<std::int64_t>(plan_->samples.size()),
             all = static_cast<std::int64_t>(plan_->lengths.size());
  std::vector<Document> list;
  std::int64_t first = 0;
  for (const std::int32_t document : plan_->samples[at(sample)]) {
    const std::int64_t length = plan_->lengths[static_cast<std::size_t>(document)];
    list.push_back({epoch * all + document, first, length});
    first += length;
  }
  return list;
}

double DocumentStream::tokens(std::int64_t first, std::int64_t samples) const {
  std::int64_t sum = 0;
  for (std::int64_t s = first; s < first + samples; ++s) sum += plan_->tokens(at(s));
  return static_cast<double>(sum);
}

DocumentBounds DocumentStream::bounds_alone(std::int64_t first_sample, std::int64_t samples) const {
  DocumentBounds made;
  made.sequence = plan_->sequence;
  made.packed = plan_->packed;
  for (std::int64_t s = 0; s < samples; ++s) {
    std::int64_t position = 0;
    for (const Document& one : documents(first_sample + s)) {
      const auto count = static_cast<std::size_t>(one.length);
      made.begins.insert(made.begins.end(), count, static_cast<std::int32_t>(one.first));
      position = one.first + one.length;
      made.ends.insert(made.ends.end(), count, static_cast<std::int32_t>(position));
    }
    for (; position < plan_->sequence; ++position) {
      made.begins.push_back(static_cast<std::int32_t>(position));
      made.ends.push_back(static_cast<std::int32_t>(position));
    }
  }
  made.counted = tokens(first_sample, samples);
  return made;
}

DocumentBounds DocumentStream::bounds(std::int64_t first_sample, std::int64_t samples) const {
  DocumentBounds made = bounds_alone(first_sample, samples);
  const std::int64_t step = first_sample / batch_.global * batch_.global;
  made.counted = tokens(step, batch_.global) * static_cast<double>(samples) /
                 static_cast<double>(batch_.global);
  return made;
}

}  // namespace trainyard
