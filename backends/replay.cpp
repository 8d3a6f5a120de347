#include "backends/replay.h"

#include <algorithm>

#include "core/base/digest.h"
#include "core/io/bytes/files.h"
#include "core/timeline/metrics.h"

namespace trainyard {

Replay::Replay(TimelineDocument document, const Program& program, const std::string& source)
    : document_(std::move(document)) {
  const std::uint64_t wanted = digest(program);
  if (wanted != document_.program)
    throw Error(Error::Kind::InvalidInput,
                "expected a timeline of program " + to_hex(wanted) +
                    ", which this model, cluster and plan make, found one of program " +
                    to_hex(document_.program),
                {source + "#/program"});
  if (document_.timeline.spans.size() != program.instructions.size())
    throw Error(Error::Kind::InvalidInput,
                "expected a span for each of " + std::to_string(program.instructions.size()) +
                    " instructions, found " + std::to_string(document_.timeline.spans.size()),
                {source + "#/spans"});
  step_times_ = step_times(document_.timeline, program);
  const auto devices = static_cast<std::size_t>(program.devices);
  if (document_.waves.empty())
    for (std::uint32_t d = 0; d < devices; ++d)
      document_.waves.push_back(memory_wave(document_.timeline, program, DeviceId{d}));
  if (document_.waves.size() != devices)
    throw Error(Error::Kind::InvalidInput,
                "expected the memory of none or all of " + std::to_string(devices) +
                    " devices, found that of " + std::to_string(document_.waves.size()),
                {source + "#/waves"});
}

Replay Replay::of_file(const std::string& path, const Program& program) {
  return {read_timeline(read_file(path), path), program, path};
}

BackendRun Replay::run(const RunOptions& options) {
  if (options.stop.stop_requested())
    throw Error(Error::Kind::Cancelled, "stopped before the replay began");
  if (options.progress) options.progress(1);
  BackendRun run;
  run.timeline = document_.timeline;
  run.waves = document_.waves;
  run.step_times = step_times_;
  for (std::size_t d = 0; d < run.waves.size(); ++d) {
    DeviceMemory held{.device = DeviceId{static_cast<std::uint32_t>(d)}};
    held.most = peak_of(run.waves[d]);
    for (const MemoryWave::Sample& sample : run.waves[d].samples)
      for (std::size_t c = 0; c < held.most_by_category.size(); ++c)
        held.most_by_category[c] = std::max(held.most_by_category[c], sample.bytes[c]);
    run.memory.push_back(held);
  }
  return run;
}

}  // namespace trainyard
