// A SampleCache is data whose decoded samples are kept in memory until that is full. Nothing is
// thrown out for another sample: every epoch reads each sample once, so that all are equally good
// to keep, and in every epoch after the first the share of hits is the share of the data set that
// is kept (core/result/input_cost.h).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "core/training/data_source.h"

namespace trainyard {

/// All samples that were read for training; where ranks share a sample, each reads it.
struct CacheCounts {
  std::int64_t hits = 0, misses = 0;  // samples that were kept, and samples that were decoded
  std::int64_t kept = 0;              // samples
  Bytes bytes{}, capacity{};          // bytes: of the samples kept
  double hit_share() const {
    return hits + misses > 0 ? static_cast<double>(hits) / static_cast<double>(hits + misses) : 0;
  }
};

class SampleCache final : public DataSource {
 public:
  /// The source's stored_sample() has an answer. A capacity of 0 keeps nothing and counts what is
  /// decoded.
  SampleCache(std::unique_ptr<DataSource> source, Bytes capacity)
      : source_(std::move(source)), capacity_(capacity) {}

  CacheCounts counts() const;

  std::string_view name() const override { return source_->name(); }
  std::string provenance() const override { return source_->provenance(); }
  std::string content() const override { return source_->content(); }
  std::int64_t samples() const override { return source_->samples(); }
  std::int64_t evaluation_samples() const override { return source_->evaluation_samples(); }
  std::optional<std::int64_t> stored_sample(std::int64_t position) const override {
    return source_->stored_sample(position);
  }
  Diagnostics check(const Model& model) const override { return source_->check(model); }
  void fill(const DataRequest&, std::span<float>) const override;
  /// Labels and indices are read as they are stored, and neither kept nor counted.
  void fill(const DataRequest& request, std::span<std::int64_t> into) const override {
    source_->fill(request, into);
  }

 private:
  // Decoded samples of one tensor, by stored sample.
  struct Tensor {
    std::string name;
    std::vector<std::int64_t> shape;  // of one sample
    std::int64_t first_token = 0;
    std::unordered_map<std::int64_t, std::vector<float>> samples = {};
  };
  Tensor& tensor_of(const DataRequest&, std::span<const std::int64_t> shape) const;

  std::unique_ptr<DataSource> source_;
  Bytes capacity_;
  mutable std::mutex lock_;
  mutable std::vector<std::unique_ptr<Tensor>> tensors_;
  mutable CacheCounts counts_;
};

}  // namespace trainyard
