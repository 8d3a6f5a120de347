// Data in which every microbatch comes twice, one after the other: training against bit errors
// computes its gradients once with weights as they are stored, and once with flipped bits in them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/training/data_source.h"

namespace trainyard {

/// Microbatches 2 k and 2 k + 1 have the samples of the source's microbatch k. What is for
/// evaluation comes as the source has it. It does not act. The source must outlive it.
class RepeatedData final : public DataSource {
 public:
  /// micro: samples of a microbatch. A request must not reach over the end of one.
  RepeatedData(const DataSource& source, std::int64_t micro) : source_(source), micro_(micro) {}

  std::string_view name() const override { return source_.name(); }
  std::string provenance() const override { return source_.provenance(); }
  std::string content() const override { return source_.content(); }
  std::int64_t samples() const override { return 2 * source_.samples(); }
  std::int64_t evaluation_samples() const override { return source_.evaluation_samples(); }
  std::optional<std::int64_t> stored_sample(std::int64_t position) const override {
    return source_.stored_sample(of_source(position));
  }
  Diagnostics check(const Model& model) const override { return source_.check(model); }
  void fill(const DataRequest& request, std::span<float> into) const override {
    source_.fill(once(request), into);
  }
  void fill(const DataRequest& request, std::span<std::int64_t> into) const override {
    source_.fill(once(request), into);
  }

 private:
  std::int64_t of_source(std::int64_t position) const {
    return position / micro_ / 2 * micro_ + position % micro_;
  }
  DataRequest once(DataRequest request) const {
    if (!request.evaluation) request.first_sample = of_source(request.first_sample);
    return request;
  }

  const DataSource& source_;
  std::int64_t micro_;
};

}  // namespace trainyard
