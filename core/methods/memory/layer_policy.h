// What each layer of each stage recomputes, and its text:
//
//   full                        every layer
//   full*4,none                 the first four layers of every stage, not the others
//   full*4,none/full*2,none     four of the first virtual stage, two of the second
//   keep=attention+act*3,op     three layers keep what these two nodes make, the others by policy
//   op
//
// Runs of equal layers in order of data flow, separated by commas; stages by slashes, or one list
// that every stage follows. A run without a count takes the layers that are left, and so does the
// last. Policies are none, selective, op, full, or keep=<nodes> (keep=input: nothing but the
// layer's input). Of a node's name what is no letter, digit, dot, dash or underscore is written
// %2F.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/model/model.h"
#include "core/plan/plan.h"

namespace trainyard {

struct LayerPolicy {
  enum class Kind : std::uint8_t { None, Selective, Op, Full, Keep };
  Kind kind = Kind::None;
  std::vector<std::string> kept = {};  // of Keep: names of nodes, in order of the alphabet
  friend bool operator==(const LayerPolicy&, const LayerPolicy&) = default;
};

struct PolicyRun {
  LayerPolicy policy;
  int layers = 0;  // 0 = those that are left
  friend bool operator==(const PolicyRun&, const PolicyRun&) = default;
};
/// Of one stage, in order; only the last may take what is left.
using StagePolicies = std::vector<PolicyRun>;

struct RecomputePolicies {
  std::vector<StagePolicies> stages;  // one: every stage follows it
  friend bool operator==(const RecomputePolicies&, const RecomputePolicies&) = default;
};

/// Throws Error{InvalidInput}: expected, found, nearest.
RecomputePolicies parse_policies(std::string_view text, const Place&);
LayerPolicy parse_layer_policy(std::string_view text, const Place&);
std::string to_text(const RecomputePolicies&);
std::string to_text(const StagePolicies&);
std::string to_text(const LayerPolicy&);

/// What the plan's choice of recompute says; none where it chooses none. Throws as
/// parse_policies() does.
RecomputePolicies policies_of(const Plan&);
/// Of that many layers of a virtual stage, run by run, each with a count. Fewer layers than the
/// runs have cut the last ones off; layers that no run names are policy none.
StagePolicies policies_of(const RecomputePolicies&, std::size_t stage, int layers);

/// What does not go with the model's layers or their split over stages: nodes that no layer has
/// (nearest), more or fewer lists than stages, runs that ask for more layers than there are.
Diagnostics check_policies(const RecomputePolicies&, const Model&, const std::vector<int>& layers,
                           const Place&);

}  // namespace trainyard
