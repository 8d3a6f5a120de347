#include "core/timeline/compare.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trainyard {
namespace {

// Returns the sample that holds at an instant; the first sample also holds before it.
const CategoryBytes& at(const MemoryWave& wave, Instant instant) {
  auto after =
      std::upper_bound(wave.samples.begin(), wave.samples.end(), instant,
                       [](Instant value, const MemoryWave::Sample& s) { return value < s.at; });
  if (after != wave.samples.begin()) --after;
  return after->bytes;
}
const CategoryBytes& just_before(const MemoryWave& wave, Instant instant) {
  return at(wave, instant - Duration{1});
}

Bytes distance(const CategoryBytes& a, const CategoryBytes& b) {
  return Bytes{std::abs(total(a).value - total(b).value)};
}

// Compares at every instant at which either wave changes, as a share of its step, and just before
// it.
Bytes over_time(const MemoryWave& p, StepWindow pw, const MemoryWave& m, StepWindow mw) {
  Bytes most{};
  const auto along = [&most](const MemoryWave& from, StepWindow fw, const MemoryWave& to,
                             StepWindow tw) {
    const double scale = fw.length().count() > 0 ? static_cast<double>(tw.length().count()) /
                                                       static_cast<double>(fw.length().count())
                                                 : 0;
    for (const MemoryWave::Sample& s : from.samples) {
      if (s.at < fw.from || s.at >= fw.to) continue;
      const Instant there =
          tw.from + Duration{std::llround(static_cast<double>((s.at - fw.from).count()) * scale)};
      most = std::max(most, distance(s.bytes, at(to, there)));
      if (s.at > fw.from)
        most = std::max(most, distance(just_before(from, s.at), just_before(to, there)));
    }
  };
  along(p, pw, m, mw);
  along(m, mw, p, pw);
  return most;
}

Bytes over_work(const Program& program, DeviceId device, const TimedWaves& predicted,
                const TimedWaves& measured) {
  const MemoryWave &p = predicted.waves[device.value], &m = measured.waves[device.value];
  Bytes most{};
  const bool shared =
      std::count_if(program.streams.begin(), program.streams.end(), [&](const Stream& stream) {
        return stream.device == device && stream.compute;
      }) > 1;
  for (const Stream& stream : program.streams) {
    if (stream.device != device || !stream.compute) continue;
    for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i) {
      const Span &a = predicted.timeline.spans[i], &b = measured.timeline.spans[i];
      if (a.length().count() <= 0 || b.length().count() <= 0) continue;
      most = std::max(most, distance(at(p, a.start), at(m, b.start)));
      if (!shared) most = std::max(most, distance(just_before(p, a.end), just_before(m, b.end)));
    }
  }
  return most;
}

CategoryBytes most_of(const MemoryWave& wave) {
  CategoryBytes most{};
  for (const MemoryWave::Sample& s : wave.samples)
    for (std::size_t c = 0; c < most.size(); ++c) most[c] = std::max(most[c], s.bytes[c]);
  return most;
}

double busy_share(const Breakdown& b, Duration step) {
  const Duration work = b.forward + b.backward + b.recompute + b.optimizer;
  return step.count() > 0 ? static_cast<double>(work.count()) / static_cast<double>(step.count())
                          : 0;
}

}  // namespace

double TimelineComparison::step_share() const {
  return predicted_step.count() > 0 ? static_cast<double>(measured_step.count()) /
                                              static_cast<double>(predicted_step.count()) -
                                          1
                                    : 0;
}

double TimelineComparison::peak_share() const {
  double most = 0;
  for (const WaveResidual& wave : waves)
    if (std::abs(wave.peak_share()) > std::abs(most)) most = wave.peak_share();
  return most;
}

TimelineComparison compare(const Program& program, const TimedWaves& predicted,
                           const TimedWaves& measured, const std::vector<double>& recompute_share) {
  TimelineComparison c;
  const StepWindow pw = step_window(predicted.timeline, program);
  const StepWindow mw = step_window(measured.timeline, program);
  c.predicted_step = pw.length(), c.measured_step = mw.length();
  const std::vector<Breakdown> ours = breakdowns(measured.timeline, program, recompute_share);
  const std::vector<Breakdown> theirs = breakdowns(predicted.timeline, program, recompute_share);
  c.predicted_bubble = bubble_fraction(theirs), c.measured_bubble = bubble_fraction(ours);
  c.device = critical_device(ours);
  const Breakdown &m = ours[c.device.value], &p = theirs[c.device.value];
  for (const NamedPart& part : breakdown_parts())
    c.causes.push_back({part.name, p.*part.part, m.*part.part,
                        residual_origin(part.part, m.*part.part - p.*part.part, program, c.device,
                                        predicted.timeline, measured.timeline, recompute_share)});
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(program.devices); ++d) {
    const MemoryWave &pwave = predicted.waves[d], &mwave = measured.waves[d];
    WaveResidual w;
    w.device = DeviceId{d};
    w.predicted_peak = peak_of(pwave), w.measured_peak = peak_of(mwave);
    w.predicted_most = most_of(pwave), w.measured_most = most_of(mwave);
    if (!pwave.samples.empty() && !mwave.samples.empty()) {
      w.over_time = over_time(pwave, pw, mwave, mw);
      w.over_work = over_work(program, w.device, predicted, measured);
    }
    c.waves.push_back(w);
    c.busy.push_back(
        {busy_share(theirs[d], c.predicted_step), busy_share(ours[d], c.measured_step)});
  }
  return c;
}

}  // namespace trainyard
