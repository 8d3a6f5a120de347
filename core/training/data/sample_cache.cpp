#include "core/training/data/sample_cache.h"

#include <algorithm>
#include <utility>

namespace trainyard {

CacheCounts SampleCache::counts() const {
  const std::lock_guard guard(lock_);
  CacheCounts counts = counts_;
  counts.capacity = capacity_;
  return counts;
}

SampleCache::Tensor& SampleCache::tensor_of(const DataRequest& request,
                                            std::span<const std::int64_t> shape) const {
  const std::string& name = request.graph[request.tensor].name;
  for (const std::unique_ptr<Tensor>& one : tensors_)
    if (one->name == name && one->first_token == request.first_token &&
        std::equal(one->shape.begin(), one->shape.end(), shape.begin(), shape.end()))
      return *one;
  tensors_.push_back(
      std::make_unique<Tensor>(Tensor{name, {shape.begin(), shape.end()}, request.first_token}));
  return *tensors_.back();
}

void SampleCache::fill(const DataRequest& request, std::span<float> into) const {
  const Shape& dims = request.graph[request.tensor].shape;
  if (request.evaluation || dims.empty() || dims[0].axis != Axis::Batch)
    return source_->fill(request, into);
  std::vector<std::int64_t> one(request.shape.begin(), request.shape.end());
  const auto each = into.size() / static_cast<std::size_t>(std::max<std::int64_t>(1, one[0]));
  const Bytes size{static_cast<std::int64_t>(each * sizeof(float))};
  const std::int64_t samples = std::exchange(one[0], 1);
  for (std::int64_t b = 0; b < samples; ++b) {
    const std::span<float> row = into.subspan(static_cast<std::size_t>(b) * each, each);
    const std::int64_t stored = source_->stored_sample(request.first_sample + b).value();
    std::unique_lock guard(lock_);
    Tensor& tensor = tensor_of(request, one);
    if (const auto found = tensor.samples.find(stored); found != tensor.samples.end()) {
      ++counts_.hits;
      guard.unlock();  // what is kept stays where it is
      std::copy(found->second.begin(), found->second.end(), row.begin());
      continue;
    }
    ++counts_.misses;
    guard.unlock();
    DataRequest part = request;
    part.shape = one, part.first_sample = request.first_sample + b;
    source_->fill(part, row);
    guard.lock();
    if (counts_.bytes + size > capacity_) continue;
    if (!tensor.samples.try_emplace(stored, row.begin(), row.end()).second) continue;
    counts_.bytes += size, ++counts_.kept;
  }
}

}  // namespace trainyard
