// Explains why one plan lost, or what is wrong with it. The plan is named by some of its words and
// need not be in the space.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/workspace/plans/plan_study.h"

namespace trainyard {

/// Converts "tp=8,pp=2", "tp=8 pp=2" or "--tensor-model-parallel-size 8 --pp 2" to assignments with
/// the keys of settings. Throws Error{InvalidInput} if nothing is typed, a word has no value, or a
/// key is unknown (naming the nearest).
std::vector<std::string> plan_words_of(std::string_view typed);

/// Throws Error{InvalidInput} for a value that its setting does not accept.
void expect_words(const PlanSpace&, const std::vector<std::string>& words);

struct WhyPlan {
  std::uint64_t matches = 0;  // number of plans of the space with these words
  std::optional<PlanId> id;   // the best of them; empty if the space has none
  std::string outside;        // the words that the space lacks, if so
  // The words of the plan: the space's own if the plan is in the space, else the typed words added
  // to the winner's.
  std::vector<std::string> words;
  Scenario scenario;  // of the plan
  Reason reason;
  // The plan of the list or the front, other than itself, that differs in the fewest words.
  std::optional<PlanId> nearest;
  std::string change;  // that plan's words where it differs; "" outside the space
  // By the closed form: of the plan if it is legal, and of the winner.
  std::optional<Result> mine, best;
};

/// Of several plans with the words, those that fit come first, ordered by the objective; plans that
/// do not fit are ordered by memory. Throws Error{InvalidInput} for words that no plan can take.
WhyPlan why_plan(const PlanSpace&, const SearchResult&, const SearchOptions&, PlanPrices&,
                 const std::vector<std::string>& words);

}  // namespace trainyard
