// Tests trained models as programs for microcontrollers (B-MOD-11): what they lose in answers, and
// that the C program gives the interpreter's bytes on real samples.
#include "app/workspace/scenario/microcontroller.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "app/workspace/runs/training_run.h"
#include "app/workspace/scenario/exchange.h"
#include "app/workspace/scenario/workspace.h"
#include "core/microcontroller/c_source.h"
#include "core/microcontroller/interpreter.h"
#include "core/model/reference.h"
#include "core/training/data_source.h"
#include "tests/support/c_program.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

constexpr const char* kSmallCnn = "cnn:image=28,channels=1,width=8,stages=3,blocks=1";

Scenario scenario_of(const std::string& model, const std::string& batch) {
  return open(
      {model,
       "cpu:1",
       "",
       {"global-batch=" + batch, "micro-batch=" + batch, "precision=fp32", "optimizer=momentum"}});
}

class ExportedPrograms : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!data_entry("fashion-mnist").absent().empty()) GTEST_SKIP() << "no data";
  }

  // Trains and asks for the program; both its numbers and the C program are then looked at.
  MicrocontrollerAnswer train(const std::string& model, std::int64_t steps, double rate,
                              const std::string& batch) {
    TrainingRequest request;
    request.scenario = scenario_of(model, batch);
    request.training.rate = rate, request.training.steps = steps;
    request.training.schedule = RateSchedule::Cosine;
    request.data = "fashion-mnist";
    request.options.checkpoint = (folder_.path() / "trained.ckpt").string();
    request.options.record_timeline = false;
    TrainingJob(std::move(request)).run(false, nullptr);
    MicrocontrollerQuestion q;
    q.start_from = (folder_.path() / "trained.ckpt").string(), q.data = "fashion-mnist";
    q.samples = 2000;
    workload_ = prepare(scenario_of(model, batch));
    return microcontroller_network(workload_, q);
  }

  std::vector<std::vector<std::int8_t>> real_samples(const IntegerNetwork& network,
                                                     std::int64_t count) const {
    const auto data = open_data("fashion-mnist", DataSeeds(1));
    const Model& model = workload_.scenario.model;
    const Graph& graph = model.blocks.front().graph;
    const std::vector<std::int64_t> shape = local_shape(graph[graph.input], {});
    const IntegerTensor& input = network.tensor(network.input);
    std::vector<std::vector<std::int8_t>> samples;
    for (std::int64_t s = 0; s < count; ++s) {
      std::vector<float> numbers(static_cast<std::size_t>(input.size.elements()));
      data->fill(DataRequest{model, graph, graph.input, shape, s, true, 0}, std::span(numbers));
      samples.push_back(quantised(channels_last(numbers, input.size), input.scale));
    }
    return samples;
  }

  void expect_same_bytes(const MicrocontrollerAnswer& answer) {
    const Exported program = microcontroller_program(answer, nullptr);
    testing::compile_c({program.header, program.text}, program.name, folder_.path());
    const auto samples = real_samples(answer.network, 50);
    std::vector<std::int8_t> here;
    for (const std::vector<std::int8_t>& sample : samples) {
      std::vector<std::int8_t> scores(10),
          arena(static_cast<std::size_t>(answer.network.arena.value), 99);
      ASSERT_TRUE(run_network(answer.network, sample, scores, arena));
      here.insert(here.end(), scores.begin(), scores.end());
    }
    EXPECT_EQ(testing::run_c(samples, folder_.path()), here);
  }

  TemporaryFolder folder_;
  Workload workload_;
};

TEST_F(ExportedPrograms, ATrainedPerceptronLosesLessThanAPoint) {
  const MicrocontrollerAnswer answer = train("mlp-small", 300, 0.05, "128");
  EXPECT_EQ(answer.answers.questions, 2000);
  EXPECT_GE(answer.answers.first_accuracy(), 0.8);
  EXPECT_LE(std::abs(answer.answers.excess_error()), 0.01);
  EXPECT_EQ(answer.network.arena.value, 2 * 256);
  EXPECT_EQ(answer.multiplications, 784 * 256 + 8 * 256 * 256 + 256 * 10);
  expect_same_bytes(answer);
}

TEST_F(ExportedPrograms, ATrainedConvolutionalNetworkLosesLessThanAPoint) {
  const MicrocontrollerAnswer answer = train(kSmallCnn, 200, 0.1, "64");
  EXPECT_TRUE(answer.has_norms);
  EXPECT_GE(answer.answers.first_accuracy(), 0.7);
  EXPECT_LE(std::abs(answer.answers.excess_error()), 0.01);
  EXPECT_EQ(answer.network.arena, answer.network.arena_bound);
  expect_same_bytes(answer);
}

TEST(MicrocontrollerNetwork, SaysWhatIsNotTrainedAndWhatFits) {
  MicrocontrollerQuestion q;
  q.data = "random", q.samples = 100, q.calibration = 150;
  const MicrocontrollerAnswer answer =
      microcontroller_network(prepare(scenario_of("mlp-small", "16")), q);
  EXPECT_EQ(answer.calibration, 100);  // whole batches
  const std::vector<std::string> lines = microcontroller_lines(answer, nullptr);
  EXPECT_EQ(lines[1], "weights       those with which training begins: nothing is trained");
  EXPECT_EQ(lines[5],
            "RAM           512 B of arena (best fit by size; no placement needs less), 784 B of "
            "input, 10 B of output; the stack on top");
  EXPECT_EQ(lines.back(), "fits          on stm32h743, stm32f746, nrf52840");
  const std::vector<std::string> arena = arena_lines(answer.network);
  ASSERT_EQ(arena.size(), 9U);
  EXPECT_EQ(arena[0], "  at 0, 256 B: of input fc, held over layers 1 to 2");
  EXPECT_EQ(arena[1], "  at 256, 256 B: of layers 0 fc, held over layers 2 to 3");
  // Constants are a byte per weight, and 9 for each of 2314 biases and factors.
  EXPECT_EQ(answer.need.flash.value, 727552 + 9 * (9 * 256 + 10) + 96 * 10);
  EXPECT_EQ(answer.need.ram.value, 512 + 784 + 10);
}

TEST(MicrocontrollerNetwork, OtherModelsAreRefusedBeforeAnyData) {
  const auto refused = [](const std::string& model, const std::string& data) {
    try {
      MicrocontrollerQuestion q;
      q.data = data, q.samples = 100, q.calibration = 100;
      microcontroller_network(prepare(scenario_of(model, "16")), q);
    } catch (const Error& error) {
      return describe(error);
    }
    return std::string("accepted");
  };
  EXPECT_NE(refused("gpt-tiny", "").find("and none for"), std::string::npos);
  EXPECT_NE(refused("vgg-16", "").find("expected at most 16777216 parameters, found 138357544"),
            std::string::npos);
  EXPECT_NE(refused("cartpole-q", "").find("expected a model that classifies"), std::string::npos)
      << refused("cartpole-q", "");
}

// The window writes the same program, of fewer samples.
TEST(MicrocontrollerNetwork, IsAFormatOfExport) {
  const ExportFormat& format = export_format(kMicrocontrollerFormat);
  ASSERT_NE(format.write_weights, nullptr);
  EXPECT_EQ(format.ending, "c");
}

}  // namespace
}  // namespace trainyard
