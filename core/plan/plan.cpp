#include "core/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>

#include "core/base/nearest.h"
#include "core/plan/mesh.h"

namespace trainyard {
namespace {

Error refused(const std::string& message, std::string place) {
  return Error(Error::Kind::InvalidInput, message, {std::move(place)});
}

// Besides the moments, an update reads and writes the 4-byte master copy and touches the 2-byte
// weights once.
constexpr int touched(int state_bytes) { return 2 * (4 + state_bytes) + 2; }

// Adafactor reads the 2-byte gradient for its means, for the size of the whole step and for the
// step.
constexpr int kGradientAgain = 2 * 2;

// HALP reads the gradient, the anchor and the full gradient, and writes the weights; what it reads
// and writes of its offsets depends on their bits (core/methods/precision/tensor_state.cpp).
constexpr int kAnchored = 2 + 4 + 4 + 4;

constexpr std::array kOptimizers = {
    Optimizer{"adam", "two moments of every parameter (Kingma and Ba, ICLR 2015)", 8, touched(8)},
    Optimizer{"adamw", "Adam with decoupled weight decay (Loshchilov and Hutter, ICLR 2019)", 8,
              touched(8)},
    Optimizer{"sgd", "the gradient alone: no state", 0, touched(0)},
    Optimizer{"momentum", "gradient descent with one velocity a parameter", 4, touched(4)},
    Optimizer{"adagrad", "one sum of squared gradients a parameter (Duchi et al., JMLR 2011)", 4,
              touched(4)},
    Optimizer{"lars", "momentum at a rate of each tensor's own (You et al., 2017)", 4, touched(4)},
    Optimizer{"lamb", "Adam's step at a rate of each tensor's own (You et al., ICLR 2020)", 8,
              touched(8)},
    Optimizer{"lion", "one momentum and the sign of the update (Chen et al., NeurIPS 2023)", 4,
              touched(4)},
    Optimizer{"adamw-8bit",
              "AdamW whose moments have a byte each and a scale a block (Dettmers et al., ICLR "
              "2022)",
              0, touched(2)},
    Optimizer{"adafactor",
              "a second moment by the means of rows and columns (Shazeer and Stern, ICML 2018)", 0,
              touched(0) + kGradientAgain},
    Optimizer{"muon",
              "momentum made orthogonal of matrices, AdamW of the rest (Jordan et al., 2024)", 4,
              touched(4)},
    Optimizer{"halp",
              "SVRG on offsets of few bits from an anchor, on a grid that shrinks (De Sa et al., "
              "2018)",
              0, kAnchored},
};

void check_degree(std::string_view name, int degree) {
  if (degree < 1)
    throw refused(fmt::format("expected {} of at least 1, found {}", name, degree),
                  fmt::format("plan#/mesh/{}", name));
}

auto choice_called(std::string_view name) {
  return [name](const Choice& c) { return c.method == name; };
}

}  // namespace

const Choice* find_choice(const Plan& plan, std::string_view method) {
  const auto found = std::find_if(plan.choices.begin(), plan.choices.end(), choice_called(method));
  return found == plan.choices.end() ? nullptr : &*found;
}

Choice& choice(Plan& plan, std::string_view method) {
  const auto found = std::find_if(plan.choices.begin(), plan.choices.end(), choice_called(method));
  if (found != plan.choices.end()) return *found;
  plan.choices.push_back({std::string(method), {}});
  return plan.choices.back();
}

void remove_choice(Plan& plan, std::string_view method) {
  std::erase_if(plan.choices, choice_called(method));
}

std::span<const Optimizer> optimizers() { return kOptimizers; }

const Optimizer& optimizer(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Optimizer& o : kOptimizers) {
    if (o.name == name) return o;
    names.push_back(o.name);
  }
  throw refused(
      fmt::format("no optimizer is called \"{}\"{}", name.substr(0, 80), did_you_mean(name, names)),
      "plan#/optimizer");
}

int data_parallel(const Plan& plan, const Cluster& cluster) {
  const Mesh& mesh = plan.mesh;
  check_degree("tp", mesh.tp);
  check_degree("cp", mesh.cp);
  check_degree("ep", mesh.ep);
  if (mesh.etp) check_degree("etp", *mesh.etp);
  check_degree("pp", mesh.pp);
  if (mesh.dp) check_degree("dp", *mesh.dp);
  throw_if_errors(check_rank_order(mesh.order));
  // Each degree is at most 2^31, so the product of two fits in 64 bits; the third is multiplied
  // only while the product is small.
  std::int64_t others = std::int64_t{mesh.tp} * mesh.cp;
  if (others <= cluster.count) others *= mesh.pp;
  if (others > cluster.count)
    throw refused(fmt::format("tp {} x cp {} x pp {} need more than the {} devices of {}", mesh.tp,
                              mesh.cp, mesh.pp, cluster.count, cluster.name),
                  "plan#/mesh");
  if (cluster.count % others != 0)
    throw refused(fmt::format("tp {} x cp {} x pp {} = {} does not divide the {} devices of {}",
                              mesh.tp, mesh.cp, mesh.pp, others, cluster.count, cluster.name),
                  "plan#/mesh");
  const std::int64_t rest = cluster.count / others;
  if (mesh.dp && *mesh.dp != rest)
    throw refused(fmt::format("tp {} x cp {} x dp {} x pp {} = {} is not the {} devices of {}; "
                              "dp={} is",
                              mesh.tp, mesh.cp, *mesh.dp, mesh.pp, others * *mesh.dp, cluster.count,
                              cluster.name, rest),
                  "plan#/mesh/dp");
  return static_cast<int>(rest);
}

int microbatches(const Plan& plan) {
  assert(plan.mesh.dp && plan.batch.micro > 0 && "the plan is complete");
  const std::int64_t count = plan.batch.global / plan.batch.micro / *plan.mesh.dp;
  if (count > std::numeric_limits<int>::max())
    throw refused(fmt::format("a global batch of {} makes {} microbatches, more than 2^31",
                              plan.batch.global, count),
                  "plan#/batch/global");
  return static_cast<int>(count);
}

}  // namespace trainyard
