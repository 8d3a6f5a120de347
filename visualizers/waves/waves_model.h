// The memory of one device taken apart by wave: what stays, and what the microbatches of each flow
// through the pipeline hold (Tick-Tock's tick and tock). A wave's own cycle is what the offset
// between waves is chosen by.
#pragma once

#include <string>
#include <vector>

#include "core/result/experiment.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/palette.h"
#include "visualizers/drawing/view_state.h"
#include "visualizers/view_data.h"
#include "visualizers/viewmodel/wave_offset.h"

namespace trainyard {

inline constexpr int kOffsetSteps = 200;  // of the scan over one cycle

struct DeviceWaves {
  DeviceId device;
  StepCurve total;                               // bytes of the device; sample i of those below
  std::vector<std::vector<std::int64_t>> parts;  // state, then each wave: one value a sample
  std::int64_t state = 0;                        // bytes that stay while microbatches come and go
  WaveCycle cycle;                               // of wave 0 alone, without the state
  Instant cycle_from{};                          // where that cycle starts in the run
  Duration forward{};                            // from there until its last forward ends
  Duration offset{};                             // of wave 1 after wave 0, within one cycle
};

/// What the device peaks at for each offset, state and all.
struct OffsetScan {
  std::vector<std::int64_t> bytes;  // at offset i / kOffsetSteps of the cycle
  std::size_t best = 0;             // index
};

struct WavesModel {
  ExperimentPtr experiment;
  int waves = 1;  // in the program; with one the scan is of two such waves
  std::vector<DeviceWaves> devices;
  DeviceId worst;
  OffsetScan scan;  // of the worst device
  Instant end{};
};
/// Of every device. n log n in the instructions.
WavesModel waves_model(ExperimentPtr);

/// "tick" and "tock" of two, else "wave 2".
std::string wave_name(const WavesModel&, int wave);
Ink wave_ink(int wave);

/// What the scan is of: the program's waves, or two.
int scanned_waves(const WavesModel&);
/// The model's own for the worst device, else made anew: some 400 n steps of a cycle's n samples.
OffsetScan scan_of(const WavesModel&, DeviceId);
/// The scan's entry nearest to an offset in [0, 1] of the cycle.
std::int64_t peak_at_offset(const OffsetScan&, double offset);
/// The actual offset as a share of the cycle.
double offset_share(const DeviceWaves&);
/// Offsets worth snapping to: aligned, where the forward ends, half (or 1/K) a cycle, the best.
struct OffsetMark {
  double share = 0;
  std::string name;
};
std::vector<OffsetMark> offset_marks(const WavesModel&, const DeviceWaves&, const OffsetScan&);

/// Samples by rank, then time, taken apart by wave.
DataTable waves_table(const WavesModel&);

template <>
WavesModel make_model(const ViewData&);

}  // namespace trainyard
