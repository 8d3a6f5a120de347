// Tests what dividing the rows of images costs, where its messages lie, and which models allow it.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/io/documents/model_json.h"
#include "core/lowering/phases.h"
#include "core/model/divided_rows.h"
#include "core/model/zoo/builders.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::scenario;
using testing::Settings;
using testing::Words;

Model small_images(std::int64_t image, std::int64_t width) {
  return build_convnet({"small images", image, 1, 3, width, 1, 1});
}

std::string rows_finding(const Model& model, std::int64_t devices, const Settings& words) {
  const Diagnostics found = check(scenario(model, devices, words));
  return found.empty() ? "" : found.front().message + " -> " + found.front().fix;
}

// B-SCH-10: 2 (k / 2) rows of W C elements of each image pass over a cut, half of them each way.
RC_GTEST_PROP(SpatialPartition, RowsOfHalfAKernelPassOverEachCutBothWays, ()) {
  const auto width = *rc::gen::inRange<std::int64_t>(1, 9),
             micro = *rc::gen::inRange<std::int64_t>(1, 5);
  const auto ranks = *rc::gen::element<std::int64_t>(2, 4);
  const bool narrow = *rc::gen::arbitrary<bool>();
  const std::string cp = "cp=" + std::to_string(ranks),
                    batch = "micro-batch=" + std::to_string(micro);
  const Workload w = prepare(scenario(small_images(16, width), ranks,
                                      {cp, batch, narrow ? "precision=bf16" : "precision=fp32"}));
  std::size_t exchanges = 0;
  for (const Body& body : w.bodies) {
    const Graph& graph = w.scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
    for (const auto* ops : {&body.forward, &body.backward})
      for (const BodyOp& op : *ops) {
        if (!op.communication || op.collective != CollectiveKind::HaloExchange) continue;
        const Shape& image = graph[graph[op.node].inputs[0]].shape;
        const std::int64_t kernel = attribute(graph[op.node], "above") * 2 + 1,
                           each = narrow ? 2 : 4, neighbours = ranks > 2 ? 2 : 1;
        RC_ASSERT(op.bytes.value ==
                  neighbours * (kernel / 2) * image[3].size * image[1].size * each * micro);
        RC_ASSERT(op.group == Group::Context);
        RC_ASSERT(!op.overlapped);
        ++exchanges;
      }
  }
  RC_ASSERT(exchanges >= 3u);
}

// Every convolution is divided by the ranks, and so is what a device keeps of each image but the
// rows that it shares.
TEST(SpatialPartition, RanksShareTheWorkOfEveryConvolution) {
  const auto products = [](std::int64_t ranks) {
    const std::string cp = "cp=" + std::to_string(ranks);
    const Workload w = prepare(scenario(zoo_model("resnet-20"), ranks, {cp, "precision=fp32"}));
    double flops = 0;
    for (const Body& body : w.bodies)
      for (const auto* ops : {&body.forward, &body.backward})
        for (const BodyOp& op : *ops)
          if (op.name.find("conv") != std::string::npos && !op.communication)
            flops += op.work.flops.value;
    return flops;
  };
  EXPECT_DOUBLE_EQ(products(2), products(1) / 2);
  EXPECT_DOUBLE_EQ(products(4), products(1) / 4);
  const auto kept = [](std::int64_t ranks) {
    const std::string cp = "cp=" + std::to_string(ranks);
    const Workload w = prepare(scenario(zoo_model("resnet-20"), ranks, {cp, "precision=fp32"}));
    return static_cast<double>(phase_bytes(w, StageId{0}).until_weight.value +
                               phase_bytes(w, StageId{0}).until_input.value);
  };
  EXPECT_LT(kept(2), 0.75 * kept(1));
  EXPECT_LT(kept(4), 0.45 * kept(1));
}

TEST(SpatialPartition, ExchangesLieBeforeTheWindowsThatReadThem) {
  const Workload w = prepare(scenario(small_images(8, 2), 2, {"cp=2"}));
  const Words forward = testing::names(w.bodies.front().forward);
  const auto halo = std::find_if(forward.begin(), forward.end(),
                                 [](const std::string& name) { return name.ends_with(".halo"); });
  ASSERT_NE(halo, forward.end());
  EXPECT_EQ(*(halo + 1), "[exchange rows around input]");
  EXPECT_EQ(*(halo + 2) + ".halo", *halo);
}

// A plan of one rank leaves the model as it is, and the model comes back from any other.
TEST(SpatialPartition, TheModelComesBackFromItsRows) {
  int divided = 0;
  for (const ZooEntry& entry : zoo()) {
    const Model model = zoo_model(entry.name);
    if (!has_divisible_rows(model)) continue;
    const Model rows = with_divided_rows(model, 2);
    EXPECT_TRUE(has_divided_rows(rows)) << entry.name;
    EXPECT_FALSE(has_divided_rows(model)) << entry.name;
    EXPECT_EQ(write_model(with_whole_rows(rows)), write_model(model)) << entry.name;
    ++divided;
  }
  EXPECT_GE(divided, 4);
}

// The last layers of networks for 224 x 224 pixels have 7 rows: ranks join the 14 before, and the
// fully connected layers of VGG read whole images. Every rank computes what is behind.
TEST(SpatialPartition, RanksJoinRowsThatNoLongerDivide) {
  const auto joined = [](std::string_view name, int ranks) {
    Words found;
    const Model model = with_divided_rows(zoo_model(name), ranks);
    for (const Block& block : model.blocks)
      for (const Node& node : block.graph.nodes)
        if (attribute(node, "all") != 0) {
          const Shape& rows = block.graph[node.inputs[0]].shape;
          found.push_back(block.name + "/" + node.name + " " + std::to_string(rows[2].size));
          EXPECT_EQ(block.graph[node.outputs[0]].shape[2].axis, Axis::None);
        }
    return found;
  };
  EXPECT_EQ(joined("resnet-20", 4), Words{});
  EXPECT_EQ(joined("resnet-50", 2),
            (Words{"layer4.first/relu1.rows 14", "layer4.first/input.rows 14"}));
  EXPECT_EQ(joined("vgg-16", 2).size(), 1u);
  EXPECT_EQ(rows_finding(zoo_model("resnet-50"), 2, {"cp=2"}), "");
  EXPECT_EQ(rows_finding(zoo_model("vgg-16"), 4, {"cp=4"}), "");
}

TEST(SpatialPartition, SaysWhyRowsCannotBeDivided) {
  EXPECT_EQ(rows_finding(zoo_model("resnet-50"), 6, {"cp=3"}),
            "3 ranks have equal parts of the rows of an image, and those of resnet-50 have 224 -> "
            "cp=2");
}

}  // namespace
}  // namespace trainyard
