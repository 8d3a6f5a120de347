// The reference machine executes an op-grain program on the ops' reference maths: one worker,
// double precision, exactly the weight versions, activations and messages that the program says. It
// is slow and exact: every other backend is held against it (through reference_backend.h), and
// asynchronous methods are measured on it.
//
// Each instruction finds its operands where earlier ones left them: activations by stage and
// microbatch, messages only through sends and receives (or from a neighbouring stage on the same
// device), weights by version, gradients in sums that only updates and collectives touch. A program
// that reads what is not there is refused with the instruction named.
#pragma once

#include <memory>

#include "backends/reference/reference_run.h"
#include "core/lowering/lower.h"

namespace trainyard {

struct ReferenceSchedule;

class ReferenceMachine {
 public:
  /// Everything that it cannot execute: programs at order grain, tensors divided over ranks (tp,
  /// cp, ep), ties between stages, models that do not end in a loss.
  static Diagnostics check(const Workload&, const Program&);
  /// Both must outlive it. Throws Error{InvalidInput} with all that check() finds wrong.
  ReferenceMachine(const Workload&, const Program&);
  ~ReferenceMachine();

  /// Throws Error{InvalidInput} naming the instruction that reads what is not there, and
  /// Error{Cancelled} when stopped. Data-parallel replicas run one after the other.
  ReferenceRun run(const ReferenceOptions& = {}) const;
  const ReferenceSchedule& schedule() const { return *schedule_; }

 private:
  std::unique_ptr<const ReferenceSchedule> schedule_;
};

}  // namespace trainyard
