// What a training run measured of this machine's kernels, as prices that a project's predictions
// can go by from then on: the same document that `calibrate` writes.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "app/workspace/runs/training_run.h"
#include "core/cost/calibrated.h"

namespace trainyard {

/// What a run does not measure of the machine that it was on: its clocks take messages and sums of
/// gradients for granted.
struct RunMachine {
  std::string name;  // "AMD EPYC 9R14, 2 cores"
  TransferTiming copy;
  BytesPerSecond reduce{};
};
/// Of this machine. prior: of the prices that the run was predicted by, whose copies and sums are
/// taken over; null: they are measured now, which blocks for some tenths of a second.
RunMachine run_machine(const Calibration* prior);

/// Prices from a run's own kernels: of each at each shape the median of what the step that was kept
/// took. An instruction of several kernels is shared out among them as `cost` prices them. Its own
/// check holds the kept step against the medians of up to five parts of the others, without the
/// first step, which pays for cold caches.
Calibration run_calibration(const Experiment& predicted, const Timeline& measured,
                            const std::vector<Duration>& step_times, const CostModel& cost,
                            const RunMachine&);

/// What accepting a run would do.
struct RunProfile {
  Calibration calibration;     // its machine without the run's own name
  Duration measured{};         // the run's step
  Duration before{}, after{};  // the step as predicted without and with the calibration
  std::int64_t updates = 0;
};
/// Of a run whose step was measured whole: report.measured is there. Blocks: predicts the run once
/// more, by what it measured. cost: that it was predicted by. Throws Error{Cancelled} when stopped.
RunProfile run_profile(const TrainingReport&, const Training&, const CostModel& cost,
                       const RunMachine&, const std::stop_token& = {});

/// The calibration with where it is from: "AMD EPYC 9R14, 2 cores, in run 12 of gpt-tiny on cpu:4".
/// run: its number in the list; nothing where it is not kept there.
Calibration named_after_run(const RunProfile&, std::optional<std::int64_t> run,
                            const std::string& name);

}  // namespace trainyard
