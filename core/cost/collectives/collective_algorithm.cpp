#include "core/cost/collectives/collective_algorithm.h"

namespace trainyard {

std::string_view to_string(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::Ring:
      return "ring";
    case CollectiveAlgorithm::RecursiveDoubling:
      return "recursive-doubling";
    case CollectiveAlgorithm::HalvingDoubling:
      return "halving-doubling";
    case CollectiveAlgorithm::Tree:
      return "tree";
    case CollectiveAlgorithm::ScatterGather:
      return "scatter-gather";
    case CollectiveAlgorithm::Torus:
      return "torus";
    case CollectiveAlgorithm::Hierarchical:
      return "hierarchical";
    case CollectiveAlgorithm::Pairwise:
      return "pairwise";
    case CollectiveAlgorithm::Bruck:
      return "bruck";
    case CollectiveAlgorithm::InNetwork:
      return "in-network";
  }
  return "";
}

}  // namespace trainyard
