// A LayerPolicy says what a layer recomputes, or what of it leaves for the host; RecomputePolicies
// do so for each layer of each stage. Their text form is:
//
//   full                        every layer
//   full*4,none                 the first four layers of every stage, not the others
//   full*4,none/full*2,none     four of the first virtual stage, two of the second
//   keep=attention+act*3,op     three layers keep what these two nodes make, the others by policy
//   op
//
// Runs of equal layers in order of data flow, separated by commas; stages by slashes, or one list
// that every stage follows. A run without a count takes the remaining layers, and so does the last
// run. Policies are none, selective, op, full, or keep=<nodes> (keep=input: nothing but the layer's
// input). In a node's name, characters other than letters, digits, dots, dashes and underscores are
// written as %2F. Policies of what leaves are written likewise, with words of their own: none, all,
// convolutions (what convolutions read), or made=<nodes> (what these nodes make; made=input is the
// layer's input).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/model/model.h"
#include "core/plan/plan.h"

namespace trainyard {

struct LayerPolicy {
  enum class Kind : std::uint8_t { None, Selective, Op, Full, Keep, All, Convolutions, Made };
  Kind kind = Kind::None;
  std::vector<std::string> kept = {};  // for Keep and Made: names of nodes, sorted
  friend bool operator==(const LayerPolicy&, const LayerPolicy&) = default;
};

struct PolicyRun {
  LayerPolicy policy;
  int layers = 0;  // 0 = all remaining layers
  friend bool operator==(const PolicyRun&, const PolicyRun&) = default;
};
/// The policies of one stage, in order; only the last may take all remaining layers.
using StagePolicies = std::vector<PolicyRun>;

struct RecomputePolicies {
  std::vector<StagePolicies> stages;  // a single entry applies to every stage
  friend bool operator==(const RecomputePolicies&, const RecomputePolicies&) = default;
};

/// The methods whose words a policy has: none to full and keep, or none to convolutions and made.
enum class PolicyWords : std::uint8_t { Recompute, Offload };

/// Throws Error{InvalidInput} with what was expected, what was found and the nearest word.
RecomputePolicies parse_policies(std::string_view text, const Place&,
                                 PolicyWords = PolicyWords::Recompute);
LayerPolicy parse_layer_policy(std::string_view text, const Place&,
                               PolicyWords = PolicyWords::Recompute);
std::string to_text(const RecomputePolicies&);
std::string to_text(const StagePolicies&);
std::string to_text(const LayerPolicy&);

/// Returns the policies in the plan's choice of recompute; policy none where it chooses none.
/// Throws as parse_policies() does.
RecomputePolicies policies_of(const Plan&);
/// Returns the policies of a virtual stage with that many layers, run by run, each with a count. If
/// there are fewer layers than the runs name, the last runs are cut off; layers that no run names
/// have policy none.
StagePolicies policies_of(const RecomputePolicies&, std::size_t stage, int layers);

/// Returns what does not fit the model's layers or their split over stages: nodes that no layer has
/// (with the nearest), a number of lists other than the number of stages, runs with more layers
/// than there are.
Diagnostics check_policies(const RecomputePolicies&, const Model&, const std::vector<int>& layers,
                           const Place&, PolicyWords = PolicyWords::Recompute);

}  // namespace trainyard
