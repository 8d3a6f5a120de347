#include "planners/plans/fate.h"

namespace trainyard {

std::string_view to_string(Fate fate) {
  switch (fate) {
    case Fate::Untried:
      return "untried";
    case Fate::Layers:
      return "layers";
    case Fate::Heads:
      return "heads";
    case Fate::Batch:
      return "batch";
    case Fate::Sequence:
      return "sequence";
    case Fate::Devices:
      return "devices";
    case Fate::Schedule:
      return "schedule";
    case Fate::Method:
      return "method";
    case Fate::Memory:
      return "memory";
    case Fate::Dominated:
      return "dominated";
    case Fate::Front:
      return "front";
    case Fate::Best:
      return "best";
  }
  return "untried";
}

}  // namespace trainyard
