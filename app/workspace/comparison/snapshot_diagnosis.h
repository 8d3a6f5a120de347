// Diagnoses why a device held what a memory snapshot records and not what the plan predicts: where
// the two first diverge, and which single change of the plan explains the snapshot best. Each
// change is simulated, and the one whose memory is nearest to the measurement is named.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/memory/memory_snapshot.h"
#include "core/result/experiment.h"

namespace trainyard {

struct SnapshotDivergence {
  Instant at{};  // time in the snapshot's wave
  Category category{};
  Bytes measured{}, planned{};  // bytes of the category: at that time; at its peak in the plan
  std::string owner;            // "attention (model.py:120)"
};

struct SnapshotCause {
  std::string name;     // "longer sequence"; "as planned"
  std::string setting;  // "seq=8192"; empty if no setting expresses it
  std::string words;    // "a sequence of 8192 instead of 4096"
  double apart = 0;     // share of the measured peak left unexplained
};

struct SnapshotDiagnosis {
  SnapshotFindings found;
  ExperimentPtr predicted;
  DeviceId rank;  // the plan's rank with which the snapshot is compared
  Bytes measured_peak{}, planned_peak{};
  std::int64_t steps = 1;  // approximate number of the plan's steps in the recording
  std::optional<SnapshotDivergence> divergence;
  SnapshotCause cause;
  std::vector<SnapshotCause> others;  // the next best, at most three
  std::string sentence;
};

struct DiagnosisOptions {
  int device = -1;  // of the snapshot; -1: the fullest
  int rank = -1;    // pipeline rank of the plan; -1: that with the nearest weights
  std::stop_token stop = {};
};
/// Simulates the scenario and some twenty changes of it. Blocks. Throws Error{InvalidInput} as
/// simulate() and snapshot_findings() do, and Error{Cancelled}.
SnapshotDiagnosis diagnose(const MemorySnapshot&, const Scenario&, const DiagnosisOptions& = {});

}  // namespace trainyard
