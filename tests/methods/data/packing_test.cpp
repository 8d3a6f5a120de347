// Tests what packing changes of the prices of attention, what it leaves as it is, and its refusals.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/lowering/lower.h"
#include "core/model/ops.h"
#include "core/model/packed_samples.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::check_of;
using testing::gpt;
using testing::Settings;

Workload workload_with(Settings settings, const Model& model = gpt()) {
  settings.insert(settings.begin(), "flash-attention=on");
  return prepare(testing::scenario(model, 1, settings));
}

double attention_flops(const Workload& w, Pass pass = Pass::Forward) {
  const Body& body = testing::layer(w);
  const Graph& graph = w.scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
  double sum = 0;
  for (const BodyOp& op : pass == Pass::Forward ? body.forward : body.backward)
    if (op.node.valid() && graph[op.node].op == &attention()) sum += op.work.flops.value;
  return sum;
}

TEST(Packing, FusedAttentionWorksOnTheSumOfSquaredLengths) {
  const double whole = attention_flops(workload_with({}));
  EXPECT_GT(whole, 0);
  // Four documents of 128 tokens fill a sequence of 512: 4 x 128^2 of 512^2.
  EXPECT_DOUBLE_EQ(attention_flops(workload_with({"packing=packed", "lengths=fixed:128"})),
                   whole / 4);
  EXPECT_DOUBLE_EQ(attention_flops(workload_with({"packing=packed", "lengths=fixed:512"})), whole);
  // 300 and 200 tokens, and 12 of padding.
  const Workload two = workload_with({"packing=packed", "lengths=histogram:300*1,200*1"});
  EXPECT_DOUBLE_EQ(attention_flops(two), whole * (300.0 * 300 + 200 * 200) / (512.0 * 512));
  EXPECT_DOUBLE_EQ(two.layout.binding.documents->efficiency(), 500.0 / 512);
  EXPECT_DOUBLE_EQ(attention_flops(two, Pass::BackwardInput), 2.5 * attention_flops(two));
}

// A window of 100 tokens: 100^2 / 2 pairs in its first tokens, 100 keys for each of the others.
TEST(Packing, AWindowIsOneOfTheDocument) {
  TransformerSpec spec = family_spec("llama");
  spec.name = "window", spec.layers = 2, spec.hidden = 64, spec.heads = spec.kv_heads = 4;
  spec.ffn = 64, spec.vocab = 100, spec.sequence = 512, spec.window = 100;
  const Model model = build_decoder(spec);
  const double seen = (100.0 - 100.0 * 100 / (2 * 256)), all = (100.0 - 100.0 * 100 / (2 * 512));
  EXPECT_NEAR(attention_flops(workload_with({"packing=packed", "lengths=fixed:256"}, model)) /
                  attention_flops(workload_with({}, model)),
              seen / all, 1e-12);
  EXPECT_NEAR(attention_flops(workload_with({"packing=packed", "lengths=fixed:64"}, model)) /
                  attention_flops(workload_with({}, model)),
              32 / all, 1e-12);
}

TEST(Packing, NothingElseChanges) {
  const Workload whole = workload_with({}),
                 packed = workload_with({"packing=packed", "lengths=lognormal:100,1"}),
                 padded =
                     workload_with({"packing=packed", "lengths=lognormal:100,1", "packing=pad"}),
                 unfused = workload_with({"packing=packed", "lengths=lognormal:100,1"}),
                 off = workload_with({"packing=packed", "lengths=lognormal:100,1", "packing=none"});
  EXPECT_EQ(off.kernels, whole.kernels);
  EXPECT_EQ(padded.kernels, whole.kernels);
  EXPECT_EQ(off.layout.binding.documents, nullptr);
  ASSERT_EQ(packed.kernels.size(), whole.kernels.size());
  for (std::size_t i = 0; i < whole.kernels.size(); ++i) {
    Work as_whole = packed.kernels[i];
    if (as_whole.kind == WorkKind::Attention) {
      EXPECT_LT(as_whole.flops.value, whole.kernels[i].flops.value);
      as_whole.flops = whole.kernels[i].flops;
    }
    EXPECT_EQ(as_whole, whole.kernels[i]);
  }
  EXPECT_LT(padded.layout.binding.documents->efficiency(), 0.35);
  EXPECT_GT(packed.layout.binding.documents->efficiency(), 0.97);
}

// --- widths that are open ---

double flops_of(const Workload& w) {
  double sum = 0;
  for (const Body& body : w.bodies)
    for (const auto* ops : {&body.forward, &body.backward})
      for (const BodyOp& op : *ops) sum += op.work.flops.value;
  return sum;
}

std::int64_t products_rows(const Workload& w) {
  for (const BodyOp& op : testing::layer(w).forward)
    if (op.work.kind == WorkKind::Product) return op.work.m;
  return 0;
}

// Lengths of 128 and 384 of a sequence of 512: half of the tokens, and (128^2 + 384^2) / 2 of the
// 512^2 pairs that attention sees.
TEST(OpenWidths, WorkIsOfMeanWidthsAndMemoryOfWholeSequences) {
  const Settings two = {"lengths=histogram:128*1,384*1", "micro-batch=1", "global-batch=8"};
  const auto with = [&](std::string_view packing) {
    Settings all = two;
    all.push_back(packing);
    return workload_with(all);
  };
  const Workload padded = with("packing=pad"), open = with("packing=longest");
  EXPECT_EQ(products_rows(open), 256);
  EXPECT_EQ(products_rows(padded), 512);
  EXPECT_DOUBLE_EQ(attention_flops(open),
                   attention_flops(padded) * (128.0 * 128 + 384 * 384) / 2 / (512.0 * 512));
  EXPECT_DOUBLE_EQ(open.layout.binding.documents->efficiency(), 1);
  EXPECT_DOUBLE_EQ(padded.layout.binding.documents->efficiency(), 0.5);
  ASSERT_EQ(open.bodies.size(), padded.bodies.size());
  for (std::size_t b = 0; b < open.bodies.size(); ++b) {
    EXPECT_EQ(saved_bytes(open.bodies[b]), saved_bytes(padded.bodies[b]));
    EXPECT_EQ(open.bodies[b].held.backward, padded.bodies[b].held.backward);
    EXPECT_EQ(open.bodies[b].output, padded.bodies[b].output);
  }
}

// Unfused scores are as many as pairs of positions, and no tokens are left out.
TEST(OpenWidths, UnfusedAttentionHasTheMeanOfSquaredWidths) {
  const auto flops = [](std::string_view packing) {
    return attention_flops(prepare(testing::scenario(
        gpt(), 1,
        {"flash-attention=off", "lengths=histogram:128*1,384*1", "micro-batch=1", packing})));
  };
  EXPECT_DOUBLE_EQ(flops("packing=longest"),
                   flops("packing=pad") * (128.0 * 128 + 384 * 384) / 2 / (512.0 * 512));
}

// B-SCH-09: lengths of 16 to 128, uniform. Padded samples compute 128 / 72 of what is useful, and
// open widths with one sample each nothing more.
TEST(OpenWidths, PaddingIsLeftOutOfUniformLengths) {
  const auto computed = [](Settings settings) {
    settings.insert(settings.end(), {"seq=128", "lengths=uniform:16-128", "global-batch=64"});
    return 1 / workload_with(settings).layout.binding.documents->efficiency();
  };
  EXPECT_NEAR(computed({"packing=pad"}), 128.0 / 72, 0.005);
  EXPECT_GE(computed({"packing=pad"}), 1.6);
  EXPECT_DOUBLE_EQ(computed({"packing=longest", "micro-batch=1"}), 1);
  EXPECT_GE(computed({"packing=longest", "micro-batch=8"}), 1.5);
  EXPECT_LE(computed({"packing=longest", "micro-batch=8", "packing-order=by-length"}), 1.1);
  EXPECT_LE(computed({"packing=longest", "micro-batch=4", "packing-order=by-length"}), 1.05);
  // Four buckets of equal width waste half of one in the mean.
  EXPECT_NEAR(computed({"packing=longest", "micro-batch=1", "widths=32,64,96,128"}), 1 + 15.5 / 72,
              0.02);
}

TEST(OpenWidths, MessagesAreAsWideAsMicrobatches) {
  const auto sent = [](std::string_view packing) {
    const Workload w = prepare(testing::scenario(
        gpt(), 4, {"pp=2", "tp=2", "lengths=histogram:128*1,384*1", "micro-batch=1", packing}));
    double bytes = 0;
    for (const BodyOp& op : testing::layer(w).forward)
      if (op.communication && op.tensor.valid()) bytes += static_cast<double>(op.bytes.value);
    return std::pair{bytes, w.largest_message};
  };
  const auto padded = sent("packing=pad"), open = sent("packing=longest");
  EXPECT_GT(open.first, 0);
  EXPECT_DOUBLE_EQ(2 * open.first, padded.first);
  EXPECT_EQ(open.second * 2, padded.second);
}

// Less padding is never more work, and sorting a step never more than drawing it.
TEST(OpenWidths, AreNeverMoreWorkThanPadding) {
  EXPECT_TRUE(rc::check([] {
    const auto low = *rc::gen::inRange(1, 500), high = *rc::gen::inRange(low, 700);
    const auto micro = *rc::gen::element(1, 2, 4);
    const std::string lengths =
                          "lengths=uniform:" + std::to_string(low) + "-" + std::to_string(high),
                      batch = "micro-batch=" + std::to_string(micro);
    const auto flops = [&](Settings settings) {
      settings.insert(settings.end(), {lengths, batch, "global-batch=16"});
      return flops_of(workload_with(settings));
    };
    const double padded = flops({"packing=pad"}), open = flops({"packing=longest"}),
                 sorted = flops({"packing=longest", "packing-order=by-length"});
    RC_ASSERT(open <= padded * (1 + 1e-12));
    RC_ASSERT(sorted <= open * (1 + 1.0 / low));  // mean widths are rounded to whole tokens
  }));
}

TEST(Packing, UnfusedAttentionMasksAndWorksOnAll) {
  const auto scores = [](Settings settings) {
    settings.push_back("flash-attention=off");
    return prepare(testing::scenario(gpt(), 1, settings)).kernels;
  };
  EXPECT_EQ(scores({"packing=packed", "lengths=fixed:128"}), scores({}));
}

TEST(Packing, AttentionNeverHasMoreWorkThanThatOfTheWhole) {
  const double whole = attention_flops(workload_with({}));
  EXPECT_TRUE(rc::check([whole] {
    const auto low = *rc::gen::inRange(1, 700), high = *rc::gen::inRange(low, 900);
    const std::string lengths =
        "lengths=uniform:" + std::to_string(low) + "-" + std::to_string(high);
    const Workload w = workload_with({"packing=packed", lengths});
    const double efficiency = w.layout.binding.documents->efficiency();
    RC_ASSERT(efficiency > 0 && efficiency <= 1);
    RC_ASSERT(attention_flops(w) <= whole * efficiency * (1 + 1e-12));
  }));
}

std::string first_refusal(const Diagnostics& found) {
  return found.empty() ? "" : found.front().message + " -> " + found.front().fix;
}

TEST(Packing, Refusals) {
  const auto with = [](const Settings& settings, const Model& model, std::int64_t devices = 1) {
    return first_refusal(check_of("packing", testing::scenario(model, devices, settings)));
  };
  EXPECT_EQ(with({"packing=packed"}, gpt()),
            "packing follows from the lengths of documents, and none are given -> "
            "lengths=lognormal:600,1.1");
  EXPECT_EQ(
      with({"packing=packed", "lengths=fixed:64", "cp=2", "context-parallel.kind=ring"}, gpt(), 2),
      "ranks of a ring have equal work where they divide one causal sequence, and documents "
      "of other lengths lie in the pieces of each (cp 2); ranks that exchange heads have all "
      "tokens -> context-parallel.kind=ulysses");
  EXPECT_EQ(with({"packing=packed", "lengths=fixed:64", "cp=2", "context-parallel.kind=ulysses"},
                 gpt(), 2),
            "");
  EXPECT_EQ(with({"packing=packed", "lengths=fixed:64", "packing=pad", "cp=2"}, gpt(), 2), "");
  EXPECT_EQ(with({"packing=packed", "lengths=fixed:1024"}, gpt()),
            "100.0 % of the documents are longer than the sequence of 512 tokens and are cut at "
            "its end -> seq=1024");
  EXPECT_EQ(with({"packing=longest", "lengths=fixed:64", "cp=2"}, gpt(), 2),
            "context ranks divide a sequence whose length is known when the program is written, "
            "and microbatches are as long as their longest document (cp 2) -> packing=pad");
  EXPECT_NE(with({"packing=longest", "lengths=fixed:64"}, zoo_model("mixtral-tiny"))
                .find("experts have places for the tokens of whole sequences"),
            std::string::npos);
  EXPECT_EQ(with({"packing=longest", "lengths=fixed:64"}, zoo_model("lstm-tiny")), "");
  EXPECT_NE(with({"packing=packed", "lengths=fixed:64"}, zoo_model("lstm-tiny"))
                .find("documents share samples where only attention mixes tokens"),
            std::string::npos);
  EXPECT_NE(with({"packing=packed", "lengths=fixed:64"}, zoo_model("t5-base"))
                .find("packing takes models of one stack"),
            std::string::npos);
  EXPECT_NE(with({"packing=packed", "lengths=fixed:64"}, zoo_model("resnet-50"))
                .find("documents are of tokens"),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard
