// The choice by which the ranks of cp divide the rows of images
// (core/methods/parallel/spatial_partition.cpp).
#pragma once

#include <string_view>

#include "core/plan/plan.h"

namespace trainyard {

inline constexpr std::string_view kSpatialPartition = "spatial-partition";

/// Returns whether a complete plan divides the rows of images.
inline bool divides_images(const Plan& plan) {
  return plan.mesh.cp > 1 && find_choice(plan, kSpatialPartition) != nullptr;
}

}  // namespace trainyard
