// Tests what the host keeps: bytes, refusals, and the words that select it.
#include "core/methods/memory/offload.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/lowering/host_memory.h"
#include "core/lowering/layer_copies.h"
#include "tests/support/layers.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::check_of;
using testing::gpt;
using testing::layer;
using testing::scenario;

Body of_parameters(std::int64_t count) {
  Body body;
  body.parameters.dense = count;
  return body;
}

Workload opened(const testing::Settings& settings, std::int64_t devices = 8) {
  return prepare(scenario(gpt({.layers = 8}), devices, settings));
}

// Adam in mixed precision: 8 bytes of moments and 4 of master weights leave; gradients (2) and
// weights (2) stay.
TEST(Offload, OptimizerStateLeavesTheDevice) {
  constexpr std::int64_t n = 1000;
  const Workload w = opened({"precision=fp16", "offload=optimizer"});
  const StateBytes held = state_bytes(of_parameters(n), w.layout);
  EXPECT_EQ(held.weights.value, 2 * n);
  EXPECT_EQ(held.gradients.value, 2 * n);
  EXPECT_EQ(held.optimizer.value, 0);
  const HostShare host = host_share(of_parameters(n), w.layout);
  EXPECT_EQ(host.gradients.value, 2 * n);
  EXPECT_EQ(host.weights.value, 2 * n);
  EXPECT_EQ(host.state.value, (8 + 4 + 2) * n);
  EXPECT_EQ(host.touched.value, w.layout.optimizer_touched_bytes * n);
  EXPECT_TRUE(layer(w).update.empty());
}

TEST(Offload, ShardsOfTheOptimizerAreShardsOfTheTraffic) {
  constexpr std::int64_t n = 1024;
  const Workload w = opened({"precision=fp16", "offload=optimizer", "zero=1"});
  const HostShare host = host_share(of_parameters(n), w.layout);
  EXPECT_EQ(host.gradients.value, 2 * n / 8);
  EXPECT_EQ(host.state.value, 14 * n / 8);
}

TEST(Offload, NothingMovesUnlessAsked) {
  for (const char* kept : {"none", "activations"}) {
    const Workload w =
        opened({"pp=4", std::string_view(kept) == "none" ? "offload=none" : "offload=activations"});
    EXPECT_EQ(host_share(of_parameters(1000), w.layout), HostShare{}) << kept;
    EXPECT_FALSE(layer(w).update.empty()) << kept;
  }
}

TEST(Offload, NoneIsAPlanThatSaysNothingOfHosts) {
  Plan plan, other;
  apply_setting(plan, "offload=both");
  EXPECT_NE(plan, other);
  EXPECT_EQ(setting(plan, "offload"), "both");
  apply_setting(plan, "offload=none");
  EXPECT_EQ(plan, other);
  EXPECT_EQ(setting(plan, "offload"), "none");
  EXPECT_THROW(apply_setting(plan, "offload=optimiser"), Error);
}

// Adam in mixed precision: 8 bytes of moments and 4 of master weights go to NVMe; the host keeps
// gradients (2). In 4 bytes and in pure bfloat16 the weights themselves go there.
TEST(Offload, NvmeHasWhatTheHostHadButGradients) {
  constexpr std::int64_t n = 1000;
  for (const auto& [precision, state, gradients] : {std::tuple{"precision=fp16", 12, 2},
                                                    {"precision=fp32", 12, 4},
                                                    {"precision=bf16-sr", 6, 2}}) {
    Scenario s =
        scenario(gpt({.layers = 2}), 8, {precision, "offload=optimizer", "offload-tier=nvme"});
    s.cluster.nvme_read = s.cluster.nvme_write = {{1e10}, "given"};
    const HostShare host = host_share(of_parameters(n), prepare(s).layout);
    EXPECT_EQ(host.nvme.value, state * n) << precision;
    EXPECT_EQ(host.state.value, gradients * n) << precision;
  }
}

// The 8 layers, the embedding and the last norm are ten layers with state. A node of 8 has the
// state of 8 devices, and the host of each has gradients and three of its largest layers.
TEST(Offload, HostMemoryFallsToGradientsAndThreeLayers) {
  Scenario s =
      scenario(gpt({.layers = 8}), 8, {"precision=fp16", "offload=optimizer", "offload-tier=nvme"});
  s.cluster.nvme_read = s.cluster.nvme_write = {{1e10}, "given"};
  const std::int64_t all = parameters(s.model);
  std::int64_t largest = 0;
  for (const Block& block : s.model.blocks) {
    Model one = s.model;
    one.blocks = {block};
    largest = std::max(largest, parameters(one) / block.count);
  }
  const std::optional<HostMemory> held = host_memory(prepare(s));
  EXPECT_EQ(held->nvme_device.value, 12 * all);
  EXPECT_EQ(held->nvme_node.value, 8 * 12 * all);
  EXPECT_EQ(held->device.value, 2 * all + kStateBuffers * 12 * largest);
  s.cluster.nvme = {held->nvme_node, "given"};
  EXPECT_FALSE(has_errors(check(s)));
  s.cluster.nvme.value -= Bytes{1};
  const Diagnostics found = check(s);
  ASSERT_TRUE(has_errors(found));
  EXPECT_EQ(found.back().fix, "offload-tier=host");
  EXPECT_TRUE(found.back().message.starts_with("offload puts ")) << found.back().message;
  EXPECT_NE(found.back().message.find(" onto the NVMe of every node, which has "),
            std::string::npos);
}

TEST(Offload, AHostThatIsTooSmallSendsStateToNvme) {
  Scenario s =
      scenario(gpt({.layers = 48, .vocab = 512}), 8, {"precision=fp16", "offload=optimizer"});
  s.cluster.host_memory = {32_GiB, "given"};
  EXPECT_EQ(check(s).back().fix, "offload=none");
  s.cluster.nvme_read = s.cluster.nvme_write = {{1e10}, "given"};
  EXPECT_EQ(check(s).back().fix, "offload-tier=nvme");
  s.cluster.nvme = {1_GiB, "given"};
  EXPECT_EQ(check(s).back().fix, "offload=none");
  s.cluster.nvme = {};
  s.cluster.host_memory = {1_GiB, "given"};  // has no room for gradients and buffers either
  EXPECT_EQ(check(s).back().fix, "offload=none");
}

// Returns the names of what leaves of a layer, by the policy's words.
std::vector<std::string> leaving(const Model& model, const std::string& layers) {
  const std::string words = "offload-layers=" + layers;
  const Workload w = prepare(scenario(model, 1, {"offload=activations", words}));
  std::vector<std::string> names;
  for (const SavedTensor& saved : layer(w).saved)
    if (saved.leaves) names.push_back(saved.name);
  return names;
}

TEST(Offload, APolicySaysWhatLeavesOfALayer) {
  const Model model = gpt({.layers = 8});
  const Workload w = opened({"offload=none"}, 1);
  EXPECT_EQ(leaving(model, "none").size(), 0u);
  EXPECT_EQ(leaving(model, "all").size(), layer(w).saved.size());
  EXPECT_EQ(leaving(model, "convolutions").size(), 0u);
  const std::vector<std::string> made = leaving(model, "made=attention");
  ASSERT_FALSE(made.empty());
  EXPECT_LT(made.size(), layer(w).saved.size());
  EXPECT_FALSE(leaving(testing::tiny_convnet(4), "convolutions").empty());
}

// Runs of layers are counted stage by stage, in order of data flow.
TEST(Offload, RunsOfLayersLeave) {
  const Workload w =
      opened({"pp=2", "offload=activations", "offload-layers=all*1,none/none*3,all"});
  std::vector<bool> leaves;
  for (const std::vector<Workload::Run>& stage : w.runs)
    for (const Workload::Run& run : stage) {
      const Body& body = w.bodies[static_cast<std::size_t>(run.body)];
      if (!w.scenario.model.blocks[static_cast<std::size_t>(body.block)].layer) continue;
      leaves.insert(leaves.end(), static_cast<std::size_t>(run.count),
                    leaving_bytes(w, body).all > Bytes{});
    }
  EXPECT_EQ(leaves, (std::vector<bool>{true, false, false, false, false, false, false, true}));
}

std::string offload_refusal(const testing::Settings& settings) {
  for (const Diagnostic& d : check_of("offload", scenario(gpt({.layers = 8}), 8, settings)))
    if (d.severity == Diagnostic::Severity::Error) return d.message;
  return "";
}

TEST(Offload, RefusesWhatIsNotModelled) {
  EXPECT_EQ(offload_refusal({"pp=4", "offload=both"}), "");
  EXPECT_EQ(offload_refusal({"pp=4", "schedule=zb-h1", "offload=optimizer"}), "");
  EXPECT_EQ(offload_refusal({"pp=4", "schedule=zb-h1", "offload=activations"}),
            "offload=activations is modelled for backwards in one part, and zb-h1 keeps some "
            "activations on until their weight gradient");
  EXPECT_EQ(offload_refusal({"pp=4", "schedule=pipedream", "offload=optimizer"}),
            "offload=optimizer is modelled for schedules that update once a step, and pipedream "
            "updates while microbatches are under way");
  EXPECT_EQ(offload_refusal({"offload=activations", "offload-layers=all"}), "");
  EXPECT_EQ(
      offload_refusal({"offload=optimizer", "offload-layers=all"}),
      "offload-layers says which layers' activations leave, and offload=optimizer leaves them "
      "on the device");
  EXPECT_EQ(
      offload_refusal({"offload=activations", "offload-layers=dynamic"}),
      "offload-layers=dynamic is answered where a model and a cluster are opened with it, and "
      "this plan still asks");
  EXPECT_EQ(offload_refusal({"pp=4", "schedule=chimera", "offload=optimizer"}),
            "offload=optimizer is modelled for one copy of every stage, and chimera has two");
}

TEST(Offload, NvmeNeedsStateAndRates) {
  const auto refusal_of = [](const testing::Settings& settings, double read, double write) {
    Scenario s = scenario(gpt({.layers = 8}), 8, settings);
    s.cluster.nvme_read = {{read}, "given"}, s.cluster.nvme_write = {{write}, "given"};
    const Diagnostics found = check_of("offload", s);
    return found.empty() ? "" : found.front().message;
  };
  const testing::Settings moved = {"offload=optimizer", "offload-tier=nvme"};
  EXPECT_EQ(refusal_of(moved, 1e10, 1e10), "");
  EXPECT_EQ(refusal_of(moved, 0, 1e10),
            "offload-tier=nvme needs the rate of a node's NVMe, and a100-sxm-80:8 states no "
            "nvme-read; add it to the cluster, as nvme-read=20GB/s");
  EXPECT_EQ(refusal_of(moved, 1e10, 0),
            "offload-tier=nvme needs the rate of a node's NVMe, and a100-sxm-80:8 states no "
            "nvme-write; add it to the cluster, as nvme-write=20GB/s");
  EXPECT_EQ(refusal_of({"pp=4", "offload=activations", "offload-tier=nvme"}, 1e10, 1e10),
            "offload-tier=nvme says where optimizer state lives, and offload=activations leaves it "
            "on the device");
}

TEST(Offload, AnEditedOrderIsNotFollowed) {
  Scenario s = scenario(gpt({.layers = 4}), 4, {"pp=4", "offload=activations"});
  s.plan.order = "d0/compute  0F0 0B0";
  const Diagnostics found = check_of("offload", s);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].fix, "order=own");
}

TEST(Offload, AHostThatIsStatedMustHoldIt) {
  Scenario s = scenario(gpt({.layers = 8}), 8, {"offload=optimizer"});
  const std::optional<HostMemory> held = host_memory(prepare(s));
  ASSERT_TRUE(held);
  EXPECT_EQ(held->node.value, 8 * held->device.value);
  s.cluster.host_memory = {held->node, "given"};
  EXPECT_FALSE(has_errors(check(s)));
  s.cluster.host_memory.value -= Bytes{1};
  const Diagnostics found = check(s);
  ASSERT_TRUE(has_errors(found));
  EXPECT_EQ(found.back().place.text, "plan#/choices/offload");
  EXPECT_THROW(prepare(s), Error);
}

// Moments, 4-byte weights and the gradients as they arrive: 14 bytes per parameter.
TEST(Offload, TheHostHoldsFourteenBytesAParameter) {
  const Scenario s = scenario(gpt({.layers = 8}), 1, {"precision=fp16", "offload=optimizer"});
  const Workload w = prepare(s);
  EXPECT_EQ(host_memory(w)->device.value, 14 * parameters(s.model));
}

}  // namespace
}  // namespace trainyard
