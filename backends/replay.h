// A Backend that ran already: it returns the timeline of an earlier run of the same program, from
// memory or from a trainyard/timeline document.
#pragma once

#include <string>

#include "backends/backend.h"
#include "core/io/documents/timeline_json.h"

namespace trainyard {

class Replay final : public Backend {
 public:
  explicit Replay(TimelineDocument document) : document_(std::move(document)) {}
  /// Throws as read_file() and read_timeline() do.
  static Replay of_file(const std::string& path);

  std::string_view name() const override { return "replay"; }
  /// Anything but the program whose timeline it is.
  Diagnostics check(const Program&) const override;
  /// Does not block. Throws Error{Cancelled} when stopped before.
  Timeline run(const Program&, const RunOptions&) override;

 private:
  TimelineDocument document_;
};

}  // namespace trainyard
