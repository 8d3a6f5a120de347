// Tests that backends train sparse weights: kernels against the reference maths, plans against one
// device, sparse storage against dense storage, and what a perceptron learns (B-MEM-07).
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "backends/cpu/calibration/rehearsal.h"
#include "backends/cpu/execution/evaluation.h"
#include "backends/cpu/kernels/kernel.h"
#include "backends/reference/reference_backend.h"
#include "core/cost/sparse_product.h"
#include "core/model/ops.h"
#include "core/model/sparse_pattern.h"
#include "core/model/zoo/builders.h"
#include "core/training/regrowth.h"
#include "tests/support/cpu_training.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;
using testing::train_on_cpu;
using testing::with;

Training steps(std::int64_t count) {
  Training t;
  t.rate = 0.1;
  t.momentum = 0.5;
  t.steps = count;
  t.epsilon = 0.01;
  return t;
}

std::vector<float> numbers(std::int64_t count, std::uint64_t seed) {
  std::vector<float> made(static_cast<std::size_t>(count));
  const Random random(seed);
  for (std::size_t i = 0; i < made.size(); ++i)
    made[i] = static_cast<float>(2 * random.uniform(i) - 1);
  return made;
}

void expect_near(const std::vector<float>& found, const std::vector<double>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], wanted[i], 1e-5 * (1 + std::abs(wanted[i]))) << i;
}

// Runs all passes of the graph's one node on values, pattern and bias of a shape.
void expect_as_the_reference(const Graph& graph, const SparseShape& shape, std::uint64_t seed) {
  const Node& node = graph.nodes[0];
  const auto size_of = [&](TensorId id) { return local_elements(graph[id].shape, Binding{}); };
  const auto view = [&](std::vector<float>& from, TensorId id) {
    TensorView made;
    made.data = from.data();
    for (const Dim& dim : graph[id].shape)
      made.size[static_cast<std::size_t>(made.rank++)] = dim.size;
    return made;
  };
  const auto host = [&](const std::vector<float>& from, TensorId id) {
    return HostTensor{local_shape(graph[id], Binding{}), {from.begin(), from.end()}};
  };
  std::vector<std::vector<float>> in, gradients;
  std::vector<HostTensor> given;
  for (std::size_t i = 0; i < 4; ++i) {
    const TensorId id = node.inputs[i];
    in.push_back(i != 2
                     ? numbers(size_of(id), i + 1)
                     : pattern_of(shape, drawn_of(shape.all_blocks(), shape.blocks, Random(seed))));
    gradients.push_back(numbers(size_of(id), i + 5));
    given.push_back(host(in.back(), id));
  }
  const TensorId made = node.outputs[0];
  std::vector<float> out(static_cast<std::size_t>(size_of(made))), dout = numbers(size_of(made), 9);
  std::vector<TensorView> inputs, outputs = {view(out, made)}, dy = {view(dout, made)}, dx(4),
                                  dparameters(4);
  std::vector<const HostTensor*> list;
  for (std::size_t i = 0; i < 4; ++i) {
    inputs.push_back(view(in[i], node.inputs[i]));
    if (i != 2) (i == 0 ? dx : dparameters)[i] = view(gradients[i], node.inputs[i]);
    list.push_back(&given[i]);
  }
  const std::vector<std::uint8_t> adds = {1, 0, 0, 0};
  const HostTensor hdy = host(dout, made);
  const std::vector<const HostTensor*> of_output = {&hdy};
  const Binding binding;
  Scratch scratch;
  ReferenceCall maths{graph, node, binding};
  maths.inputs = list, maths.gradients = of_output;
  const Reference& reference_maths = reference(*node.op);

  KernelCall call{.graph = graph, .node = node, .binding = binding, .scratch = scratch};
  call.inputs = inputs, call.outputs = outputs;
  run_kernel(call, Pass::Forward);
  expect_near(out, reference_maths.forward(maths).outputs[0].values);

  call.output_gradients = dy;
  call.input_gradients = dx, call.adds = adds;
  const auto sum = [](const std::vector<float>& before, const HostTensor& more) {
    std::vector<double> total(before.begin(), before.end());
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += more.values[i];
    return total;
  };
  const std::vector<double> wanted_input =
      sum(gradients[0], reference_maths.backward_input(maths)[0]);
  run_kernel(call, Pass::BackwardInput);
  expect_near(gradients[0], wanted_input);

  call.input_gradients = {}, call.weight_gradients = dparameters;
  const std::vector<HostTensor> of_weights = reference_maths.backward_weight(maths);
  EXPECT_TRUE(of_weights[2].values.empty());
  const std::vector<double> wanted_weight = sum(gradients[1], of_weights[1]),
                            wanted_bias = sum(gradients[3], of_weights[3]);
  run_kernel(call, Pass::BackwardWeight);
  expect_near(gradients[1], wanted_weight);
  expect_near(gradients[3], wanted_bias);
}

// Appends values, pattern and bias to the graph's input, and the node.
void add_sparse(GraphBuilder& b, const Op& op, TensorId x, const SparseShape& shape,
                std::int64_t bias, std::map<std::string, std::int64_t> attributes) {
  const TensorId values = b.parameter("w", {whole(shape.blocks), whole(shape.block)}),
                 pattern = b.parameter("p", {whole(shape.rows + shape.blocks)}),
                 added = b.parameter("b", {whole(bias)});
  attributes["columns"] = shape.columns;
  b.node("sparse", op, {x, values, pattern, added}, std::move(attributes));
}

// Batches of less than a lane, of lanes and of more than a strip of them.
TEST(SparseKernel, AgreesWithTheReference) {
  for (const std::int64_t batch : {1, 16, 77, 131})
    for (const std::int64_t block : {1, 4}) {
      const SparseShape shape = with_density({9, 20, block, 0}, 0.3);
      GraphBuilder b;
      add_sparse(b, sparse_matmul(), b.activation("x", {whole(batch), whole(shape.rows)}), shape,
                 shape.columns, {});
      expect_as_the_reference(b.graph, shape, static_cast<std::uint64_t>(batch));
    }
}

// Five filters of 3 x 2 over four channels.
TEST(SparseKernel, ConvolutionsAgreeWithTheReference) {
  for (const std::int64_t stride : {1, 2})
    for (const std::int64_t block : {1, 4}) {
      const SparseShape shape = with_density({5, 4 * 3 * 2, block, 0}, 0.3);
      GraphBuilder b;
      add_sparse(b, sparse_convolution(),
                 b.activation("x", {whole(3), whole(4), whole(6), whole(5)}), shape, shape.rows,
                 {{"kernel_rows", 3}, {"kernel_columns", 2}, {"stride", stride}, {"padding", 1}});
      expect_as_the_reference(b.graph, shape, static_cast<std::uint64_t>(stride));
    }
}

const Settings& small() {
  static const Settings list = {"global-batch=8", "micro-batch=2", "optimizer=momentum"};
  return list;
}

// Formats of weights, and how far losses of the same training are apart in them.
constexpr std::pair<const char*, double> kFormats[] = {{"precision=fp32", 1e-5},
                                                       {"precision=bf16", 5e-3},
                                                       {"precision=fp16", 1e-3},
                                                       {"precision=bf16-sr", 2e-2},
                                                       {"precision=bf16-kahan", 5e-3}};

void expect_losses_near(const std::vector<double>& found, const std::vector<double>& wanted,
                        double apart) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(found[i], wanted[i], apart * wanted[i]) << i;
}

// Law: where all weights are stored, a sparse plan trains as the dense one.
TEST(SparseTraining, AtFullDensityItIsDenseTraining) {
  for (const Model& model : {testing::tiny_mlp(3), testing::tiny_convnet(2),
                             testing::tiny_transformer({.family = "llama"})})
    for (const auto& [format, apart] : kFormats) {
      SCOPED_TRACE(format);
      const CpuRun dense = train_on_cpu(model, 1, with(small(), {format}), steps(6));
      for (const char* block : {"sparse-block=1", "sparse-block=2"}) {
        if (model.name == "tiny mlp" && std::string(block).ends_with("2")) continue;  // odd outputs
        const CpuRun sparse = train_on_cpu(
            model, 1, with(small(), {format, "sparsity=0", block, "sparse-every=2"}), steps(6));
        expect_losses_near(sparse.run.losses, dense.run.losses, apart);
      }
    }
}

// Law: replicas and stages move their weights as one device does.
TEST(SparseTraining, ReplicasAndStagesTrainAsOneDevice) {
  const Model model = testing::tiny_transformer({.family = "llama"});
  const Settings sparse = with(small(), {"sparsity=0.5", "sparse-every=2", "sparse-drop=0.4"});
  const CpuRun one = train_on_cpu(model, 1, sparse, steps(8));
  // The pattern has moved, and the number of what is stored has not changed.
  bool moved = false;
  for (std::size_t i = 0; i < one.initial.size(); ++i)
    if (one.initial[i].name.ends_with(".pattern"))
      moved = moved || one.initial[i].values != one.parameters[i].values;
  EXPECT_TRUE(moved);
  for (const Settings& plan : std::vector<Settings>{{"dp=2"},
                                                    {"pp=2"},
                                                    {"pp=2", "dp=2"},
                                                    {"pp=2", "schedule=gpipe"},
                                                    {"pp=2", "schedule=zb-h1"},
                                                    {"recompute=full"}}) {
    SCOPED_TRACE(plan.front());
    const std::int64_t devices = plan.size() == 2 && plan[1] == "dp=2" ? 4
                                 : plan.front() == "recompute=full"    ? 1
                                                                       : 2;
    testing::expect_same_training(train_on_cpu(model, devices, with(sparse, plan), steps(8)), one,
                                  1e-5);
  }
  for (const auto& [format, apart] : kFormats) {
    SCOPED_TRACE(format);
    const Settings narrow = with(sparse, {format});
    const CpuRun alone = train_on_cpu(model, 1, narrow, steps(8));
    testing::expect_same_training(
        train_on_cpu(model, 1, with(narrow, {"recompute=full"}), steps(8)), alone, 0);
    testing::expect_same_training(train_on_cpu(model, 2, with(narrow, {"pp=2"}), steps(8)), alone,
                                  1e-5);
    expect_losses_near(train_on_cpu(model, 2, with(narrow, {"dp=2"}), steps(8)).run.losses,
                       alone.run.losses, apart);
  }
}

// Law: a pattern moves in 16 bits as it does in 4 bytes, rows of more blocks than 256 among others.
// fp16 is left out, because steps that overflow do not move it.
TEST(SparseTraining, MovesIn16BitsAsIn4Bytes) {
  const Model model = build_mlp({"mlp", 12, 260, 1, 8});
  const Settings sparse = with(small(), {"sparsity=0.75", "sparse-every=2", "optimizer=adam"});
  Training training = steps(7);
  training.rate = 0.01;
  const CpuRun wide = train_on_cpu(model, 1, sparse, training);
  training.rate = 0;  // nothing but the pattern changes
  const CpuRun still = train_on_cpu(model, 1, sparse, training);
  for (const auto& [format, apart] : kFormats) {
    if (format == std::string_view("precision=fp16")) continue;
    SCOPED_TRACE(format);
    training.rate = 0.01;
    expect_losses_near(train_on_cpu(model, 1, with(sparse, {format}), training).run.losses,
                       wide.run.losses, 2 * apart);
    training.rate = 0;
    const CpuRun moved = train_on_cpu(model, 1, with(sparse, {format}), training);
    expect_losses_near(moved.run.losses, still.run.losses, apart);
    if (std::string_view(format).starts_with("precision=bf16-")) continue;  // has none in 4 bytes
    ASSERT_EQ(moved.parameters.size(), still.parameters.size());
    for (std::size_t i = 0; i < still.parameters.size(); ++i)
      if (!still.parameters[i].name.ends_with(".pattern")) {
        EXPECT_EQ(moved.parameters[i].values, still.parameters[i].values)
            << still.parameters[i].name;
      }
  }
}

TEST(SparseTraining, ConvolutionsOfReplicasAndStagesTrainAsOneDevice) {
  const Model model = testing::tiny_convnet(2);
  const Settings sparse = with(small(), {"sparsity=0.5", "sparse-every=2", "sparse-drop=0.4"});
  const CpuRun one = train_on_cpu(model, 1, sparse, steps(6));
  for (const char* plan : {"dp=2", "pp=2"})
    testing::expect_same_training(train_on_cpu(model, 2, with(sparse, {plan}), steps(6)), one,
                                  1e-5);
}

TEST(SparseTraining, EveryOptimizerMovesItsState) {
  const Model model = testing::tiny_mlp(3);
  for (const char* rule : {"optimizer=sgd", "optimizer=adam", "optimizer=adamw", "optimizer=lamb",
                           "optimizer=adagrad", "optimizer=lion", "optimizer=lars"}) {
    SCOPED_TRACE(rule);
    const Settings sparse =
        with(small(), {"sparsity=0.5", "sparse-every=2", "sparse-drop=0.4", rule});
    testing::expect_same_training(train_on_cpu(model, 2, with(sparse, {"dp=2"}), steps(6)),
                                  train_on_cpu(model, 1, sparse, steps(6)), 1e-5);
  }
}

// The whole of a sparse run's tensor, with zeros where nothing is stored.
std::vector<TrainedTensor> scattered(const CpuRun& run) {
  std::vector<TrainedTensor> dense;
  for (const TrainedTensor& t : run.initial) {
    if (t.name.ends_with(".pattern")) continue;
    TrainedTensor made = t;
    int layer = 0;
    for (const Block& block : run.workload.scenario.model.blocks) {
      const bool here = t.layer >= layer && t.layer < layer + block.count;
      layer += block.count;
      if (!here) continue;
      for (const Node& node : block.graph.nodes) {
        const auto weight = sparse_weight_of(block.graph, node);
        if (!weight || block.graph[weight->values].name != t.name) continue;
        const auto pattern =
            std::find_if(run.initial.begin(), run.initial.end(), [&](const TrainedTensor& p) {
              return p.layer == t.layer && p.name == t.name + ".pattern";
            });
        const SparseShape& s = weight->shape;
        made.shape = {s.rows, s.columns};
        made.values.assign(static_cast<std::size_t>(s.rows * s.columns), 0.0F);
        std::size_t stored = 0;
        for (const std::int64_t place : places_of(s, pattern->values))
          for (std::int64_t i = 0; i < s.block; ++i)
            made.values[static_cast<std::size_t>(place * s.block + i)] = t.values[stored++];
      }
    }
    dense.push_back(std::move(made));
  }
  return dense;
}

// Dense weights that are pruned to the same places and stay zero there train alike.
TEST(SparseTraining, IsThatOfAMaskOnDenseWeights) {
  const Model model = build_mlp({"mlp", 12, 16, 2, 8});
  for (const auto& [rule, format, apart] :
       {std::tuple{"optimizer=momentum", "precision=fp32", 1e-5},
        {"optimizer=adam", "precision=fp32", 1e-5},
        {"optimizer=adam", "precision=bf16", 5e-3},
        {"optimizer=momentum", "precision=fp16", 1e-3}}) {
    SCOPED_TRACE(format);
    const Settings settings = with(small(), {rule, format});
    const CpuRun sparse = train_on_cpu(
        model, 1, with(settings, {"sparsity=0.75", "sparse-block=4", "sparse-every=0"}), steps(10));
    Training masked = steps(10);
    masked.sparsity = 0.75;
    const Scenario dense = testing::scenario(model, 1, settings, "cpu");
    const Workload w = prepare(dense);
    LowerOptions lowering;
    lowering.grain = Grain::Op;
    const Program program = lower(w, lowering);
    const TaskPrices prices =
        price(program, w.scenario.plan.mesh, w.scenario.cluster, *roofline_cost_model());
    const testing::SampleNumbers source;
    CpuBackend backend({w, program, prices, &masked, &source}, {});
    backend.set_parameters(scattered(sparse));
    expect_losses_near(sparse.run.losses, backend.run().losses, apart);
  }
}

TEST(SparseTraining, TheReferenceTrainsAndMovesAlike) {
  for (const Model& model : {build_mlp({"mlp", 12, 16, 2, 8}), testing::tiny_convnet(2)}) {
    const CpuRun fast = train_on_cpu(
        model, 1, with(small(), {"sparsity=0.75", "sparse-every=2", "sparse-block=2"}), steps(7));
    const Training training = steps(7);
    const testing::SampleNumbers source;
    const TaskPrices prices = price(fast.program, fast.workload.scenario.plan.mesh,
                                    fast.workload.scenario.cluster, *roofline_cost_model());
    ReferenceBackend exact({fast.workload, fast.program, prices, &training, &source});
    const BackendRun run = exact.run();
    expect_losses_near(fast.run.losses, run.losses, 1e-5);
    EXPECT_LT(testing::apart(fast.parameters, exact.parameters()), 1e-5);
  }
}

// Predicted, held and measured bytes of weights, gradients and optimizer state are equal.
TEST(SparseTraining, TheArenaHoldsWhatTheProgramSays) {
  const Model model = build_mlp({"mlp", 32, 320, 1, 16});
  for (const auto& [format, block, weight, gradient, state] :
       {std::tuple{"precision=fp32", "sparse-block=1", 4, 4, 8},
        {"precision=fp32", "sparse-block=16", 4, 4, 8},
        {"precision=bf16", "sparse-block=1", 2, 4, 12},
        {"precision=fp16", "sparse-block=16", 2, 2, 12},
        {"precision=bf16-sr", "sparse-block=1", 2, 2, 4},
        {"precision=bf16-kahan", "sparse-block=16", 2, 2, 6}}) {
    SCOPED_TRACE(format);
    const CpuRun run = train_on_cpu(
        model, 1,
        with(small(), {"sparsity=0.8", block, format, "optimizer=adam", "sparse-every=2"}),
        steps(3));
    std::int64_t stored = 0, pattern = 0, other = 0;
    for (const TrainedTensor& t : run.parameters) {
      const auto count = static_cast<std::int64_t>(t.values.size());
      const bool sparse = t.shape.size() > 1 && t.name.ends_with("weight");
      (t.name.ends_with(".pattern") ? pattern : sparse ? stored : other) += count;
    }
    const auto held = [&](Category category) {
      return run.run.memory.front().most_by_category[static_cast<std::size_t>(category)].value;
    };
    EXPECT_EQ(held(Category::Weights), weight * (stored + other + pattern)) << block;
    EXPECT_EQ(held(Category::Gradients), gradient * (stored + other)) << block;
    EXPECT_EQ(held(Category::OptimizerState), state * (stored + other)) << block;
  }
}

// A calibration runs sparse kernels on patterns, not on any numbers.
TEST(SparseTraining, IsRehearsed) {
  for (const char* format : {"precision=fp32", "precision=bf16"}) {
    const Workload w = prepare(
        testing::scenario(build_mlp({"mlp", 12, 16, 2, 8}), 1, {format, "sparsity=0.75"}, "cpu"));
    Rehearsal rehearsal(w, 64_MiB);
    int sparse = 0;
    rehearsal.run([&](const Work& work, Duration) { sparse += is_sparse_product(work) ? 1 : 0; });
    EXPECT_EQ(sparse, 11);  // three passes of four products, but for the gradient of the data
  }
}

// A pattern is part of what a checkpoint holds, and its next move that of the whole run.
TEST(SparseTraining, GoesOnFromACheckpointAsIfItHadNotStopped) {
  const Model model = build_mlp({"mlp", 12, 16, 2, 8});
  const Training training = steps(9);
  for (const auto& [format, apart] : kFormats) {
    SCOPED_TRACE(format);
    const CpuRun whole = train_on_cpu(
        model, 1, with(small(), {format, "sparsity=0.75", "sparse-every=2", "optimizer=adam"}),
        training);
    const TaskPrices prices = price(whole.program, whole.workload.scenario.plan.mesh,
                                    whole.workload.scenario.cluster, *roofline_cost_model());
    const testing::SampleNumbers source;
    const BackendJob job{whole.workload, whole.program, prices, &training, &source};
    CpuOptions first, second;
    first.until = 5;
    CpuBackend before(job, first);
    before.run();
    second.from = std::make_shared<const Checkpoint>(before.state());
    CpuBackend after(job, second);
    EXPECT_EQ(after.run().losses, whole.run.losses);
    EXPECT_EQ(testing::apart(after.parameters(), whole.parameters), 0);
  }
}

double accuracy_of(std::int64_t width, double rate, const Settings& settings) {
  const auto source = open_data("fashion-mnist", data_seeds({}), {});
  Training training;
  training.rate = rate, training.momentum = 0.9, training.steps = 450;
  training.schedule = RateSchedule::Cosine;
  const Model model = build_mlp({"mlp", 784, width, 8, 10});
  const CpuRun run = train_on_cpu(
      model, 1, with({"global-batch=128", "micro-batch=128", "optimizer=momentum"}, settings),
      training, {}, *source);
  return evaluate(run.workload, run.parameters, *source, 0).accuracy;
}

// B-MEM-07: nine of ten weights of mlp-small cost at most 1.5 points, which a network of twice the
// width gives back but for 0.2 of them. Dense and sparse networks each learn at the better one of
// the rates 0.05 and 0.1: at the other one the dense network is 2.5 points behind.
TEST(SparseTraining, AWiderSparsePerceptronIsAsGoodAsTheDenseOne) {
  if (!data_entry("fashion-mnist").absent().empty()) GTEST_SKIP() << "no data";
  const double dense = accuracy_of(256, 0.05, {}), sparse = accuracy_of(256, 0.1, {"sparsity=0.9"}),
               wide = accuracy_of(512, 0.1, {"sparsity=0.9"});
  RecordProperty("dense", std::to_string(dense));
  RecordProperty("sparse", std::to_string(sparse));
  RecordProperty("wide", std::to_string(wide));
  EXPECT_GE(sparse, dense - 0.015);
  EXPECT_GE(wide, dense - 0.002);
}

}  // namespace
}  // namespace trainyard
