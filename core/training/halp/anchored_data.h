// The samples of a training by HALP (core/methods/precision/halp.cpp): those of its full gradients,
// which come again in every round, and microbatches drawn from them for the steps in between.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/random.h"
#include "core/plan/halp.h"
#include "core/training/data_source.h"

namespace trainyard {

/// Microbatches of a full gradient are the source's first ones. Microbatches 2 k and 2 k + 1 of an
/// inner step have the samples of one of these, drawn with replacement. What is for evaluation
/// comes as the source has it. It does not act. The source must outlive it.
class AnchoredData final : public DataSource {
 public:
  /// micro: samples of a microbatch; microbatches: of a step, of all replicas, an even number. A
  /// request must not reach over the end of a microbatch.
  AnchoredData(const DataSource& source, const Halp& halp, std::int64_t micro,
               std::int64_t microbatches, std::uint64_t seed)
      : source_(source), halp_(halp), micro_(micro), microbatches_(microbatches), drawn_(seed) {}

  std::string_view name() const override { return source_.name(); }
  std::string provenance() const override { return source_.provenance(); }
  std::string content() const override { return source_.content(); }
  std::int64_t samples() const override { return halp_.round() * microbatches_ * micro_; }
  std::int64_t evaluation_samples() const override { return source_.evaluation_samples(); }
  std::optional<std::int64_t> stored_sample(std::int64_t position) const override {
    return source_.stored_sample(of_source(position));
  }
  Diagnostics check(const Model& model) const override { return source_.check(model); }
  void fill(const DataRequest& request, std::span<float> into) const override {
    source_.fill(anchored(request), into);
  }
  void fill(const DataRequest& request, std::span<std::int64_t> into) const override {
    source_.fill(anchored(request), into);
  }

  /// The position in the source of a position of the stream.
  std::int64_t of_source(std::int64_t position) const {
    const std::int64_t microbatch = position / micro_, step = microbatch / microbatches_,
                       in_round = step % halp_.round() * microbatches_ + microbatch % microbatches_;
    if (halp_.is_pass(step)) return in_round * micro_ + position % micro_;
    const std::int64_t of_pass = halp_.pass * microbatches_;
    return drawn_.between(static_cast<std::uint64_t>(microbatch / 2), 0, of_pass - 1) * micro_ +
           position % micro_;
  }

 private:
  DataRequest anchored(DataRequest request) const {
    if (!request.evaluation) request.first_sample = of_source(request.first_sample);
    return request;
  }

  const DataSource& source_;
  Halp halp_;
  std::int64_t micro_, microbatches_;
  Random drawn_;
};

}  // namespace trainyard
