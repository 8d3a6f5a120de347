#include "core/validation/rows/row_scenario.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>
#include <set>

#include "core/methods/settings/resharding.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/builders.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/non_empty.h"
#include "tests/validation/prepared_rows.h"

namespace trainyard {
namespace {

using testing::shipped;

const PreparedRow& row(const std::string& id) {
  for (const PreparedRow& r : shipped().rows)
    if (r.row.id == id) return r;
  throw Error(Error::Kind::Internal, "no prepared row " + id);
}

std::string set(const PreparedRow& r, std::string_view key) {
  return setting(r.workload.scenario.plan, key);
}

const Scenario& scenario(const std::string& id) { return row(id).workload.scenario; }

std::string assumed(const PreparedRow& r, std::string_view setting) {
  for (const Assumption& a : r.assumptions)
    if (a.setting == setting) return a.taken;
  return "";
}

TEST(RowScenario, CoversWhatTheStudyScored) {
  std::set<std::string> time, memory;
  int times = 0, memories = 0;
  for (const PreparedRow& r : shipped().rows) {
    if (r.row.trust == Trust::C) continue;
    const bool bytes = r.metric == RowMetric::Memory || r.metric == RowMetric::MemoryTotal;
    (bytes ? memory : time).insert(r.row.group);
    ++(bytes ? memories : times);
  }
  EXPECT_EQ(times, 704);
  EXPECT_EQ(time.size(), 103U);
  EXPECT_EQ(memories, 148);
  EXPECT_EQ(memory.size(), 18U);
  EXPECT_EQ(shipped().rows.size() + shipped().skipped.size(), published_rows().size());
  for (const SkippedRow& r : testing::non_empty(shipped().skipped))
    EXPECT_FALSE(r.reason.empty()) << r.row.id;
}

TEST(RowScenario, ModelsHaveThePublishedSize) {
  int checked = 0;
  for (const PreparedRow& r : testing::non_empty(shipped().rows)) {
    if (!r.row.parameters_billion || r.metric == RowMetric::LayerTime) continue;
    // Sizes that the source rounds to 20 billion of 23, or prints of other layers.
    if (r.row.trust == Trust::C || r.row.id.starts_with("bs-a100-")) continue;
    const double size = static_cast<double>(parameters(r.workload.scenario.model)) / 1e9;
    EXPECT_NEAR(size / *r.row.parameters_billion, 1, 0.045) << r.row.id;
    ++checked;
  }
  EXPECT_GT(checked, 300);
  // The count is exact where the source is exact.
  EXPECT_NEAR(static_cast<double>(parameters(scenario("foundry-010").model)) / 1e9, 6.6589, 5e-5);
}

TEST(RowScenario, FoundryIsFullyShardedData) {
  const PreparedRow& r = row("foundry-001");
  EXPECT_EQ(r.workload.scenario.cluster.device.id, "h100-sxm");
  EXPECT_EQ(r.workload.scenario.cluster.count, 512);
  EXPECT_EQ(set(r, "zero"), "3");
  EXPECT_EQ(set(r, "recompute"), "full");
  EXPECT_EQ(set(r, "micro-batch"), "8");
  EXPECT_EQ(set(r, "flash-attention"), "on");
  EXPECT_EQ(r.workload.scenario.plan.software.framework, "fsdp");
  EXPECT_EQ(r.measured, 16.2685);
  EXPECT_TRUE(r.blanks().empty());
  EXPECT_TRUE(r.tunable);
}

// "selective" recomputes whole layers in FSDP and attention alone elsewhere.
TEST(RowScenario, ASelectionOfWorkOrOfLayersIsThatOfItsWordAndFramework) {
  MeasuredRow stated = row("foundry-001").row;
  const auto policy = [&](const char* framework, const char* word) {
    stated.framework = framework, stated.recompute = word;
    return set(std::get<PreparedRow>(prepare_row(stated)), "recompute");
  };
  for (const char* framework : {"fsdp", "torchtitan"}) {
    EXPECT_EQ(policy(framework, "none"), "none") << framework;
    EXPECT_EQ(policy(framework, "full"), "full") << framework;
    EXPECT_EQ(policy(framework, "selective-op"), "op") << framework;
    EXPECT_EQ(policy(framework, "selective-layer"), "blocks=40") << framework;
  }
  EXPECT_EQ(policy("fsdp", "selective"), "blocks=40");
  EXPECT_EQ(policy("torchtitan", "selective"), "selective");
}

TEST(RowScenario, KorthikantiStatesItsNetworkPerNode) {
  const Scenario& s = scenario("korth-530B-dp8");
  EXPECT_EQ(s.cluster.count, 2240);
  EXPECT_EQ(devices_per_node(s.cluster), 8);
  EXPECT_EQ(s.cluster.levels[1].bandwidth.value.value * 8, 200e9);
  EXPECT_EQ(setting(s.plan, "schedule"), "interleaved");
  EXPECT_EQ(s.plan.virtual_stages, 3);
  EXPECT_EQ(setting(s.plan, "sequence-parallel"), "on");
  EXPECT_FALSE(s.plan.flash_attention);
  EXPECT_EQ(row("korth-530B-dp8").measured, 39.15);
}

TEST(RowScenario, OneLayerIsTimedAlone) {
  const PreparedRow& r = row("korth-t4-sel");
  EXPECT_EQ(r.metric, RowMetric::LayerTime);
  EXPECT_DOUBLE_EQ(r.measured, 0.0209);
  EXPECT_EQ(r.workload.scenario.model.blocks.size(), 1U);
}

TEST(RowScenario, VtrainsNodesHaveHundredGigabytes) {
  const Scenario& s = scenario("vtrain-m001");
  EXPECT_EQ(s.cluster.levels[1].bandwidth.value.value * 8, 100e9);
  EXPECT_EQ(assumed(row("vtrain-m001"), "device"), "a100-sxm-80");
  EXPECT_EQ(setting(s.plan, "precision"), "fp16");
}

TEST(RowScenario, ZeroBubbleStagesAtTheEndsAreALayerShorter) {
  const Scenario& s = scenario("zb-t4-1.5B-ZB-1p-m24");
  EXPECT_EQ(setting(s.plan, "split"), "2,3,3,3,3,3,3,2");
  EXPECT_EQ(setting(s.plan, "schedule"), "zb-h1");
  EXPECT_DOUBLE_EQ(row("zb-t4-1.5B-ZB-1p-m24").measured, 1.39535);
  // A layer a chunk: the memory row leaves the chunks open, and the rows beside it do not.
  const PreparedRow& memory = row("zb-t4-1.5B-1F1B-I-mem");
  EXPECT_EQ(memory.workload.scenario.plan.virtual_stages, 3);
  EXPECT_EQ(assumed(memory, "virtual-stages"), "3");
  EXPECT_EQ(memory.measured, 40.0 * (1 << 30));
}

TEST(RowScenario, BigScienceLayersAndHeadsFollowFromTheirOtherRows) {
  const PreparedRow& r = row("bs-a100-004");
  EXPECT_EQ(layer_count(r.workload.scenario.model), 77);  // 191 billion on 7 stages
  EXPECT_EQ(assumed(r, "heads"), "96");
  EXPECT_EQ(assumed(r, "vocab"), "250880");
  EXPECT_EQ(r.workload.scenario.cluster.levels[1].bandwidth.value.value * 8, 50e9);
  EXPECT_EQ(assumed(row("bs-a100-028"), "heads"), "64");
  EXPECT_EQ(row("bs-a100-052").workload.scenario.plan.mesh.pp, 6);
}

TEST(RowScenario, SailorsStagesLoseTheirPseudoLayers) {
  EXPECT_EQ(set(row("sailor-16"), "split"), "4,7,7,6");
  EXPECT_DOUBLE_EQ(row("sailor-13-mem").measured, 8.8955 * 1024 * 1024 * 1024);
  EXPECT_EQ(scenario("sailor-13").cluster.count, 4);
}

TEST(RowScenario, MemoryFiguresTellWhatSourcesLeaveOpen) {
  // Sailor's are twice what 16 bits would take.
  EXPECT_EQ(set(row("sailor-16"), "precision"), "tf32");
  EXPECT_EQ(assumed(row("sailor-16"), "precision"), "tf32");
  // The time rows alone say the same: they carry the figure along.
  std::vector<MeasuredRow> times = published_rows();
  std::erase_if(times, [](const MeasuredRow& r) { return r.metric == "mem_gb"; });
  for (const PreparedRow& r : testing::non_empty(prepare_rows(times).rows))
    if (r.row.id == "sailor-16") {
      EXPECT_EQ(set(r, "precision"), "tf32");
    }
  // Zero Bubble's kept the scores of attention, as its framework of that time did.
  EXPECT_EQ(set(row("zb-t4-6.2B-1F1B-m24"), "flash-attention"), "off");
  EXPECT_EQ(set(row("zb-t4-6.2B-1F1B-m24"), "recompute"), "none");
}

TEST(RowScenario, RatesOfFlopsBecomeStepsByTheirDefinition) {
  // 6 (32 (4 h^2 + 3 h f) + V h) + 12 L h s a token, Llama 2 7B at 4096 tokens.
  const double products = 32.0 * (4.0 * 4096 * 4096 + 3.0 * 4096 * 11008) + 32000.0 * 4096;
  const double token = 6 * products + 12.0 * 32 * 4096 * 4096;
  const double step = 1024.0 * 4096 * token / (4 * 768e12);
  EXPECT_NEAR(row("nemols-09").measured / step, 1, 2e-3);
  EXPECT_EQ(scenario("nemols-09").plan.mesh.dp, 4);
}

TEST(RowScenario, FusedProjectionsDoNotWidenAttention) {
  // 24 layers of 2048 with a head of its own over 131072 words.
  const double token = 6 * (24 * 12.0 * 2048 * 2048 + 131072.0 * 2048) + 12.0 * 24 * 2048 * 4096;
  const double step = 192.0 * 4096 * token / (48 * 408.8e12);
  EXPECT_NEAR(row("mlm-h100-1").measured / step, 1, 6e-3);
}

TEST(RowScenario, PublishedExpertsAreRouted) {
  const PreparedRow& r = row("bridge-031");
  EXPECT_TRUE(r.routed);
  EXPECT_NEAR(static_cast<double>(parameters(r.workload.scenario.model)), 30.53e9, 0.02e9);
  EXPECT_NEAR(static_cast<double>(active_parameters(r.workload.scenario.model)), 3.35e9, 0.02e9);
  EXPECT_NEAR(static_cast<double>(parameters(scenario("bridge-065").model)), 116.8e9, 0.3e9);
  EXPECT_EQ(set(r, "ep"), "16");
}

TEST(RowScenario, SuspectsAndTrustCAreNeverTunedOn) {
  EXPECT_FALSE(row("bs-a100-060").tunable);
  EXPECT_FALSE(row("vtrain-s0030").tunable);
  EXPECT_TRUE(row("bs-a100-061").tunable);
}

TEST(RowScenario, WhatIsLeftOpenIsNamed) {
  const auto blanks = row("mlm-h100-1").blanks();
  for (const char* name : {"micro-batch", "recompute", "flash-attention", "precision"})
    EXPECT_NE(std::find(blanks.begin(), blanks.end(), name), blanks.end()) << name;
}

MeasuredRow own() {
  MeasuredRow r;
  r.id = r.group = "own";
  r.framework = "Megatron-LM";
  r.model_family = "GPT";
  r.layers = 24, r.hidden = 2048, r.heads = 16, r.vocab = 51200, r.sequence = 1024;
  r.gpu = "A100-80", r.gpus = 8;
  r.dp = 4, r.tp = 2, r.pp = 1;
  r.micro_batch = 2, r.global_batch = 64;
  r.metric = "step_s", r.value = 2;
  return r;
}

TEST(RowScenario, EveryMetricIsTheSameStep) {
  // 64 samples of 1024 tokens in 2 s on 8 devices.
  const std::pair<const char*, double> kMetrics[] = {
      {"step_s", 2},        {"tokens_s_gpu", 4096}, {"tokens_s", 32768},
      {"samples_s_gpu", 4}, {"samples_s", 32},      {"gpu_hours_per_1T_tokens", 1e12 / 4096 / 3600},
  };
  for (const auto& [metric, value] : kMetrics) {
    MeasuredRow r = own();
    r.metric = metric, r.value = value;
    const auto prepared = prepare_row(r);
    ASSERT_TRUE(std::holds_alternative<PreparedRow>(prepared)) << metric;
    EXPECT_DOUBLE_EQ(std::get<PreparedRow>(prepared).measured, 2) << metric;
  }
}

std::string skipped(const MeasuredRow& r) {
  const auto prepared = prepare_row(r);
  const auto* skip = std::get_if<SkippedRow>(&prepared);
  return skip == nullptr ? "" : skip->reason;
}

TEST(RowScenario, RowsThatSayTooLittleAreSkippedWithAReason) {
  const auto without = [](auto change) {
    MeasuredRow r = own();
    change(r);
    return skipped(r);
  };
  EXPECT_EQ(without([](MeasuredRow&) {}), "");
  EXPECT_EQ(without([](MeasuredRow& r) { r.hidden.reset(); }), "states no hidden size");
  EXPECT_EQ(without([](MeasuredRow& r) { r.layers.reset(); }), "states no layers");
  EXPECT_EQ(without([](MeasuredRow& r) { r.sequence.reset(); }), "states no sequence length");
  EXPECT_EQ(without([](MeasuredRow& r) { r.gpu.clear(); }), "states no accelerator");
  EXPECT_EQ(without([](MeasuredRow& r) { r.gpu = "Abacus"; }),
            "an accelerator that the catalogue does not have");
  EXPECT_EQ(without([](MeasuredRow& r) { r.gpus.reset(); }), "states no number of devices");
  EXPECT_EQ(without([](MeasuredRow& r) { r.dp = 3; }),
            "degrees that do not multiply to its devices");
  EXPECT_EQ(without([](MeasuredRow& r) { r.tp = 3, r.dp.reset(); }),
            "degrees that do not divide its devices");
  EXPECT_EQ(without([](MeasuredRow& r) { r.model_family = "ResNet-50 v1.5"; }),
            "a convolution network");
  EXPECT_EQ(without([](MeasuredRow& r) { r.metric = "tflops_gpu"; }),
            "a rate of FLOPs whose definition is not stated");
  EXPECT_EQ(without([](MeasuredRow& r) { r.precision = "int3"; }),
            "a number format that cannot be planned");
}

const Model& model_of(const PreparedRow& r) { return r.workload.scenario.model; }

PreparedRow ready(const MeasuredRow& r) {
  auto prepared = prepare_row(r);
  if (auto* row = std::get_if<PreparedRow>(&prepared)) return std::move(*row);
  throw Error(Error::Kind::Internal, std::get<SkippedRow>(prepared).reason);
}

// A row that states nothing of its model but the name.
MeasuredRow named(const std::string& name) {
  MeasuredRow r = own();
  r.framework = "FSDP";
  r.model_family = name;
  r.layers.reset(), r.hidden.reset(), r.heads.reset(), r.vocab.reset(), r.tp.reset();
  r.dp = 8;
  return r;
}

// A name is the same model however it is cased and parted.
RC_GTEST_PROP(RowScenario, NamesMatchWithoutCaseAndPunctuation, ()) {
  const std::vector<std::vector<std::string>> kNames = {
      {"deep", "seek", "v3"},  {"llama", "3", "1", "8b"},
      {"qwen3", "30b", "a3b"}, {"gpt", "oss", "20b"},
      {"kimi", "k2"},          {"llama", "4", "maverick"},
      {"mixtral", "8x7b"},     {"gpt", "neo", "2", "7b"},
  };
  const auto& parts = *rc::gen::elementOf(kNames);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string plain, written;
  for (const std::string& part : parts) {
    if (!plain.empty()) {
      // Numbers need something between them; 3.1 and 8B are not 318B.
      const bool numbers = is_digit(plain.back()) && is_digit(part.front());
      written += *rc::gen::elementOf(numbers ? std::vector<std::string>{"-", "_", " ", "."}
                                             : std::vector<std::string>{"", "-", "_", " ", "."});
      plain += '-';
    }
    plain += part;
    for (const char c : part)
      written += *rc::gen::arbitrary<bool>() ? static_cast<char>(std::toupper(c)) : c;
  }
  const PreparedRow one = ready(named(plain)), other = ready(named(written));
  RC_LOG() << plain << " as " << written;
  RC_ASSERT(parameters(model_of(one)) == parameters(model_of(other)));
  RC_ASSERT(active_parameters(model_of(one)) == active_parameters(model_of(other)));
}

TEST(RowScenario, NamesHaveTheirPublishedSize) {
  const std::pair<const char*, double> kSizes[] = {{"DeepSeekV3", 671.0},
                                                   {"Llama4 Scout", 107.8},
                                                   {"LLAMA-4_Maverick-400B-128E", 400.7},
                                                   {"Moonlight-16B-A3B", 15.96},
                                                   {"DeepSeek-V3 16B", 15.7},
                                                   {"Qwen1.5-MoE-A2.7B", 14.3}};
  for (const auto& [name, billions] : kSizes)
    EXPECT_NEAR(static_cast<double>(parameters(model_of(ready(named(name))))) / 1e9 / billions, 1,
                0.005)
        << name;
}

// A row may name any decoder of the zoo by its name alone.
TEST(RowScenario, TheZooKnowsTheShape) {
  int asked = 0;
  for (const ZooEntry& entry : testing::non_empty(zoo())) {
    const std::string name(entry.name);
    if (entry.spec == nullptr || name.starts_with("gpt-oss") || name.starts_with("gpt2")) continue;
    const TransformerSpec spec = entry.spec(entry);
    // Biases and whether tables are tied follow from the family and the stated size.
    if (spec.tied || spec.qkv_bias || spec.parallel) continue;
    EXPECT_EQ(parameters(model_of(ready(named(name)))), entry.parameters) << name;
    ++asked;
  }
  EXPECT_GT(asked, 15);
}

MeasuredRow routed_row(std::int64_t tp, std::int64_t ep) {
  MeasuredRow r = own();
  r.framework = "Megatron-Core";
  r.model_family = "Mixtral 8x7B";
  r.layers.reset(), r.hidden.reset(), r.heads.reset(), r.vocab.reset(), r.dp.reset();
  r.gpu = "H100-SXM", r.gpus = 64, r.tp = tp, r.ep = ep;
  return r;
}

std::string expert_tensor_of(const MeasuredRow& r) {
  const PreparedRow row = ready(r);
  std::string why;
  for (const Assumption& a : row.assumptions)
    if (a.setting == "etp") why = "; " + a.why;
  return setting(row.workload.scenario.plan, "etp") + why;
}

TEST(RowScenario, SoftwareIsWhatColumnsSayOrElseTheSource) {
  const auto plan_of = [](const MeasuredRow& r) { return ready(r).workload.scenario.plan; };
  MeasuredRow r = routed_row(8, 8);
  EXPECT_EQ(plan_of(r).software.release, "");
  r.source = "NVIDIA-NeMo/Megatron-Bridge@067f987df03b:docs/performance-summary.md [26.08, Table]";
  EXPECT_EQ(plan_of(r).software.release, "2026-08");
  r.notes = "release 25.11, Table";
  EXPECT_EQ(plan_of(r).software.release, "2025-11");
  r.release = "2026-02";
  EXPECT_EQ(plan_of(r).software.release, "2026-02");
  const auto copies = [&] {
    const Plan plan = plan_of(r);
    return setting(plan, "expert-parallel.copies") + " " +
           setting(plan, "expert-parallel.capacity");
  };
  EXPECT_EQ(copies(), "framework 0");
  r.notes = "DeepEP; CUDA graphs", r.capacity_factor = 1.5;
  EXPECT_EQ(copies(), "rank 1.5");
  EXPECT_EQ(plan_of(r).software.graphs, "on");
  r.dispatcher = "all-to-all", r.graphs = "off";
  EXPECT_EQ(copies(), "expert 1.5");
  EXPECT_EQ(plan_of(r).software.graphs, "off");
}

TEST(RowScenario, AStateIsDividedOverTheGroupThatARowNames) {
  MeasuredRow r = routed_row(8, 8);
  r.zero = "1", r.zero_group = 2;
  EXPECT_EQ(setting(ready(r).workload.scenario.plan, "hybrid"), "2");
  r.zero_group.reset(), r.also = "grad_accum=4; zero1_group=4";
  EXPECT_EQ(setting(ready(r).workload.scenario.plan, "hybrid"), "4");
  r.also = "zero1_group=-1";
  EXPECT_EQ(setting(ready(r).workload.scenario.plan, "hybrid"), "0");
}

TEST(RowScenario, ExpertsAreWholeWhereNothingElseDivides) {
  EXPECT_EQ(expert_tensor_of(routed_row(8, 8)), "tp");
  MeasuredRow r = routed_row(8, 8);
  r.cp = 2, r.gpus = 32;  // dp 2
  EXPECT_EQ(expert_tensor_of(r),
            "1; not stated; ep=8 does not divide dp x cp = 4, so that each expert was whole on one "
            "rank");
  r = routed_row(4, 8);
  r.etp = 1;
  EXPECT_EQ(expert_tensor_of(r), "1");
  r.etp = 4;
  EXPECT_EQ(expert_tensor_of(r), "tp");
  r.etp.reset(), r.notes = "shards by 8; ETP 1; head_dim 128";
  EXPECT_EQ(expert_tensor_of(r), "1");
  r = routed_row(2, 8);
  r.gpus = 24, r.pp = 2, r.global_batch = 48;
  EXPECT_NE(skipped(r).find("which it does not divide"), std::string::npos) << skipped(r);
}

TEST(RowScenario, AnotherWidthIsAnotherModel) {
  MeasuredRow r = named("DeepSeek-V3 of our own");
  r.hidden = 1024, r.heads = 8, r.layers = 4, r.vocab = 32000, r.ffn = 2816;
  r.experts = 16, r.top_k = 2;
  EXPECT_EQ(skipped(r), "routed experts whose width is not stated (column expert_ffn_hidden)");
  r.expert_ffn = 512;
  const auto size = [&](std::int64_t width) {
    MeasuredRow wide = r;
    wide.expert_ffn = width;
    return parameters(model_of(ready(wide)));
  };
  // 16 experts of three products in 4 layers.
  EXPECT_EQ(size(513) - size(512), 4 * 16 * 3 * 1024);
}

TEST(RowScenario, MixtralsOneWidthIsItsExperts) {
  MeasuredRow r = named("Mixtral of our own");
  r.hidden = 1024, r.heads = 8, r.layers = 4, r.vocab = 32000, r.ffn = 2816;
  r.experts = 8, r.top_k = 2;
  const std::int64_t given = parameters(model_of(ready(r)));
  r.expert_ffn = 2816;
  EXPECT_EQ(given, parameters(model_of(ready(r))));
}

// Heads that a row states are not divided among a published model's groups of keys and values.
TEST(RowScenario, PublishedGroupsHoldForPublishedHeads) {
  MeasuredRow r = named("GPT-Neo-2.7B");
  EXPECT_EQ(skipped(r), "");
  r.heads = 32;
  const std::int64_t left_open = parameters(model_of(ready(r)));
  r.kv_heads = 32;
  EXPECT_EQ(left_open, parameters(model_of(ready(r))));
  MeasuredRow grouped = named("Llama3-8B");
  grouped.heads = 64;
  EXPECT_EQ(
      skipped(grouped),
      "states 64 heads and not how many of keys and values, which llama-3-8b shares among 32");
}

TEST(RowScenario, FsdpUnderAPipelineAddsGradientsUp) {
  MeasuredRow r = own();
  r.dp = 4, r.tp = 1, r.pp = 2, r.zero = "FSDP";
  for (const char* framework : {"torchtitan", "PyTorch FSDP", "a house of its own"}) {
    r.framework = framework;
    const PreparedRow row = ready(r);
    EXPECT_FALSE(reshards_after_forward(row.workload.scenario.plan)) << framework;
    EXPECT_FALSE(row.workload.layout.reduce_every_microbatch) << framework;
    EXPECT_EQ(assumed(row, "zero-reduce"), framework[0] == 'a' ? "step" : "") << framework;
  }
  r.zero = "2";
  EXPECT_FALSE(ready(r).workload.layout.reduce_every_microbatch);
  r.pp = 1, r.dp = 8;
  EXPECT_TRUE(ready(r).workload.layout.reduce_every_microbatch);
}

TEST(RowScenario, PredictionsDependOnNothingButTheRow) {
  std::vector<MeasuredRow> rows = published_rows();
  std::reverse(rows.begin(), rows.end());
  const RowSet reversed = prepare_rows(rows);
  ASSERT_EQ(reversed.rows.size(), shipped().rows.size());
  const Parameters parameters;
  for (std::size_t i = 0; i < reversed.rows.size(); i += 7) {
    const PreparedRow& r = reversed.rows[i];
    EXPECT_EQ(predict(r, parameters), predict(row(r.row.id), parameters)) << r.row.id;
  }
}

TEST(RowScenario, EveryPredictionIsAFigure) {
  const Parameters parameters;
  for (const PreparedRow& r : testing::non_empty(shipped().rows)) {
    const double predicted = predict(r, parameters);
    EXPECT_TRUE(std::isfinite(predicted) && predicted > 0) << r.row.id;
    // One row of low trust took 30 times as long as its devices need: its experts run one by one.
    if (r.row.id == "msswift-009") continue;
    EXPECT_LT(std::abs(std::log(predicted / r.measured)), std::log(5.0)) << r.row.id;
  }
}

}  // namespace
}  // namespace trainyard
