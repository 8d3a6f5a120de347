// A batch ramp begins a training with small batches and makes them larger: gradients of the first
// samples point the same way, so that a large batch of them teaches little more than a small one
// (McCandlish et al., "An Empirical Model of Large-Batch Training", arXiv 1812.06162, 2018). The
// batch of a step follows from how many samples were consumed before it, not from its number.
//
//   16:16:5000000               16 samples first, and 16 more after each of equal spans of samples,
//                               so that the global batch is reached after 5,000,000 samples
//                               (Megatron-LM's --rampup-batch-size 16 16 5000000)
//   steps:256@0,512@63000       256 samples until 63,000 are consumed, then 512
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/plan/plan.h"

namespace trainyard {

struct BatchRamp {
  // Equal spans, where `listed` is empty; all three >= 1.
  std::int64_t start = 0, increment = 0, samples = 0;
  struct Size {
    std::int64_t batch = 0;  // samples of a step, >= 1
    std::int64_t from = 0;   // the batch from so many consumed samples on
    friend bool operator==(const Size&, const Size&) = default;
  };
  std::vector<Size> listed;  // the first from 0; batches and samples ascend
};

/// Throws Error{InvalidInput} that says what was expected and found.
BatchRamp parse_batch_ramp(std::string_view text, const Place& = {});

/// The batches up to the full one, of which the ramp's start may be no more, and whose distance
/// from the start the increment must divide. Spans that are no whole samples end at the next one.
std::vector<BatchRamp::Size> sizes_of(const BatchRamp&, std::int64_t full);

/// A BatchPhase is a stretch of a training whose steps have one batch.
struct BatchPhase {
  std::int64_t batch = 0;         // samples of a step
  std::int64_t first_sample = 0;  // consumed before it
  std::int64_t first_step = 0;    // done before it
  std::int64_t steps = 0;         // 0 = the last phase, which lasts as long as the training does
  friend bool operator==(const BatchPhase&, const BatchPhase&) = default;
};

/// Returns the phases in order. A step that begins in a span of samples may end behind it, and a
/// span that is passed so has no phase.
std::vector<BatchPhase> batch_phases(const std::vector<BatchRamp::Size>&);
/// Returns the phases of a complete plan, whose ramp is legal; without a ramp it has one phase.
std::vector<BatchPhase> batch_phases(const Plan&);
/// Returns the ramp of a plan; nothing where it has none.
std::optional<BatchRamp> batch_ramp_of(const Plan&);
/// Returns the plan with another global batch and without a ramp: the plan of one phase.
Plan with_batch(Plan, std::int64_t batch);

/// The method of a plan's ramp, and the parameter that holds its text.
inline constexpr std::string_view kBatchRamp = "batch-ramp", kBatchRampSizes = "sizes",
                                  kNoBatchRamp = "off";

}  // namespace trainyard
