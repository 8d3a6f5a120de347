#include "core/training/data/document_stream.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/training/data/sample_order.h"

namespace trainyard {

struct DocumentStream::Step {
  std::mutex mutex;
  std::int64_t number = -1;
  std::vector<Drawn> samples;  // the longest first
};

DocumentStream::DocumentStream(std::shared_ptr<const PackedSamples> plan, const Batch& batch,
                               std::uint64_t seed, std::int64_t replicas)
    : plan_(std::move(plan)), batch_(batch), seed_(seed), replicas_(replicas) {
  if (plan_->open && plan_->open->by_length) sorted_ = std::make_shared<Step>();
}

DocumentStream::Drawn DocumentStream::draw(std::int64_t sample) const {
  const auto all = static_cast<std::int64_t>(plan_->samples.size());
  return {sample / all, static_cast<std::size_t>(sample_at(seed_, sample, all))};
}

// A step by length has the documents that it would have as they are drawn. Its microbatches are
// neighbours by length, and so are those that replicas have at the same time.
DocumentStream::Drawn DocumentStream::at(std::int64_t sample) const {
  if (sorted_ == nullptr) return draw(sample);
  const std::int64_t step = sample / batch_.global, in_step = sample % batch_.global,
                     microbatches = batch_.global / (batch_.micro * replicas_),
                     block = in_step / batch_.micro,
                     dealt = block % microbatches * replicas_ + block / microbatches;
  const std::lock_guard lock(sorted_->mutex);
  if (std::exchange(sorted_->number, step) != step) {
    sorted_->samples.clear();
    for (std::int64_t s = 0; s < batch_.global; ++s)
      sorted_->samples.push_back(draw(step * batch_.global + s));
    std::stable_sort(sorted_->samples.begin(), sorted_->samples.end(),
                     [&](const Drawn& a, const Drawn& b) {
                       return plan_->tokens(a.sample) > plan_->tokens(b.sample);
                     });
  }
  return sorted_->samples[static_cast<std::size_t>(dealt * batch_.micro + in_step % batch_.micro)];
}

std::vector<DocumentStream::Document> DocumentStream::documents(std::int64_t sample) const {
  const Drawn drawn = at(sample);
  const auto all = static_cast<std::int64_t>(plan_->lengths.size());
  std::vector<Document> list;
  std::int64_t first = 0;
  for (const std::int32_t document : plan_->samples[drawn.sample]) {
    const std::int64_t length = plan_->lengths[static_cast<std::size_t>(document)];
    list.push_back({drawn.epoch * all + document, first, length});
    first += length;
  }
  return list;
}

double DocumentStream::tokens(std::int64_t first, std::int64_t samples) const {
  std::int64_t sum = 0;
  for (std::int64_t s = first; s < first + samples; ++s) sum += plan_->tokens(at(s).sample);
  return static_cast<double>(sum);
}

std::int64_t DocumentStream::width(std::int64_t first_sample, std::int64_t samples) const {
  if (!plan_->open) return plan_->sequence;
  std::int64_t longest = 1;
  for (std::int64_t s = first_sample; s < first_sample + samples; ++s)
    longest = std::max(longest, plan_->tokens(at(s).sample));
  return plan_->open->width(longest);
}

DocumentBounds DocumentStream::bounds_alone(std::int64_t first_sample, std::int64_t samples) const {
  return bounds_within(first_sample, samples, plan_->sequence);
}

DocumentBounds DocumentStream::bounds_within(std::int64_t first_sample, std::int64_t samples,
                                             std::int64_t width) const {
  DocumentBounds made;
  made.sequence = width;
  made.packed = plan_->packed;
  for (std::int64_t s = 0; s < samples; ++s) {
    std::int64_t position = 0;
    for (const Document& one : documents(first_sample + s)) {
      const auto count = static_cast<std::size_t>(one.length);
      made.begins.insert(made.begins.end(), count, static_cast<std::int32_t>(one.first));
      position = one.first + one.length;
      made.ends.insert(made.ends.end(), count, static_cast<std::int32_t>(position));
    }
    for (; position < width; ++position) {
      made.begins.push_back(static_cast<std::int32_t>(position));
      made.ends.push_back(static_cast<std::int32_t>(position));
    }
  }
  made.counted = tokens(first_sample, samples);
  return made;
}

DocumentBounds DocumentStream::bounds(std::int64_t first_sample, std::int64_t samples,
                                      std::int64_t width) const {
  DocumentBounds made = bounds_within(first_sample, samples, width);
  // A sum over the step is that of its documents as they are drawn, in whatever order it has them.
  const std::int64_t step = first_sample / batch_.global * batch_.global;
  std::int64_t of_step = 0;
  for (std::int64_t s = step; s < step + batch_.global; ++s)
    of_step += plan_->tokens(draw(s).sample);
  made.counted = static_cast<double>(of_step) * static_cast<double>(samples) /
                 static_cast<double>(batch_.global);
  return made;
}

}  // namespace trainyard
