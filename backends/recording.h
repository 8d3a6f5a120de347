// A recording is a backend that has another one answer and keeps its timeline in a file, from which
// a replay (replay.h) gives the same answer later.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "backends/backend.h"

namespace trainyard {

class Recording final : public Backend {
 public:
  /// The other backend was opened for the program with that digest, and must outlive this.
  Recording(Backend& answers, std::uint64_t program, std::string path)
      : answers_(answers), program_(program), path_(std::move(path)) {}

  std::string_view name() const override { return answers_.name(); }
  /// Writes a trainyard/timeline document after the other has run, unless no step was measured
  /// whole. Throws Error{Io} where the file cannot be written.
  BackendRun run(const RunOptions&) override;
  std::vector<TrainedTensor> parameters() const override { return answers_.parameters(); }
  std::vector<TrainedTensor> statistics() const override { return answers_.statistics(); }
  void set_parameters(const std::vector<TrainedTensor>& all) override {
    answers_.set_parameters(all);
  }

 private:
  Backend& answers_;
  std::uint64_t program_;
  std::string path_;
};

}  // namespace trainyard
