// A RuleRun watches one run by a set of rules: it keeps what they need of earlier looks, and what
// has fired.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/rules/catalogue.h"

namespace trainyard {

inline constexpr std::int64_t kRuleInterval = 50;  // steps

/// When rules look, and what follows where one fires.
struct RuleWatch {
  RuleSet rules = {};
  std::int64_t interval = kRuleInterval;  // steps
  bool stops = false;                     // the run ends with the step at which a rule fires
  std::vector<double> earlier = {};       // losses of the run with which it is compared
};

class RuleRun {
 public:
  explicit RuleRun(RuleWatch);

  const RuleWatch& watch() const { return watch_; }
  /// Returns what rules read after that step. What a layer gives its activation functions matters
  /// in the first steps only.
  RuleReads reads_at(std::int64_t step) const;
  /// Rules look after the first step that they may, because initial weights show there, and then
  /// after every step whose number is a multiple of the interval.
  bool looks_at(std::int64_t step) const;

  /// Says that so many steps have been done before, by which losses are counted.
  void begin(std::int64_t first_step);
  /// Forgets the losses, evaluations and looks of steps after that one, which are done again. What
  /// has fired stays.
  void go_back(std::int64_t step);
  void add_loss(double loss) { shown_.losses.push_back(loss); }
  void add_evaluation(const LookedEvaluation& e) { shown_.evaluations.push_back(e); }
  /// Evaluates the rules on a look. Returns whether one has fired that had not, for the tensor or
  /// device that it fired for.
  bool see(Look);

  /// In the order in which they fired; each rule fires once for one tensor, device or run.
  const FiredRules& fired() const { return fired_; }

 private:
  RuleWatch watch_;
  RunShown shown_;
  FiredRules fired_;
};

}  // namespace trainyard
