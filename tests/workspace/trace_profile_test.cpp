// Tests prices that are made of recordings: what was recorded of one plan prices another.
#include "app/workspace/runs/trace_profile.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "app/workspace/scenario/priced_scenario.h"
#include "app/workspace/scenario/run_once.h"
#include "core/base/random.h"
#include "core/cost/kernel_times.h"
#include "core/exporters/trace_event.h"
#include "core/io/traces/chrome_trace_import.h"
#include "core/model/ops.h"
#include "core/timeline/merged_trace.h"
#include "tests/support/collective_trace.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

std::shared_ptr<Experiment> at_op_grain(const Scenario& scenario, const CostModel& cost) {
  OnceOptions options;
  options.grain = Grain::Op, options.cost = &cost, options.steps = 1;
  return run_once(scenario, options);
}

// A machine on which every kernel of the program takes some time that no formula knows.
Calibration hidden_machine(const Program& program, std::uint64_t seed) {
  const Random random(seed);
  std::uint64_t drawn = 0;
  Calibration c;
  c.machine = "a machine", c.copy = {3us, {5e9}}, c.reduce = {7e9};
  std::map<KernelKey, KernelTiming> kernels;
  for (const WorkCount& w : program.works)
    kernels[kernel_key(w.work)] = {
        .work = w.work, .time = Duration{random.between(drawn++, 1000, 1000000)}, .repeats = 3};
  for (const auto& [key, timing] : kernels) c.kernels.push_back(timing);
  return c;
}

Scenario tiny_plan(const std::string& model, const std::vector<std::string>& settings) {
  std::vector<std::string> all = {"precision=fp32", "micro-batch=2"};
  all.insert(all.end(), settings.begin(), settings.end());
  return open({model, "cpu:4", "", all});
}

RC_GTEST_PROP(TraceProfile, ARecordedPlanPricesEveryOtherOfTheSameKernels, ()) {
  const std::string model = *rc::gen::element<std::string>("gpt-tiny", "mlp-small", "mixtral-tiny");
  const std::string pp = *rc::gen::element<std::string>("pp=1", "pp=2");
  const Scenario recorded = tiny_plan(
      model,
      {pp, "global-batch=16", "schedule=" + *rc::gen::element<std::string>("gpipe", "1f1b")});
  const auto base = cost_model(recorded);
  const auto hidden = calibrated_cost_model(
      hidden_machine(at_op_grain(recorded, *base)->program, *rc::gen::arbitrary<std::uint64_t>()));
  const auto run = at_op_grain(recorded, *hidden);
  const RecordedTrace trace = parse_chrome_trace(trace_event(*run), "run.json");

  TraceProfile profile = trace_profile(trace, recorded);
  RC_ASSERT(profile.prices.step == makespan(run->timeline));
  Scenario other =
      tiny_plan(model, {pp, "global-batch=48",
                        "schedule=" + *rc::gen::element<std::string>("gpipe", "1f1b", "zb-h1")});
  const auto own = priced_by(profile.prices.calibration, other);
  const auto expected = at_op_grain(other, *hidden), predicted = at_op_grain(other, *own);
  RC_ASSERT(expected->timeline.spans.size() == predicted->timeline.spans.size());
  for (std::uint32_t i = 0; i < expected->timeline.spans.size(); ++i) {
    const Task& task = expected->program.task(InstructionId{i});
    // An instruction of several works, as an update, is recorded only as their sum.
    if (task.kind == TaskKind::Compute && task.works == 1)
      RC_ASSERT(expected->timeline.spans[i].length() == predicted->timeline.spans[i].length());
  }
}

// The time that a simulated run lost to communication beside computation is found again in its
// recording, and what it took apart is not priced as what it took beside.
TEST(TraceProfile, ARecordingOfOursSaysHowMuchContentionItRanUnder) {
  Scenario scenario = open({"gpt2-xl",
                            "h100-sxm:16",
                            "",
                            {"dp=16", "global-batch=64", "micro-batch=2", "overlap=on", "zero=0"}});
  for (const double contention : {0.0, 0.25, 0.5}) {
    const auto base = cost_model(scenario);
    Calibration hidden;
    hidden.machine = "another", hidden.device = "h100-sxm";
    hidden.copy = {1us, {1e12}}, hidden.reduce = {1e12};
    hidden.contention = {{"products", 1 + contention, 0, 3, 1us}};
    const auto cost = calibrated_cost_model(hidden, cost_model(scenario), scenario.cluster.device);
    const auto run = at_op_grain(scenario, *cost);
    const TraceProfile profile =
        trace_profile(parse_chrome_trace(trace_event(*run), "run.json"), scenario);
    const std::vector<MeasuredContention>& found = profile.prices.calibration.contention;
    ASSERT_TRUE(contention_of(found)) << contention;
    EXPECT_NEAR(*contention_of(found), contention, 1e-3);
    const auto own = priced_by(profile.prices.calibration, scenario);
    const auto again = at_op_grain(scenario, *own);
    EXPECT_NEAR(to_seconds(again->result.step.value), to_seconds(run->result.step.value),
                2e-3 * to_seconds(run->result.step.value));
  }
}

// The text of a trace as PyTorch's profiler writes one on a processor: two steps, of which the
// first warms up.
class HostTrace {
 public:
  void add(const std::string& name, std::int64_t us, std::int64_t after = 0) {
    at_ += after;
    text_ += fmt::format(
        R"({}{{"name": "{}", "ph": "X", "ts": {}, "dur": {}, "tid": 1, "pid": "CPU functions", "args": {{}}}})",
        text_.empty() ? "" : ", ", name, at_, us);
    at_ += us;
  }
  void step(int number, std::int64_t from) {
    text_ += fmt::format(
        R"(, {{"name": "ProfilerStep#{}", "ph": "X", "ts": {}, "dur": {}, "tid": 1, "pid": "CPU functions", "args": {{}}}})",
        number, from, at_ - from);
  }
  std::int64_t now() const { return at_; }
  RecordedTrace trace() const { return parse_chrome_trace("[" + text_ + "]", "host.json"); }

 private:
  std::string text_;
  std::int64_t at_ = 0;
};

// The text of a trace as PyTorch's profiler writes one of a device: a process of the host, whose
// operators issue kernels, and one of the device. The device's mark of the step ends with the last
// kernel of forward, because backward has a thread of its own.
class DeviceTrace {
 public:
  void kernel(const std::string& name, std::int64_t us, bool backward) {
    ++correlation_;
    const std::string op =
        backward ? "autograd::engine::evaluate_function: MmBackward0" : "aten::linear";
    span("cpu_op", op, 42, backward ? 2 : 1, host_, 9, "");
    const std::string args = fmt::format("\"correlation\": {}", correlation_);
    span("cuda_runtime", "cudaLaunchKernel", 42, backward ? 2 : 1, host_ + 2, 5, args);
    device_ = std::max(device_ + gap_, host_ + 7);
    span("kernel", name, 0, 7, device_, us, args + ", \"stream\": 7");
    device_ += us, busy_ += us, host_ += 10;
    if (!backward) forward_ = device_;
  }
  RecordedTrace trace() {
    span("gpu_user_annotation", "ProfilerStep#3", 0, 7, 7, forward_ - 7, "");
    span("user_annotation", "ProfilerStep#3", 42, 1, 0, device_, "");
    return parse_chrome_trace("[" + text_ + "]", "device.json");
  }
  Duration step() const { return std::chrono::microseconds(device_ - 7); }
  Duration busy() const { return std::chrono::microseconds(busy_); }

 private:
  void span(const std::string& category, const std::string& name, int process, int thread,
            std::int64_t from, std::int64_t us, const std::string& args) {
    text_ += fmt::format(
        R"({}{{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{{}}}}})",
        text_.empty() ? "" : ", ", category, name, process, thread, from, us, args);
  }

  std::string text_;
  std::int64_t host_ = 0, device_ = 0, busy_ = 0, forward_ = 0, correlation_ = 0;
  std::int64_t gap_ = 2;  // in which a device waits between kernels
};

// A step is predicted to take what was recorded of it: all kernels find work of the plan, none
// counts twice because the host is a process too, and nothing is added for a host whose waits have
// been recorded.
TEST(TraceProfile, ADevicesStepIsPredictedAsItWasRecorded) {
  const char* const elementwise =
      "void at::native::vectorized_elementwise_kernel<4, at::native::threshold_kernel_impl<float>("
      "at::TensorIteratorBase&)::{lambda(float, float)#1}>";
  DeviceTrace t;
  for (int layer = 0; layer < 10; ++layer) {
    t.kernel("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", 300 + layer, false);
    if (layer + 1 < 10) t.kernel(elementwise, 40, false);
  }
  t.kernel("void cunn_SoftMaxForward<LogSoftMaxForwardEpilogue>", 60, false);
  t.kernel("void cunn_SoftMaxBackward<LogSoftMaxBackwardEpilogue>", 70, true);
  for (int layer = 10; layer-- > 0;) {
    if (layer + 1 < 10) t.kernel(elementwise, 50, true);
    for (int gradient = 0; gradient < (layer > 0 ? 2 : 1); ++gradient)
      t.kernel("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NTT", 310, true);
  }
  t.kernel("void at::native::(anonymous namespace)::multi_tensor_apply_kernel", 900, true);
  const Scenario scenario =
      open({"mlp-small",
            "h100-sxm:1",
            "",
            {"precision=fp32", "framework=pytorch", "global-batch=32", "micro-batch=32"}});
  const RecordedTrace trace = t.trace();
  const TraceProfile profile = trace_profile(trace, scenario);
  EXPECT_EQ(profile.prices.steps, 1);
  EXPECT_EQ(profile.prices.step, t.step());
  Duration measured{};
  for (const TracedWork& work : profile.prices.works) measured += work.measured;
  EXPECT_NEAR(to_seconds(measured), to_seconds(t.busy()), 1e-3 * to_seconds(t.busy()));
  for (const std::string& sentence : profile.prices.unseen)
    EXPECT_EQ(sentence.find("the plan has no"), std::string::npos) << sentence;
  EXPECT_NEAR(to_seconds(profile.after), to_seconds(t.step()), 0.02 * to_seconds(t.step()));
}

constexpr int kLayersOfMlp = 10;  // of mlp-small, each a product and all but the last an activation

// These are the steps of mlp-small in PyTorch, with a gap of 3 us before every operator, and with a
// lookup that is no work of it.
HostTrace mlp_steps(int steps, std::int64_t lookup = 0) {
  const auto more = [](int layer) { return layer == 0 ? 0 : layer + 1 == kLayersOfMlp ? 2 : 1; };
  const auto node = [](const char* name) {
    return std::string("autograd::engine::evaluate_function: ") + name;
  };
  HostTrace t;
  for (int s = 0; s < steps; ++s) {
    const std::int64_t from = t.now();
    if (lookup > 0) t.add("aten::embedding", lookup);
    for (int layer = 0; layer < kLayersOfMlp; ++layer) {
      t.add("aten::linear", 100 + more(layer), 3);
      if (layer + 1 < kLayersOfMlp) t.add("aten::relu", 10, 3);
    }
    t.add("aten::cross_entropy_loss", 20, 3);
    t.add(node("NllLossBackward0"), 5, 3);
    t.add(node("LogSoftmaxBackward0"), 15, 3);
    for (int layer = kLayersOfMlp; layer-- > 0;) {
      if (layer + 1 < kLayersOfMlp) t.add(node("ReluBackward0"), 12, 3);
      t.add(node("AddmmBackward0"), 200 + 2 * more(layer), 3);
      t.add(node("torch::autograd::AccumulateGrad"), 1, 3);
    }
    t.add("Optimizer.step#AdamW.step", 490, 3);
    t.step(s, from);
  }
  return t;
}

Scenario recorded_mlp() {
  return open({"mlp-small",
               "cpu:1",
               "",
               {"precision=fp32", "global-batch=32", "micro-batch=32", "optimizer=adamw"}});
}

const TracedWork& work_of(const TracePrices& prices, const std::string& name) {
  for (const TracedWork& work : prices.works)
    if (work.work == name) return work;
  ADD_FAILURE() << name;
  return prices.works.front();
}

TEST(TraceProfile, OperatorsOfAFrameworkAreTheWorkOfThePlan) {
  const TracePrices p = trace_profile(mlp_steps(3).trace(), recorded_mlp()).prices;
  EXPECT_EQ(p.steps, 2);
  const TracedWork& forward = work_of(p, "matmul forward");
  EXPECT_EQ(forward.measured, 1010us);
  EXPECT_EQ(forward.calls, kLayersOfMlp);
  EXPECT_TRUE(forward.by_shape);
  EXPECT_EQ(work_of(p, "matmul backward").measured, 2020us);
  EXPECT_TRUE(work_of(p, "matmul backward").by_shape);
  EXPECT_EQ(work_of(p, "relu forward").measured, 90us);
  EXPECT_EQ(work_of(p, "relu backward").measured, 108us);
  EXPECT_EQ(work_of(p, "softmax_loss forward").measured, 20us);
  EXPECT_EQ(work_of(p, "softmax_loss backward").measured, 20us);
  // Adding up gradients grows with the parameters, as the update does.
  EXPECT_EQ(work_of(p, "optimizer").measured, 500us);
  EXPECT_TRUE(p.unseen.empty());
  // Every shape of a product has its own time.
  for (const KernelTiming& t : p.calibration.kernels)
    if (t.work.kernel == kernel_of(matmul(), Pass::Forward) && t.work.k == 784) {
      EXPECT_EQ(t.time, 100us);
    }
}

TEST(TraceProfile, TheRecordedPlanTakesWhatWasRecorded) {
  const TraceProfile profile = trace_profile(mlp_steps(4).trace(), recorded_mlp());
  EXPECT_NEAR(to_seconds(profile.after), to_seconds(profile.prices.step),
              0.002 * to_seconds(profile.prices.step));
  EXPECT_LT(to_seconds(profile.before), 0.5 * to_seconds(profile.prices.step));
  EXPECT_EQ(profile.prices.calibration.residual_worst, 0);  // all its steps are alike
}

TEST(TraceProfile, WhatThePlanHasNoWorkForIsSpreadOverItsKernels) {
  const auto recorded = [](std::int64_t lookup) {
    return trace_profile(mlp_steps(2, lookup).trace(), recorded_mlp());
  };
  const TraceProfile without = recorded(0), with = recorded(490);
  EXPECT_EQ(with.prices.step - without.prices.step, 490us);
  EXPECT_NEAR(to_seconds(with.after) - to_seconds(without.after), 490e-6, 1e-6);
  ASSERT_EQ(with.prices.unseen.size(), 1u);
  EXPECT_EQ(with.prices.unseen.front(),
            "the plan has no embedding forward, on which the run spent 490 us a step");
}

TEST(TraceProfile, ARecordingOfSomethingElseIsRefused) {
  HostTrace t;
  t.add("lunch", 1000);
  EXPECT_EQ(
      testing::refusal([&] { trace_profile(t.trace(), recorded_mlp()); }),
      "host.json: expected the recording of a run of this plan, found no span that is work of "
      "it");
}

// A recording of phases, as the timeline of a plan at order grain has them, prices each as a whole.
TEST(TraceProfile, APartOfTheStepWithoutNamesHasOneFactor) {
  const Scenario scenario = open({"gpt2", "h100-sxm:1", "", {"global-batch=2", "micro-batch=2"}});
  const auto base = cost_model(scenario);
  OnceOptions options;
  options.cost = base.get();
  const auto run = run_once(scenario, options);
  const TraceProfile profile =
      trace_profile(parse_chrome_trace(trace_event(*run), "phases.json"), scenario);
  for (const char* part : {"forward", "backward"}) {
    EXPECT_FALSE(work_of(profile.prices, part).by_shape);
    EXPECT_GE(work_of(profile.prices, part).factor(), 1);  // the host issues kernels in turn
  }
  // The phases include the time of the host, which is not added again.
  EXPECT_NEAR(to_seconds(profile.after), to_seconds(profile.before),
              0.02 * to_seconds(profile.before));
}

TEST(TraceProfile, ARecordingOfAnotherPlanIsDoubted) {
  const TracePrices p =
      trace_profile(parse_chrome_trace(
                        trace_event(*at_op_grain(open({"llama-3-8b", "h100-sxm:8", "", {"tp=8"}}),
                                                 *roofline_cost_model())),
                        "large.json"),
                    recorded_mlp())
          .prices;
  ASSERT_FALSE(p.unseen.empty());
  EXPECT_NE(p.unseen.front().find("is this the model, cluster and plan that was recorded?"),
            std::string::npos)
      << p.unseen.front();
}

// Two kernels of each kind on a stream, and what the allocator holds.
TEST(TraceProfile, KernelsOfADeviceGiveFactorsByFamily) {
  const Scenario scenario =
      open({"gpt2", "h100-sxm:8", "", {"dp=8", "global-batch=8", "micro-batch=1"}});
  std::string text =
      R"([{"ph": "X", "cat": "kernel", "name": "sm90_xmma_gemm_bf16", "pid": 0, "tid": 7, "ts": 0, "dur": 9000, "args": {"device": 0}},
 {"ph": "X", "cat": "kernel", "name": "flash_fwd_kernel", "pid": 0, "tid": 7, "ts": 9000, "dur": 2000, "args": {"device": 0}},
 {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "pid": 0, "tid": 20, "ts": 9000, "dur": 1500, "args": {"device": 0}},
 {"ph": "i", "name": "[memory]", "pid": 0, "tid": 0, "ts": 9500, "s": "t", "args": {"Device Type": 1, "Device Id": 0, "Total Allocated": 1000000, "Total Reserved": 1250000}}])";
  const TracePrices p = trace_profile(parse_chrome_trace(text, "gpu.json"), scenario).prices;
  EXPECT_EQ(p.calibration.device, "h100-sxm");
  EXPECT_EQ(work_of(p, "products forward").measured, 9ms);
  EXPECT_FALSE(work_of(p, "products forward").by_shape);
  EXPECT_EQ(work_of(p, "all-reduce of 8").measured, 1500us);
  EXPECT_DOUBLE_EQ(p.calibration.reserve, 1.25);
  // Each shape of a product is slower by the same factor.
  const auto base = cost_model(scenario);
  Scenario again = scenario;
  const auto own = priced_by(p.calibration, again);
  int products = 0;
  for (const KernelTiming& t : p.calibration.kernels)
    if (t.work.kind == WorkKind::Product) {
      ++products;
      EXPECT_NEAR(to_seconds(own->compute(t.work, scenario.cluster.device)) /
                      to_seconds(base->compute(t.work, scenario.cluster.device)),
                  work_of(p, "products forward").factor(), 0.01);
    }
  EXPECT_GT(products, 3);
  EXPECT_DOUBLE_EQ(own->process_memory(scenario.cluster.device).fragmentation, 1.25);
  // Work that was not recorded is named, and keeps its price.
  EXPECT_TRUE(std::any_of(p.unseen.begin(), p.unseen.end(), [](const std::string& sentence) {
    return sentence.find("optimizer: the recording has nothing of it") == 0;
  }));
  // It prices no other device.
  const MeasuredPrices prices = p.calibration;
  EXPECT_EQ(why_not_priced(prices, scenario.cluster), "");
  EXPECT_EQ(why_not_priced(prices, open({"gpt2", "a100-sxm-80:8", "", {}}).cluster),
            "it is of a recorded run on h100-sxm, and the cluster is a100-sxm-80:8");
}

// A snapshot of the allocator beside a recording says what is reserved, with its provenance.
TEST(TraceProfile, ASnapshotBesideARecordingSaysWhatIsReserved) {
  const RecordedTrace trace = mlp_steps(3).trace();
  MemorySnapshot memory;
  memory.source = "s.pickle";
  memory.stacks.emplace_back();
  const auto event = [](std::uint64_t address, std::int64_t bytes, SnapshotAction action) {
    return SnapshotEvent{address, Bytes{bytes}, 0, 0, action};
  };
  memory.devices = {
      {event(0, 6000, SnapshotAction::SegmentAllocate), event(0, 4000, SnapshotAction::Allocate),
       event(4000, 1000, SnapshotAction::Allocate), event(0, 4000, SnapshotAction::FreeRequested),
       event(0, 4000, SnapshotAction::Free)}};
  memory.segments = {{0, Bytes{6000}, Bytes{1000}, Bytes{5000}}};
  const TracePrices with = trace_profile(trace, recorded_mlp(), {}, &memory).prices;
  EXPECT_DOUBLE_EQ(with.calibration.reserve, 1.2);
  ASSERT_EQ(with.notes.size(), 1u);
  EXPECT_EQ(with.notes.front().find("reserved memory is of s.pickle: "), 0u) << with.notes.front();
  EXPECT_EQ(with.calibration.notes, with.notes);
  EXPECT_EQ(trace_profile(trace, recorded_mlp()).prices.calibration.reserve, 0);
}

// Where the profiler states what was exchanged, that is priced and not what the plan would
// exchange: two files of a run over eight ranks, of which the others were not recorded.
TEST(TraceProfile, CollectivesArePricedByTheirStatedKindGroupAndSize) {
  const Scenario scenario =
      open({"gpt2", "h100-sxm:16", "", {"tp=2", "dp=8", "global-batch=8", "micro-batch=1"}});
  std::vector<RecordedTrace> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    testing::CollectiveTrace t(rank);
    t.kernel("sm90_xmma_gemm_bf16", 7, 0, 9000, "");
    t.kernel("flash_fwd_kernel", 7, 9000, 2000, "");
    t.collective("allreduce", 1 << 20, "BFloat16", 2, "[0, 1]", 1000, rank == 0 ? 400 : 80);
    t.collective("_reduce_scatter_base", 1 << 20, "Float", 8,
                 rank == 0 ? "[0, 2, 4, 6, 8, 10, 12, 14]" : "[1, 3, 5, 7, 9, 11, 13, 15]", 5000,
                 600 + rank);
    ranks.push_back(parse_chrome_trace(t.text(), "r.json"));
  }
  const TracePrices p = trace_profile(merged_trace(std::move(ranks)), scenario).prices;
  ASSERT_EQ(p.calibration.exchanges.size(), 2u);
  const ExchangeTiming& reduce = p.calibration.exchanges[0];
  EXPECT_EQ(reduce.collective, CollectiveKind::AllReduce);
  EXPECT_EQ(reduce.bytes, Bytes{2 << 20});
  EXPECT_EQ(reduce.time, 80us);
  EXPECT_EQ(reduce.per_node, 2);
  const ExchangeTiming& scatter = p.calibration.exchanges[1];
  EXPECT_EQ(scatter.collective, CollectiveKind::ReduceScatter);
  EXPECT_EQ(scatter.bytes, Bytes{4 << 20});
  EXPECT_EQ(scatter.time, 600us);  // the lower of two medians
  EXPECT_EQ(scatter.per_node, 4);
  EXPECT_EQ(work_of(p, "all-reduce of 2").measured, 80us);
  EXPECT_EQ(work_of(p, "all-reduce of 2").calls, 1);
  EXPECT_TRUE(work_of(p, "all-reduce of 2").by_shape);
  EXPECT_EQ(p.notes, (std::vector<std::string>{"reduce-scatter of 8: its time includes waiting for "
                                               "ranks that are not in the recording"}));
  // The plan's own gradients are summed across nodes by a collective that was not recorded.
  EXPECT_TRUE(std::any_of(p.unseen.begin(), p.unseen.end(), [](const std::string& sentence) {
    return sentence.find("all-reduce of 8 across nodes: the recording has nothing of it") == 0;
  }));
  for (const std::string& sentence : p.unseen)
    EXPECT_EQ(sentence.find("the plan has no communication"), std::string::npos) << sentence;
  Scenario again = scenario;
  const auto own = priced_by(p.calibration, again);
  EXPECT_EQ(own->collective(CollectiveKind::AllReduce, Bytes{2 << 20}, {.ranks = 2, .per_node = 2},
                            scenario.cluster)
                .time,
            80us);
}

}  // namespace
}  // namespace trainyard
