// A Backend that writes down what it was asked before another answers: the fake of tests, and the
// way to keep a run for later (replay.h).
#pragma once

#include <cstdint>
#include <vector>

#include "backends/backend.h"

namespace trainyard {

class Recording final : public Backend {
 public:
  /// One call of run(), and what came of it. A call that threw has no spans.
  struct Call {
    std::uint64_t program = 0;  // digest
    std::uint64_t seed = 0;
    Timeline timeline;
  };

  /// It must outlive this.
  explicit Recording(Backend& answers) : answers_(answers) {}

  std::string_view name() const override { return answers_.name(); }
  Diagnostics check(const Program& program) const override { return answers_.check(program); }
  Timeline run(const Program& program, const RunOptions& options) override {
    calls_.push_back({digest(program), options.seed, {}});
    calls_.back().timeline = answers_.run(program, options);
    return calls_.back().timeline;
  }

  const std::vector<Call>& calls() const { return calls_; }

 private:
  Backend& answers_;
  std::vector<Call> calls_;
};

}  // namespace trainyard
