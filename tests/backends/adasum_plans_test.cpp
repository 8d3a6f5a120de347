// A law over plans whose replicas combine updates by Adasum: whatever else a plan decides, it gives
// the weights of replicas that train one by one, each as a run of its own with its own optimizer
// state, and whose changes of a step the serial tree of core/training/adasum.h combines.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stop_token>

#include "core/methods/parallel/adasum.h"
#include "core/training/adasum.h"
#include "tests/support/cpu_training.h"
#include "tests/support/lone_replica.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::LaterSamples;
using testing::Tensors;

constexpr std::int64_t kSteps = 3;

// A plan apart from how many replicas it has and how they combine what they found.
struct ReplicaPlan {
  Model model;
  std::int64_t stages = 1, samples = 1;  // devices of a replica, and its samples of a step
  std::vector<std::string> words;
  Training training;
};

struct CombiningPlan {
  ReplicaPlan replica;
  std::int64_t replicas = 2, per_node = 1;
  std::string reduce;
};

Scenario scenario_of(const ReplicaPlan& plan, std::int64_t replicas, const std::string& reduce,
                     std::int64_t per_node) {
  testing::Settings words(plan.words.begin(), plan.words.end());
  const std::string batch = "global-batch=" + std::to_string(plan.samples * replicas);
  words.insert(words.end(), {batch, reduce});
  const std::int64_t devices = plan.stages * replicas;
  Scenario s = testing::scenario(plan.model, devices, words, "cpu");
  if (per_node > 1)
    s.cluster = parse_cluster("cpu:" + std::to_string(devices) +
                              ",per-node=" + std::to_string(std::min(devices, per_node)));
  return s;
}

// One replica, which makes a step at a time.
class SteppedReplica {
 public:
  SteppedReplica(const Workload& workload, const Program& program, const TaskPrices& prices,
                 const Training& training)
      : source_(0), backend_({workload, program, prices, &training, &source_}, whole_memory()) {}

  /// The weights after a step from these weights on, with the samples from the first on: every call
  /// of run() reads its data from the beginning.
  Tensors step(const Tensors& weights, std::int64_t first_sample) {
    source_.begin_at(first_sample);
    backend_.set_parameters(weights);
    std::stop_source after;
    RunOptions options;
    options.stop = after.get_token();
    options.progress = [&after](double) { after.request_stop(); };
    backend_.run(options);
    return backend_.parameters();
  }

 private:
  // A run that goes on does not plan its memory again.
  static CpuOptions whole_memory() {
    CpuOptions options;
    options.place_buffers = false;
    return options;
  }
  LaterSamples source_;
  CpuBackend backend_;
};

Tensors trained_one_by_one(const CombiningPlan& plan, Tensors weights, std::int64_t mean_ranks) {
  const Workload workload = prepare(scenario_of(plan.replica, 1, "reduce=mean", 1));
  LowerOptions lowering;
  lowering.grain = Grain::Op;
  const Program program = lower(workload, lowering);
  const Scenario& s = workload.scenario;
  const auto cost = roofline_cost_model();
  const TaskPrices prices = price(program, s.plan.mesh, s.cluster, *cost);
  std::vector<std::unique_ptr<SteppedReplica>> replicas;
  for (std::int64_t r = 0; r < plan.replicas; ++r)
    replicas.push_back(
        std::make_unique<SteppedReplica>(workload, program, prices, plan.replica.training));
  for (std::int64_t step = 0; step < kSteps; ++step) {
    std::vector<Tensors> after;
    for (std::int64_t r = 0; r < plan.replicas; ++r)
      after.push_back(replicas[static_cast<std::size_t>(r)]->step(
          weights, (step * plan.replicas + r) * plan.replica.samples));
    for (std::size_t t = 0; t < weights.size(); ++t) {
      std::vector<std::vector<float>> changes;
      for (const Tensors& one : after) {
        std::vector<float>& change = changes.emplace_back(one[t].values);
        for (std::size_t i = 0; i < change.size(); ++i) change[i] -= weights[t].values[i];
      }
      const std::vector<std::span<float>> ranks(changes.begin(), changes.end());
      const std::int64_t elements[] = {static_cast<std::int64_t>(weights[t].values.size())};
      adasum_tree(ranks, elements, mean_ranks);
      for (std::size_t i = 0; i < changes[0].size(); ++i) weights[t].values[i] += changes[0][i];
    }
  }
  return weights;
}

// The farthest that two weights are apart, over the largest weight of their tensor or 1.
double weights_apart(const Tensors& a, const Tensors& b) {
  double most = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t t = 0; t < std::min(a.size(), b.size()); ++t) {
    double difference = 0, largest = 1;
    for (std::size_t i = 0; i < a[t].values.size(); ++i) {
      const double x = a[t].values[i], y = b[t].values[i];
      if (!std::isfinite(x) || !std::isfinite(y)) return INFINITY;
      difference = std::max(difference, std::abs(x - y));
      largest = std::max(largest, std::abs(y));
    }
    most = std::max(most, difference / largest);
  }
  return most;
}

std::string any_word(const char* key, std::initializer_list<const char*> values) {
  return std::string(key) + "=" +
         *rc::gen::elementOf(std::vector<std::string>(values.begin(), values.end()));
}

CombiningPlan any_combining_plan() {
  CombiningPlan plan;
  ReplicaPlan& r = plan.replica;
  plan.replicas = std::int64_t{1} << *rc::gen::inRange(1, 4);
  plan.reduce = any_word("reduce", {"adasum", "adasum-tree", "adasum-hierarchical"});
  r.stages = *rc::gen::element<std::int64_t>(1, 1, 2);
  r.model =
      r.stages == 1 && *rc::gen::arbitrary<bool>()
          ? testing::tiny_mlp(4)
          : testing::tiny_transformer({.family = "llama", .tied = *rc::gen::arbitrary<bool>()});
  const std::int64_t micro = *rc::gen::element<std::int64_t>(1, 2);
  r.samples = micro * *rc::gen::element<std::int64_t>(1, 2, 4);
  r.words = {any_word("precision", {"fp32", "fp32", "tf32", "bf16", "fp16"}),
             any_word("optimizer", {"sgd", "momentum", "adamw", "adagrad", "lars", "lamb"}),
             any_word("recompute", {"none", "selective", "full"}),
             any_word("overlap", {"on", "off"}),
             "micro-batch=" + std::to_string(micro),
             "pp=" + std::to_string(r.stages)};
  if (r.stages > 1)
    r.words.push_back(any_word("schedule", {"gpipe", "1f1b", "zb-h1", "zb-h2", "chimera"}));
  r.training.steps = kSteps;
  r.training.rate = 0.02;
  r.training.clip = *rc::gen::element(0.0, 0.0, 0.25);
  r.training.weight_decay = *rc::gen::element(0.0, 0.1);
  r.training.warmup = *rc::gen::element<std::int64_t>(0, 2);
  // Adam and LAMB would make whole steps of rounding where a gradient is zero but for it.
  r.training.epsilon = 1e-3;
  // Scaled losses stay finite, so that no update is left out.
  r.training.loss_scale = 64, r.training.scale_window = 0;
  // Replicas of a node lie beside each other, stages apart.
  if (plan.reduce == "reduce=adasum-hierarchical")
    plan.per_node = r.stages * (std::int64_t{1} << *rc::gen::inRange(0, 3));
  return plan;
}

std::string adasum_words(const CombiningPlan& plan) {
  std::string text = plan.replica.model.name + " dp=" + std::to_string(plan.replicas) + " " +
                     plan.reduce + " per-node=" + std::to_string(plan.per_node) +
                     " samples=" + std::to_string(plan.replica.samples) +
                     " clip=" + std::to_string(plan.replica.training.clip);
  for (const std::string& word : plan.replica.words) text += " " + word;
  return text;
}

RC_GTEST_PROP(AdasumPlans, TrainAsReplicasOneByOneAndTheSerialTree, ()) {
  const CombiningPlan plan = any_combining_plan();
  RC_LOG() << adasum_words(plan) << "\n";
  const Scenario s = scenario_of(plan.replica, plan.replicas, plan.reduce, plan.per_node);
  RC_PRE(!has_errors(check(s)));
  const testing::CpuRun run = testing::train_on_cpu(s, plan.replica.training);
  const Scenario& complete = run.workload.scenario;
  RC_ASSERT(combines_updates(complete.plan));
  RC_ASSERT(run.run.skipped == 0);
  RC_ASSERT(run.run.orthogonality.size() == static_cast<std::size_t>(kSteps));
  const Tensors wanted =
      trained_one_by_one(plan, run.initial, mean_ranks(complete.plan, complete.cluster));
  const double found = weights_apart(run.parameters, wanted);
  RC_LOG() << "apart by " << found << "\n";
  RC_ASSERT(found <= 1e-5);
  // The weights have moved by more than they may lie apart.
  RC_ASSERT(weights_apart(run.parameters, run.initial) > 1e-4);
}

}  // namespace
}  // namespace trainyard
