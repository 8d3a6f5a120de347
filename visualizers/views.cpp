#include "visualizers/view.h"

#include <array>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/nearest.h"
#include "visualizers/analyse/analyse_view.h"
#include "visualizers/communication/communication_view.h"
#include "visualizers/energy/energy_view.h"
#include "visualizers/memory/memory_view.h"
#include "visualizers/mesh/cluster_view.h"
#include "visualizers/mesh/mesh_view.h"
#include "visualizers/model/graph_view.h"
#include "visualizers/model/layer_view.h"
#include "visualizers/reliability/goodput_view.h"
#include "visualizers/roofline/roofline_view.h"
#include "visualizers/scaling/scaling_view.h"
#include "visualizers/schedule/order_view.h"
#include "visualizers/schedule/schedule_lanes.h"
#include "visualizers/schedule/staleness_view.h"
#include "visualizers/timeline/timeline_view.h"
#include "visualizers/utilisation/utilisation_view.h"
#include "visualizers/waves/waves_view.h"

namespace trainyard {

std::span<const View> views() {
  static const std::array all{kAnalyseView, kTimelineView, kMemoryView,        kRooflineView,
                              kOrderView,   kLanesView,    kWavesView,         kStalenessView,
                              kLayersView,  kClusterView,  kCommunicationView, kUtilisationView,
                              kMeshView,    kGraphView,    kEnergyView,        kScalingView,
                              kGoodputView};
  return all;
}

const View& view(std::string_view name) {
  std::vector<std::string_view> names;
  for (const View& each : views()) {
    if (each.name == name) return each;
    names.push_back(each.name);
  }
  throw Error(Error::Kind::InvalidInput,
              "there is no view \"" + std::string(name) + "\"" + did_you_mean(name, names),
              {"view"});
}

}  // namespace trainyard
