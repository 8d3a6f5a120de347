// The CPU backend stores moments and main weights in their own formats and rounds messages: in the
// bytes that are predicted, as one device does, from a checkpoint to the same bits.
#include "core/methods/precision/tensor_formats.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <string>

#include "backends/cpu/execution/exchange/message_format.h"
#include "core/model/zoo/builders.h"
#include "core/training/optimizers/formatted_rule.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/thread_processes.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::apart;
using testing::CpuRun;
using testing::finish_here;
using testing::Octets;
using testing::on_threads;
using testing::Settings;
using testing::train_on_cpu;

Model formats_mlp() { return build_mlp({"formats mlp", 5, 7, 4, 3}); }

Training formats_training(std::int64_t steps) {
  Training training;
  training.rate = 0.01;
  training.steps = steps;
  training.epsilon = 1e-3;  // a gradient that is 0 except for rounding has no effect
  return training;
}

const Settings kAllOfState = {"precision=bf16", "optimizer=adamw", "first-moment-dtype=bf16",
                              "second-moment-dtype=bf16", "main-weights-dtype=remainder"};

double last_losses(const CpuRun& run) {
  double sum = 0;
  for (std::size_t i = run.run.losses.size() - 5; i < run.run.losses.size(); ++i)
    sum += run.run.losses[i] / 5;
  return sum;
}

double largest_loss_gap(const CpuRun& a, const CpuRun& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.run.losses.size(); ++i)
    most = std::max(most, std::abs(a.run.losses[i] - b.run.losses[i]) / std::abs(b.run.losses[i]));
  return most;
}

CategoryBytes largest_by_category(const MemoryWave& wave) {
  CategoryBytes most{};
  for (const MemoryWave::Sample& s : wave.samples)
    for (std::size_t c = 0; c < most.size(); ++c) most[c] = std::max(most[c], s.bytes[c]);
  return most;
}

// For every combination on random models: the bytes in the arena are those of the ledger, and these
// are sums of the widths.
TEST(CpuTensorFormats, ArenasHoldTheBytesOfTheLedger) {
  EXPECT_TRUE(rc::check([] {
    const auto width = *rc::gen::inRange<std::int64_t>(1, 12);
    const auto layers = *rc::gen::inRange(1, 4);
    const Model model =
        build_mlp({"random mlp", *rc::gen::inRange<std::int64_t>(1, 9), width, layers, 3});
    const bool brain = *rc::gen::arbitrary<bool>(), first = *rc::gen::arbitrary<bool>(),
               second = *rc::gen::arbitrary<bool>(),
               remainder = brain && *rc::gen::arbitrary<bool>();
    const std::string zero = "zero=" + std::to_string(*rc::gen::inRange(0, 4));
    const std::string sums = *rc::gen::element(std::string("fp32"), std::string("bf16"));
    const std::string gradient = "gradient-dtype=" + sums;
    Settings settings = {"dp=2",
                         "global-batch=4",
                         "micro-batch=1",
                         "optimizer=adamw",
                         zero,
                         brain ? "precision=bf16" : "precision=fp32"};
    if (brain) settings.push_back(gradient);
    if (first) settings.push_back("first-moment-dtype=bf16");
    if (second) settings.push_back("second-moment-dtype=bf16");
    if (remainder) settings.push_back("main-weights-dtype=remainder");
    const CpuRun run = train_on_cpu(model, 2, settings, formats_training(1));
    const CategoryBytes measured = largest_by_category(run.run.waves[0]),
                        predicted = largest_by_category(
                            memory_wave(run.run.timeline, run.program, DeviceId{0}));
    for (Category kept : {Category::Weights, Category::Gradients, Category::OptimizerState})
      RC_ASSERT(measured[static_cast<std::size_t>(kept)] ==
                predicted[static_cast<std::size_t>(kept)]);
    if (zero != "zero=0") return;
    std::int64_t elements = 0;
    for (const TrainedTensor& t : run.initial)
      elements += static_cast<std::int64_t>(t.values.size());
    const std::int64_t each =
        (first ? 2 : 4) + (second ? 2 : 4) + (brain ? (remainder ? 2 : 4) : 0);
    RC_ASSERT(measured[static_cast<std::size_t>(Category::OptimizerState)].value ==
              each * elements);
  }));
}

// The bf16 weight and its remainder are the main weight, so that nothing is lost.
TEST(CpuTensorFormats, RemaindersTrainAsWholeMainWeights) {
  for (const Settings& plan :
       {Settings{"global-batch=4", "micro-batch=4"}, Settings{"global-batch=4", "dp=2", "zero=1"},
        Settings{"global-batch=4", "dp=2", "zero=3"}, Settings{"global-batch=4", "pp=2"}}) {
    const std::int64_t devices = plan.size() == 2 && plan[1] == "micro-batch=4" ? 1 : 2;
    const Settings all = testing::with({"precision=bf16", "optimizer=adamw"}, plan);
    const CpuRun whole = train_on_cpu(formats_mlp(), devices, all, formats_training(6)),
                 apart_stored = train_on_cpu(formats_mlp(), devices,
                                             testing::with(all, {"main-weights-dtype=remainder"}),
                                             formats_training(6));
    EXPECT_EQ(whole.run.losses, apart_stored.run.losses);
    EXPECT_EQ(apart(whole.initial, apart_stored.initial), 0);
    EXPECT_EQ(apart(whole.parameters, apart_stored.parameters), 0);
    EXPECT_GT(apart(whole.parameters, whole.initial), 0.01);
  }
}

TEST(CpuTensorFormats, DividedMainWeightsAreJoinedBitForBit) {
  EXPECT_TRUE(rc::check([](std::uint32_t bits) {
    const auto main = std::bit_cast<float>(bits);
    std::uint16_t weight = 0, remainder = 0;
    divide_main_weights({&main, 1}, &weight, {&remainder, 1});
    float joined = 0;
    join_main_weights(&weight, {&remainder, 1}, &joined);
    RC_ASSERT(std::bit_cast<std::uint32_t>(joined) == bits);
    if (!std::isfinite(main) || (bits & 0xffff) == 0x8000) return;
    RC_ASSERT(weight == to_bf16(main));
  }));
}

// Random meshes and schedules train as one device does with the same formats. A number that is
// rounded to bf16 the other way moves a step by a 256th of it.
TEST(CpuTensorFormats, EveryMeshTrainsAsOneDeviceDoes) {
  EXPECT_TRUE(rc::check([] {
    struct Mesh {
      std::int64_t devices;
      Settings settings;
    };
    const Mesh mesh = *rc::gen::elementOf(
        std::vector<Mesh>{{2, {"dp=2"}},
                          {2, {"dp=2", "zero=1"}},
                          {2, {"dp=2", "zero=2"}},
                          {2, {"dp=2", "zero=3"}},
                          {2, {"pp=2"}},
                          {2, {"pp=2", "schedule=zb-h1"}},
                          {2, {"pp=2", "schedule=interleaved", "virtual-stages=2"}},
                          {4, {"pp=2", "dp=2", "zero=1", "recompute=full"}},
                          {4, {"pp=2", "dp=2", "zero=2"}}});
    Settings formats = {*rc::gen::element<std::string_view>("optimizer=adamw", "optimizer=adam")};
    if (*rc::gen::arbitrary<bool>()) formats.push_back("first-moment-dtype=bf16");
    if (*rc::gen::arbitrary<bool>()) formats.push_back("second-moment-dtype=bf16");
    if (*rc::gen::arbitrary<bool>()) formats.push_back("reduce-dtype=bf16");
    if (*rc::gen::arbitrary<bool>()) formats.push_back("boundary-dtype=bf16");
    const Training training = formats_training(3);
    const auto run = [&](std::int64_t devices, const Settings& more) {
      return train_on_cpu(formats_mlp(), devices,
                          testing::with(testing::with({"global-batch=4"}, more), formats),
                          training);
    };
    const CpuRun alone = run(1, {"micro-batch=2"}),
                 divided = run(mesh.devices, testing::with(mesh.settings, {"micro-batch=1"}));
    RC_ASSERT(divided.run.losses.size() == alone.run.losses.size());
    RC_ASSERT(largest_loss_gap(divided, alone) < 5e-3);
    const double reach = training.rate * static_cast<double>(training.steps);
    for (std::size_t t = 0; t < alone.parameters.size(); ++t)
      for (std::size_t e = 0; e < alone.parameters[t].values.size(); ++e)
        RC_ASSERT(std::abs(double{divided.parameters[t].values[e]} -
                           double{alone.parameters[t].values[e]}) < 0.1 * reach);
  }));
}

// Tensor ranks, tied tables and all formats of state at once.
TEST(CpuTensorFormats, TransformersTrainAsOneDeviceDoes) {
  const Training training = formats_training(3);
  struct Mesh {
    std::int64_t devices;
    Settings settings;
  };
  const Mesh meshes[] = {{2, {"tp=2", "sequence-parallel=off"}},
                         {2, {"dp=2", "zero=1", "reduce-dtype=bf16"}},
                         {2, {"pp=2"}}};
  const Model model = testing::tiny_transformer({.tied = true});
  const CpuRun alone = train_on_cpu(
      model, 1, testing::with(kAllOfState, {"global-batch=4", "micro-batch=2"}), training);
  for (const Mesh& mesh : testing::non_empty(meshes)) {
    const CpuRun divided =
        train_on_cpu(model, mesh.devices,
                     testing::with(testing::with(kAllOfState, {"global-batch=4", "micro-batch=2"}),
                                   mesh.settings),
                     training);
    EXPECT_LT(largest_loss_gap(divided, alone), 0.01) << mesh.settings.front();
  }
}

// Ranks sum what they send, in the format in which they send it: sums do not depend on how ranks
// divide them, and differ from those of what is not rounded.
TEST(CpuTensorFormats, RoundedGradientsHaveOneSumHoweverTheyAreDivided) {
  const auto run = [](std::string_view zero, std::string_view reduce) {
    return train_on_cpu(
        formats_mlp(), 2,
        {"dp=2", "global-batch=4", "micro-batch=2", "optimizer=momentum", zero, reduce},
        formats_training(3));
  };
  const CpuRun whole = run("zero=0", "reduce-dtype=bf16");
  for (const std::string_view zero : {"zero=1", "zero=2", "zero=3"})
    EXPECT_EQ(apart(run(zero, "reduce-dtype=bf16").parameters, whole.parameters), 0) << zero;
  const CpuRun plain = run("zero=0", "reduce-dtype=gradients");
  EXPECT_GT(apart(whole.parameters, plain.parameters), 0);
  EXPECT_LT(apart(whole.parameters, plain.parameters), 1e-3);
}

// Activations that stages send are rounded on their way, which moves weights by little.
TEST(CpuTensorFormats, StagesSendRoundedActivations) {
  Settings plan = {"pp=2", "global-batch=4", "micro-batch=2", "optimizer=momentum"};
  const CpuRun plain = train_on_cpu(formats_mlp(), 2, plan, formats_training(3));
  plan.push_back("boundary-dtype=bf16");
  const CpuRun sent = train_on_cpu(formats_mlp(), 2, plan, formats_training(3));
  EXPECT_GT(apart(sent.parameters, plain.parameters), 0);
  EXPECT_LT(apart(sent.parameters, plain.parameters), 1e-2);
}

struct FormatSumCase {
  bool scatter = false, adds = false;
  std::vector<std::size_t> process;
  std::vector<PartRange> ranges;
  std::int64_t elements = 0;
  std::vector<std::vector<float>> from, to;
};

// The sums of a case whose members lie in these processes.
std::vector<std::vector<float>> sums_of(const FormatSumCase& c, DType message,
                                        const std::vector<std::size_t>& process) {
  std::vector<std::vector<float>> to = c.to;
  on_threads(process, [&](const Company& company) {
    std::vector<const std::byte*> from(company.members, nullptr);
    std::vector<std::byte*> into(company.members, nullptr);
    for (std::size_t m = 0; m < company.members; ++m) {
      if (!company.here(m)) continue;
      from[m] = reinterpret_cast<const std::byte*>(c.from[m].data());
      into[m] = reinterpret_cast<std::byte*>(to[m].data());
    }
    finish_here(c.scatter
                    ? reduce_scatter_as(message, company, from, into, c.ranges, DType::F32, c.adds)
                    : all_reduce_as(message, company, from, into, DType::F32, c.elements, c.adds));
  });
  return to;
}

TEST(CpuTensorFormats, SumsOfRoundedMessagesAreThoseOfTheFormula) {
  EXPECT_TRUE(rc::check([] {
    FormatSumCase c;
    c.scatter = *rc::gen::arbitrary<bool>(), c.adds = *rc::gen::arbitrary<bool>();
    const auto members = *rc::gen::inRange<std::size_t>(2, 6);
    for (std::size_t m = 0; m < members; ++m) {
      c.process.push_back(m == 0 ? 0 : c.process.back() + *rc::gen::inRange<std::size_t>(0, 2));
      c.ranges.push_back({c.elements, *rc::gen::inRange<std::int64_t>(0, 900)});
      c.elements += c.ranges.back().count;
    }
    const Random random(*rc::gen::arbitrary<std::uint64_t>(), 1);
    std::uint64_t draw = 0;
    const auto numbers = [&](std::int64_t count) {
      std::vector<float> made(static_cast<std::size_t>(count));
      for (float& x : made) x = static_cast<float>(2 * random.uniform(draw++) - 1);
      return made;
    };
    for (std::size_t m = 0; m < members; ++m) {
      c.from.push_back(numbers(c.elements));
      c.to.push_back(numbers(c.scatter ? c.ranges[m].count : c.elements));
    }
    const auto together = sums_of(c, DType::BF16, std::vector<std::size_t>(members, 0)),
               spread_out = sums_of(c, DType::BF16, c.process);
    RC_ASSERT(together == spread_out);
    for (std::size_t m = 0; m < members; ++m)
      for (std::size_t i = 0; i < together[m].size(); ++i) {
        const std::size_t at = i + (c.scatter ? static_cast<std::size_t>(c.ranges[m].first) : 0);
        float sum = 0;
        for (std::size_t p = 0; p < members; ++p) sum += from_bf16(to_bf16(c.from[p][at]));
        const float rounded_sum = from_bf16(to_bf16(sum));
        RC_ASSERT(together[m][i] == (c.adds ? c.to[m][i] + rounded_sum : rounded_sum));
      }
  }));
}

/// Counts the bytes that one process gives to a channel of two.
class CountingChannel final : public Channel {
 public:
  explicit CountingChannel(std::size_t& bytes) : bytes_(bytes) {}
  TransferPtr all_gather(const std::byte*, std::byte*,
                         std::span<const std::size_t> bytes) override {
    bytes_ += bytes[0];
    return std::make_unique<Ended>();
  }
  TransferPtr all_to_all(const std::byte*, std::span<const std::size_t> to_bytes, std::byte*,
                         std::span<const std::size_t>) override {
    bytes_ += std::accumulate(to_bytes.begin(), to_bytes.end(), std::size_t{0});
    return std::make_unique<Ended>();
  }

 private:
  struct Ended final : Transfer {
    bool done() override { return true; }
  };
  std::size_t& bytes_;
};

TEST(CpuTensorFormats, MessagesInBf16HalveTheBytesOnTheWire) {
  const auto sent = [](DType message, bool scatter) {
    std::size_t bytes = 0;
    const SharedGroup group{std::make_unique<CountingChannel>(bytes), {0, 1}, 0, 2};
    const Company company{2, &group};
    std::vector<float> from(1000, 1), to(1000);
    const std::vector<const std::byte*> parts = {reinterpret_cast<const std::byte*>(from.data()),
                                                 nullptr};
    const std::vector<std::byte*> into = {reinterpret_cast<std::byte*>(to.data()), nullptr};
    finish_here(scatter ? reduce_scatter_as(message, company, parts, into, {{0, 500}, {500, 500}},
                                            DType::F32, false)
                        : all_reduce_as(message, company, parts, into, DType::F32, 1000, false));
    return bytes;
  };
  for (const bool scatter : {false, true}) {
    EXPECT_EQ(sent(DType::F32, scatter), scatter ? 2000u : 4000u);
    EXPECT_EQ(2 * sent(DType::BF16, scatter), sent(DType::F32, scatter));
  }
}

TEST(CpuTensorFormats, ResumeToTheSameBits) {
  const std::string path = ::testing::TempDir() + "cpu_tensor_formats.checkpoint";
  for (const Settings& more :
       {Settings{"pp=2", "micro-batch=1"}, Settings{"dp=2", "zero=1", "reduce-dtype=bf16"},
        Settings{"dp=2", "zero=3"}}) {
    const Settings all = testing::with(testing::with(kAllOfState, {"global-batch=4"}), more);
    const CpuRun whole = train_on_cpu(formats_mlp(), 2, all, formats_training(6));
    CpuOptions options;
    options.checkpoint = path;
    train_on_cpu(formats_mlp(), 2, all, formats_training(3), options);
    options.resume = true;
    const CpuRun second = train_on_cpu(formats_mlp(), 2, all, formats_training(6), options);
    EXPECT_EQ(second.run.first_step, 3);
    EXPECT_EQ(second.run.losses, whole.run.losses);
    EXPECT_EQ(apart(second.parameters, whole.parameters), 0);
    std::filesystem::remove(path);
  }
}

TEST(CpuTensorFormats, MomentsInBf16LoseAHundredthAtMost) {
  const Model model = testing::tiny_transformer();
  const auto run = [&](const Settings& more) {
    Training training;
    training.rate = 0.003, training.steps = 100;
    return train_on_cpu(model, 1,
                        testing::with({"optimizer=adamw", "global-batch=8", "micro-batch=8"}, more),
                        training);
  };
  const CpuRun wide = run({}),
               narrow = run({"first-moment-dtype=bf16", "second-moment-dtype=bf16"});
  EXPECT_GT(apart(narrow.parameters, wide.parameters), 0);
  EXPECT_NEAR(last_losses(narrow) / last_losses(wide), 1, 0.01);
  EXPECT_LT(wide.run.losses.back(), wide.run.losses.front());
}

// The host keeps moments in their formats too.
TEST(CpuTensorFormats, TheHostKeepsMomentsInBf16) {
  const Settings plan = {"dp=2",
                         "zero=1",
                         "global-batch=4",
                         "precision=bf16",
                         "optimizer=adamw",
                         "first-moment-dtype=bf16",
                         "second-moment-dtype=bf16"};
  const CpuRun here = train_on_cpu(formats_mlp(), 2, plan, formats_training(4)),
               there = train_on_cpu(formats_mlp(), 2, testing::with(plan, {"offload=optimizer"}),
                                    formats_training(4));
  EXPECT_EQ(apart(here.parameters, there.parameters), 0);
}

}  // namespace
}  // namespace trainyard
