// The words for what stands out of a recorded trace; the command line and the window say the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "visualizers/recorded/recorded_model.h"

namespace trainyard {

/// A StragglerSentence is one thing that stands out, and the span that shows it best.
struct StragglerSentence {
  std::string text;
  std::optional<std::uint64_t> span;
};
/// Returns processes, then steps, then the `kernels` kinds of kernels that lost most time; empty
/// where nothing stands out.
std::vector<StragglerSentence> straggler_sentences(const RecordedModel&, std::size_t kernels);

/// Returns how much was compared: "Nothing stands out of 4,213 kernels that were compared.", or why
/// nothing could be.
std::string straggler_scope(const RecordedModel&);

}  // namespace trainyard
