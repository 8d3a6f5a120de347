#include "visualizers/view.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/nearest.h"
#include "visualizers/memory/memory_view.h"
#include "visualizers/plan_views.h"
#include "visualizers/schedule/schedule_lanes.h"
#include "visualizers/tables.h"
#include "visualizers/timeline/timeline_view.h"
#include "visualizers/view_data.h"
#include "visualizers/waves/waves_view.h"

namespace trainyard {
namespace {

Drawing draw_analyse_view(const ViewData& data, Size size, const ViewState& state) {
  Drawing drawing(size);
  const AnalyseLayout layout = analyse_layout(data, size);
  draw_timeline(drawing, layout.timeline, data.timeline(), state);
  draw_memory(drawing, layout.memory, data.memory(), state);
  return drawing;
}

Drawing draw_timeline_view(const ViewData& data, Size size, const ViewState& state) {
  Drawing drawing(size);
  draw_timeline(drawing, whole(size), data.timeline(), state);
  return drawing;
}

Drawing draw_memory_view(const ViewData& data, Size size, const ViewState& state) {
  Drawing drawing(size);
  const Rect ruler{0, 0, size.width, kRuler};
  const Viewport shown = viewport_of(ruler, state, data.memory().end);
  draw_ruler(drawing, ruler, shown, state, data.memory().end);
  draw_memory(drawing, {0, kRuler, size.width, std::max(0.f, size.height - kRuler)}, data.memory(),
              state);
  draw_time_tags(drawing, ruler, shown, state, data.memory().end);
  return drawing;
}

Drawing draw_roofline_view(const ViewData& data, Size size, const ViewState& state) {
  Drawing drawing(size);
  draw_roofline(drawing, whole(size), data.roofline(), state);
  return drawing;
}

Drawing draw_order_view(const ViewData& data, Size size, const ViewState& state) {
  Drawing drawing(size);
  draw_order(drawing, whole(size), data.experiment->program, data.order(), state);
  return drawing;
}

Drawing draw_lanes_of(const ViewData& data, Size size, const ViewState& state) {
  Drawing drawing(size);
  draw_lanes_view(drawing, whole(size), schedule_lanes(data.timeline(), data.memory()), state);
  return drawing;
}

Drawing draw_staleness_view(const ViewData& data, Size size, const ViewState& state) {
  Drawing drawing(size);
  draw_staleness(drawing, whole(size), data.staleness(), state);
  return drawing;
}

Drawing draw_waves_view(const ViewData& data, Size size, const ViewState& state) {
  Drawing drawing(size);
  draw_waves(drawing, whole(size), data.waves(), data.timeline(), state);
  return drawing;
}

Drawing draw_layers_view(const ViewData& data, Size size, const ViewState& state) {
  Drawing drawing(size);
  draw_layers(drawing, whole(size), *data.experiment, data.layers(), state);
  return drawing;
}

Drawing draw_cluster_view(const ViewData& data, Size size, const ViewState& state) {
  Drawing drawing(size);
  draw_cluster(drawing, whole(size), *data.experiment, data.cluster(), state);
  return drawing;
}

// Waves are told at the instant under the pointer.
Hover describe_wave_at(const ViewData& data, Size size, Item item, Point point,
                       const ViewState& state) {
  return describe_memory(
      data.memory(), item,
      time_at(viewport_of(whole(size), state, data.memory().end), double{point.x}), state);
}

Hover describe_analyse_view(const ViewData& data, const Drawing& drawing, Point point,
                            const ViewState& state) {
  const Item item = hit(drawing, point);
  const AnalyseLayout layout = analyse_layout(data, drawing.size);
  return contains(layout.timeline, point)
             ? describe_timeline(data.timeline(), layout.timeline, state, item)
             : describe_wave_at(data, drawing.size, item, point, state);
}

Hover describe_timeline_view(const ViewData& data, const Drawing& drawing, Point point,
                             const ViewState& state) {
  return describe_timeline(data.timeline(), whole(drawing.size), state, hit(drawing, point));
}

Hover describe_memory_view(const ViewData& data, const Drawing& drawing, Point point,
                           const ViewState& state) {
  return describe_wave_at(data, drawing.size, hit(drawing, point), point, state);
}

Hover describe_roofline_view(const ViewData& data, const Drawing& drawing, Point point,
                             const ViewState&) {
  return describe_roofline(data.roofline(), hit(drawing, point));
}

Hover describe_order_view(const ViewData& data, const Drawing& drawing, Point point,
                          const ViewState&) {
  return describe_order(data.experiment->program, data.order(), hit(drawing, point));
}

Hover describe_lanes_of(const ViewData& data, const Drawing& drawing, Point point,
                        const ViewState& state) {
  return describe_lanes_view(schedule_lanes(data.timeline(), data.memory()), whole(drawing.size),
                             state, hit(drawing, point), point.x);
}

Hover describe_staleness_view(const ViewData& data, const Drawing& drawing, Point point,
                              const ViewState&) {
  return describe_staleness(data.staleness(), hit(drawing, point));
}

Hover describe_waves_view(const ViewData& data, const Drawing& drawing, Point point,
                          const ViewState& state) {
  return describe_waves(data.waves(), data.timeline(), whole(drawing.size), state,
                        hit(drawing, point), point);
}

Hover describe_layers_view(const ViewData& data, const Drawing& drawing, Point point,
                           const ViewState&) {
  return describe_layer(data.layers(), hit(drawing, point));
}

Hover describe_cluster_view(const ViewData& data, const Drawing& drawing, Point point,
                            const ViewState&) {
  return describe_cluster(*data.experiment, hit(drawing, point));
}

DataTable table_of_timeline(const ViewData& data, const ViewState& state) {
  return timeline_table(data.experiment, state);
}

DataTable table_of_memory(const ViewData& data, const ViewState&) {
  return memory_table(data.experiment);
}

DataTable table_of_roofline(const ViewData& data, const ViewState&) {
  return roofline_table(data.roofline());
}

DataTable table_of_order(const ViewData& data, const ViewState&) {
  return order_table(data.experiment, data.order());
}

DataTable table_of_waves(const ViewData& data, const ViewState&) {
  return waves_table(data.waves());
}

DataTable table_of_staleness(const ViewData& data, const ViewState&) {
  return staleness_table(data.staleness());
}

DataTable table_of_layers(const ViewData& data, const ViewState&) {
  return layer_table(data.layers());
}

DataTable table_of_cluster(const ViewData& data, const ViewState&) {
  return cluster_table(data.experiment);
}

constexpr std::array<View, 15> kViews = {{
    {"analyse",
     "Analyse",
     "timeline and memory waves on one time axis",
     {1082, 680},
     draw_analyse_view,
     describe_analyse_view,
     table_of_timeline},
    {"timeline",
     "Timeline",
     "what each pipeline rank does when",
     {1082, 340},
     draw_timeline_view,
     describe_timeline_view,
     table_of_timeline},
    {"memory",
     "Memory",
     "what each pipeline rank holds when, under its capacity",
     {1082, 380},
     draw_memory_view,
     describe_memory_view,
     table_of_memory},
    {"roofline",
     "Roofline",
     "each kind of work under the roofs of device and links",
     {1060, 520},
     draw_roofline_view,
     describe_roofline_view,
     table_of_roofline},
    {"order",
     "Order",
     "the schedule as the grid of the papers",
     {1082, 240},
     draw_order_view,
     describe_order_view,
     table_of_order},
    {"lanes",
     "Lanes",
     "each pipeline rank's lane with what it holds beneath",
     {1082, 460},
     draw_lanes_of,
     describe_lanes_of,
     table_of_timeline},
    {"waves",
     "Waves",
     "what each wave holds, and the peak at every offset between them",
     {1082, 620},
     draw_waves_view,
     describe_waves_view,
     table_of_waves},
    {"staleness",
     "Staleness",
     "how many updates old the weights of each forward are, stage by time",
     {1082, 260},
     draw_staleness_view,
     describe_staleness_view,
     table_of_staleness},
    {"layers",
     "Layers",
     "time of each layer, with the stages beneath",
     {1000, 170},
     draw_layers_view,
     describe_layers_view,
     table_of_layers},
    {"cluster",
     "Cluster",
     "the predicted peak of every device, node by node",
     {1000, 390},
     draw_cluster_view,
     describe_cluster_view,
     table_of_cluster},
    {"communication",
     "Communication",
     "who sends how much to whom in a step, device by device",
     {1082, 620},
     draw_communication_of,
     describe_communication_of,
     table_of_communication},
    {"mesh",
     "Mesh",
     "which rank sits on which device, and which groups cross nodes",
     {1082, 560},
     draw_mesh_of,
     describe_mesh_of,
     table_of_mesh},
    {"utilisation",
     "Utilisation",
     "how busy each pipeline rank is over time, and what of the peak all reach",
     {1082, 560},
     draw_utilisation_of,
     describe_utilisation_of,
     table_of_utilisation},
    {"graph",
     "Graph",
     "the model's layers with their stages, and the tensors between them",
     {1082, 560},
     draw_graph_of,
     describe_graph_of,
     table_of_graph},
    {"energy",
     "Energy",
     "what the devices draw by what they do, and what a training costs",
     {1082, 520},
     draw_energy_of,
     describe_energy_of,
     table_of_energy},
}};

}  // namespace

std::span<const View> views() { return kViews; }

const View& view(std::string_view name) {
  std::vector<std::string_view> names;
  for (const View& each : kViews) {
    if (each.name == name) return each;
    names.push_back(each.name);
  }
  throw Error(Error::Kind::InvalidInput,
              "there is no view \"" + std::string(name) + "\"" + did_you_mean(name, names),
              {"view"});
}

AnalyseLayout analyse_layout(const ViewData& data, Size size) {
  // Lanes keep their height while half of the large wave stays in sight; a little room below them
  // sets them apart.
  const float least = kSectionBar + kWaveExpanded;
  const float wanted = timeline_height(data.timeline()) + 2;
  const float timeline = std::clamp(wanted, std::min(wanted, size.height * 0.4f),
                                    std::max(size.height * 0.4f, size.height - least));
  return {{0, 0, size.width, timeline},
          {0, timeline, size.width, std::max(0.f, size.height - timeline)}};
}

}  // namespace trainyard
