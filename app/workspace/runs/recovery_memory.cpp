#include "app/workspace/runs/recovery_memory.h"

namespace trainyard {

Bytes recovery_memory(const CheckpointBytes& checkpoint, const Training& training,
                      const KeptBy& by) {
  // The first process keeps the states of all; the second state is kept after so many updates.
  if (const std::int64_t every = training.flips.recover; every > 0)
    return checkpoint.held * (training.steps > every ? 2 : 1);
  if (!training.recovery.on()) return {};
  if (by.processes == 1) return checkpoint.held;
  // A process keeps for its own rank and for the one before. A footing holds that again, and the
  // state of its own devices; the last two footings stay.
  constexpr std::int64_t kSaved = 2, kFootings = 2;
  const Bytes own{checkpoint.held.value / by.processes};
  return own * (by.survives_loss ? kSaved + kFootings * (kSaved + 1) : kSaved);
}

}  // namespace trainyard
