// Tests a machine that nobody sells yet: a mesh of many small cores whose weights stay on the chip,
// on which a schedule without batches keeps every core at work. (Kosson et al. 2021 ask for one.)
#include <gtest/gtest.h>

#include "app/workspace/scenario/workspace.h"
#include "core/result/energy.h"
#include "tests/support/source_dir.h"

namespace trainyard {
namespace {

const std::string kAssets = TRAINYARD_SOURCE_DIR "/assets/";

Result of_a_sample(const std::string& cluster) {
  return simulate(open({kAssets + "models/mesh-mlp.json",
                        cluster,
                        kAssets + "examples/mesh-machine.json",
                        {}}),
                  {.fixes = false})
      ->result;
}

// Share of all device time in which devices work, on products or on updates: neither in a bubble
// nor waiting for a message. After each sample comes an update, which moves bytes and multiplies
// little, so that the share of the peak in products is lower.
double utilisation_of_time(const Result& r) {
  const DeviceTime time = device_time(r.device_time);
  return (time.computing + time.streaming) / time.total();
}

TEST(MeshMachine, PipelinedBackpropagationOfSingleSamplesKeepsItBusy) {
  const Result r = of_a_sample(kAssets + "clusters/mesh-machine.json");
  EXPECT_TRUE(r.verdict.fits) << r.verdict.sentence;
  EXPECT_EQ(r.plan.batch.micro, 1);
  EXPECT_GE(utilisation_of_time(r), 0.95);
  EXPECT_LE(r.bubble_fraction + r.exposed_communication_fraction, 0.05);
}

// One sample on boards with their memory off the chip: each weight comes from there for it alone.
TEST(MeshMachine, BoardsWithMemoryOffTheChipComputeLittleOfASample) {
  const Result mesh = of_a_sample(kAssets + "clusters/mesh-machine.json");
  const Result boards = of_a_sample("h100-sxm:16");
  EXPECT_LE(boards.hfu, 0.3);
  EXPECT_GT(mesh.hfu, 10 * boards.hfu);
}

TEST(MeshMachine, ProductsOfOneSampleReachWhatProductsOfManyReach) {
  const Scenario mesh = open({kAssets + "models/mesh-mlp.json",
                              kAssets + "clusters/mesh-machine.json",
                              kAssets + "examples/mesh-machine.json",
                              {}});
  const auto rate = [&](std::int64_t samples, const Device& device) {
    Work work;
    work.kind = WorkKind::Product, work.math = DType::BF16;
    work.m = samples, work.n = 3072, work.k = 3072;
    work.flops = {2.0 * static_cast<double>(samples) * 3072 * 3072};
    work.read = {2 * (samples * 3072 + 3072 * 3072)}, work.written = {2 * samples * 3072};
    return work.flops.value / to_seconds(cost_model(mesh)->compute(work, device));
  };
  const Device& region = mesh.cluster.device;
  EXPECT_NEAR(rate(1, region) / rate(256, region), 1, 0.01);
  EXPECT_NEAR(rate(1, region) / peak(region, DType::BF16).value, 0.95, 0.01);
  const Device& board = device("h100-sxm");
  EXPECT_LE(rate(1, board) / rate(4096, board), 0.3);
}

}  // namespace
}  // namespace trainyard
