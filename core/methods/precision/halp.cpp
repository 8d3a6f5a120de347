// HALP trains weights that stay within a grid of few bits about an anchor, and brings the grid in
// as training converges (bit centring). A round is a full gradient g of the loss at the anchor a,
// over `pass` steps, and `inner` steps that move the offset z of the weights w = a + z:
//
//   s = |g| / (mu (2^(b-1) - 1))                          of each tensor
//   z <- Q(z - rate (grad f_i(a + z) - grad f_i(a) + g))   Q: at random to one of the two
//                                                         neighbours among s {-n ... n},
//                                                         n = 2^(b-1) - 1
//
// The solution is within |g| / mu of the anchor, so that the grid covers it, and as g fades the
// grid becomes finer: the error falls by a factor a round whatever the bits, if they are enough
// (SVRG with bit centring). Too large a mu clips offsets, too small a one leaves the grid coarse.
//
// Every microbatch of an inner step comes twice, one after the other: first the weights read it,
// then the anchor, whose gradient is subtracted. So a batch of B samples is B gradients of B / 2
// samples. A step of a full gradient takes B samples once. Both are executed by the same program
// and take the same time; of a round of pass + inner steps, `inner` move the weights. The samples
// of the full gradient, pass x B, are all that the run trains on: inner steps draw theirs from
// them.
//
// Memory holds the anchor and the full gradient, 4 bytes a parameter each, and z in b bits.
//
// De Sa, Leszczynski, Zhang, Marzoev, Aberger, Olukotun and Re, "High-Accuracy Low-Precision
// Training", arXiv 1803.03383 2018, algorithm 3.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/methods/catalogue.h"
#include "core/plan/batch_ramp.h"
#include "core/plan/halp.h"
#include "core/plan/placement.h"

namespace trainyard {
namespace {

// With d = 10 and a condition number of 1.5 rounds contract from 5 bits on and part from 3 down.
constexpr std::int64_t kPartingBits = 3;

Diagnostics check_halp(const Scenario& s, const Params& params) {
  Diagnostics found;
  const Plan& plan = s.plan;
  const auto add = [&](Diagnostic::Severity severity, std::string sentence, std::string place,
                       std::string fix) {
    found.push_back({severity, std::move(sentence), {std::move(place)}, std::move(fix)});
  };
  const auto refuse = [&](std::string sentence, std::string place, std::string fix) {
    add(Diagnostic::Severity::Error, std::move(sentence), std::move(place), std::move(fix));
  };
  if (!trains_by_halp(plan)) {
    refuse(fmt::format("the plan says how HALP rounds, and its optimizer is {}", plan.optimizer),
           "plan#/choices/halp", "optimizer=halp");
    return found;
  }
  const Method& schedule = schedule_of(plan);
  if (schedule.settles != nullptr || schedule.name == "tick-tock")
    refuse(fmt::format("halp subtracts a full gradient of one anchor that all microbatches read, "
                       "and {} updates while microbatches are under way",
                       schedule.name),
           "plan#/choices", "schedule=1f1b");
  else if (copies(schedule.placement) > 1)
    refuse(fmt::format("halp reads each microbatch by the weights and by their anchor in one "
                       "direction, and {} has two copies of a stage",
                       schedule.name),
           "plan#/choices", "schedule=1f1b");
  if (microbatches(plan) % 2 != 0)
    refuse(fmt::format("halp takes an even number of microbatches, of which every second one is "
                       "read by the anchor, found {}",
                       microbatches(plan)),
           "plan#/batch/global",
           fmt::format("global-batch={}",
                       plan.batch.global / microbatches(plan) * (microbatches(plan) + 1)));
  const std::string& precision = chosen_on(plan, MethodAxis::Precision)->method;
  if (precision != "fp32" && precision != "tf32" && precision != "bf16")
    refuse(fmt::format("halp rounds offsets of 4-byte weights by itself, found precision={}",
                       precision),
           "plan#/choices", "precision=bf16");
  if (plan.mesh.cp > 1)
    refuse(fmt::format("halp reads whole samples by the anchor, found cp={}", plan.mesh.cp),
           "plan#/mesh/cp", "cp=1");
  if (plan.mesh.ep > 1 || plan.mesh.etp)
    refuse("halp has a grid for each whole tensor, and expert ranks have parts of them",
           "plan#/mesh/ep", "ep=1");
  if (batch_ramp_of(plan))
    refuse("halp takes the full gradient in steps of one batch, and batch-ramp lets it grow",
           "plan#/choices/batch-ramp", "batch-ramp=off");
  const auto tied = [](const Block& block) {
    return std::any_of(block.graph.tensors.begin(), block.graph.tensors.end(),
                       [](const Tensor& t) { return !t.tied_to.empty(); });
  };
  if (plan.mesh.pp > 1 && std::any_of(s.model.blocks.begin(), s.model.blocks.end(), tied))
    refuse(
        "halp rounds each copy of a table by itself, and the first and the last stage have a "
        "copy of one",
        "plan#/mesh/pp", "pp=1");
  if (find_choice(plan, "packing") != nullptr)
    refuse("halp reads the samples of a microbatch twice, and packed documents share them",
           "plan#/choices/packing", "packing=none");
  const Halp halp = halp_of(plan);
  add(Diagnostic::Severity::Note,
      fmt::format(
          "a round of HALP has a full gradient of {} samples in {} step{}, and {} that move "
          "the weights, by {} samples each, which they read twice: an update takes {:.3g} "
          "times as long as a step",
          halp.pass * plan.batch.global, halp.pass, halp.pass == 1 ? "" : "s", halp.inner,
          plan.batch.global / 2,
          static_cast<double>(halp.round()) / static_cast<double>(halp.inner)),
      "plan#/choices/halp", "");
  if (const std::int64_t bits = params.integer("bits"); bits <= kPartingBits)
    add(Diagnostic::Severity::Warning,
        fmt::format("a grid of {} bits has {} points: rounds of HALP diverge with so few", bits,
                    (std::int64_t{1} << bits) - 1),
        "plan#/choices/halp/bits", "halp.bits=8");
  return found;
}

}  // namespace

Method halp_method() {
  const Halp usual;
  return {
      .name = kHalp,
      .axis = MethodAxis::Reduction,
      .summary =
          "SVRG whose weights are offsets of few bits from an anchor, on a grid that shrinks "
          "with the full gradient.",
      .paper = {"High-Accuracy Low-Precision Training", "De Sa et al.", "arXiv 1803.03383", 2018},
      .card = {.gains = "weights of b bits converge to the solution as far as 4-byte ones do: each "
                        "round brings the grid in",
               .costs = "two gradients of every sample, a full gradient in pass of pass + inner "
                        "steps, and 8 + b / 8 bytes a parameter; 3 bits and fewer diverge",
               .legal_when = "optimizer=halp; a synchronous schedule with an even number of "
                             "microbatches; tp, cp and ep are 1, zero=0"},
      .file = "core/methods/precision/halp.cpp",
      .params = {{.name = "bits",
                  .fallback = std::int64_t{usual.bits},
                  .doc = "bits of a weight's offset from the anchor",
                  .low = 2,
                  .high = 16},
                 {.name = "mu",
                  .fallback = usual.mu,
                  .doc = "strong convexity that the grid assumes; a larger one makes it finer and "
                         "narrower",
                  .low = 1e-9,
                  .high = 1e9},
                 {.name = "inner",
                  .fallback = usual.inner,
                  .doc = "steps that move the weights from one full gradient to the next",
                  .low = 1,
                  .high = 1e9},
                 {.name = "pass",
                  .fallback = usual.pass,
                  .doc = "steps that add up the full gradient; their samples are all that the run "
                         "trains on",
                  .low = 1,
                  .high = 1e9}},
      .check = check_halp,
  };
}

}  // namespace trainyard
