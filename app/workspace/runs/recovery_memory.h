// A run that can go back to an earlier state keeps it in its host's memory: whole states where bits
// may flip (core/training/numbers/bit_flips.h), saved rows and what neighbours hold where ranks may
// fail (core/training/partial_recovery.h).
#pragma once

#include "core/base/units.h"
#include "core/reliability/checkpoint_cost.h"
#include "core/training/training.h"

namespace trainyard {

/// The processes of a run keep it.
struct KeptBy {
  int processes = 1;           // of the run; more than one: each has one rank
  bool survives_loss = false;  // of a process that nobody asked to end
};

/// Returns the most bytes that one process of the run keeps between two steps; 0 where it goes back
/// to nothing. Names and counts that are stored with the numbers are not among them.
Bytes recovery_memory(const CheckpointBytes&, const Training&, const KeptBy&);

}  // namespace trainyard
