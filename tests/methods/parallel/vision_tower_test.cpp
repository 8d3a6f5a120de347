// Tests methods on a vision tower: its tokens stay whole on every rank, and each rank places those
// that belong into its part of the decoder's sequence.
#include <gtest/gtest.h>

#include "core/model/trained_parts.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::collectives;
using testing::scenario;
using testing::Words;

const Body& body_of(const Workload& w, std::string_view block) {
  for (const Body& body : w.bodies)
    if (w.scenario.model.blocks[static_cast<std::size_t>(body.block)].name == block) return body;
  throw Error(Error::Kind::Internal, std::string(block));
}

// LLaVA's tower has 577 tokens of width 1024, of which 576 of width 4096 reach the decoder.
TEST(VisionTower, UnderSequenceParallelItsProductsReduceWholeTokens) {
  const Workload w = prepare(scenario(zoo_model("llava-1.5-7b"), 2,
                                      {"tp=2", "seq=2048", "sequence-parallel=on", "zero=0"}));
  const auto reduced = [](std::int64_t bytes) {
    return testing::words(CollectiveKind::AllReduce, Group::Tensor, bytes);
  };
  const std::string tower = reduced(577 * 1024 * 2), images = reduced(576 * 4096 * 2);
  EXPECT_EQ(collectives(body_of(w, "vision_layers").forward), (Words{tower, tower}));
  EXPECT_EQ(collectives(body_of(w, "vision_layers").backward), (Words{tower, tower}));
  EXPECT_EQ(collectives(body_of(w, "projector").forward), (Words{images}));
  // Each rank finds the gradient of the images in its part; the text is gathered for its table.
  const Words backward = collectives(body_of(w, "embedding").backward);
  ASSERT_EQ(backward.size(), 2u);
  EXPECT_EQ(backward[0], images);
  EXPECT_EQ(backward[1], testing::words(CollectiveKind::AllGather, Group::Tensor, 2048 * 4096 * 2));
}

TEST(VisionTower, WithoutSequenceParallelImagesNeedNoExchange) {
  const Workload w = prepare(scenario(zoo_model("llava-1.5-7b"), 2,
                                      {"tp=2", "seq=2048", "sequence-parallel=off", "zero=0"}));
  EXPECT_EQ(collectives(body_of(w, "embedding").backward), Words{});
}

TEST(VisionTower, ContextRanksRunAllOfIt) {
  const auto tower = [](const char* cp) {
    const Workload w = prepare(scenario(zoo_model("llava-1.5-7b"), 4, {cp, "seq=2048", "zero=0"}));
    const Body& body = body_of(w, "vision_layers");
    double flops = 0;
    for (const BodyOp& op : body.forward) flops += op.work.flops.value;
    EXPECT_EQ(collectives(body.forward), Words{});
    EXPECT_EQ(collectives(body.backward), Words{});
    return flops;
  };
  EXPECT_EQ(tower("cp=4"), tower("cp=1"));
}

TEST(VisionTower, AFrozenOneHasNoBackward) {
  const Workload w =
      prepare(scenario(zoo_model("llava-1.5-7b"), 1, {"seq=2048", "frozen=vision", "zero=0"}));
  for (const char* block : {"vision_embedding", "vision_layers"}) {
    EXPECT_TRUE(body_of(w, block).backward.empty()) << block;
    EXPECT_TRUE(body_of(w, block).saved.empty()) << block;
  }
  EXPECT_FALSE(body_of(w, "projector").backward.empty());
}

}  // namespace
}  // namespace trainyard
