// Why a device held what a memory snapshot says, and not what the plan predicts: where the two part
// for the first time, and which single change of the plan explains the snapshot best. Each change
// is simulated, and the one whose memory is nearest to what was measured is named.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/memory/memory_snapshot.h"
#include "core/result/experiment.h"

namespace trainyard {

struct SnapshotDivergence {
  Instant at{};  // of the snapshot's wave
  Category category{};
  Bytes measured{}, planned{};  // of the category: then, and at most
  std::string owner;            // "attention (model.py:120)"
};

struct SnapshotCause {
  std::string name;     // "longer sequence"; "as planned"
  std::string setting;  // "seq=8192"; empty where no setting says it
  std::string words;    // "a sequence of 8192 instead of 4096"
  double apart = 0;     // of the measured peak: what it does not explain
};

struct SnapshotDiagnosis {
  SnapshotFindings found;
  ExperimentPtr predicted;
  DeviceId rank;  // of the plan, that the snapshot is held against
  Bytes measured_peak{}, planned_peak{};
  std::int64_t steps = 1;  // of the plan that the recording holds, about
  std::optional<SnapshotDivergence> divergence;
  SnapshotCause cause;
  std::vector<SnapshotCause> others;  // the next best, at most three
  std::string sentence;
};

struct DiagnosisOptions {
  int device = -1;  // of the snapshot; -1: the fullest
  int rank = -1;    // pipeline rank of the plan; -1: whose weights are nearest
  std::stop_token stop = {};
};
/// Simulates the scenario and some twenty changes of it. Blocks. Throws Error{InvalidInput} as
/// simulate() and snapshot_findings() do, Error{Cancelled}.
SnapshotDiagnosis diagnose(const MemorySnapshot&, const Scenario&, const DiagnosisOptions& = {});

}  // namespace trainyard
