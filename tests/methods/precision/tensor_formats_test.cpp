// Tests formats of classes of tensors in the ledger, in messages and in what is refused.
#include "core/methods/precision/tensor_formats.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "core/lowering/lower.h"
#include "core/methods/precision/tensor_state.h"
#include "core/methods/settings/settings.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

using testing::bytes_per_parameter;
using testing::refusal;
using testing::Settings;

std::string first_error(const Settings& settings) {
  const Scenario s = testing::scenario(testing::gpt(), 2, settings);
  for (const Diagnostic& found : testing::check_of(kTensorFormats, s))
    if (found.severity == Diagnostic::Severity::Error) return found.message + "; " + found.fix;
  return "";
}

// Weights, gradients, main weights, moments.
TEST(TensorFormats, BytesPerParameterAreSums) {
  struct Row {
    Settings settings;
    std::int64_t bytes;
  };
  const Row rows[] = {
      {{"precision=fp32", "optimizer=adamw", "first-moment-dtype=bf16"}, 4 + 4 + 2 + 4},
      {{"precision=fp32", "optimizer=adamw", "second-moment-dtype=bf16"}, 4 + 4 + 4 + 2},
      {{"precision=fp32", "optimizer=momentum", "first-moment-dtype=bf16"}, 4 + 4 + 2},
      {{"precision=bf16", "optimizer=adam", "main-weights-dtype=remainder"}, 2 + 4 + 2 + 8},
      {{"precision=bf16", "optimizer=adam", "gradient-dtype=bf16", "main-weights-dtype=remainder",
        "first-moment-dtype=bf16", "second-moment-dtype=bf16"},
       2 + 2 + 2 + 4},
      {{"precision=fp16", "optimizer=lion", "first-moment-dtype=bf16"}, 2 + 2 + 4 + 2},
      {{"precision=bf16", "optimizer=sgd", "main-weights-dtype=remainder"}, 2 + 4 + 2},
  };
  for (const Row& row : testing::non_empty(rows))
    EXPECT_EQ(bytes_per_parameter(row.settings), row.bytes) << row.settings.back();
}

// An update reads and writes each moment once. With a remainder it reads the bf16 weight too.
TEST(TensorFormats, AnUpdateTouchesWhatIsStored) {
  const auto touched = [](const Settings& more) {
    const Workload w = prepare(testing::scenario(
        testing::gpt(), 1, testing::with({"precision=bf16", "optimizer=adamw"}, more)));
    const Body& body = testing::layer(w);
    const Work& work = body.update.front().work;
    return (work.read + work.written).value / body.parameters.dense;
  };
  const std::int64_t all = touched({});
  EXPECT_EQ(touched({"first-moment-dtype=bf16"}), all - 4);
  EXPECT_EQ(touched({"first-moment-dtype=bf16", "second-moment-dtype=bf16"}), all - 8);
  EXPECT_EQ(touched({"main-weights-dtype=remainder"}), all - 4 + 2);
}

// On any mesh, messages of gradients shrink as their format says, and no others do.
TEST(TensorFormats, MessagesOfGradientsHaveTheirOwnBytes) {
  EXPECT_TRUE(rc::check([] {
    const std::string zero = "zero=" + std::to_string(*rc::gen::inRange(0, 4)),
                      tp = "tp=" + std::to_string(*rc::gen::element(1, 2));
    const std::string sums = *rc::gen::element(std::string("fp32"), std::string("bf16"));
    const std::string sent = *rc::gen::element(std::string("fp32"), std::string("bf16"));
    const std::string gradient = "gradient-dtype=" + sums, message = "reduce-dtype=" + sent;
    const Settings settings = {"precision=bf16", gradient, zero, tp, "global-batch=16"};
    const Workload own = prepare(testing::scenario(testing::gpt(), 8, settings)),
                   other = prepare(
                       testing::scenario(testing::gpt(), 8, testing::with(settings, {message})));
    RC_ASSERT(own.bodies.size() == other.bodies.size());
    bool any = false;
    for (std::size_t b = 0; b < own.bodies.size(); ++b) {
      RC_ASSERT(own.bodies[b].reduce.size() == other.bodies[b].reduce.size());
      for (std::size_t i = 0; i < own.bodies[b].reduce.size(); ++i) {
        const std::int64_t before = own.bodies[b].reduce[i].bytes.value;
        RC_ASSERT(other.bodies[b].reduce[i].bytes.value * (sums == "fp32" ? 4 : 2) ==
                  before * (sent == "fp32" ? 4 : 2));
        any = any || before > 0;
      }
      RC_ASSERT(testing::collectives(own.bodies[b].forward) ==
                testing::collectives(other.bodies[b].forward));
      RC_ASSERT(testing::collectives(own.bodies[b].gather) ==
                testing::collectives(other.bodies[b].gather));
    }
    RC_ASSERT(any);
  }));
}

std::int64_t sent_between_stages(const Program& program) {
  std::int64_t sum = 0;
  for (const Instruction& one : program.instructions)
    if (program.task(one).kind == TaskKind::Send) sum += program.task(one).bytes.value;
  return sum;
}

TEST(TensorFormats, MessagesBetweenStagesTakeHalf) {
  const auto sent = [](const Settings& more) {
    const Workload w = prepare(testing::scenario(
        testing::gpt(), 4,
        testing::with({"precision=fp32", "pp=4", "micro-batch=1", "global-batch=8"}, more)));
    return sent_between_stages(lower(w, {}));
  };
  EXPECT_GT(sent({}), 0);
  EXPECT_EQ(2 * sent({"boundary-dtype=bf16"}), sent({}));
}

// Blocks of 256 elements have 4 bytes each, of which a layer's tensors have as many as they begin.
TEST(TensorFormats, StateWithScalesTakesItsCodesAndScales) {
  const auto optimizer_bytes = [](const Settings& more) {
    const Workload w = prepare(testing::scenario(
        testing::gpt(), 1, testing::with({"precision=bf16", "optimizer=adamw"}, more)));
    return state_bytes(w.scenario.plan, w.scenario.model, testing::layer(w), w.layout)
        .optimizer.value;
  };
  const Workload w =
      prepare(testing::scenario(testing::gpt(), 1, {"precision=bf16", "optimizer=adamw"}));
  const Body& body = testing::layer(w);
  const Graph& graph = w.scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
  std::int64_t blocks = 0;
  for (const Tensor& tensor : graph.tensors)
    if (tensor.kind == TensorKind::Parameter)
      blocks += (local_elements(tensor.shape, body.binding) + 255) / 256;
  const std::int64_t all = body.parameters.dense;
  EXPECT_EQ(optimizer_bytes({}), 12 * all);
  EXPECT_EQ(optimizer_bytes({"first-moment-dtype=fp8"}), 9 * all + 4 * blocks);
  EXPECT_EQ(optimizer_bytes({"first-moment-dtype=fp16", "second-moment-dtype=bf16"}),
            8 * all + 4 * blocks);
  EXPECT_EQ(optimizer_bytes(
                {"first-moment-dtype=fp8", "second-moment-dtype=fp16", "main-weights-dtype=fp16"}),
            5 * all + 12 * blocks);
}

// Every rank gives codes and scales of its own, and nothing else of the program shrinks.
TEST(TensorFormats, GathersHaveTheirOwnBytes) {
  for (const auto& [format, each, scale] :
       {std::tuple{"gather-dtype=int8", 1, 4}, std::tuple{"gather-dtype=fp8", 1, 4}}) {
    const Settings settings = {"precision=bf16", "zero=3", "global-batch=16"};
    const Workload own = prepare(testing::scenario(testing::gpt(), 8, settings)),
                   other = prepare(
                       testing::scenario(testing::gpt(), 8, testing::with(settings, {format})));
    for (std::size_t b = 0; b < own.bodies.size(); ++b) {
      const Body &wide = own.bodies[b], &narrow = other.bodies[b];
      for (const auto ops : {&Body::forward, &Body::backward, &Body::gather, &Body::reduce})
        for (std::size_t i = 0; i < (wide.*ops).size(); ++i) {
          const BodyOp &before = (wide.*ops)[i], &after = (narrow.*ops)[i];
          if (!before.communication || before.collective != CollectiveKind::AllGather) {
            EXPECT_EQ(after.bytes, before.bytes);
            continue;
          }
          const std::int64_t elements = before.bytes.value / 2, share = (elements + 7) / 8;
          std::int64_t blocks = 0;
          for (std::int64_t first = 0; first < elements; first += share)
            blocks += (std::min(share, elements - first) + 255) / 256;
          EXPECT_EQ(after.bytes.value, elements * each + blocks * scale);
        }
      EXPECT_EQ(narrow.gathered, wide.gathered);
    }
  }
}

TEST(TensorFormats, APlanWithoutThemDoesNotMentionThem) {
  Plan plan;
  apply_setting(plan, "exp-avg-dtype", "bfloat16");
  EXPECT_EQ(setting(plan, "first-moment-dtype"), "bf16");
  EXPECT_EQ(setting(plan, "second-moment-dtype"), "fp32");
  EXPECT_NE(find_choice(plan, kTensorFormats), nullptr);
  apply_setting(plan, "first-moment-dtype=fp32");
  EXPECT_EQ(find_choice(plan, kTensorFormats), nullptr);
  EXPECT_EQ(tensor_formats(plan).of_state(), false);
}

TEST(TensorFormats, WhatDoesNotGoTogetherIsRefused) {
  EXPECT_EQ(first_error({"precision=bf16", "optimizer=sgd", "first-moment-dtype=bf16"}),
            "first-moment-dtype is for an optimizer that keeps a first moment of every element, "
            "adam, adamw, momentum, lars or lion, found optimizer=sgd; first-moment-dtype=fp32");
  EXPECT_EQ(first_error({"precision=bf16", "optimizer=lion", "second-moment-dtype=bf16"}),
            "second-moment-dtype is for an optimizer that keeps a second moment of every element, "
            "adam or adamw, found optimizer=lion; second-moment-dtype=fp32");
  EXPECT_EQ(first_error({"precision=bf16-sr", "optimizer=adamw", "first-moment-dtype=bf16"}),
            "precision=bf16-sr has its moments in bf16 already; first-moment-dtype=fp32");
  EXPECT_EQ(first_error({"precision=fp16", "optimizer=adamw", "main-weights-dtype=remainder"}),
            "a remainder is what a bf16 weight lacks of its fp32 main weight: expected "
            "precision=bf16, found precision=fp16; precision=bf16");
  EXPECT_EQ(first_error({"precision=bf16", "optimizer=muon", "main-weights-dtype=remainder"}),
            "weights of remainders are updated one element after another, and optimizer=muon reads "
            "whole tensors; optimizer=adamw");
  EXPECT_EQ(first_error({"precision=bf16", "optimizer=adamw", "main-weights-dtype=remainder",
                         "offload=optimizer"}),
            "the host that updates weights has whole fp32 ones, found offload=optimizer; "
            "main-weights-dtype=fp32");
  EXPECT_EQ(first_error({"precision=bf16", "optimizer=adamw", "main-weights-dtype=remainder",
                         "pp=2", "schedule=pipedream"}),
            "a remainder belongs to the newest weights, and pipedream reads older ones while "
            "microbatches are under way; schedule=1f1b");
  EXPECT_EQ(first_error({"precision=bf16", "reduce-dtype=fp32", "compression=topk"}),
            "reduce-dtype is the format of whole gradients that are summed in every step, found "
            "compression beside it; reduce-dtype=gradients");
  EXPECT_EQ(first_error({"precision=bf16", "boundary-dtype=bf16", "pp=2"}),
            "messages between stages are in the 16 bits of their activations already under "
            "precision=bf16; boundary-dtype=activations");
  EXPECT_EQ(first_error({"precision=fp16", "optimizer=adamw", "main-weights-dtype=fp16"}),
            "main weights in fp16 beside fp16 weights would be these weights once more, found "
            "precision=fp16; precision=bf16");
  EXPECT_EQ(
      first_error(
          {"precision=fp8", "fp8.weights=fp8", "optimizer=adamw", "main-weights-dtype=fp16"}),
      "main weights in fp16 are of bf16 weights: expected precision=bf16, or fp8 with weights "
      "kept and gathered in bf16, found precision=fp8; main-weights-dtype=fp32");
  EXPECT_EQ(first_error({"precision=bf16", "optimizer=adamw", "first-moment-dtype=fp8",
                         "offload=optimizer"}),
            "state with a scale for each block is kept by tensor on the device, found "
            "offload=optimizer; first-moment-dtype=fp32");
  EXPECT_EQ(
      first_error({"precision=bf16", "zero=2", "gather-dtype=int8"}),
      "gather-dtype is the format of weights that zero=3 gathers wherever they are read, found "
      "zero=2, whose replicas keep what they have gathered; zero=3");
  EXPECT_EQ(first_error({"precision=bf16", "zero=3", "gather-dtype=bf16"}),
            "weights are gathered in the 16 bits that they have already under precision=bf16; "
            "gather-dtype=int8");
  EXPECT_EQ(first_error({"precision=fp8", "fp8.gather-fp8=on", "zero=3", "gather-dtype=int8"}),
            "precision=fp8 gathers weights of products in 8 bits already, found gather-dtype=int8; "
            "gather-dtype=weights");
  for (const Settings& legal :
       {Settings{"first-moment-dtype=bf16", "second-moment-dtype=bf16",
                 "main-weights-dtype=remainder"},
        Settings{"first-moment-dtype=fp8", "second-moment-dtype=fp16", "main-weights-dtype=fp16"},
        Settings{"first-moment-dtype=fp16", "zero=3", "gather-dtype=fp8-e4m3"}})
    EXPECT_EQ(first_error(testing::with({"precision=bf16", "optimizer=adamw"}, legal)), "");
  Plan plan;
  EXPECT_EQ(
      refusal([&] { apply_setting(plan, "second-moment-dtype=fp8"); }),
      "--set second-moment-dtype: expected fp32, bf16 or fp16, found \"fp8\", in which second "
      "moments far below the largest of their block become 0, and the weights that are divided "
      "by them run away; optimizer=adamw-8bit has codes of 8 bits that reach over seven "
      "decades");
  EXPECT_EQ(
      refusal([&] { apply_setting(plan, "reduce-dtype=fp16"); }),
      "--set reduce-dtype: expected a format without scales, found \"fp16\", whose sums need a "
      "scale that all ranks know before they add up; bf16 needs none");
}

}  // namespace
}  // namespace trainyard
