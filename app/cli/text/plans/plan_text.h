// Writes the output of "trainyard plan", for a terminal and as trainyard/search.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/workspace/plans/plan_openings.h"
#include "app/workspace/plans/plan_study.h"
#include "app/workspace/plans/why_plan.h"
#include "core/io/json/json.h"
#include "planners/plans/plan_refine.h"

namespace trainyard {

/// Everything that an answer contains about a search.
struct PlanAnswer {
  const PlanSpace& space;
  const SearchResult& found;
  const SearchOptions& options;
  int threads = 1, ranks = 1;
  double seconds = 0;         // of the whole answer: pricing, simulation and what is said of plans
  std::vector<Result> best;   // parallel to found.best
  std::vector<Result> front;  // parallel to found.front, by the closed form
  std::vector<FateSample> fates;
  std::vector<RefinedPlan> refined;  // faster than the best of the space
  std::optional<NoPlan> none;        // if nothing fits
  std::optional<WhyPlan> why;        // if --why is given
};

std::string search_text(const PlanAnswer&);
/// Why one plan lost: printed instead if --why is given.
std::string why_text(const PlanAnswer&);
/// The document trainyard/search@1. Only `seconds` and `plans_per_second` depend on the machine,
/// its threads or ranks.
Json search_schema();
std::string search_document(const PlanAnswer&);

}  // namespace trainyard
