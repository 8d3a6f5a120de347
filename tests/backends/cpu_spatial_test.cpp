// Tests that ranks that divide the rows of images train as one device does that has whole ones, in
// the memory that the program states.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/model/graph_builder.h"
#include "core/timeline/metrics.h"
#include "tests/backends/kernel_agreement.h"
#include "tests/support/cpu_training.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::apart;
using testing::CpuRun;
using testing::Settings;
using testing::train_on_cpu;

Training three_small_steps() {
  Training t;
  t.rate = 0.05;
  t.momentum = 0.5;
  t.steps = 3;
  return t;
}

// Windows of every kind that networks for images have, in layers that end in one mean.
struct WindowedNet {
  std::int64_t image = 16, channels = 2;
  std::int64_t kernel = 3, stride = 1, groups = 1;
  bool overlap = true;  // of the pooling's windows
  bool norm = true;
  int layers = 4;
  bool average = false;  // of the pooling's windows; else their largest value
  bool mean = true;      // of whole images before the head; else the head reads every pixel
};

Model windowed_net(const WindowedNet& net) {
  Model model;
  model.name = "windowed net";
  model.family = "resnet";
  model.tokens = false;
  const auto image = [](GraphBuilder& b, const Shape& shape) {
    return b.graph.input = b.activation("input", shape);
  };
  GraphBuilder start;
  TensorId x = image(start, {kBatch, whole(1), whole(net.image), whole(net.image)});
  const auto convolve = [](GraphBuilder& b, const std::string& name, TensorId from,
                           std::int64_t out, std::int64_t kernel, std::int64_t stride,
                           std::int64_t groups, bool leaf) {
    const std::int64_t in = b.graph[from].shape[1].size;
    const TensorId weight = b.parameter(
        name + ".weight", {whole(out), whole(in / groups), whole(kernel), whole(kernel)});
    return b.node(
        name, convolution(), {from, weight, b.parameter(name + ".bias", {whole(out)})},
        {{"padding", kernel / 2}, {"stride", stride}, {"groups", groups}, {"leaf", leaf ? 1 : 0}});
  };
  const std::int64_t c = net.channels;
  x = start.node("gelu", gelu(), {convolve(start, "conv", x, c, net.kernel, net.stride, 1, true)});
  std::map<std::string, std::int64_t> windows = {{"kernel", 2}, {"stride", 2}};
  if (net.overlap) windows = {{"kernel", 3}, {"stride", 2}, {"padding", 1}};
  if (net.average) windows["average"] = 1;
  x = start.node("pool", pooling(), {x}, windows);
  const Shape inner = start.graph[x].shape;
  model.blocks.push_back(start.block("stem", 1, false, x));
  GraphBuilder layer;
  const TensorId in = image(layer, inner);
  TensorId y = convolve(layer, "conv", in, c, 3, 1, net.groups, false);
  if (net.norm)
    y = layer.node(
        "bn", batch_norm(),
        {y, layer.parameter("bn.weight", {whole(c)}), layer.parameter("bn.bias", {whole(c)})});
  y = layer.residual("add", in, y);
  model.blocks.push_back(layer.block("layers", net.layers, true, layer.node("gelu", gelu(), {y})));
  GraphBuilder end;
  y = image(end, inner);
  if (net.mean) y = end.node("mean", pooling(), {y}, {{"kernel", 0}, {"average", 1}});
  y = end.node("drop", dropout(), {end.node("flatten", flatten(), {y})});
  y = end.linear("fc", y, whole(3), true);
  model.blocks.push_back(end.block("head", 1, false, end.loss(y)));
  return model;
}

CpuRun train_rows(const Model& model, std::int64_t devices, const Settings& words) {
  Settings all = {"optimizer=momentum", "global-batch=8", "micro-batch=2"};
  all.insert(all.end(), words.begin(), words.end());
  CpuOptions options;
  options.processor_time = [now = Duration{}]() mutable {
    return now += std::chrono::microseconds{10};
  };
  return train_on_cpu(model, devices, all, three_small_steps(), options);
}

TEST(CpuSpatial, KernelsWithRowsAroundAnImageAgreeWithTheReference) {
  testing::expect_agreement(halo_rows(), [](testing::Draw& d) {
    testing::KernelCase c;
    c.inputs = {testing::activation(
        testing::sizes({d.between(1, 3), d.between(1, 4), d.between(2, 6), d.between(1, 6)}))};
    c.attributes = {{"above", d.between(0, 2)}, {"below", d.between(0, 2)}};
    return c;
  });
  testing::expect_agreement(convolution(), [](testing::Draw& d) {
    const std::int64_t in = d.between(1, 4), out = d.between(1, 4);
    testing::KernelCase c;
    c.inputs = {testing::activation(
                    testing::sizes({d.between(1, 3), in, d.between(3, 8), d.between(3, 8)})),
                testing::parameter(testing::sizes({out, in, 3, 3}))};
    c.attributes = {{"stride", d.between(1, 2)}, {"padding", 1}, {"row_padding", 0}};
    return c;
  });
  testing::expect_agreement(pooling(), [](testing::Draw& d) {
    testing::KernelCase c;
    c.inputs = {testing::activation(
        testing::sizes({d.between(1, 3), d.between(1, 4), d.between(3, 8), d.between(3, 8)}))};
    c.attributes = {{"kernel", 3},
                    {"stride", d.between(1, 2)},
                    {"padding", 1},
                    {"row_padding", 0},
                    {"average", d.between(0, 1)}};
    return c;
  });
}

// All functions are smooth: of sums that are rounded otherwise, a ReLU may let through what it
// stops on one device, and another one may be the largest of a window. Norms of few pixels one
// behind the other multiply what is rounded, so that there is one. The plans below have all of
// these.
RC_GTEST_PROP(CpuSpatial, RanksWithRowsOfImagesTrainAsOneDevice, ()) {
  WindowedNet net;
  const std::int64_t ranks = *rc::gen::element<std::int64_t>(2, 3, 4);
  net.stride = *rc::gen::element<std::int64_t>(1, 2);
  // Some of these do not divide behind the first layers, where ranks join their rows.
  net.image = ranks * net.stride * *rc::gen::inRange<std::int64_t>(2, 8);
  net.kernel = *rc::gen::element<std::int64_t>(1, 3, 5, 7);
  net.average = true, net.layers = 1;
  net.overlap = *rc::gen::arbitrary<bool>();
  net.norm = *rc::gen::arbitrary<bool>();
  net.mean = *rc::gen::arbitrary<bool>();
  net.groups = *rc::gen::element<std::int64_t>(1, 2);
  net.channels = 2 * *rc::gen::inRange<std::int64_t>(1, 3);
  const Model model = windowed_net(net);
  const std::string degree = "cp=" + std::to_string(ranks);
  const CpuRun alone = train_rows(model, 1, {}), divided = train_rows(model, ranks, {degree});
  for (std::size_t i = 0; i < alone.run.losses.size(); ++i)
    RC_ASSERT(std::abs(divided.run.losses[i] / alone.run.losses[i] - 1) < 1e-5);
  RC_ASSERT(apart(divided.parameters, alone.parameters) < 1e-5);
  // Variances of a few pixels are small beside what their sums are rounded by.
  RC_ASSERT(apart(divided.statistics, alone.statistics) < 1e-4);
}

// Devices that divide a replica, its state or its pipeline as well.
TEST(CpuSpatial, EveryPlanTrainsAsOneDevice) {
  struct DividedRows {
    std::int64_t devices;
    Settings words;
  };
  const DividedRows plans[] = {
      {2, {"cp=2"}},
      {3, {"cp=3"}},
      {4, {"cp=4"}},  // 18 rows, which ranks join
      {2, {"cp=2", "overlap=off"}},
      {2, {"cp=2", "recompute=full"}},
      {2, {"cp=2", "recompute=op"}},
      {2, {"cp=2", "recompute=keep=input"}},
      {2, {"cp=2", "schedule=gpipe"}},
      {2, {"cp=2", "offload=optimizer"}},
      {2, {"cp=2", "offload=activations", "schedule=gpipe"}},
      {4, {"cp=2", "dp=2", "batch-norm=replicas"}},
      {4, {"cp=2", "dp=2", "zero=1", "batch-norm=replicas"}},
      {4, {"cp=2", "dp=2", "zero=2", "batch-norm=replicas"}},
      {4, {"cp=2", "dp=2", "zero=3", "batch-norm=replicas"}},
      {4, {"cp=2", "pp=2"}},
      {4, {"cp=2", "pp=2", "schedule=zb-h1"}},
      {4, {"cp=2", "pp=2", "schedule=interleaved", "virtual-stages=2"}},
      {4, {"cp=2", "pp=2", "schedule=dualpipe"}},
      {4, {"cp=2", "pp=2", "schedule=zb-v", "virtual-stages=2", "recompute=full"}},
  };
  const Model model = windowed_net({.image = 36, .kernel = 7, .stride = 2});
  const CpuRun alone = train_rows(model, 1, {}),
               pairs = train_rows(model, 2, {"dp=2", "batch-norm=replicas"});
  for (const DividedRows& plan : plans) {
    std::string text;
    for (const std::string_view word : plan.words) text += " " + std::string(word);
    SCOPED_TRACE(text);
    try {
      const CpuRun run = train_rows(model, plan.devices, plan.words);
      const bool replicas = text.find("dp=2") != std::string::npos;
      testing::expect_same_training(run, replicas ? pairs : alone, 1e-5);
      for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(run.program.devices); ++d) {
        const MemoryWave predicted = memory_wave(run.run.timeline, run.program, DeviceId{d});
        EXPECT_GE(total(run.run.waves[d].samples[run.run.waves[d].peak].bytes),
                  total(predicted.samples[predicted.peak].bytes));
      }
    } catch (const Error& error) {
      ADD_FAILURE() << describe(error);
    }
  }
}

// One convolution and nothing behind it that rounds (B-SCH-10).
TEST(CpuSpatial, OneStepOfAConvolutionIsThatOfWholeImages) {
  for (const std::int64_t kernel : {3, 5, 7}) {
    const Model model = windowed_net({.image = 32, .kernel = kernel, .norm = false});
    const CpuRun alone = train_rows(model, 1, {"optimizer=sgd", "global-batch=2"}),
                 divided = train_rows(model, 4, {"optimizer=sgd", "cp=4", "global-batch=2"});
    EXPECT_LE(apart(divided.parameters, alone.parameters), 1e-6) << kernel;
    EXPECT_GT(apart(divided.parameters,
                    train_rows(model, 1, {"optimizer=sgd", "global-batch=10"}).parameters),
              1e-3);
  }
}

}  // namespace
}  // namespace trainyard
