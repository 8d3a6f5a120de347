#include "backends/recording.h"

#include "core/io/bytes/file_writer.h"
#include "core/io/documents/timeline_json.h"

namespace trainyard {

BackendRun Recording::run(const RunOptions& options) {
  BackendRun run = answers_.run(options);
  if (!run.timeline.spans.empty())
    write_file(path_,
               write_timeline({.timeline = run.timeline, .waves = run.waves, .program = program_}));
  return run;
}

}  // namespace trainyard
