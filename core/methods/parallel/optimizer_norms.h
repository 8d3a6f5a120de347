// The norms of whole tensors by which LARS and LAMB scale their rates: what they cost, and replicas
// that share them (optimizer_norms.cpp).
#pragma once

#include <string_view>

#include "core/methods/layers/body.h"
#include "core/plan/plan.h"

namespace trainyard {

inline constexpr std::string_view kOptimizerNorms = "optimizer-norms";

/// Returns whether the replicas of a complete plan share norms: the plan says so, its optimizer has
/// some, and there are at least two.
bool shares_norms(const Plan&);

/// Adds the pass that finds the norms to the update of a layer, where the plan's optimizer has
/// norms and runs on the device. `layers`: those of a stage, of which a replica that shares norms
/// takes its part.
void add_norms(Body&, const Layout&, const Plan&, std::int64_t layers);

/// The op that add_norms() added; null where it added none.
const BodyOp* norms_op(const Body&);
/// Returns the share of a stage's norms that one replica finds: 1 where each finds all of them. The
/// replica of the most layers counts.
double found_share(const Plan&, std::int64_t layers);

/// The message by which replicas learn the two norms of so many tensors of a stage.
BodyOp norms_exchange(std::int64_t tensors);

}  // namespace trainyard
