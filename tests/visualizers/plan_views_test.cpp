// Tests the views of a plan's work: communication, mesh, utilisation, model graph, energy.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <iterator>
#include <set>

#include "core/base/error.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "core/result/roofline_points.h"
#include "tests/support/non_empty.h"
#include "tests/visualizers/golden.h"
#include "tests/visualizers/small_experiment.h"
#include "visualizers/communication/communication_view.h"
#include "visualizers/drawing/svg.h"
#include "visualizers/energy/energy_view.h"
#include "visualizers/mesh/mesh_view.h"
#include "visualizers/model/graph_view.h"
#include "visualizers/utilisation/utilisation_view.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

ExperimentPtr lowered(const std::string& model, const std::string& cluster,
                      const std::vector<std::string>& settings) {
  Scenario scenario{zoo_model(model), parse_cluster(cluster), {}};
  for (const std::string& setting : settings) apply_setting(scenario.plan, setting);
  scenario.plan = complete(scenario);
  auto e = std::make_shared<Experiment>();
  e->workload = prepare(scenario);
  e->program = lower(e->workload);
  Instant at{};
  for (std::size_t i = 0; i < e->program.instructions.size(); ++i, at += Duration{1000})
    e->timeline.spans.push_back({at, at + Duration{1000}});
  return e;
}

CommunicationModel communication(const ExperimentPtr& e) {
  return communication_model(*e, *roofline_cost_model());
}

const CommunicationFlow& flow_of(const CommunicationModel& model, Group group) {
  for (const CommunicationFlow& flow : model.flows)
    if (flow.group == group) return flow;
  throw Error(Error::Kind::Internal, "no such flow");
}

TEST(Communication, TensorRingsStayInTheirNodeAndSendTheRingsShare) {
  const CommunicationModel model =
      communication(lowered("llama-3-8b", "h100-sxm:8", {"tp=4", "global-batch=16"}));
  const CommunicationFlow& flow = flow_of(model, Group::Tensor);
  EXPECT_EQ(flow.ranks, 4);
  EXPECT_DOUBLE_EQ(
      flow.bytes,
      static_cast<double>(sent_bytes(flow.collective, flow.each, 4).value) * flow.calls);
  for (std::int64_t device = 0; device < 8; ++device)
    for (const PairTraffic& pair : testing::non_empty(sent_by(model, device)))
      if (pair.to / 4 == device / 4) {
        EXPECT_EQ(pair.to, device / 4 * 4 + (device + 1) % 4);
      }
}

TEST(Communication, StagesSendToTheirNeighboursAndBack) {
  const CommunicationModel model =
      communication(lowered("llama-3-8b", "h100-sxm:16", {"tp=4", "pp=4", "global-batch=16"}));
  const auto reaches = [&](std::int64_t from, std::int64_t to) {
    for (const PairTraffic& pair : sent_by(model, from))
      if (pair.to == to) return true;
    return false;
  };
  EXPECT_TRUE(reaches(0, 4));   // activations
  EXPECT_TRUE(reaches(4, 0));   // gradients
  EXPECT_FALSE(reaches(0, 8));  // two stages on
  EXPECT_FALSE(reaches(0, 5));  // another tensor rank
}

TEST(Communication, AllToAllsReachEveryOtherMember) {
  const CommunicationModel model =
      communication(lowered("mixtral-8x7b", "h100-sxm:8", {"ep=8", "global-batch=16", "zero=1"}));
  const CommunicationFlow& flow = flow_of(model, Group::Expert);
  ASSERT_EQ(flow.collective, CollectiveKind::AllToAll);
  std::set<std::int64_t> receivers;
  double sent = 0;
  for (const PairTraffic& pair : sent_by(model, 3)) {
    receivers.insert(pair.to);
    sent += pair.bytes;
  }
  EXPECT_EQ(receivers, (std::set<std::int64_t>{0, 1, 2, 4, 5, 6, 7}));
  double flows = 0;
  for (const CommunicationFlow& each : model.flows) flows += each.bytes;
  EXPECT_NEAR(sent / flows, 1, 1e-9);
}

// However the map is folded, nothing is lost or counted twice.
TEST(Communication, CellsSumToWhatTheDevicesSend) {
  const CommunicationModel model = communication(
      lowered("llama-3-8b", "h100-sxm:32", {"tp=2", "pp=2", "cp=2", "global-batch=16"}));
  double sent = 0, most = 0;
  for (std::int64_t device = 0; device < model.devices; ++device)
    for (const PairTraffic& pair : testing::non_empty(sent_by(model, device))) {
      EXPECT_NE(pair.to, device);
      ASSERT_GE(pair.to, 0);
      ASSERT_LT(pair.to, model.devices);
      sent += pair.bytes;
      most = std::max(most, pair.bytes);
    }
  for (const std::size_t cells : {1u, 3u, 7u, 16u, 32u, 100u}) {
    const TrafficGrid grid = traffic_grid(model, TrafficQuantity::Sent, cells);
    EXPECT_LE(grid.cells, cells);
    double sum = 0, high = 0, rows = 0;
    for (const TrafficCell& cell : grid.cell) {
      sum += cell.sum.bytes;
      high = std::max(high, cell.most);
    }
    for (const double row : grid.sent) rows += row;
    EXPECT_NEAR(sum / sent, 1, 1e-9);
    EXPECT_NEAR(rows / sent, 1, 1e-9);
    EXPECT_EQ(high, most);
  }
}

TEST(Communication, MapOfManyDevicesHasNoMoreCellsThanPixels) {
  const CommunicationModel model =
      communication(lowered("llama-3-8b", "h100-sxm:4096", {"tp=8", "pp=4", "global-batch=4096"}));
  const Rect area{0, 0, 1082, 620};
  const CommunicationState state;
  const TrafficGrid grid = grid_of(model, area, state);
  const CommunicationLayout layout = communication_layout(area, state);
  EXPECT_LE(static_cast<float>(grid.cells), layout.map.width);
  EXPECT_EQ(grid.per_cell % 8, 0);  // whole nodes
  Drawing drawing({1082, 620});
  draw_communication(drawing, area, model, grid, state);
  EXPECT_FALSE(drawing.tiles.empty());
  for (const Tile& tile : testing::non_empty(drawing.tiles)) {
    EXPECT_GE(tile.rect.x, layout.map.x - 0.01f);
    EXPECT_LE(tile.rect.right(), layout.map.right() + 0.01f);
  }
}

TEST(Communication, CellsAndCallsAreDescribedWithTheirBandwidth) {
  const CommunicationModel model =
      communication(lowered("llama-3-8b", "h100-sxm:8", {"tp=8", "global-batch=16"}));
  const TrafficGrid grid = traffic_grid(model, TrafficQuantity::Sent, 100);
  const Hover cell = describe_communication(model, grid, {ItemKind::Cell, 1});
  EXPECT_EQ(cell.title, "Device 0 \u2192 device 1");
  EXPECT_NE(cell.lines[0].find(" of 450 GB/s"), std::string::npos) << cell.lines[0];
  const Hover call = describe_communication(model, grid, {ItemKind::Legend, 0});
  EXPECT_NE(call.lines[1].find("busbw"), std::string::npos) << call.lines[1];
  EXPECT_TRUE(describe_communication(model, grid, {ItemKind::Cell, 2}).title.empty());
}

RC_GTEST_PROP(MeshGroups, EveryDeviceIsInOneGroupOfEachKindAtItsOwnPlace, ()) {
  Mesh mesh;
  const auto power = [] { return 1 << *rc::gen::inRange(0, 3); };
  mesh.tp = power(), mesh.cp = power(), mesh.dp = power(), mesh.pp = power();
  if (*rc::gen::arbitrary<bool>()) mesh.etp = 1;
  mesh.ep = std::min(power(), static_cast<int>(expert_pool(mesh)));
  mesh.order = *rc::gen::element<std::string>("tp-cp-ep-dp-pp", "pp-tp-cp-ep-dp", "tp-pp-dp-ep-cp");
  const std::int64_t devices = std::int64_t{mesh.tp} * mesh.cp * *mesh.dp * mesh.pp;
  for (const Group group : {Group::Tensor, Group::Context, Group::Expert, Group::Data,
                            Group::ExpertData, Group::Pipeline}) {
    const MeshAxes axes = group_axes(mesh, group);
    std::int64_t count = 1;
    for (const MeshAxis& axis : axes) count *= axis.count;
    for (std::int64_t device = 0; device < devices; ++device) {
      const std::int64_t place = place_in(axes, device);
      RC_ASSERT(place >= 0 && place < count);
      RC_ASSERT(member(axes, device, place) == device);
      std::set<std::int64_t> members;
      for (std::int64_t p = 0; p < count; ++p) {
        const std::int64_t other = member(axes, device, p);
        RC_ASSERT(other >= 0 && other < devices);
        RC_ASSERT(place_in(axes, other) == p);
        RC_ASSERT(member(axes, other, place) == device);
        members.insert(other);
      }
      RC_ASSERT(static_cast<std::int64_t>(members.size()) == count);
    }
  }
}

TEST(MeshView, NamesTheGroupsThatCrossNodes) {
  Mesh mesh;
  mesh.tp = 4, mesh.dp = 4, mesh.pp = 2;
  const MeshModel model = mesh_model(mesh, parse_cluster("h100-sxm:32"));
  ASSERT_EQ(model.groups.size(), 3u);
  EXPECT_EQ(group_words(model.groups[0]), "tensor groups of 4 stay inside a node");
  EXPECT_EQ(group_words(model.groups[1]), "data groups of 4 span 2 nodes, 2 ranks in each");
  EXPECT_TRUE(model.groups[2].crosses);
  const MeshPlace place = mesh_place(model, 22);  // 22 = 2 + 4 * 1 + 16 * 1
  EXPECT_EQ(place, (MeshPlace{2, 0, 0, 1, 1}));
  EXPECT_EQ(group_of(model.groups[0], 22), (std::vector<std::int64_t>{20, 21, 22, 23}));
}

TEST(MeshView, WholeExpertsLieOverTensorRanks) {
  Mesh mesh;
  mesh.tp = 4, mesh.dp = 4, mesh.ep = 8, mesh.etp = 1;
  const MeshModel model = mesh_model(mesh, parse_cluster("h100-sxm:16"));
  ASSERT_EQ(model.groups.size(), 4u);
  EXPECT_EQ(group_words(model.groups[1]), "expert groups of 8 stay inside a node");
  EXPECT_EQ(group_words(model.groups[3]), "expert-data groups of 2 span 2 nodes, 1 rank in each");
  EXPECT_EQ(mesh_place(model, 14), (MeshPlace{2, 0, 6, 3, 0}));  // 14 = 2 + 4 * 3 = 6 + 8 * 1
  EXPECT_EQ(group_of(model.groups[3], 14), (std::vector<std::int64_t>{6, 14}));
}

TEST(MeshView, ManyNodesAreDrawnOrCounted) {
  Mesh mesh;
  mesh.tp = 8, mesh.dp = 2048;
  const MeshModel model = mesh_model(mesh, parse_cluster("h100-sxm:16384"));
  const auto cells = [&](Size size) {
    Drawing drawing(size);
    draw_mesh(drawing, {0, 0, size.width, size.height}, model, mesh_state(model));
    return drawing.tiles.size();
  };
  EXPECT_EQ(cells({1082, 620}), 16384u);
  EXPECT_LT(cells({300, 200}), 16384u);
}

TEST(Utilisation, SharesOfTheWholeRunAreThoseOfItsSpans) {
  const ExperimentPtr e = testing_experiment::experiment();
  const TimelineModel timeline = timeline_model(e);
  const UtilisationModel model = utilisation_model(timeline);
  const double length = to_seconds(timeline.end);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const BusyShare share = busy_share(timeline, model, rank, Instant{0}, timeline.end);
    EXPECT_NEAR(share.busy, to_seconds(4 * 6ms + 1ms) / length, 1e-9);
    EXPECT_NEAR(share.hardware.value, 9e9, 1);  // nine instructions of 1 GFLOP
    EXPECT_NEAR(share.link, to_seconds(1ms) / length, 1e-9);
  }
}

TEST(Utilisation, HalvesOfASpanHaveHalfOfItsWork) {
  const ExperimentPtr e = testing_experiment::experiment();
  const TimelineModel timeline = timeline_model(e);
  const UtilisationModel model = utilisation_model(timeline);
  const BusyShare half = busy_share(timeline, model, 0, Instant{0}, Instant{1ms});
  EXPECT_NEAR(half.hardware.value, 5e8, 1);
  EXPECT_NEAR(half.busy, 1, 1e-12);
  Flops parts{};
  for (int i = 0; i < 40; ++i)
    parts +=
        busy_share(timeline, model, 1, timeline.end * i / 40, timeline.end * (i + 1) / 40).hardware;
  EXPECT_NEAR(parts.value, 9e9, 10);
}

TEST(Utilisation, TableOfTheRangeSumsToItsBusyTime) {
  const ExperimentPtr e = testing_experiment::experiment();
  const TimelineModel timeline = timeline_model(e);
  const UtilisationModel model = utilisation_model(timeline);
  ViewState state;
  state.range = TimeRange{Instant{0}, Instant{2ms}};
  const DataTable table = utilisation_table(timeline, model, state);
  ASSERT_EQ(table.rows, 4u);
  EXPECT_EQ(std::get<std::int64_t>(table.cell(0, 2)), Duration{2ms}.count());
}

TEST(ModelGraph, PiecesHoldTheWholeModelAndCutsAreBetweenRanks) {
  const ExperimentPtr e = lowered("llama-3-8b", "h100-sxm:16", {"tp=4", "pp=4", "global-batch=16"});
  const GraphModel model = graph_model(e->workload, *roofline_cost_model());
  std::int64_t sum = 0, layers = 0;
  int cuts = 0;
  for (const GraphPiece& piece : model.pieces) {
    sum += piece.parameters;
    layers += piece.count;
    cuts += piece.cut;
  }
  EXPECT_EQ(sum, parameters(e->workload.scenario.model));
  EXPECT_EQ(cuts, 3);
  EXPECT_GT(layers, 32);
  for (const DrawnGraph& graph : testing::non_empty(model.bodies))
    for (const GraphEdge& edge : testing::non_empty(graph.edges)) {
      EXPECT_LT(edge.from, edge.to);  // in order of execution
      EXPECT_LT(graph.ops[edge.from].column, graph.ops[edge.to].column);
      EXPECT_GT(edge.bytes.value, 0) << edge.tensor;
    }
}

TEST(ModelGraph, OpsOfAnOpenedLayerCanBePointedAt) {
  const ExperimentPtr e = lowered("llama-3-8b", "h100-sxm:8", {"tp=4", "global-batch=16"});
  const GraphModel model = graph_model(e->workload, *roofline_cost_model());
  const GraphState state = graph_state(model);
  Drawing drawing({1082, 620});
  draw_graph(drawing, {0, 0, 1082, 620}, model, state);
  std::set<std::string> named;
  for (const Mark& mark : drawing.marks)
    if (mark.style.item.kind == ItemKind::Dot)
      named.insert(describe_graph(model, state, mark.style.item).title);
  EXPECT_TRUE(named.count("q_proj"));
  EXPECT_TRUE(named.count("down_proj"));
}

EnergyModel priced(double watts) {
  EnergyModel model;
  model.devices = 16, model.replicas = 8;
  model.device = "A device";
  model.power = {{watts}, "a datasheet"};
  model.price_low = Sourced<double>{2, "a list"};
  model.price_high = Sourced<double>{4, "a list"};
  model.step = {1s, 900ms, 1100ms, "tested"};
  model.units = 1e6;
  model.busy = 0.3;
  Breakdown rank;
  rank.forward = 300ms, rank.bubble = 500ms, rank.data_parallel = 200ms;
  model.ranks = {rank, rank};
  Device device;
  device.power = model.power;
  model.draw = power_draw(device, 1);
  if (model.draw) model.energy = energy_of(*model.draw, device_time(rank) * 16);
  return model;
}

TEST(Energy, AStepCostsItsEnergyAndHoursTimesPrice) {
  const EnergyModel model = priced(1000);
  const std::vector<EnergyCost> costs = energy_costs(model, {});
  ASSERT_EQ(costs.size(), 3u);
  ASSERT_TRUE(costs[0].energy && costs[0].money);
  // 180 W idle; 1,000 in products; in exposed communication 22 % of the way from one to the other.
  EXPECT_NEAR(costs[0].energy->value.value,
              16 * (0.3 * 1000 + 0.5 * 180 + 0.2 * (180 + 0.22 * 820)), 1e-6);
  EXPECT_EQ(costs[0].energy->low.value, model.energy->low.value);
  EXPECT_NEAR(costs[2].energy->high.value, 1e6 * model.energy->high.value, 1e-3);
  EnergyState site;
  site.overhead = 1.25;
  EXPECT_NEAR(energy_costs(model, site)[0].energy->value.value, 1.25 * costs[0].energy->value.value,
              1e-6);
  EXPECT_NEAR(costs[0].money->value, 16.0 / 3600 * 3, 1e-12);
  EXPECT_NEAR(costs[0].money->high, 16.0 / 3600 * 1.1 * 4, 1e-12);
  EXPECT_NEAR(costs[2].steps, 1e6, 1e-6);  // a trillion tokens
  EXPECT_NEAR(costs[2].days.value, 1e6 / 86400, 1e-9);
}

TEST(Energy, CarbonFollowsTheClustersSiteAndWhatIsSaidInstead) {
  EnergyModel model = priced(1000);
  EXPECT_FALSE(energy_costs(model, {})[0].carbon);
  model.site = {"sweden", 1.5};
  const EnergyCost cost = energy_costs(model, {})[0];
  ASSERT_TRUE(cost.carbon && cost.energy);
  EXPECT_NEAR(cost.energy->value.value, 1.5 * model.energy->value.value, 1e-9);
  EXPECT_NEAR(cost.carbon->value, cost.energy->value.value / 3.6e6 * 0.0407, 1e-12);
  EnergyState said;
  said.region = "poland", said.overhead = 1;
  const EnergyCost other = energy_costs(model, said)[0];
  EXPECT_NEAR(other.carbon->value / cost.carbon->value, 661.9 / 40.7 / 1.5, 1e-9);
  std::string all;
  for (const std::string& line : energy_sources(model, said)) all += line + "\n";
  EXPECT_NE(all.find("carbon: 662 g of CO2 equivalents per kWh in Poland"), std::string::npos)
      << all;
}

TEST(Energy, PartsOfAllRanksSumToTheStep) {
  const EnergyModel model = priced(1000);
  Joules sum{};
  for (std::size_t rank = 0; rank < 2; ++rank)
    for (const EnergyPart& part : energy_parts(model, rank)) sum += part.energy;
  EXPECT_NEAR(sum.value, model.energy->value.value, 1e-6);
}

TEST(Energy, MissingFactsAreNamedAndNothingIsMadeUp) {
  EnergyModel model = priced(0);
  model.price_low.reset();
  const std::vector<EnergyCost> costs = energy_costs(model, {});
  EXPECT_FALSE(costs[0].energy);
  EXPECT_FALSE(costs[0].money);
  std::string all;
  for (const std::string& line : energy_sources(model, {})) all += line + "\n";
  EXPECT_NE(all.find("missing: the power of A device"), std::string::npos);
  EXPECT_NE(all.find("missing: a price"), std::string::npos);
  EnergyState given;
  given.price = 3;
  EXPECT_TRUE(energy_costs(model, given)[0].money);
}

// 39.3 million hours of 700 W are 27.5 GWh, as the Llama 3 model card counts them: of devices that
// never idle.
TEST(Energy, PublishedHoursGiveThePublishedEnergy) {
  EnergyModel model = priced(700);
  model.devices = 1;
  model.step = {1h, 1h, 1h, ""};
  model.units = 1;
  model.energy = energy_of(*model.draw, {3600, 0, 0, 0});
  EnergyState state;
  state.budget = 39.3e6;
  const std::vector<EnergyCost> costs = energy_costs(model, state);
  EXPECT_NEAR(costs.back().energy->value.value / 3.6e12, 27.51, 0.01);
}

TEST(PlanViewsGolden, Mesh) {
  Mesh mesh;
  mesh.tp = 4, mesh.dp = 4, mesh.pp = 2;
  const MeshModel model = mesh_model(mesh, parse_cluster("h100-sxm:32"));
  Drawing drawing({760, 260});
  draw_mesh(drawing, {0, 0, 760, 260}, model, {4, 9});
  testing_golden::expect_golden(drawing, "mesh");
}

TEST(PlanViewsGolden, Energy) {
  Drawing drawing({860, 300});
  draw_energy(drawing, {0, 0, 860, 300}, priced(1000), {});
  testing_golden::expect_golden(drawing, "energy");
}

TEST(PlanViewsGolden, Utilisation) {
  const ExperimentPtr e = testing_experiment::experiment();
  const TimelineModel timeline = timeline_model(e);
  Drawing drawing({480, 260});
  draw_utilisation(drawing, {0, 0, 480, 260}, timeline, utilisation_model(timeline), {});
  testing_golden::expect_golden(drawing, "utilisation");
}

// Two nodes of two devices: a pair in each sends around, and each to its like in the other node.
TEST(PlanViewsGolden, Communication) {
  CommunicationModel model;
  model.devices = 4, model.per_node = 2, model.pipeline_stride = 2;
  model.mesh.tp = 2, model.mesh.dp = 1, model.mesh.pp = 2;
  model.levels = {{"node", 2, {450e9}}, {"network", 4, {50e9}}};
  CommunicationFlow ring;
  ring.collective = CollectiveKind::AllReduce;
  ring.group = Group::Tensor;
  ring.axes = {{2, 1}};
  ring.each = 64_MiB;
  ring.calls = 16;
  ring.time = 500us;
  ring.bytes = 64.0 * 1048576 * 16, ring.messages = 32, ring.seconds = 8e-3;
  CommunicationFlow message;
  message.kind = TaskKind::Send;
  message.group = Group::Pipeline;
  message.each = 8_MiB;
  message.calls = 4;
  message.time = 200us;
  message.level = 1;
  message.bytes = 8.0 * 1048576 * 4, message.messages = 4, message.seconds = 8e-4;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    model.first.push_back(model.flows.size());
    ring.from = message.from = DeviceId{rank};
    message.to = DeviceId{1 - rank};
    model.flows.push_back(ring);
    model.flows.push_back(message);
  }
  model.first.push_back(model.flows.size());
  Drawing drawing({820, 340});
  const Rect area{0, 0, 820, 340};
  draw_communication(drawing, area, model, grid_of(model, area, {}), {});
  testing_golden::expect_golden(drawing, "communication");
}

}  // namespace
}  // namespace trainyard
