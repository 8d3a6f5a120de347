// The way in which a plan combines what its data-parallel replicas found (adasum.cpp), for those
// that execute or count it.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/units.h"
#include "core/plan/parallelism.h"
#include "core/plan/plan.h"

namespace trainyard {

enum class Reduce : std::uint8_t { Mean, Sum, Adasum, AdasumTree, AdasumHierarchical };

inline constexpr std::string_view kAdasum = "adasum";
inline constexpr std::string_view kReduce = "reduce";  // its parameter
inline constexpr std::string_view kMeanWord = "mean";

/// A plan that does not choose the method takes the mean.
Reduce reduce_of(const Plan&);
/// Returns whether the replicas of a complete plan combine updates by Adasum: the plan says so, and
/// there are at least two.
bool combines_updates(const Plan&);
/// Returns how many neighbouring replicas take the mean of their updates before Adasum combines
/// those of nodes; 1 where every replica's update is combined.
std::int64_t mean_ranks(const Plan&, const Cluster&);
/// Returns how many updates Adasum combines: one of each replica, or of each node.
std::int64_t combined_updates(const Plan&, const Cluster&);
/// Returns what arrives of other ranks while the updates of one layer with so many trained
/// parameters are combined: half of a vector, or the vectors of all ranks of the tree.
Bytes combining_bytes(const Plan&, std::int64_t parameters);

}  // namespace trainyard
