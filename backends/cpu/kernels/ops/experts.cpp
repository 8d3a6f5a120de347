// Kernels of routed experts: the router chooses, dispatch copies each token for each of its
// experts, every copy meets its expert's product, and combine sums the copies weighted by their
// scores. How many rows an expert has differs from call to call (KernelCall::routing).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/lanes.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/ops/by_expert.h"
#include "backends/cpu/kernels/ops/softmax.h"
#include "backends/cpu/kernels/product.h"
#include "backends/cpu/kernels/vectorised.h"
#include "core/base/error.h"

namespace trainyard {
namespace {

TRAINYARD_VECTORISED void probabilities_of(std::int64_t n, float* x) { softmax_row(n, x, 1, x); }
TRAINYARD_VECTORISED void weighted_row(std::int64_t n, float factor, const float* x, float* y,
                                       bool adds) {
  each_lane(n, y, adds, [factor](Lanes v) TRAINYARD_INLINED { return v * factor; }, x);
}
TRAINYARD_VECTORISED float dot_row(std::int64_t n, const float* x, const float* y) {
  return sum_over(n, [](Lanes a, Lanes b) TRAINYARD_INLINED { return a * b; }, x, y);
}

// --- router ---

// Chooses the experts with the highest scores, of the groups whose two best have the highest where
// there are groups; among equal scores it takes the first, as the reference does.
class ExpertChoice {
 public:
  ExpertChoice(const Node& node, std::int64_t experts, const float* bias)
      : bias_(bias),
        merits_(static_cast<std::size_t>(experts)),
        groups_(static_cast<std::size_t>(attribute(node, "groups", 1))),
        open_(static_cast<std::size_t>(attribute(node, "chosen_groups", 1))) {}

  void choose(const float* probabilities, std::span<std::int32_t> chosen) {
    for (std::size_t e = 0; e < merits_.size(); ++e)
      merits_[e] = probabilities[e] + (bias_ != nullptr ? bias_[e] : 0.0f);
    if (open_ < groups_) close_groups();
    for (auto next = chosen.begin(); next != chosen.end(); ++next) {
      const auto best = std::max_element(merits_.begin(), merits_.end());
      *next = static_cast<std::int32_t>(best - merits_.begin());
      *best = kClosed;
    }
  }

 private:
  static constexpr float kClosed = -std::numeric_limits<float>::infinity();

  void close_groups() {
    const std::size_t each = merits_.size() / groups_;
    std::vector<float> of_group;
    for (auto first = merits_.begin(); first != merits_.end();
         first += static_cast<std::ptrdiff_t>(each)) {
      float best = kClosed, second = each > 1 ? kClosed : 0.0f;
      for (auto one = first; one != first + static_cast<std::ptrdiff_t>(each); ++one)
        if (*one > best)
          second = each > 1 ? best : second, best = *one;
        else if (*one > second && each > 1)
          second = *one;
      of_group.push_back(best + second);
    }
    std::vector<bool> open(groups_, false);
    for (std::size_t i = 0; i < open_; ++i) {
      const auto best = std::max_element(of_group.begin(), of_group.end());
      open[static_cast<std::size_t>(best - of_group.begin())] = true;
      *best = kClosed;
    }
    for (std::size_t e = 0; e < merits_.size(); ++e)
      if (!open[e / each]) merits_[e] = kClosed;
  }

  const float* bias_;
  std::vector<float> merits_;
  std::size_t groups_, open_;
};

// An expert has as many places for the tokens of each rank that sends it some (Lepikhin et al.,
// "GShard", ICLR 2021). What a dropped copy would have added to its token is left out.
void drop(double capacity, std::int64_t experts, std::vector<std::int32_t>& chosen, float* scores) {
  if (capacity <= 0) return;
  const auto places = static_cast<std::int64_t>(std::ceil(
      capacity * static_cast<double>(chosen.size()) / static_cast<double>(experts) - 1e-9));
  std::vector<std::int64_t> taken(static_cast<std::size_t>(experts), 0);
  for (std::size_t copy = 0; copy < chosen.size(); ++copy)
    if (++taken[static_cast<std::size_t>(chosen[copy])] > places)
      chosen[copy] = -1, scores[copy] = 0;
}

void router_forward(const KernelCall& call) {
  const TensorView &x = input(call, 0), &w = input(call, 1), &scores = output(call);
  const std::int64_t m = rows(x), n = width(w), top_k = width(scores);
  auto* p = static_cast<float*>(needed_fact(call, "routing").data);
  const float* bias = call.node.inputs.size() == 3 ? input(call, 2).f32() : nullptr;
  std::vector<std::int32_t>& chosen = routing(call).chosen;
  chosen.resize(static_cast<std::size_t>(m * top_k));
  product(m, n, width(x), {x.data}, {w.data}, {}, {p}, false, call.scratch);
  ExpertChoice choice(call.node, n, bias);
  for (std::int64_t r = 0; r < m; ++r, p += n) {
    probabilities_of(n, p);
    const auto own = std::span(chosen).subspan(static_cast<std::size_t>(r * top_k),
                                               static_cast<std::size_t>(top_k));
    choice.choose(p, own);
    for (std::int64_t i = 0; i < top_k; ++i)
      scores.f32()[r * top_k + i] = p[own[static_cast<std::size_t>(i)]];
  }
  drop(routing(call).capacity, n, chosen, scores.f32());
}

// The backward of the softmax: the gradient of a score depends on all probabilities of its row.
float* logit_gradients(const KernelCall& call) {
  const TensorView& dy = output_gradient(call);
  const auto* p = static_cast<const float*>(needed_fact(call, "routing").data);
  const std::int64_t m = rows(dy), top_k = width(dy), n = width(input(call, 1));
  const std::int32_t* chosen = routing(call).chosen.data();
  const float* g = dy.f32();
  float* const gradients = call.scratch.floats(m * n);
  for (float* d = gradients; d != gradients + m * n; d += n, p += n, g += top_k, chosen += top_k) {
    float mean = 0;
    const auto each = [&](auto&& f) {
      for (std::int64_t i = 0; i < top_k; ++i)
        if (chosen[i] >= 0) f(g[i] * p[chosen[i]], chosen[i]);
    };
    each([&](float part, std::int32_t) { mean += part; });
    for (std::int64_t j = 0; j < n; ++j) d[j] = -mean * p[j];
    each([&](float part, std::int32_t expert) { d[expert] += part; });
  }
  return gradients;
}

void router_backward_input(const KernelCall& call) {
  const Target dx = target(call, 0);
  if (!dx) return;
  const TensorView& w = input(call, 1);
  product(rows(dx.view), w.size[0], w.size[1], {logit_gradients(call)}, {w.data, DType::F32, true},
          {}, {dx.view.data}, dx.add, call.scratch);
}

void router_backward_weight(const KernelCall& call) {
  const Target dw = target(call, 1);
  if (!dw) return;
  const TensorView& x = input(call, 0);
  product(dw.view.size[0], dw.view.size[1], rows(x), {x.data, DType::F32, true},
          {logit_gradients(call)}, {}, {dw.view.data}, true, call.scratch);
}

// --- dispatch ---

void dispatch_forward(const KernelCall& call) {
  const TensorView &x = input(call, 0), &copies = output(call);
  const std::int64_t n = width(x), top_k = rows(copies) / rows(x);
  for (std::int64_t copy = 0; copy < rows(copies); ++copy)
    std::copy_n(x.f32() + copy / top_k * n, n, copies.f32() + copy * n);
  Routing& to = routing(call);
  to.held = to.chosen;
  if (const FactView* indices = call.fact("indices"))
    std::copy(to.chosen.begin(), to.chosen.end(), static_cast<std::int64_t*>(indices->data));
}

void dispatch_backward(const KernelCall& call) {
  const Target dx = target(call, 0);
  if (!dx) return;
  const TensorView& d = output_gradient(call);
  const std::int64_t n = width(dx.view), top_k = rows(d) / rows(dx.view);
  for (std::int64_t copy = 0; copy < rows(d); ++copy)
    weighted_row(n, 1, d.f32() + copy * n, dx.view.f32() + copy / top_k * n,
                 dx.add || copy % top_k > 0);
}

// --- each copy through its expert's product ---

void routed_forward(const KernelCall& call) {
  const TensorView &x = input(call, 0), &w = input(call, 1), &y = output(call);
  const std::int64_t experts = w.size[0], k = w.size[1], n = w.size[2];
  const ByExpert by(call, rows(y), experts);
  const float* from = by.gathered(x);
  float* into = by.room(y);
  // If tensor ranks sum their products, only the first adds the bias.
  const bool biased =
      call.node.inputs.size() == 3 && (call.tensor_rank == 0 || call.inputs[2].there());
  const float* bias = biased ? input(call, 2).f32() : nullptr;
  by.each(experts, [&](std::int64_t e, std::int64_t first, std::int64_t count) {
    product_of_floats(count, n, k, {from + first * k}, {w.f32() + e * k * n}, into + first * n,
                      false);
    for (std::int64_t r = first; biased && r < first + count; ++r)
      weighted_row(n, 1, bias + e * n, into + r * n, true);
  });
  by.give_back(into, y, false);
}

void routed_backward_input(const KernelCall& call) {
  const Target dx = target(call, 0);
  if (!dx) return;
  const TensorView &w = input(call, 1), &dy = output_gradient(call);
  const std::int64_t experts = w.size[0], k = w.size[1], n = w.size[2];
  const ByExpert by(call, rows(dy), experts);
  const float* from = by.gathered(dy);
  float* into = by.room(dx.view);
  by.each(experts, [&](std::int64_t e, std::int64_t first, std::int64_t count) {
    product_of_floats(count, k, n, {from + first * n}, {w.f32() + e * k * n, true},
                      into + first * k, dx.add && by.in_place());
  });
  by.give_back(into, dx.view, dx.add);
}

void routed_backward_weight(const KernelCall& call) {
  const TensorView& dy = output_gradient(call);
  const std::int64_t n = width(dy);
  if (const Target db = target(call, 2)) {
    const std::vector<std::int32_t>& expert = routing(call).held;
    for (std::int64_t r = 0; r < rows(dy); ++r)
      if (const std::int32_t e = expert[static_cast<std::size_t>(r)]; e >= 0)
        weighted_row(n, 1, dy.f32() + r * n, db.view.f32() + e * n, true);
  }
  const Target dw = target(call, 1);
  if (!dw) return;
  const TensorView& x = input(call, 0);
  const std::int64_t experts = dw.view.size[0], k = dw.view.size[1];
  const ByExpert by(call, rows(dy), experts);
  const float *left = by.gathered(x), *right = by.gathered(dy);
  by.each(experts, [&](std::int64_t e, std::int64_t first, std::int64_t count) {
    product_of_floats(k, n, count, {left + first * k, true}, {right + first * n},
                      dw.view.f32() + e * k * n, true);
  });
}

// --- combine ---

void combine_forward(const KernelCall& call) {
  const TensorView &x = input(call, 0), &scores = input(call, 1), &y = output(call);
  const std::int64_t n = width(x), top_k = width(scores);
  for (std::int64_t copy = 0; copy < rows(x); ++copy)
    weighted_row(n, scores.f32()[copy], x.f32() + copy * n, y.f32() + copy / top_k * n,
                 copy % top_k > 0);
}

void combine_backward(const KernelCall& call) {
  const TensorView &scores = input(call, 1), &dy = output_gradient(call);
  const std::int64_t n = width(dy), top_k = width(scores), copies = scores.elements();
  if (const Target dx = target(call, 0))
    for (std::int64_t copy = 0; copy < copies; ++copy)
      weighted_row(n, scores.f32()[copy], dy.f32() + copy / top_k * n, dx.view.f32() + copy * n,
                   dx.add);
  if (const Target ds = target(call, 1)) {
    const float* x = input(call, 0).f32();
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      const float sum = dot_row(n, dy.f32() + copy / top_k * n, x + copy * n);
      ds.view.f32()[copy] = ds.add ? ds.view.f32()[copy] + sum : sum;
    }
  }
}

}  // namespace

CpuKernel router_kernel() {
  return {router_forward, router_backward_input, router_backward_weight};
}
CpuKernel dispatch_kernel() { return without_parameters(dispatch_forward, dispatch_backward); }
CpuKernel routed_matmul_kernel() {
  return {routed_forward, routed_backward_input, routed_backward_weight};
}
CpuKernel combine_kernel() { return without_parameters(combine_forward, combine_backward); }

}  // namespace trainyard
