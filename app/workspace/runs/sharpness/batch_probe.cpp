#include "app/workspace/runs/sharpness/batch_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "app/workspace/scenario/local_cluster.h"
#include "app/workspace/scenario/prices.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "app/workspace/scenario/run_once.h"
#include "core/base/error.h"
#include "core/estimate/estimate.h"
#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"
#include "core/plan/batch_ramp.h"

namespace trainyard {
namespace {

constexpr double kMostTokens = 65'536, kMostSamples = 1024;  // of a microbatch

// Batches from one sample or row to so many that a kernel has long reached its rate.
VariedSize usual_batches(const SizedOp& op) {
  const std::int64_t most = std::clamp<std::int64_t>(16 * op.sizes.front().usual, 64, 1024);
  return varied_size(fmt::format("{}=1..{}:x2", op.batch, most));
}

// Returns whether the op multiplies by a weight, which a larger batch shares.
bool has_weight(const SizedOp& op) {
  const Graph graph = graph_of(op, {});
  const Node& node = graph.nodes.front();
  return node.op->work({graph, node, Binding{}, Precision{}}, Pass::Forward).kind ==
         WorkKind::Product;
}

// Forward products of one layer of each block, at some batches.
struct BlockPoints {
  std::string name;
  std::int64_t products = 0;
  std::vector<BatchPoint> points;
};

void add_products(const Workload& workload, double batch, std::vector<BlockPoints>& blocks) {
  for (const Body& body : workload.bodies) {
    const std::string& name =
        workload.scenario.model.blocks[static_cast<std::size_t>(body.block)].name;
    BatchPoint point{.batch = batch};
    std::int64_t products = 0;
    for (const BodyOp& op : body.forward)
      if (!op.communication && op.work.kind == WorkKind::Product && op.work.flops.value > 0) {
        add_work(point, op.work, workload.scenario.cluster.device);
        ++products;
      }
    if (products == 0) continue;
    const auto known = std::find_if(blocks.begin(), blocks.end(),
                                    [&](const BlockPoints& b) { return b.name == name; });
    BlockPoints& block = known != blocks.end() ? *known : blocks.emplace_back();
    // A block whose layers are recomputed in several ways has bodies of equal products.
    if (!block.points.empty() && block.points.back().batch == batch) continue;
    block.name = name, block.products = products;
    block.points.push_back(point);
  }
}

// Products at any batch: their arithmetic and their traffic are straight lines through two.
BatchPoint at_batch(const BlockPoints& block, double batch) {
  const BatchPoint &a = block.points.front(), &b = block.points.back();
  BatchPoint point{.batch = batch};
  for (double BatchPoint::* part :
       {&BatchPoint::flops, &BatchPoint::bytes, &BatchPoint::arithmetic, &BatchPoint::traffic})
    point.*part = a.*part + (b.*part - a.*part) * (batch - a.batch) / (b.batch - a.batch);
  return point;
}

// From one token, which multiplies matrices by a vector, on; in samples where a model has no
// sequence.
std::vector<IntensityCurve> curves_of(const Workload& workload) {
  const Plan& plan = workload.scenario.plan;
  const bool tokens = workload.scenario.model.sequence > 1;
  std::vector<BlockPoints> blocks;
  for (const std::int64_t micro : {1, 2}) {
    Scenario s = workload.scenario;
    s.plan = with_batch(s.plan, micro * plan.mesh.dp.value_or(1) * plan.mesh.pp);
    s.plan.batch.micro = micro;
    const Workload at = prepare(s);
    add_products(at, static_cast<double>(micro * (tokens ? at.layout.binding.sequence : 1)),
                 blocks);
  }
  std::vector<IntensityCurve> curves;
  for (const BlockPoints& block : blocks) {
    std::vector<BatchPoint> points;
    for (double batch = 1; batch <= (tokens ? kMostTokens : kMostSamples); batch *= 2)
      points.push_back(at_batch(block, batch));
    curves.push_back(intensity_curve(fmt::format("{}: {} product{} of a layer", block.name,
                                                 block.products, block.products == 1 ? "" : "s"),
                                     tokens ? "tokens" : "samples", std::move(points)));
  }
  return curves;
}

PlanCritical plan_critical(const Workload& workload, const CostModel& cost,
                           const std::stop_token& stop) {
  const Plan& plan = workload.scenario.plan;
  PlanCritical c;
  c.micro_batch = plan.batch.micro;
  c.replicas = plan.mesh.dp.value_or(1);
  c.devices = workload.scenario.cluster.count;
  c.multiple = std::max(1, plan.mesh.pp);
  c.own = microbatches(plan);
  const auto with = [&](std::int64_t count) {
    Scenario s = workload.scenario;
    s.plan = with_batch(s.plan, count * c.micro_batch * c.replicas);
    return s;
  };
  const auto simulated = [&](std::int64_t count) {
    return run_once(with(count), {.cost = &cost, .stop = stop})->result.step.value;
  };
  c.predicted = predicted_critical_batch(
      [&](std::int64_t count) { return estimate_step(prepare(with(count)), cost).step; },
      c.multiple);
  c.simulated = searched_critical_batch(simulated, c.multiple, c.predicted);
  if (c.simulated.each > 0)
    c.own_share = static_cast<double>(c.own) * c.simulated.each / to_seconds(simulated(c.own));
  return c;
}

}  // namespace

BatchStudy batch_probe(ProbeQuestion question) {
  const SizedOp& op = with_place("--op", [&]() -> const SizedOp& { return sized_op(question.op); });
  if (question.varied.widths.empty()) question.varied = usual_batches(op);
  if (question.varied.name != op.batch)
    refuse_flag("vary", fmt::format("expected {}, which is the batch of {}, found \"{}\"", op.batch,
                                    op.name, question.varied.name));
  const Device core = device("cpu");
  if (!has_weight(op))
    refuse_flag("op", fmt::format("expected an op of products, as matmul or convolution: {} has no "
                                  "weight that a larger batch would share",
                                  op.name));
  const WidthProbe probe = kernel_probe(question);
  std::vector<BatchPoint> points;
  for (std::size_t i = 0; i < probe.widths.size(); ++i) {
    BatchPoint point{.batch = static_cast<double>(probe.widths[i].width),
                     .measured = probe.stairs.seconds[i]};
    add_work(point, probe.widths[i].work, core);
    points.push_back(std::move(point));
  }
  BatchStudy study{.what = probed_words(probe) + " on " + probe.machine, .device = core.name};
  study.curves.push_back(
      intensity_curve(std::string(op.name), std::string(op.batch), std::move(points)));
  return study;
}

BatchStudy batch_probe(const Scenario& scenario, const CostModel* given,
                       const std::stop_token& stop) {
  const Workload workload = prepare(scenario);
  const std::unique_ptr<CostModel> own = given == nullptr ? cost_model(workload.scenario) : nullptr;
  const CostModel& cost = given == nullptr ? *own : *given;
  if (estimate(workload, cost).asynchrony)
    throw Error(Error::Kind::InvalidInput,
                "expected a synchronous schedule, whose step has a batch to be enlarged; an "
                "asynchronous one updates after every microbatch",
                {"plan#/choices"});
  BatchStudy study;
  study.what = scenario.model.name + " on " + scenario.cluster.name;
  study.device = scenario.cluster.device.name;
  study.curves = curves_of(workload);
  study.critical = plan_critical(workload, cost, stop);
  return study;
}

StableBatch stable_batch(const Scenario& scenario, SharpnessQuestion question) {
  const Plan plan = complete(scenario);
  if (plan.optimizer != "sgd" && plan.optimizer != "momentum")
    refuse_flag("sharpness",
                fmt::format("expected optimizer=sgd or optimizer=momentum, whose rate curvature "
                            "bounds, found {}, which scales each coordinate by itself",
                            plan.optimizer));
  question.scenario = {scenario.model, local_cluster(1, {}), {}};
  question.scenario.plan.batch = plan.batch;
  question.scenario.plan.optimizer = plan.optimizer;
  question.points = 0;
  const SharpnessAnswer found = sharpness_study(std::move(question));
  return {.sharpness = found.sharpness.eigenvalue,
          .batch = found.batch,
          .rate = found.rate,
          .stable_rate = found.own_stable_rate(),
          .measured = "initial weights, on " + found.data};
}

}  // namespace trainyard
