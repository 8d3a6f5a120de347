// Data whose inputs are corrupted when they are read, and data in which each sample comes twice:
// as it is, and corrupted. Labels, positions and numbers that are no inputs stay as they are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/training/corruption.h"
#include "core/training/data_source.h"

namespace trainyard {

/// Returns an error for each corruption of inputs that leaves every one of the model as it is:
/// images can be moved, and tokens replaced.
Diagnostics check_corruption(const Model&, const Corruption&, const Place&);

/// CorruptedData corrupts what its source says. A sample is always corrupted alike: by the seed and
/// its position in the stream. It does not act. The source must outlive it.
class CorruptedData : public DataSource {
 public:
  CorruptedData(const DataSource& source, const Corruption& corruption, std::uint64_t seed)
      : source_(source), corruption_(corruption), seed_(seed) {}

  std::string_view name() const override { return source_.name(); }
  std::string provenance() const override { return source_.provenance(); }
  std::string content() const override { return source_.content(); }
  std::int64_t samples() const override { return source_.samples(); }
  std::int64_t evaluation_samples() const override { return source_.evaluation_samples(); }
  std::optional<std::int64_t> stored_sample(std::int64_t position) const override {
    return source_.stored_sample(position);
  }
  Diagnostics check(const Model& model) const override { return source_.check(model); }
  void fill(const DataRequest& request, std::span<float> into) const override {
    source_.fill(request, into);
    corrupt_samples(request, into);
  }
  void fill(const DataRequest& request, std::span<std::int64_t> into) const override {
    source_.fill(request, into);
    corrupt_samples(request, into);
  }

 protected:
  const DataSource& source() const { return source_; }
  template <class Number>
  void corrupt_samples(const DataRequest&, std::span<Number>) const;

 private:
  const DataSource& source_;
  Corruption corruption_;
  std::uint64_t seed_;
};

/// PairedData has sample p / 2 of its source at each position p of what is trained on, corrupted
/// where p is odd. What is for evaluation comes as the source has it.
class PairedData final : public CorruptedData {
 public:
  using CorruptedData::CorruptedData;
  std::int64_t samples() const override { return 2 * source().samples(); }
  std::optional<std::int64_t> stored_sample(std::int64_t position) const override {
    return source().stored_sample(position / 2);
  }
  void fill(const DataRequest& request, std::span<float> into) const override {
    fill_pairs(request, into);
  }
  void fill(const DataRequest& request, std::span<std::int64_t> into) const override {
    fill_pairs(request, into);
  }

 private:
  template <class Number>
  void fill_pairs(const DataRequest&, std::span<Number>) const;
};

}  // namespace trainyard
