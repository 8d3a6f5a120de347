// What "trainyard plan" says: on a terminal, and as trainyard/search.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/workspace/plans/plan_openings.h"
#include "app/workspace/plans/plan_study.h"
#include "app/workspace/plans/why_plan.h"
#include "planners/plans/plan_refine.h"

namespace trainyard {

/// Everything that an answer says of a search.
struct PlanAnswer {
  const PlanSpace& space;
  const SearchResult& found;
  const SearchOptions& options;
  int threads = 1, ranks = 1;
  std::vector<Result> best;   // beside found.best
  std::vector<Result> front;  // beside found.front, by the closed form
  std::vector<FateSample> fates;
  std::vector<RefinedPlan> refined;  // quicker than the best of the space
  std::optional<NoPlan> none;        // where nothing fits
  std::optional<WhyPlan> why;        // where --why asks
};

std::string search_text(const PlanAnswer&);
/// Why one plan lost: what --why prints instead.
std::string why_text(const PlanAnswer&);
/// trainyard/search@1. Nothing in it but `seconds` and `plans_per_second` hangs on the machine,
/// its threads or ranks.
std::string search_document(const PlanAnswer&);

}  // namespace trainyard
