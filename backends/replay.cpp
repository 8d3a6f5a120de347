#include "backends/replay.h"

#include "core/base/digest.h"
#include "core/io/bytes/files.h"

namespace trainyard {

Replay Replay::of_file(const std::string& path) {
  return Replay(read_timeline(read_file(path), path));
}

Diagnostics Replay::check(const Program& program) const {
  Diagnostics found;
  const std::uint64_t wanted = digest(program);
  if (wanted != document_.program)
    found.push_back({Diagnostic::Severity::Error,
                     "the recorded run is of program " + to_hex(document_.program) +
                         ", and this is program " + to_hex(wanted),
                     {"program"},
                     ""});
  else if (document_.timeline.spans.size() != program.instructions.size())
    found.push_back({Diagnostic::Severity::Error,
                     "expected a span for each of " + std::to_string(program.instructions.size()) +
                         " instructions, found " + std::to_string(document_.timeline.spans.size()),
                     {"timeline#/spans"},
                     ""});
  return found;
}

Timeline Replay::run(const Program&, const RunOptions& options) {
  if (options.stop.stop_requested())
    throw Error(Error::Kind::Cancelled, "stopped before the replay began");
  if (options.progress) options.progress(1);
  return document_.timeline;
}

}  // namespace trainyard
