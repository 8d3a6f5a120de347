#include "core/rules/timeline_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace trainyard {
namespace {

// No rule needs more steps to judge utilisation, and each costs a pass over the trace, of which so
// many spans are read at most.
constexpr std::size_t kMostJudgedSteps = 50, kMostJudgedSpans = 20'000'000;

double host_share(const Breakdown& parts) {
  const Duration whole = parts.sum();
  return whole > Duration{} ? to_seconds(parts.host) / to_seconds(whole) : 0;
}

double busy_share(const Breakdown& parts) {
  const Duration whole = parts.sum();
  if (!(whole > Duration{})) return 0;
  const Duration idle = parts.bubble + parts.input + parts.host + parts.allocator + parts.slower;
  return 1 - to_seconds(idle) / to_seconds(whole);
}

Bytes of_a_step(const MemoryWave::Sample& sample) {
  Bytes sum{};
  for (const Category c : {Category::Activations, Category::Recomputed, Category::Communication})
    sum += sample.bytes[static_cast<std::size_t>(c)];
  return sum;
}

DeviceBytes bytes_of_wave(int device, const MemoryWave& wave, Bytes capacity) {
  DeviceBytes bytes;
  bytes.device = device;
  bytes.name = fmt::format("device {}", device);
  bytes.capacity = capacity;
  bytes.most = peak_of(wave);
  bytes.most_at = wave.samples[wave.peak].at;
  bytes.kept = std::max(Bytes{}, of_a_step(wave.samples.back()) - of_a_step(wave.samples.front()));
  return bytes;
}

std::string process_name(const RecordedTrace& trace, std::uint32_t process) {
  const RecordedProcess& p = trace.processes[process];
  return p.rank >= 0 ? fmt::format("rank {}", p.rank) : p.name;
}

double busy_share(const RecordedShare& share, Duration whole) {
  return to_seconds(share.compute + share.communication) / to_seconds(whole);
}

// Some of many steps are judged, evenly over the recording.
std::vector<RecordedPart> judged_parts(const RecordedTrace& trace) {
  std::vector<RecordedPart> all;
  const std::size_t most =
      std::clamp(kMostJudgedSpans / std::max<std::size_t>(1, trace.start.size()), std::size_t{1},
                 kMostJudgedSteps);
  for (std::uint32_t p = 0; p < trace.processes.size() && all.empty(); ++p) {
    const std::span<const RecordedStep> steps = measured_steps(trace, p);
    const std::size_t count = std::min(most, steps.size());
    for (std::size_t i = 0; i < count; ++i) {
      const RecordedStep& step = steps[i * steps.size() / count];
      if (step.from < step.to) all.push_back({step.from, step.to, {}});
    }
  }
  if (all.empty()) all.push_back(recorded_part(trace));
  return all;
}

DeviceBytes bytes_of_counter(const RecordedTrace& trace, const RecordedCounter& counter,
                             std::span<const RecordedStep> steps) {
  DeviceBytes bytes;
  bytes.device = static_cast<int>(counter.process);
  bytes.name = process_name(trace, counter.process);
  const auto value = [&](std::size_t i) {
    return Bytes{static_cast<std::int64_t>(counter.value[i])};
  };
  for (std::size_t i = 0; i < counter.at.size(); ++i)
    if (value(i) > bytes.most) bytes.most = value(i), bytes.most_at = Instant{counter.at[i]};
  std::size_t i = 0;
  for (const RecordedStep& step : steps) {
    while (i + 1 < counter.at.size() && Instant{counter.at[i + 1]} <= step.from) ++i;
    Bytes peak{};
    for (std::size_t k = i; k < counter.at.size() && Instant{counter.at[k]} < step.to; ++k)
      peak = std::max(peak, value(k));
    bytes.step_peaks.push_back(peak);
  }
  return bytes;
}

}  // namespace

double share_of_steps(const DeviceTimes& device, double of_steps) {
  std::vector<double> shares = device.busy;
  std::sort(shares.begin(), shares.end());
  const auto last = static_cast<double>(shares.size() - 1);
  return shares[static_cast<std::size_t>(std::llround(of_steps * last))];
}

TimelineFacts timeline_facts(const Timeline& timeline, const std::vector<MemoryWave>& waves,
                             const std::vector<Breakdown>& parts, Bytes capacity) {
  TimelineFacts facts;
  facts.simulated = timeline.clock == Timeline::Clock::Simulated;
  for (std::size_t d = 0; d < parts.size(); ++d)
    facts.devices.push_back({static_cast<int>(d),
                             fmt::format("device {}", d),
                             {busy_share(parts[d])},
                             host_share(parts[d])});
  for (std::size_t d = 0; d < waves.size(); ++d)
    if (!waves[d].samples.empty())
      facts.memory.push_back(bytes_of_wave(static_cast<int>(d), waves[d], capacity));
  if (parts.empty()) return facts;
  facts.step = parts.front().sum();
  facts.input_wait = parts.front().input;
  return facts;
}

TimelineFacts timeline_facts(const RecordedTrace& trace) {
  TimelineFacts facts;
  for (const RecordedPart& part : judged_parts(trace)) {
    for (const RecordedShare& share : recorded_shares(trace, part.from, part.to)) {
      const auto device = static_cast<int>(share.process);
      auto found = std::find_if(facts.devices.begin(), facts.devices.end(),
                                [&](const DeviceTimes& d) { return d.device == device; });
      if (found == facts.devices.end())
        found = facts.devices.insert(found, {device, process_name(trace, share.process), {}, 0});
      found->busy.push_back(busy_share(share, part.to - part.from));
    }
  }
  std::map<std::int64_t, std::pair<Instant, Duration>> steps;  // by number: of the longest process
  for (std::uint32_t p = 0; p < trace.processes.size(); ++p)
    for (const RecordedStep& step : measured_steps(trace, p)) {
      auto& [from, length] = steps[step.number];
      if (step.to - step.from > length) from = step.from, length = step.to - step.from;
    }
  for (const auto& [number, step] : steps) {
    facts.step_begins.push_back(step.first);
    facts.steps.push_back(step.second);
  }
  facts.step = median_step(trace);
  // A recording that begins later does not say when its run began.
  if (!trace.steps.empty() && trace.steps.front().number <= 1 && !trace.part)
    facts.first_step = trace.steps.front().from;
  for (const RecordedCounter& counter : trace.counters)
    if (counter.bytes)
      facts.memory.push_back(
          bytes_of_counter(trace, counter, measured_steps(trace, counter.process)));
  return facts;
}

}  // namespace trainyard
