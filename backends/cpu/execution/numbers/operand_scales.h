// Delayed scaling: the scale of an operand in 8 bits follows from the largest size that its tensor
// had in the last steps, because a cast that needs no pass of its own cannot know the present one.
// All devices, replicas and microbatches of a step share what they have seen, so that a plan does
// not change a scale. In the first step a tensor's own largest size stands in, which for
// weights is that of the whole tensor, however ranks divide it.
//
// Integers of 16 bits have an exponent in place of a scale, which Autoflex predicts from the same
// sizes (core/training/numbers/autoflex.h): a step of the run is one use of an operand, and the
// largest size that its prediction represents is known.
//
// Where weights are kept or gathered in 8 bits, an update casts the next ones and says their
// largest size then, a step before products read them.
//
// Micikevicius et al., "FP8 Formats for Deep Learning", 2022; Transformer Engine, "DelayedScaling".
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/training/numbers/autoflex.h"

namespace trainyard {

class Processes;

class OperandScales {
 public:
  static constexpr std::size_t kSteps = 16;  // that a scale looks back

  enum class Rule : std::uint8_t { Largest, Autoflex };

  explicit OperandScales(std::size_t operands, Rule rule = Rule::Largest)
      : seen_(operands),
        next_(operands),
        known_(operands, 0),
        history_(operands * kSteps, 0),
        flex_(rule == Rule::Autoflex ? operands : 0) {}

  /// The largest size in the last steps, or by Autoflex the range of the next exponent; 0 if there
  /// is none. It stays the same until end_step().
  float known(std::size_t operand) const { return known_[operand]; }
  /// Returns the size that known() has in the next step if nobody sees the operand any more in this
  /// one. Only by Rule::Largest.
  float upcoming(std::size_t operand) const;
  /// Both may be called by any thread: of this step, and of the next one.
  void see(std::size_t operand, float size);
  void see_next(std::size_t operand, float size);
  /// The largest size of the next step that has been seen so far.
  float next(std::size_t operand) const;
  /// Sees the weights that a run begins or goes on with, and no others of this step. Before the
  /// first step they are known, too. Called between steps, by one thread.
  void begin_with(std::size_t operand, float size);
  /// Sees what all processes have seen, which all call it before the step ends.
  void see_all(Processes&);
  /// Called between steps, by one thread.
  void end_step();

  /// Returns as bytes what the next steps depend on. restore() takes these bytes again; it returns
  /// false if they are of another number of operands.
  std::string state() const;
  bool restore(std::string_view);

 private:
  void find_known();

  std::vector<std::atomic<std::uint32_t>> seen_, next_;  // as bits, whose order is that of sizes
  std::vector<float> known_, history_;  // history_: by operand, then step modulo kSteps
  std::uint64_t steps_ = 0;
  std::vector<Autoflex> flex_;
};

}  // namespace trainyard
