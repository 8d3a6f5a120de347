#include "core/methods/parallel/tensor_optimizers.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "core/methods/parallel/adasum.h"
#include "core/methods/parallel/compression.h"
#include "core/methods/parallel/relaxed_synchrony.h"
#include "core/plan/halp.h"

namespace trainyard {
namespace {

// An optimizer that keeps state by tensor, and what it does with a whole one; empty where it takes
// any part.
struct TensorOptimizer {
  std::string_view name, with_whole;
};
constexpr TensorOptimizer kTensorOptimizers[] = {
    {"adamw-8bit", ""},
    {"adafactor", "adafactor takes the means of whole rows and columns"},
    {"muon", "muon makes the rows of whole matrices orthogonal"},
    {"halp", "halp has a grid and an anchor for each whole tensor"}};

const TensorOptimizer* find_optimizer(std::string_view name) {
  for (const TensorOptimizer& one : kTensorOptimizers)
    if (one.name == name) return &one;
  return nullptr;
}

}  // namespace

Diagnostics check_tensor_optimizer(const Plan& plan) {
  Diagnostics found;
  const TensorOptimizer* const rule = find_optimizer(plan.optimizer);
  if (rule == nullptr) return found;
  const auto refuse = [&](std::string sentence, std::string fix) {
    found.push_back(
        {Diagnostic::Severity::Error, std::move(sentence), {"plan#/optimizer"}, std::move(fix)});
  };
  const Choice* const zero = find_choice(plan, "zero");
  if (!rule->with_whole.empty()) {
    if (plan.mesh.tp > 1)
      refuse(fmt::format("{}, and tensor ranks have parts of them, found tp={}; tp=1 goes with it, "
                         "or optimizer=adamw",
                         rule->with_whole, plan.mesh.tp),
             "tp=1");
    if (zero != nullptr && zero->params.integer("stage") > 0)
      refuse(
          fmt::format("{}, and zero={} leaves each replica a range of elements; zero=0 goes with "
                      "it, or optimizer=adamw",
                      rule->with_whole, zero->params.integer("stage")),
          "zero=0");
  }
  if (const Choice* offload = find_choice(plan, "offload"); offload != nullptr) {
    const std::string& host = offload->params.text("host");
    if (host == "optimizer" || host == "both")
      refuse(fmt::format("the host keeps as many bytes of every parameter, and {} keeps its state "
                         "by tensor on the device, found offload={}",
                         rule->name, host),
             "offload=none");
  }
  if (find_choice(plan, "sparse") != nullptr)
    refuse(fmt::format("sparse weights move with state of their own, and {} keeps its state by "
                       "tensor",
                       rule->name),
           "sparsity=off");
  if (compression_of(plan).how != Compress::None)
    refuse(fmt::format("{} keeps its state by tensor, beside which what a replica has not sent has "
                       "no place",
                       rule->name),
           "compression=none");
  if (synchrony_of(plan).relaxed())
    refuse(fmt::format("replicas that meet once in several steps share as much of every parameter, "
                       "and {} keeps its state by tensor",
                       rule->name),
           "sync=bsp");
  if (trains_by_halp(plan) && reduce_of(plan) != Reduce::Mean)
    refuse("halp takes the full gradient from the mean of all replicas, found reduce=" +
               find_choice(plan, kAdasum)->params.text(kReduce),
           "reduce=mean");
  return found;
}

}  // namespace trainyard
