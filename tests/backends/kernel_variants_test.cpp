// Tests runs whose kernels go another way than usual, and that their ways are measured.
#include "backends/cpu/calibration/variants.h"

#include <gtest/gtest.h>

#include <chrono>

#include "backends/cpu/calibration/calibrate.h"
#include "core/cost/kernels/variant_ranking.h"
#include "tests/support/cpu_training.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

// The last way that the shape has.
class LastWay final : public VariantChooser {
 public:
  int choose(const KernelShape& shape, int usual) const override {
    int last = usual;
    for (int v = 0; v < static_cast<int>(variant_names(shape.kernel).size()); ++v)
      if (has_variant(shape, v)) last = v;
    return last;
  }
};

// It trains by momentum, because gradients that are 0 but for rounding, as that of a bias of keys,
// move weights under Adam as far as others do.
TEST(KernelVariants, TrainTheSameUpToRounding) {
  const Model models[] = {
      testing::tiny_mlp(4),
      testing::gpt({.layers = 2, .hidden = 32, .heads = 2, .sequence = 16, .vocab = 64})};
  for (const Model& model : models)
    for (const testing::Settings& settings :
         {testing::Settings{"global-batch=4", "optimizer=momentum"},
          {"global-batch=4", "pp=2", "micro-batch=1", "optimizer=momentum"}}) {
      Training training;
      training.steps = 3;
      CpuOptions other;
      other.variants = std::make_shared<LastWay>();
      const auto usual = testing::train_on_cpu(model, 2, settings, training);
      const auto run = testing::train_on_cpu(model, 2, settings, training, other);
      testing::expect_same_training(run, usual, 1e-4);
      EXPECT_EQ(testing::train_on_cpu(model, 2, settings, training, other).run.losses,
                run.run.losses);
      CpuOptions wall = other;
      wall.mode = RunMode::WallClock, wall.threads = 2;
      EXPECT_EQ(testing::train_on_cpu(model, 2, settings, training, wall).run.losses,
                run.run.losses);
    }
}

TEST(KernelVariants, EveryWayOfAShapeIsTimed) {
  const std::map<KernelShape, int> shapes = {
      {{VariantKernel::Product, {8, 16, 4}}, kProductPrimitive},
      {{VariantKernel::Product, {8, 10, 4, 1, 0, 1}}, kProductGemm},
      {{VariantKernel::Convolution, {1, 1, 4, 8, 8, 4, 8, 8, 3, 1, 1}}, kConvolutionPlain},
      {{VariantKernel::Convolution, {2, 1, 4, 8, 8, 4, 4, 4, 1, 2, 0}}, kConvolutionBlocked}};
  const std::vector<VariantTiming> timings = measure_variants(shapes, 1h);
  ASSERT_EQ(timings.size(), shapes.size());
  for (const VariantTiming& t : timings) {
    EXPECT_EQ(t.usual, shapes.at(t.shape));
    ASSERT_EQ(t.times.size(), variant_names(t.shape.kernel).size());
    for (int v = 0; v < static_cast<int>(t.times.size()); ++v)
      EXPECT_EQ(has_variant(t.shape, v), t.times[static_cast<std::size_t>(v)] > 0ns)
          << shape_words(t.shape);
  }
  std::stop_source stopped;
  stopped.request_stop();
  EXPECT_TRUE(measure_variants(shapes, 1h, stopped.get_token()).empty());
  EXPECT_TRUE(measure_variants(shapes, -1s).empty());
}

// A calibration has the products of its workloads, as often as their shapes differ.
TEST(KernelVariants, CalibrateMeasuresTheShapesThatAStepAsksFor) {
  const Workload w = prepare(
      testing::scenario(testing::tiny_mlp(2), 1, testing::Settings{"precision=fp32"}, "cpu"));
  const Calibration c = calibrate({&w, 1}, {.box = 4s});
  ASSERT_FALSE(c.variants.empty());
  const auto ranking = rank_variants(c.variants);
  for (const VariantTiming& t : c.variants) {
    EXPECT_EQ(t.shape.kernel, VariantKernel::Product);
    EXPECT_EQ(ranking->choose(t.shape, t.usual), chosen_variant(t));
  }
}

}  // namespace
}  // namespace trainyard
