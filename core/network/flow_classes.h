// FlowClasses are the flows and links of a network that cannot be told apart. In a step most
// devices do what many others do, so that a thousand flows over a thousand links are often three
// kinds over four. Classes are refined until each flow of a class passes equally many links of
// every class, and each link of a class is passed by equally many flows of every class (colour
// refinement; Berkholz, Bonsma, Grohe 2013). Max-min fair rates are unique, so that flows of one
// class then have the same rate whichever patterns are under way, and one flow of each class says
// what all of them do.
#pragma once

#include <cstdint>
#include <vector>

#include "core/network/flow_engine.h"

namespace trainyard {

/// A flow between two places. All flows of a pattern begin together.
struct PlacedFlow {
  std::uint32_t pattern = 0;
  double bytes = 0;                    // finite, >= 0
  std::uint32_t first = 0, count = 0;  // slice of PlacedFlows::paths
};
struct PlacedFlows {
  std::uint32_t patterns = 0;
  std::vector<PlacedFlow> flows;
  std::vector<FlowLink> paths;  // a link may occur twice in a path
};

struct FlowClass {
  std::uint32_t pattern = 0;
  double bytes = 0;            // of one flow
  std::int64_t flows = 0;      // members
  std::vector<FlowLink> path;  // over classes of links; empty: it stays on its device
};
struct LinkClass {
  double capacity = 1;
  std::int64_t links = 0;
  std::uint32_t example = 0;  // its first link
};
struct FlowClasses {
  std::vector<LinkClass> links;         // of links that some flow passes, by their first
  std::vector<FlowClass> flows;         // by pattern, then by their first flow
  std::vector<std::uint32_t> first_of;  // pattern p has the flows [first_of[p], first_of[p + 1])
};

/// Costs the links of all paths times the number of rounds, of which a regular network takes few.
FlowClasses flow_classes(const PlacedFlows&, const std::vector<double>& capacities);

}  // namespace trainyard
