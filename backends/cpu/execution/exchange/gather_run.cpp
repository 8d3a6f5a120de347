#include "backends/cpu/execution/exchange/gather_run.h"

#include <algorithm>
#include <string>

#include "core/base/packed.h"

namespace trainyard {
void gather_spans(Timeline& timeline, const Program& program, const Execution& execution) {
  std::string own;
  for (std::uint32_t s = 0; s < program.streams.size(); ++s) {
    const Stream& stream = program.streams[s];
    if (!execution.here(stream.device, 0)) continue;
    append(own, &s, 1);
    append(own, timeline.spans.data() + stream.first, stream.count);
  }
  for (const std::string& bytes : execution.processes()->all_gather(own))
    for (Pieces pieces(bytes); pieces.left();) {
      const Stream& stream = program.streams[pieces.next<std::uint32_t>()];
      pieces.next(timeline.spans.data() + stream.first, stream.count);
    }
}

void gather_run(BackendRun& run, const Program& program, const Execution& execution) {
  // A repetition that was begun has been ended by all, so that all have a timeline or none has.
  if (!run.timeline.spans.empty()) gather_spans(run.timeline, program, execution);
  std::string waves, memory, prepared;
  for (std::uint32_t d = 0; d < run.waves.size(); ++d) {
    if (!execution.here(DeviceId{d}, 0)) continue;
    const MemoryWave& wave = run.waves[d];
    const std::uint64_t peak = wave.peak, samples = wave.samples.size();
    append(waves, &d, 1);
    append(waves, &peak, 1);
    append(waves, &samples, 1);
    append(waves, wave.samples.data(), wave.samples.size());
  }
  append(memory, run.memory.data(), run.memory.size());
  for (const std::string& bytes : execution.processes()->all_gather(waves))
    for (Pieces pieces(bytes); pieces.left();) {
      MemoryWave& wave = run.waves[pieces.next<std::uint32_t>()];
      wave.peak = pieces.next<std::uint64_t>();
      wave.samples.resize(pieces.next<std::uint64_t>());
      pieces.next(wave.samples.data(), wave.samples.size());
    }
  if (run.prepared) append(prepared, &*run.prepared, 1);
  PreparedKernels all;
  for (const std::string& bytes : execution.processes()->all_gather(prepared))
    for (Pieces pieces(bytes); pieces.left();) all += pieces.next<PreparedKernels>();
  run.prepared = all;
  run.memory.clear();
  for (const std::string& bytes : execution.processes()->all_gather(memory))
    for (Pieces pieces(bytes); pieces.left();) run.memory.push_back(pieces.next<DeviceMemory>());
  std::sort(run.memory.begin(), run.memory.end(), [](const DeviceMemory& a, const DeviceMemory& b) {
    return a.device.value != b.device.value ? a.device.value < b.device.value : a.peer < b.peer;
  });
}

}  // namespace trainyard
