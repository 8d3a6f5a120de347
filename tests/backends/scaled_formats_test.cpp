// The CPU backend keeps optimizer state in fp16 and fp8 with scales, and gathers weights in their
// own format: in the bytes that are predicted, as one device does, from a checkpoint to the same
// bits, and as well as in fp32.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include "backends/cpu/execution/exchange/message_format.h"
#include "core/methods/precision/tensor_formats.h"
#include "core/model/zoo/builders.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"
#include "tests/support/thread_processes.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::apart;
using testing::CpuRun;
using testing::Settings;
using testing::train_on_cpu;

// Tensors of more than a block, and of a block and a rest.
Model scaled_mlp() { return build_mlp({"scaled mlp", 21, 23, 4, 5}); }

Training scaled_training(std::int64_t steps) {
  Training training;
  training.rate = 0.01;
  training.steps = steps;
  training.epsilon = 1e-3;  // a gradient that is 0 except for rounding has no effect
  return training;
}

const Settings kScaledState = {"precision=bf16", "optimizer=adamw", "first-moment-dtype=fp8",
                               "second-moment-dtype=fp16", "main-weights-dtype=fp16"};

CategoryBytes most_of_category(const MemoryWave& wave) {
  CategoryBytes most{};
  for (const MemoryWave::Sample& s : wave.samples)
    for (std::size_t c = 0; c < most.size(); ++c) most[c] = std::max(most[c], s.bytes[c]);
  return most;
}

Settings drawn_formats() {
  const std::string_view optimizer = *rc::gen::element<std::string_view>(
      "optimizer=adamw", "optimizer=adam", "optimizer=momentum", "optimizer=lars");
  Settings formats = {optimizer, "precision=bf16"};
  formats.push_back(*rc::gen::element<std::string_view>(
      "first-moment-dtype=fp8", "first-moment-dtype=fp16", "first-moment-dtype=bf16"));
  if (optimizer.starts_with("optimizer=adam") && *rc::gen::arbitrary<bool>())
    formats.push_back("second-moment-dtype=fp16");
  formats.push_back(*rc::gen::element<std::string_view>(
      "main-weights-dtype=fp16", "main-weights-dtype=fp32", "main-weights-dtype=remainder"));
  return formats;
}

struct ScaledMesh {
  std::int64_t devices;
  Settings settings;
};
const std::vector<ScaledMesh> kScaledMeshes = {
    {2, {"dp=2"}},
    {2, {"dp=2", "zero=1"}},
    {3, {"dp=3", "zero=2", "global-batch=6"}},
    {3, {"dp=3", "zero=3", "global-batch=6"}},
    {2, {"pp=2"}},
    {2, {"pp=2", "schedule=zb-h1"}},
    {2, {"pp=2", "schedule=interleaved", "virtual-stages=2"}},
    {4, {"pp=2", "dp=2", "zero=1", "recompute=full"}},
    {4, {"dp=4", "zero=3", "hybrid=2"}}};

// Shards cut tensors where blocks do not end, and have scales of their own there. The arena has the
// bytes of the ledger, and the devices train as one does: a number that is rounded to fp8 the other
// way moves a step by a 16th of it.
TEST(CpuScaledFormats, EveryMeshHoldsWhatIsPredictedAndTrainsAsOneDeviceDoes) {
  EXPECT_TRUE(rc::check([] {
    const ScaledMesh mesh = *rc::gen::elementOf(kScaledMeshes);
    const Settings formats = drawn_formats();
    const Training training = scaled_training(2);
    const bool six = mesh.settings.back() == "global-batch=6";
    const Settings all = testing::with(formats, {six ? "global-batch=6" : "global-batch=4"});
    const CpuRun alone =
                     train_on_cpu(scaled_mlp(), 1, testing::with(all, {"micro-batch=2"}), training),
                 divided = train_on_cpu(
                     scaled_mlp(), mesh.devices,
                     testing::with(all, testing::with(mesh.settings, {"micro-batch=1"})), training);
    for (const CpuRun* run : {&alone, &divided})
      for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(run->program.devices); ++d) {
        const CategoryBytes measured = most_of_category(run->run.waves[d]),
                            predicted = most_of_category(
                                memory_wave(run->run.timeline, run->program, DeviceId{d}));
        for (Category kept : {Category::Weights, Category::Gradients, Category::OptimizerState})
          RC_ASSERT(measured[static_cast<std::size_t>(kept)] ==
                    predicted[static_cast<std::size_t>(kept)]);
      }
    for (std::size_t i = 0; i < alone.run.losses.size(); ++i)
      RC_ASSERT(std::abs(divided.run.losses[i] - alone.run.losses[i]) <
                0.01 * std::abs(alone.run.losses[i]));
    const double reach = training.rate * static_cast<double>(training.steps);
    for (std::size_t t = 0; t < alone.parameters.size(); ++t)
      for (std::size_t e = 0; e < alone.parameters[t].values.size(); ++e)
        RC_ASSERT(std::abs(double{divided.parameters[t].values[e]} -
                           double{alone.parameters[t].values[e]}) < 0.2 * reach);
  }));
}

TEST(CpuScaledFormats, TransformersTrainAsOneDeviceDoes) {
  const Model model = testing::tiny_transformer({.tied = true});
  const Settings all = testing::with(kScaledState, {"global-batch=4", "micro-batch=2"});
  const CpuRun alone = train_on_cpu(model, 1, all, scaled_training(3));
  const ScaledMesh meshes[] = {
      {2, {"tp=2", "sequence-parallel=off"}}, {2, {"pp=2"}}, {2, {"dp=2", "zero=3"}}};
  for (const ScaledMesh& mesh : testing::non_empty(meshes)) {
    const CpuRun divided =
        train_on_cpu(model, mesh.devices, testing::with(all, mesh.settings), scaled_training(3));
    for (std::size_t i = 0; i < alone.run.losses.size(); ++i)
      EXPECT_NEAR(divided.run.losses[i], alone.run.losses[i], 0.02 * alone.run.losses[i])
          << mesh.settings.front();
  }
}

TEST(CpuScaledFormats, ResumeToTheSameBits) {
  const std::string path = ::testing::TempDir() + "cpu_scaled_formats.checkpoint";
  for (const Settings& more :
       {Settings{"pp=2", "micro-batch=1"}, Settings{"dp=2", "zero=1"},
        Settings{"dp=2", "zero=3", "gather-dtype=int8"},
        Settings{"dp=2", "zero=3", "reshard-after-forward=off", "gather-dtype=fp8"}}) {
    const Settings all = testing::with(testing::with(kScaledState, {"global-batch=4"}), more);
    const CpuRun whole = train_on_cpu(scaled_mlp(), 2, all, scaled_training(6));
    CpuOptions options;
    options.checkpoint = path;
    train_on_cpu(scaled_mlp(), 2, all, scaled_training(3), options);
    options.resume = true;
    const CpuRun second = train_on_cpu(scaled_mlp(), 2, all, scaled_training(6), options);
    EXPECT_EQ(second.run.first_step, 3);
    EXPECT_EQ(second.run.losses, whole.run.losses);
    EXPECT_EQ(apart(second.parameters, whole.parameters), 0);
    std::filesystem::remove(path);
  }
}

// State in the order of a checkpoint with other formats would be taken for numbers of this plan.
TEST(CpuScaledFormats, ACheckpointOfOtherFormatsIsRefusedThoughItHasAsManyBytes) {
  const std::string path = ::testing::TempDir() + "cpu_other_formats.checkpoint";
  const Settings plan = {"precision=bf16", "optimizer=adamw", "global-batch=4"};
  CpuOptions options;
  options.checkpoint = path;
  train_on_cpu(scaled_mlp(), 1, testing::with(plan, {"first-moment-dtype=fp16"}),
               scaled_training(1), options);
  options.resume = true;
  EXPECT_EQ(testing::refusal([&] {
              train_on_cpu(scaled_mlp(), 1, testing::with(plan, {"second-moment-dtype=fp16"}),
                           scaled_training(2), options);
            }),
            path +
                ": expected a checkpoint trained with first-moment-dtype=fp32 "
                "second-moment-dtype=fp16, found one with first-moment-dtype=fp16 "
                "second-moment-dtype=fp32; it goes on with --set first-moment-dtype=fp16 --set "
                "second-moment-dtype=fp32");
  std::filesystem::remove(path);
}

// Wrong by more than a rounding would be a wrong place: main weights begin as the drawn weights.
TEST(CpuScaledFormats, MainWeightsBeginAsTheDrawnWeights) {
  for (const Settings& more :
       {Settings{}, Settings{"dp=2", "zero=1"}, Settings{"dp=2", "zero=3"}}) {
    const std::int64_t devices = more.empty() ? 1 : 2;
    const Settings plan =
        testing::with({"precision=bf16", "optimizer=adamw", "global-batch=4"}, more);
    const CpuRun wide = train_on_cpu(scaled_mlp(), devices, plan, scaled_training(1)),
                 halves = train_on_cpu(scaled_mlp(), devices,
                                       testing::with(plan, {"main-weights-dtype=fp16"}),
                                       scaled_training(1));
    EXPECT_GT(apart(halves.initial, wide.initial), 0);
    EXPECT_LT(apart(halves.initial, wide.initial), 0x1p-11);
    EXPECT_LT(apart(halves.parameters, wide.parameters), 0x1p-10);
  }
}

// --- gathers ---

TEST(CpuScaledFormats, AGatherGivesAllMembersWhatItsMessagesHave) {
  EXPECT_TRUE(rc::check([] {
    const auto members = *rc::gen::inRange<std::size_t>(2, 5);
    const DType message = *rc::gen::element(DType::BF16, DType::F16, DType::F8, DType::I8);
    std::vector<std::size_t> process;
    std::vector<PartRange> ranges;
    std::int64_t elements = 0;
    for (std::size_t m = 0; m < members; ++m) {
      process.push_back(m == 0 ? 0 : process.back() + *rc::gen::inRange<std::size_t>(0, 2));
      ranges.push_back({elements, *rc::gen::inRange<std::int64_t>(0, 700)});
      elements += ranges.back().count;
    }
    const Random random(*rc::gen::arbitrary<std::uint64_t>());
    std::vector<float> all(static_cast<std::size_t>(elements));
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = static_cast<float>(2 * random.uniform(i) - 1);
    const auto gathered = [&](const std::vector<std::size_t>& where) {
      std::vector<std::vector<float>> to(members, std::vector<float>(all.size()));
      testing::on_threads(where, [&](const Company& company) {
        std::vector<const std::byte*> from(members, nullptr);
        std::vector<std::byte*> into(members, nullptr);
        for (std::size_t m = 0; m < members; ++m) {
          if (!company.here(m)) continue;
          from[m] = reinterpret_cast<const std::byte*>(all.data() + ranges[m].first);
          into[m] = reinterpret_cast<std::byte*>(to[m].data());
        }
        testing::finish_here(all_gather_as(message, company, from, into, ranges, DType::F32));
      });
      return to;
    };
    const auto together = gathered(std::vector<std::size_t>(members, 0)),
               spread_out = gathered(process);
    RC_ASSERT(together == spread_out);
    const double half_place = message == DType::F8     ? 0x1p-4
                              : message == DType::BF16 ? 0x1p-9
                              : message == DType::F16  ? 0x1p-11
                                                       : 1 / 254.0;
    for (const std::vector<float>& to : together) {
      RC_ASSERT(to == together.front());
      for (std::size_t i = 0; i < all.size(); ++i)
        RC_ASSERT(std::abs(double{to[i]} - double{all[i]}) <= 1.0001 * half_place);
    }
  }));
}

/// Counts the bytes that one process of two gives to the other.
class CountedGather final : public Channel {
 public:
  explicit CountedGather(std::size_t& bytes) : bytes_(bytes) {}
  TransferPtr all_gather(const std::byte*, std::byte*,
                         std::span<const std::size_t> bytes) override {
    bytes_ += bytes[0];
    return std::make_unique<Ended>();
  }
  TransferPtr all_to_all(const std::byte*, std::span<const std::size_t>, std::byte*,
                         std::span<const std::size_t>) override {
    return std::make_unique<Ended>();
  }

 private:
  struct Ended final : Transfer {
    bool done() override { return true; }
  };
  std::size_t& bytes_;
};

TEST(CpuScaledFormats, GathersHaveTheBytesOnTheWireThatArePriced) {
  constexpr std::int64_t kShare = 1000;
  for (const DType message : {DType::F32, DType::BF16, DType::F8, DType::I8}) {
    std::size_t bytes = 0;
    const SharedGroup group{std::make_unique<CountedGather>(bytes), {0, 1}, 0, 2};
    std::vector<float> own(kShare, 1), all(2 * kShare);
    testing::finish_here(all_gather_as(message, Company{2, &group},
                                       {reinterpret_cast<const std::byte*>(own.data()), nullptr},
                                       {reinterpret_cast<std::byte*>(all.data()), nullptr},
                                       {{0, kShare}, {kShare, kShare}}, DType::F32));
    EXPECT_EQ(2 * static_cast<std::int64_t>(bytes),
              gather_message_bytes(message, 2 * kShare, 2).value);
  }
}

// Products read gathered weights, and updates the shards: at a rate of 0 these stay exact, whatever
// was gathered, while losses differ. Weights that stay gathered are the same.
TEST(CpuScaledFormats, ProductsReadWhatWasGatheredAndShardsStayExact) {
  Training still = scaled_training(2);
  still.rate = 0;
  const Settings plan = {"dp=2", "zero=3", "global-batch=4", "optimizer=momentum"};
  const CpuRun own = train_on_cpu(scaled_mlp(), 2, plan, still);
  for (const std::string_view format :
       {"gather-dtype=bf16", "gather-dtype=fp8", "gather-dtype=int8"}) {
    const CpuRun gathered = train_on_cpu(scaled_mlp(), 2, testing::with(plan, {format}), still),
                 stays = train_on_cpu(scaled_mlp(), 2,
                                      testing::with(plan, {format, "reshard-after-forward=off"}),
                                      still);
    EXPECT_EQ(apart(gathered.parameters, own.parameters), 0) << format;
    EXPECT_NE(gathered.run.losses, own.run.losses) << format;
    EXPECT_EQ(gathered.run.losses, stays.run.losses) << format;
    EXPECT_NEAR(gathered.run.losses[0], own.run.losses[0], 0.02 * own.run.losses[0]) << format;
  }
}

// --- quality ---

// The mean loss of the last 5 of 60 steps of a tiny transformer.
double loss_at_the_end(const Settings& plan, std::int64_t devices) {
  Training training;
  training.rate = 0.003, training.steps = 60;
  const CpuRun run =
      train_on_cpu(testing::tiny_transformer(), devices,
                   testing::with({"optimizer=adamw", "global-batch=8"}, plan), training);
  double sum = 0;
  for (std::size_t i = run.run.losses.size() - 5; i < run.run.losses.size(); ++i)
    sum += run.run.losses[i] / 5;
  return sum;
}

// That a second moment in fp8 does not is in tests/training/scaled_numbers_test.cpp.
TEST(CpuScaledFormats, StateAndGathersEndWithinAHundredthOfFp32) {
  const double wide = loss_at_the_end({}, 1);
  const ScaledMesh formats[] = {{1, {"first-moment-dtype=fp8", "second-moment-dtype=fp16"}},
                                {1,
                                 {"precision=bf16", "first-moment-dtype=fp8",
                                  "second-moment-dtype=fp16", "main-weights-dtype=fp16"}},
                                {2, {"dp=2", "zero=3", "gather-dtype=int8"}},
                                {2, {"dp=2", "zero=3", "gather-dtype=fp8"}}};
  for (const auto& [devices, plan] : testing::non_empty(formats))
    EXPECT_NEAR(loss_at_the_end(plan, devices) / wide, 1, 0.01) << plan.back();
}

}  // namespace
}  // namespace trainyard
