// A DocumentStream is the endless stream of samples of packed or padded documents that a run trains
// on: each of the plan's samples once an epoch, in an order that the seed decides, with new
// documents in every epoch.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/model/document_bounds.h"
#include "core/model/packed_samples.h"
#include "core/plan/plan.h"

namespace trainyard {

class DocumentStream {
 public:
  /// The batch says which samples are one step's, which so many replicas divide; the samples are
  /// those of a complete plan.
  DocumentStream(std::shared_ptr<const PackedSamples>, const Batch&, std::uint64_t seed,
                 std::int64_t replicas = 1);

  struct Document {
    std::int64_t number = 0;  // in the endless stream of documents
    std::int64_t first = 0;   // position of its first token in the sample
    std::int64_t length = 0;
  };
  /// Returns the documents of the sample at that position of the stream, >= 0, in order; what they
  /// leave at its end is padding. Each number of a document is in one sample only.
  std::vector<Document> documents(std::int64_t sample) const;
  /// Returns the tokens of a sample of the microbatch that begins with that sample: the sequence,
  /// or what its longest document asks for where widths are open.
  std::int64_t width(std::int64_t first_sample, std::int64_t samples) const;
  /// Returns the bounds in the samples of a microbatch that begins with that sample and of which
  /// each has `width` tokens. A loss divides by the tokens of an average microbatch of the step, as
  /// DocumentBounds says.
  DocumentBounds bounds(std::int64_t first_sample, std::int64_t samples, std::int64_t width) const;
  /// Returns these bounds for samples of whole sequences that are no step's, which are counted by
  /// themselves.
  DocumentBounds bounds_alone(std::int64_t first_sample, std::int64_t samples) const;
  const PackedSamples& plan() const { return *plan_; }

 private:
  struct Drawn {
    std::int64_t epoch = 0;
    std::size_t sample = 0;  // of the plan
  };
  struct Step;
  Drawn draw(std::int64_t sample) const;
  Drawn at(std::int64_t sample) const;
  double tokens(std::int64_t first, std::int64_t samples) const;
  DocumentBounds bounds_within(std::int64_t first_sample, std::int64_t samples,
                               std::int64_t width) const;

  std::shared_ptr<const PackedSamples> plan_;
  Batch batch_;
  std::uint64_t seed_;
  std::int64_t replicas_;
  std::shared_ptr<Step> sorted_;  // the step last asked for, where microbatches are dealt by length
};

}  // namespace trainyard
