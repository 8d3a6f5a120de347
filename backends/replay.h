// A replay is a backend that ran already: it answers with the timeline of an earlier run of the
// same program, read from a trainyard/timeline document.
#pragma once

#include <string>
#include <utility>

#include "backends/backend.h"
#include "core/io/documents/timeline_json.h"

namespace trainyard {

class Replay final : public Backend {
 public:
  /// Throws Error{InvalidInput} where the document is of another program. `source` names the
  /// document in that sentence.
  Replay(TimelineDocument document, const Program&, const std::string& source);
  /// Throws as read_file(), read_timeline() and the constructor do.
  static Replay of_file(const std::string& path, const Program&);

  std::string_view name() const override { return "replay"; }
  /// Does not block. Throws Error{Cancelled} when stopped before.
  BackendRun run(const RunOptions&) override;

 private:
  TimelineDocument document_;
  std::vector<Duration> step_times_;
};

}  // namespace trainyard
