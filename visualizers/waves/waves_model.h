// The memory of one device taken apart by wave: what stays, and what the microbatches of each flow
// through the pipeline hold (Tick-Tock's tick and tock). A wave's own cycle is what the offset
// between waves is chosen by.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result/experiment.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/palette.h"
#include "visualizers/drawing/view_state.h"
#include "visualizers/time/aligned_waves.h"
#include "visualizers/view_data.h"
#include "visualizers/viewmodel/wave_offset.h"

namespace trainyard {

/// What a part of a device's memory is over one cycle of its first wave, in bytes.
struct PeriodFigures {
  std::string name;  // "tick", "sum"
  std::int64_t low = 0, peak = 0;
  double mean = 0;  // over time
  double mean_share() const { return peak > 0 ? mean / static_cast<double>(peak) : 0; }
};

struct DeviceWaves {
  DeviceId device;
  StepCurve total;                               // bytes of the device; sample i of those below
  std::vector<std::vector<std::int64_t>> parts;  // state, then each wave: one value a sample
  std::optional<StepCurve> aligned;              // aligned_curve()
  std::int64_t state = 0;                        // bytes that stay while microbatches come and go
  WaveCycle cycle;                               // of wave 0 alone, without the state
  Instant cycle_from{};                          // where that cycle starts in the run
  Duration forward{};                            // from there until its last forward ends
  Duration offset{};                             // of wave 1 after wave 0, within one cycle
  std::vector<PeriodFigures> period;             // of that cycle: period_figures()
};

/// Whether waves that share a device are worth it, held against what else it could do.
struct WavesWorth {
  std::size_t best = 0;  // index of the fastest alternative that fits
  bool any = false;      // whether there is one
  double gain = 0;       // this plan's rate over the best one's; 0 where there is none
  double busy = 1;       // of the device, by one wave alone
  std::string verdict;   // "Worth it while the same loss takes less than 1.08 × the tokens."
  std::string limit;     // how much sharing can gain at most, in words
};

/// The device's peak at each offset, model state included.
struct OffsetScan {
  std::vector<double> share;        // of the cycle, increasing from 0 to 1; empty while unknown
  std::vector<std::int64_t> bytes;  // one each
  std::size_t best = 0;             // index of the lowest peak
  bool simulated = false;           // else one wave and its copies, shifted
};

struct WavesModel {
  ExperimentPtr experiment;
  int waves = 1;         // in the program; with one the scan is of two such waves
  bool by_plan = false;  // the plan states the offset, and its cycle is the unit of offsets
  Duration cycle{};    // of such a plan: forward and backward of a microbatch, alone on the device
  Duration forward{};  // the forward's part of it
  std::vector<DeviceWaves> devices;
  DeviceId worst;
  OffsetScan scan;  // of the worst device
  std::vector<WaveAlternative> alternatives;
  std::optional<WavesWorth> worth;  // of the worst device; nothing without alternatives
  Instant end{};
};
/// Takes every device apart, n log n in the instructions. times: of a microbatch alone on its
/// device, if the plan states the offset. study: such a plan at other offsets, and what there is
/// instead; null: the scan shifts one wave.
WavesModel waves_model(ExperimentPtr, const std::optional<PhaseTimes>& times = {},
                       const WaveStudy* study = nullptr);

/// "tick" and "tock" of two, else "wave 2".
std::string wave_name(const WavesModel&, int wave);
Ink wave_ink(int wave);

/// What the scan is of: the program's waves, or two.
int scanned_waves(const WavesModel&);
/// The model's own for the worst device, else made anew: some 400 n steps of a cycle's n samples.
OffsetScan scan_of(const WavesModel&, DeviceId);
/// The scan at an offset in [0, 1] of the cycle, on a straight line between its entries.
std::int64_t peak_at_offset(const OffsetScan&, double offset);
/// The cycle that offsets are shares of.
Duration offset_cycle(const WavesModel&, const DeviceWaves&);
/// The offset between the waves as a share of that cycle: the plan's where it states one, else that
/// of the run. Empty with one wave, or where the plan leaves it to the policy "exclusive".
std::optional<double> own_offset(const WavesModel&, const DeviceWaves&);
/// The peak that the run reached.
std::int64_t run_peak(const DeviceWaves&);
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
