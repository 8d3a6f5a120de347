// Tests the messages, prices, work and memory of replicas that meet once in several steps, and what
// they are refused beside.
#include "core/methods/parallel/relaxed_synchrony.h"

#include <gtest/gtest.h>

#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/memory/process_bytes.h"
#include "core/result/gradient_traffic.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::check_of;
using testing::collectives;
using testing::gpt;
using testing::layer;
using testing::scenario;
using testing::Settings;
using testing::words;
using testing::Words;

std::string relaxed_finding(std::int64_t devices, Settings settings,
                            std::string_view kind = "a100-sxm-80") {
  const Diagnostics found = check_of("sync", scenario(gpt(), devices, settings, kind));
  return found.empty() ? "" : found.front().message + " -> " + found.front().fix;
}

Workload made(Settings settings) { return prepare(scenario(gpt(), 8, settings)); }

TEST(RelaxedSynchrony, ExchangesWeightsAfterTheUpdateAndNoGradients) {
  const Workload bsp = made({});
  const std::int64_t n = layer(bsp).parameters.dense;
  for (const char* kind : {"sync=local-sgd", "sync=easgd"}) {
    const Workload w = made({kind, "sync.period=4"});
    EXPECT_EQ(collectives(layer(w).reduce), Words{});
    EXPECT_EQ(collectives(layer(w).gather),
              Words{words(CollectiveKind::AllReduce, Group::Data, 4 * n)});
    EXPECT_EQ(layer(w).gather.front().every, 4);
    EXPECT_EQ(layer(w).update.size(), layer(bsp).update.size() + 1);
  }
  // Adam has two numbers a parameter.
  const Workload averaged = made({"sync=local-sgd", "sync.state=true"});
  EXPECT_EQ(collectives(layer(averaged).gather),
            Words{words(CollectiveKind::AllReduce, Group::Data, 12 * n)});
}

TEST(RelaxedSynchrony, CountsTheCentreAndWhatArrives) {
  const auto state = [](Settings settings) {
    const Workload w = made(settings);
    return state_bytes(layer(w), w.layout).optimizer.value;
  };
  const std::int64_t n = layer(made({})).parameters.dense;
  EXPECT_EQ(state({"sync=local-sgd"}), state({}));
  EXPECT_EQ(state({"sync=easgd"}), state({}) + 4 * n);
  std::int64_t largest = 0;
  for (const Body& body : made({}).bodies) largest = std::max(largest, body.parameters.dense);
  const auto held = [](Settings settings) {
    return process_bytes(made(settings), {}).front().value;
  };
  EXPECT_EQ(held({"sync=easgd"}) - held({}), 4 * largest);
}

// Each of 8 replicas serves an eighth of a layer, and remembers what all have fetched of it: the
// elements of a layer's state, rounded up to a multiple of 8.
TEST(RelaxedSynchrony, ServersOfDownpourAreTheReplicas) {
  const Workload bsp = made({}), w = made({"sync=downpour", "sync.period=4"});
  const std::int64_t n = layer(bsp).parameters.dense;
  EXPECT_EQ(collectives(layer(w).reduce), Words{});
  EXPECT_EQ(collectives(layer(w).gather),
            (Words{words(CollectiveKind::AllToAll, Group::Data, 4 * n),
                   words(CollectiveKind::AllToAll, Group::Data, 4 * n)}));
  for (const BodyOp& op : testing::non_empty(layer(w).gather)) EXPECT_EQ(op.every, 4);
  for (std::size_t b = 0; b < testing::non_empty(bsp.bodies).size(); ++b) {
    const std::int64_t own = bsp.bodies[b].parameters.dense, padded = (own + 7) / 8 * 8;
    const std::int64_t each = bsp.layout.optimizer_bytes + 4;  // and the master copy
    EXPECT_EQ(state_bytes(bsp.bodies[b], bsp.layout).optimizer.value, own * each);
    EXPECT_EQ(state_bytes(w.bodies[b], w.layout).optimizer.value, padded * (each + 4));
  }
  // It reads what was pushed, what was fetched and what comes back; it writes what is fetched now,
  // and the weights with their 2-byte copies.
  const Work one = layer(made({"sync=downpour", "sync.period=1"})).update.back().work;
  EXPECT_EQ(one.read.value, 12 * n);
  EXPECT_EQ(one.written.value, 10 * n);
}

TEST(RelaxedSynchrony, DownpourSaysHowOldItsChangesAre) {
  const auto found = gradient_traffic(made({"sync=downpour"}));
  ASSERT_TRUE(found);
  EXPECT_NE(found->sentence.find("has taken 7 other changes on average"), std::string::npos)
      << found->sentence;
  EXPECT_EQ(relaxed_finding(8, {"sync=downpour", "sync.state=true"}),
            "the server of downpour has weights, and each replica its own optimizer state, found "
            "sync.state=on -> sync.state=off");
  EXPECT_EQ(relaxed_finding(8, {"sync=downpour", "sync.arrival=shuffled"}), "");
  EXPECT_EQ(relaxed_finding(8, {"sync=hogwild"}), "");
  EXPECT_EQ(relaxed_finding(16, {"sync=hogwild"}),
            "hogwild has threads that share the weights in one memory, and a node has 8 of 16 "
            "replicas -> sync=downpour");
  EXPECT_EQ(relaxed_finding(8, {"sync=downpour", "zero=1"}),
            "downpour has replicas that each update all of their own weights, and zero=1 leaves "
            "each a part of one -> zero=0");
}

// An exchange of local-sgd reads the sums, and writes the weights and their 2-byte copies; one of
// easgd reads weights and centre too, and writes the centre.
TEST(RelaxedSynchrony, TheWorkOfAnExchangeIsSharedByTheStepsOfAPeriod) {
  const auto work = [](Settings settings) { return layer(made(settings)).update.back().work; };
  const std::int64_t n = layer(made({})).parameters.dense;
  EXPECT_EQ(work({"sync=local-sgd", "sync.period=1"}).read.value, 4 * n);
  EXPECT_EQ(work({"sync=local-sgd", "sync.period=1"}).written.value, 6 * n);
  EXPECT_EQ(work({"sync=local-sgd", "sync.period=4", "precision=fp32"}).written.value, n);
  EXPECT_EQ(work({"sync=easgd", "sync.period=1"}).read.value, 12 * n);
  EXPECT_EQ(work({"sync=easgd", "sync.period=2"}).written.value, 5 * n);
}

TEST(RelaxedSynchrony, AStepHasTheMeanPriceOfThoseOfAPeriod) {
  const auto exchanges = [](std::string_view period) {
    const Workload w = made({"sync=local-sgd", period, "overlap=off"});
    Duration sum{};
    for (const StageTime& stage : stage_times(w, *physical_cost_model(w.scenario)))
      sum += stage.gather_others + stage.gather_last;
    return static_cast<double>(sum.count());
  };
  const double one = exchanges("sync.period=1");
  EXPECT_GT(one, 1e5);  // nanoseconds
  EXPECT_NEAR(exchanges("sync.period=8"), one / 8, 10);
}

TEST(RelaxedSynchrony, TrafficIsTheMeanOfThePeriod) {
  EXPECT_FALSE(gradient_traffic(made({})));
  std::int64_t all = 0;
  const Workload bsp = made({});
  for (const auto& stage : testing::non_empty(bsp.runs))
    for (const Workload::Run& run : stage)
      all += bsp.bodies[static_cast<std::size_t>(run.body)].parameters.dense * run.count;
  const auto found = gradient_traffic(made({"sync=easgd", "sync.period=5"}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->dense.value, 2 * 4 * all * 7 / 8);
  EXPECT_EQ(found->received.value, found->dense.value / 5);
  EXPECT_NE(found->sentence.find("once in 5 steps"), std::string::npos) << found->sentence;
  EXPECT_NE(found->sentence.find("leaves -0.0125 of the distance"), std::string::npos)
      << found->sentence;
}

TEST(RelaxedSynchrony, TheLimitOfElasticityIsThePublishedOne) {
  EXPECT_DOUBLE_EQ(elasticity_limit(4), 1.6);
  EXPECT_DOUBLE_EQ(elasticity_limit(16), 32.0 / 17);
}

TEST(RelaxedSynchrony, IsRefusedWhereReplicasHaveNoWholeStepOfTheirOwn) {
  EXPECT_EQ(relaxed_finding(8, {"sync=local-sgd"}), "");
  EXPECT_EQ(relaxed_finding(8, {"sync=local-sgd", "pp=2", "schedule=chimera"}), "");
  EXPECT_EQ(
      relaxed_finding(8, {"sync=easgd", "precision=fp16", "global-batch=32", "micro-batch=2"}), "");
  EXPECT_EQ(relaxed_finding(1, {"sync=easgd"}),
            "easgd lets replicas go apart, and there is one: nothing changes -> sync=bsp");
  EXPECT_EQ(relaxed_finding(8, {"sync.period=4"}),
            "the plan says how replicas relax their synchrony, and with sync=bsp they meet in "
            "every step: nothing changes -> sync=local-sgd");
  EXPECT_EQ(relaxed_finding(8, {"sync=local-sgd", "tp=2"}),
            "local-sgd has replicas of whole weights go apart, and tensor ranks have parts of the "
            "tensors, found tp=2 -> tp=1");
  EXPECT_EQ(relaxed_finding(8, {"sync=local-sgd", "zero=1"}),
            "local-sgd has replicas that each update all of their own weights, and zero=1 leaves "
            "each a part of one -> zero=0");
  EXPECT_EQ(relaxed_finding(8, {"sync=local-sgd", "offload=optimizer"}),
            "local-sgd exchanges weights between devices after an update, and offload=optimizer "
            "has the host update them -> offload=none");
  EXPECT_EQ(relaxed_finding(8, {"sync=easgd", "reduce=sum"}),
            "replicas of easgd each make steps of their own, and reduce=sum combines those of "
            "every step -> reduce=mean");
  EXPECT_EQ(relaxed_finding(8, {"sync=easgd", "compression=topk"}),
            "replicas of easgd exchange weights and no gradients, found compression=topk -> "
            "compression=none");
  EXPECT_EQ(relaxed_finding(8, {"sync=local-sgd", "pp=2", "schedule=pipedream"}),
            "local-sgd counts the steps between exchanges of weights, and pipedream updates while "
            "microbatches are under way -> schedule=1f1b");
  EXPECT_EQ(relaxed_finding(8, {"sync=local-sgd", "precision=bf16-kahan"}),
            "local-sgd takes means of weights in 4 bytes, and bf16-kahan keeps weights in bf16 "
            "alone -> precision=bf16");
  EXPECT_EQ(relaxed_finding(8, {"sync=local-sgd", "precision=fp8", "fp8.weights=fp8"}, "h100-sxm"),
            "local-sgd writes weights again after an update, and fp8.weights=fp8 has agreed on "
            "their scales before -> fp8.weights=bf16");
  EXPECT_EQ(relaxed_finding(8, {"sync=easgd", "sync.state=true"}),
            "easgd pulls weights to their centre and leaves each replica its own optimizer state, "
            "found sync.state=on -> sync.state=off");
  EXPECT_EQ(relaxed_finding(8, {"sync=easgd", "sync.elasticity=1.8"}),
            "the centre of easgd and the mean of 8 replicas swing ever more widely from an "
            "elasticity of 2 P / (P + 1) = 1.7778 on, found sync.elasticity=1.8 -> "
            "sync.elasticity=0.9");
  EXPECT_EQ(relaxed_finding(8, {"sync=easgd", "sync.elasticity=1.77"}), "");
}

}  // namespace
}  // namespace trainyard
