// Writes the other answers of "trainyard knobs", each as text and as a document: a boundary, what
// flips two plans, which layers own the peak, another wrapping.
#pragma once

#include <string>
#include <vector>

#include "core/io/json/json.h"
#include "core/result/owners.h"
#include "planners/recompute/recompute_study.h"
#include "planners/sensitivity/boundary.h"
#include "planners/sensitivity/flip.h"
#include "planners/sensitivity/recompute_effect.h"
#include "planners/sensitivity/resharding.h"
#include "planners/sensitivity/wrapping.h"

namespace trainyard {

std::string boundary_text(const KnobBoundary&);
Json boundary_schema();
std::string boundary_document(const KnobBoundary&);  // trainyard/boundary@1

/// The names of the two plans, in the order given.
struct FlipNames {
  std::string a, b;
};
std::string flip_text(const Flip&, const FlipNames&);
Json flip_schema();
std::string flip_document(const Flip&, const FlipNames&);  // trainyard/flip@1

std::string owners_text(const Owners&, const RecomputeEffect&);
Json owners_schema();
std::string owners_document(const Owners&, const RecomputeEffect&);  // trainyard/owners@1

std::string wrapping_text(const Scenario&, const std::vector<Wrapping>&);
Json wrapping_schema();
std::string wrapping_document(const std::vector<Wrapping>&);  // trainyard/wrapping@1

std::string recomputation_text(const Scenario&, const RecomputeStudy&);
Json recomputation_schema();
std::string recomputation_document(const RecomputeStudy&);  // trainyard/recomputation@1
std::string resharding_text(const Scenario&, const std::vector<Resharding>&);
Json resharding_schema();
std::string resharding_document(const std::vector<Resharding>&);  // trainyard/resharding@1

}  // namespace trainyard
