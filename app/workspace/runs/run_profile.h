// Turns a training run's measurements of this machine's kernels into prices for a project's later
// predictions, in the same document that `calibrate` writes.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "app/workspace/runs/training_run.h"
#include "core/cost/calibrated.h"

namespace trainyard {

/// What a run does not measure of its machine, because its clocks do not include messages and
/// gradient sums.
struct RunMachine {
  std::string name;  // "AMD EPYC 9R14, 2 cores"
  TransferTiming copy;
  BytesPerSecond reduce{};
};
/// Describes this machine. prior: the prices by which the run was predicted; its copies and sums
/// are reused. null: they are measured now, which blocks for some tenths of a second.
RunMachine run_machine(const Calibration* prior);

/// Derives prices from a run's own kernels: for each kernel and shape, the median of its times in
/// the step that was kept. The time of an instruction with several kernels is divided among them as
/// `cost` prices them. The residuals compare the kept step with the medians of up to five parts of
/// the other steps, without the first step, which runs on cold caches.
Calibration run_calibration(const Experiment& predicted, const Timeline& measured,
                            const std::vector<Duration>& step_times, const CostModel& cost,
                            const RunMachine&);

/// The effect of accepting a run as a profile.
struct RunProfile {
  Calibration calibration;     // the machine's name, without that of the run
  Duration measured{};         // step time of the run
  Duration before{}, after{};  // predicted step without and with the calibration
  std::int64_t updates = 0;
};
/// Requires a run with a fully measured step: report.measured must be set. Blocks while it predicts
/// the run again with the measurements. cost: the model by which the run was predicted. Throws
/// Error{Cancelled} when stopped.
RunProfile run_profile(const TrainingReport&, const Training&, const CostModel& cost,
                       const RunMachine&, const std::stop_token& = {});

/// The calibration with its origin in its name: "AMD EPYC 9R14, 2 cores, in run 12 of gpt-tiny on
/// cpu:4". run: its number in the run list; empty if it is not recorded there.
Calibration named_after_run(const RunProfile&, std::optional<std::int64_t> run,
                            const std::string& name);

}  // namespace trainyard
