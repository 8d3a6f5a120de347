#include "visualizers/waves/waves_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/methods/schedules/wave_offset.h"
#include "core/timeline/metrics.h"

namespace trainyard {
namespace {

// The memory of a device as its stack by wave has it.
void split(const Experiment& experiment, int waves, DeviceWaves& out) {
  std::vector<std::int64_t> at, sum;
  for (const MemoryWave::Sample& sample : experiment.waves[out.device.value].samples)
    at.push_back(sample.at.count()), sum.push_back(total(sample.bytes).value);
  out.total = step_curve(std::move(at), std::move(sum));
  MemoryStack stack = memory_stack(experiment, out.device, waves);
  out.aligned = aligned_curve(experiment, stack);
  for (StackBand& band : stack.bands) out.parts.push_back(std::move(band.bytes));
  out.state = *std::max_element(out.parts[0].begin(), out.parts[0].end());
}

// The passes of a wave on a device in order of time: forwards by microbatch, first start and last
// end, and where its updates end.
struct WavePasses {
  std::vector<Span> forwards;
  std::vector<Instant> updates;
};

WavePasses passes_of(const Program& program, const Timeline& timeline, DeviceId device, int wave) {
  WavePasses passes;
  for (const Stream& stream : program.streams) {
    if (stream.device != device || !stream.compute) continue;
    std::int32_t microbatch = -1;
    for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i) {
      const Instruction& in = program.instructions[i];
      const Task& task = program.task(in);
      if (in.wave != wave || task.kind != TaskKind::Compute) continue;
      const Span& span = timeline.spans[i];
      if (task.phase == Phase::Update) passes.updates.push_back(span.end);
      if (task.phase != Phase::Forward) continue;
      if (in.microbatch != microbatch)
        passes.forwards.push_back(span);
      else
        passes.forwards.back().end = span.end;
      microbatch = in.microbatch;
    }
  }
  std::sort(passes.updates.begin(), passes.updates.end());
  std::sort(passes.forwards.begin(), passes.forwards.end(),
            [](const Span& a, const Span& b) { return a.start < b.start; });
  return passes;
}

// Next to nothing of the wave is held just before this instant: what its last operator works on.
bool is_empty_before(const StepCurve& own, Instant at) {
  constexpr std::int64_t kNextToNothing = 10;  // parts of the peak
  return at == Instant{0} ||
         value_at(own, at - Duration{1}) <= own.value[own.peak] / kNextToNothing;
}

// The part of the run that a wave repeats: from one forward to the next where each begins with
// nothing held, else from update to update, else the run.
TimeRange cycle_of(const WavePasses& passes, const StepCurve& own, Instant end) {
  const std::size_t n = passes.forwards.size();
  if (n >= 2) {
    const Instant from = passes.forwards[n - 2].start, to = passes.forwards[n - 1].start;
    if (to > from && is_empty_before(own, from) && is_empty_before(own, to)) return {from, to};
  }
  std::vector<Instant> distinct = passes.updates;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  if (distinct.size() < 2) return {Instant{0}, std::max(end, Instant{1})};
  return {distinct[distinct.size() - 2], distinct.back()};
}

Duration wrapped(Duration d, Duration period) {
  return Duration{((d.count() % period.count()) + period.count()) % period.count()};
}

void find_cycle(const Experiment& experiment, Instant end, int waves, DeviceWaves& out) {
  const WavePasses first = passes_of(experiment.program, experiment.timeline, out.device, 0);
  std::vector<std::int64_t> at = out.total.at, held = out.parts[1];
  const StepCurve own = step_curve(std::move(at), std::move(held));
  const TimeRange cycle = cycle_of(first, own, end);
  out.cycle_from = cycle.from;
  out.cycle = wave_cycle(own, cycle.from, cycle.length());
  for (const Span& forward : first.forwards)
    if (forward.end > cycle.from && forward.end <= cycle.to) out.forward = forward.end - cycle.from;
  if (waves < 2 || first.forwards.empty()) return;
  const WavePasses second = passes_of(experiment.program, experiment.timeline, out.device, 1);
  if (!second.forwards.empty())
    out.offset =
        wrapped(second.forwards.back().start - first.forwards.back().start, out.cycle.period);
}

constexpr int kOffsetSteps = 200;  // over one cycle, of one wave and its copies

OffsetScan shifted_scan(const WavesModel& model, const DeviceWaves& waves) {
  OffsetScan made;
  made.bytes = offset_scan(waves.cycle, scanned_waves(model), kOffsetSteps);
  for (std::int64_t& bytes : made.bytes) bytes += waves.state;
  for (int i = 0; i <= kOffsetSteps; ++i)
    made.share.push_back(static_cast<double>(i) / kOffsetSteps);
  made.best = best_offset(made.bytes);
  return made;
}

// The simulated peaks, and among them that of this run.
OffsetScan simulated_scan(const WavesModel& model, const DeviceWaves& waves,
                          const std::vector<OffsetPeak>& peaks) {
  OffsetScan made;
  made.simulated = true;
  if (peaks.empty()) return made;
  for (const OffsetPeak& each : peaks) {
    made.share.push_back(each.share);
    made.bytes.push_back(each.peak.value);
  }
  if (const std::optional<double> own = own_offset(model, waves)) {
    const auto next = std::lower_bound(made.share.begin(), made.share.end(), *own);
    const auto at = next - made.share.begin();
    if (next == made.share.end() || *next != *own) {
      made.share.insert(next, *own);
      made.bytes.insert(made.bytes.begin() + at, 0);
    }
    made.bytes[static_cast<std::size_t>(at)] = run_peak(waves);
  }
  made.best = best_offset(made.bytes);
  return made;
}

}  // namespace

WavesModel waves_model(ExperimentPtr experiment, const std::optional<PhaseTimes>& times,
                       const WaveStudy* study) {
  WavesModel model;
  const Program& program = experiment->program;
  model.end = makespan(experiment->timeline);
  model.waves = wave_count(program);
  std::int64_t highest = -1;
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(program.devices); ++d) {
    DeviceWaves waves;
    waves.device = DeviceId{d};
    split(*experiment, model.waves, waves);
    find_cycle(*experiment, model.end, model.waves, waves);
    if (const std::int64_t peak = waves.total.value[waves.total.peak]; peak > highest)
      highest = peak, model.worst = waves.device;
    model.devices.push_back(std::move(waves));
  }
  if (times && model.waves > 1)
    model.by_plan = true, model.cycle = times->cycle(), model.forward = times->forward;
  model.experiment = std::move(experiment);
  if (study != nullptr) model.alternatives = study->alternatives;
  if (!model.devices.empty()) {
    const DeviceWaves& worst = model.devices[model.worst.value];
    model.scan = model.by_plan && study != nullptr ? simulated_scan(model, worst, study->offsets)
                                                   : shifted_scan(model, worst);
  }
  return model;
}

std::string wave_name(const WavesModel& model, int wave) {
  if (model.waves == 2) return wave == 0 ? "tick" : "tock";
  return "wave " + std::to_string(wave);
}

Ink wave_ink(int wave) { return band_ink(static_cast<std::size_t>(wave)); }

int scanned_waves(const WavesModel& model) { return std::max(2, model.waves); }

OffsetScan scan_of(const WavesModel& model, DeviceId device) {
  return device == model.worst ? model.scan : shifted_scan(model, model.devices[device.value]);
}

std::int64_t peak_at_offset(const OffsetScan& scan, double offset) {
  const auto next = std::lower_bound(scan.share.begin(), scan.share.end(), offset);
  const auto i = static_cast<std::size_t>(next - scan.share.begin());
  if (i == scan.share.size()) return scan.bytes.back();
  if (i == 0 || scan.share[i] == offset) return scan.bytes[i];
  const double part = (offset - scan.share[i - 1]) / (scan.share[i] - scan.share[i - 1]);
  return scan.bytes[i - 1] +
         std::llround(part * static_cast<double>(scan.bytes[i] - scan.bytes[i - 1]));
}

Duration offset_cycle(const WavesModel& model, const DeviceWaves& waves) {
  return model.by_plan ? model.cycle : waves.cycle.period;
}

std::optional<double> own_offset(const WavesModel& model, const DeviceWaves& waves) {
  if (model.waves < 2) return {};
  if (model.by_plan) return wave_offset(model.experiment->workload.scenario.plan);
  return static_cast<double>(waves.offset.count()) /
         static_cast<double>(waves.cycle.period.count());
}

std::int64_t run_peak(const DeviceWaves& waves) { return waves.total.value[waves.total.peak]; }

std::vector<OffsetMark> offset_marks(const WavesModel& model, const DeviceWaves& waves,
                                     const OffsetScan& scan) {
  const int k = scanned_waves(model);
  std::vector<OffsetMark> marks = {
      {0, "aligned"}, {1.0 / k, k == 2 ? "half cycle" : "1/" + std::to_string(k) + " cycle"}};
  const Duration cycle = offset_cycle(model, waves);
  const Duration forward = model.by_plan ? model.forward : waves.forward;
  if (forward > Duration{} && forward < cycle)
    marks.push_back({static_cast<double>(forward.count()) / static_cast<double>(cycle.count()),
                     "forward ends"});
  if (!scan.share.empty()) marks.push_back({scan.share[scan.best], "lowest"});
  return marks;
}

}  // namespace trainyard
