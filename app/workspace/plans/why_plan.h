// Why one plan lost, or what is wrong with it: any plan, of the space or not, named by some of its
// words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/workspace/plans/plan_study.h"

namespace trainyard {

/// "tp=8,pp=2", "tp=8 pp=2" or "--tensor-model-parallel-size 8 --pp 2" as assignments, their keys
/// those of settings. Throws Error{InvalidInput}: nothing in it, a word without a value, an unknown
/// key (nearest).
std::vector<std::string> plan_words_of(std::string_view typed);

/// Throws Error{InvalidInput} for a value that its setting does not know.
void expect_words(const PlanSpace&, const std::vector<std::string>& words);

struct WhyPlan {
  std::uint64_t matches = 0;       // plans of the space that have these words
  std::optional<PlanId> id;        // of them the one that does best; nothing: none is in the space
  std::string outside;             // which words the space lacks, where none is
  std::vector<std::string> words;  // of the plan: the space's where it is one of it, else what was
                                   // typed on top of the winner's
  Scenario scenario;               // of the plan
  Reason reason;
  std::optional<PlanId> nearest;     // of the list and the front, fewest words apart; not itself
  std::string change;                // that plan's words where they differ; "" outside the space
  std::optional<Result> mine, best;  // closed form; of a legal plan, and of the winner
};

/// Of several plans that have the words, fitting ones come first, then the better by the objective;
/// plans that do not fit by memory. Throws Error{InvalidInput} for words that no plan can take.
WhyPlan why_plan(const PlanSpace&, const SearchResult&, const SearchOptions&, PlanPrices&,
                 const std::vector<std::string>& words);

}  // namespace trainyard
