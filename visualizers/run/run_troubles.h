// A run reports bits that flipped and ranks that failed in lines that both programs show alike.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/training/numbers/bit_flips.h"
#include "core/training/partial_recovery.h"
#include "visualizers/chart/table.h"

namespace trainyard {

struct RunTrouble {
  std::string name;   // "bits"; of a part its kind: "weights"
  std::string words;  // "12 flipped, 3 corrected, 9 detected, 0 missed"
  bool part = false;  // of the line before that is none; its name may be empty
};
/// A process keeps so many bytes in its host's memory, to go back to.
struct RecoveryBytes {
  Bytes measured{}, predicted{};
};
/// Of reports that are there; none where neither is. Of more failures than twenty the first.
/// `kept` of them: 0 = nothing is kept to go back to.
std::vector<RunTrouble> run_troubles(const std::optional<FlipReport>&,
                                     const std::optional<RecoveryReport>&, RecoveryBytes kept);
/// The lines that are no parts, as sentences.
std::vector<std::string> trouble_sentences(const std::vector<RunTrouble>&);
/// Adds each line as a row with its words in the first column.
void add_troubles(DataTable&, const std::vector<RunTrouble>&);

}  // namespace trainyard
