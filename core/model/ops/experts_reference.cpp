// The router's choice is passed on with its scores and with the copies made from them
// (HostTensor::experts). A balancing bias changes the choice but not the scores, so its gradient is
// 0.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/model/ops/reference_common.h"

namespace trainyard {
namespace {

// A token goes to experts of a few groups of neighbouring ones, where a router has groups: those
// whose two best experts have most merit together (DeepSeek-AI, "DeepSeek-V3", arXiv 2024).
std::vector<bool> open_experts(const ReferenceCall& c, const std::vector<double>& merit) {
  const std::int64_t groups = attribute(c.node, "groups", 1);
  const std::size_t each = merit.size() / at(groups);
  std::vector<double> of_group;
  for (std::size_t first = 0; first < merit.size(); first += each) {
    std::vector<double> own(merit.begin() + static_cast<std::ptrdiff_t>(first),
                            merit.begin() + static_cast<std::ptrdiff_t>(first + each));
    std::sort(own.begin(), own.end(), std::greater<>());
    of_group.push_back(own[0] + (own.size() > 1 ? own[1] : 0.0));
  }
  std::vector<std::size_t> order(of_group.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return of_group[a] > of_group[b]; });
  order.resize(at(attribute(c.node, "chosen_groups", 1)));
  std::vector<bool> open(merit.size(), false);
  for (std::size_t group : order)
    for (std::size_t e = group * each; e < (group + 1) * each; ++e) open[e] = true;
  return open;
}

std::vector<std::int32_t> best(const ReferenceCall& c, const double* p, std::int64_t experts) {
  std::vector<double> merits(p, p + experts);
  for (std::int64_t e = 0; e < experts && c.node.inputs.size() == 3; ++e)
    merits[at(e)] += c.input(2).values[at(e)];
  const std::vector<bool> open = open_experts(c, merits);
  std::vector<std::int32_t> order;
  for (std::int32_t e = 0; e < static_cast<std::int32_t>(experts); ++e)
    if (open[at(e)]) order.push_back(e);
  const auto merit = [&](std::int32_t e) { return merits[at(e)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return merit(a) > merit(b); });
  order.resize(at(attribute(c.node, "top_k", 1)));
  return order;
}

ReferenceResult forward_router(const ReferenceCall& c) {
  const HostTensor &x = c.input(0), &w = c.input(1);
  const std::int64_t k = w.shape[0], n = w.shape[1];
  HostTensor scores = zeros_of_output(c, 0), routing = zeros({rows(x), n});
  for (std::int64_t r = 0; r < rows(x); ++r) {
    double* p = &routing.values[at(r * n)];
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < k; ++i)
        p[j] += x.values[at(r * k + i)] * w.values[at(i * n + j)];
    const double most = *std::max_element(p, p + n);
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += p[j] = std::exp(p[j] - most);
    for (std::int64_t j = 0; j < n; ++j) p[j] /= sum;
    const std::vector<std::int32_t> chosen = best(c, p, n);
    for (std::size_t i = 0; i < chosen.size(); ++i)
      scores.values[at(r) * chosen.size() + i] = p[chosen[i]];
    scores.experts.insert(scores.experts.end(), chosen.begin(), chosen.end());
  }
  ReferenceResult result = one(std::move(scores));
  result.kept.push_back({"routing", std::move(routing)});
  return result;
}

// This is the backward of the softmax: every score's gradient depends on all probabilities of the
// row.
HostTensor logit_gradients(const ReferenceCall& c) {
  const HostTensor &routing = c.fact("routing"), &dy = c.gradient(0);
  const std::int64_t n = width(routing), top_k = width(dy);
  HostTensor d = zeros_like(routing);
  for (std::int64_t r = 0; r < rows(routing); ++r) {
    const double* p = &routing.values[at(r * n)];
    const std::vector<std::int32_t> chosen = best(c, p, n);
    double mean = 0;
    for (std::int64_t i = 0; i < top_k; ++i) {
      d.values[at(r * n + chosen[at(i)])] = dy.values[at(r * top_k + i)];
      mean += dy.values[at(r * top_k + i)] * p[chosen[at(i)]];
    }
    for (std::int64_t j = 0; j < n; ++j)
      d.values[at(r * n + j)] = p[j] * (d.values[at(r * n + j)] - mean);
  }
  return d;
}

std::vector<HostTensor> backward_router(const ReferenceCall& c) {
  const HostTensor& w = c.input(1);
  const HostTensor d = logit_gradients(c);
  HostTensor dx = zeros_of_input(c, 0);
  const std::int64_t k = w.shape[0], n = w.shape[1];
  for (std::int64_t r = 0; r < rows(d); ++r)
    for (std::int64_t i = 0; i < k; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        dx.values[at(r * k + i)] += d.values[at(r * n + j)] * w.values[at(i * n + j)];
  return only(c, 0, std::move(dx));
}

std::vector<HostTensor> backward_router_weight(const ReferenceCall& c) {
  const HostTensor& x = c.input(0);
  const HostTensor d = logit_gradients(c);
  std::vector<HostTensor> list(c.node.inputs.size());
  for (std::size_t i = 1; i < list.size(); ++i) list[i] = zeros_of_input(c, i);
  const std::int64_t k = width(x), n = width(d);
  for (std::int64_t r = 0; r < rows(x); ++r)
    for (std::int64_t i = 0; i < k; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        list[1].values[at(i * n + j)] += x.values[at(r * k + i)] * d.values[at(r * n + j)];
  return list;
}

ReferenceResult forward_dispatch(const ReferenceCall& c) {
  const HostTensor &x = c.input(0), &scores = c.input(1);
  HostTensor copies = zeros_of_output(c, 0);
  HostTensor indices = zeros_like(scores);
  indices.values.assign(scores.experts.begin(), scores.experts.end());
  const std::int64_t n = width(x), top_k = width(scores);
  for (std::int64_t copy = 0; copy < rows(copies); ++copy)
    for (std::int64_t i = 0; i < n; ++i)
      copies.values[at(copy * n + i)] = x.values[at(copy / top_k * n + i)];
  copies.experts = scores.experts;
  ReferenceResult result = one(std::move(copies));
  result.kept.push_back({"indices", std::move(indices)});
  return result;
}

std::vector<HostTensor> backward_dispatch(const ReferenceCall& c) {
  const HostTensor& d = c.gradient(0);
  HostTensor dx = zeros_of_input(c, 0);
  const std::int64_t n = width(dx), top_k = rows(d) / rows(dx);
  for (std::int64_t copy = 0; copy < rows(d); ++copy)
    for (std::int64_t i = 0; i < n; ++i)
      dx.values[at(copy / top_k * n + i)] += d.values[at(copy * n + i)];
  return only(c, 0, std::move(dx));
}

ReferenceResult forward_routed(const ReferenceCall& c) {
  const HostTensor &x = c.input(0), &w = c.input(1);
  HostTensor y = zeros_of_output(c, 0);
  const std::int64_t k = w.shape[1], n = w.shape[2];
  for (std::int64_t r = 0; r < rows(x); ++r)
    for (std::int64_t i = 0; i < k; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        y.values[at(r * n + j)] +=
            x.values[at(r * k + i)] * w.values[at((x.experts[at(r)] * k + i) * n + j)];
  for (std::int64_t r = 0; c.node.inputs.size() == 3 && r < rows(y); ++r)
    for (std::int64_t j = 0; j < n; ++j)
      y.values[at(r * n + j)] += c.input(2).values[at(x.experts[at(r)] * n + j)];
  y.experts = x.experts;
  return one(std::move(y));
}

std::vector<HostTensor> backward_routed(const ReferenceCall& c) {
  const HostTensor &x = c.input(0), &w = c.input(1), &dy = c.gradient(0);
  HostTensor dx = zeros_of_input(c, 0);
  const std::int64_t k = w.shape[1], n = w.shape[2];
  for (std::int64_t r = 0; r < rows(x); ++r)
    for (std::int64_t i = 0; i < k; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        dx.values[at(r * k + i)] +=
            dy.values[at(r * n + j)] * w.values[at((x.experts[at(r)] * k + i) * n + j)];
  return only(c, 0, std::move(dx));
}

std::vector<HostTensor> backward_routed_weight(const ReferenceCall& c) {
  const HostTensor &x = c.input(0), &dy = c.gradient(0);
  HostTensor dw = zeros_of_input(c, 1);
  const std::int64_t k = dw.shape[1], n = dw.shape[2];
  for (std::int64_t r = 0; r < rows(x); ++r)
    for (std::int64_t i = 0; i < k; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        dw.values[at((x.experts[at(r)] * k + i) * n + j)] +=
            x.values[at(r * k + i)] * dy.values[at(r * n + j)];
  std::vector<HostTensor> list = only(c, 1, std::move(dw));
  if (list.size() < 3) return list;
  list[2] = zeros_of_input(c, 2);
  for (std::int64_t r = 0; r < rows(dy); ++r)
    for (std::int64_t j = 0; j < n; ++j)
      list[2].values[at(x.experts[at(r)] * n + j)] += dy.values[at(r * n + j)];
  return list;
}

ReferenceResult forward_combine(const ReferenceCall& c) {
  const HostTensor &x = c.input(0), &scores = c.input(1);
  HostTensor y = zeros_of_output(c, 0);
  const std::int64_t n = width(x), top_k = width(scores);
  for (std::int64_t copy = 0; copy < rows(x); ++copy)
    for (std::int64_t i = 0; i < n; ++i)
      y.values[at(copy / top_k * n + i)] += scores.values[at(copy)] * x.values[at(copy * n + i)];
  return one(std::move(y));
}

std::vector<HostTensor> backward_combine(const ReferenceCall& c) {
  const HostTensor &x = c.input(0), &scores = c.input(1), &dy = c.gradient(0);
  std::vector<HostTensor> list = {zeros_of_input(c, 0), zeros_of_input(c, 1)};
  const std::int64_t n = width(x), top_k = width(scores);
  for (std::int64_t copy = 0; copy < rows(x); ++copy)
    for (std::int64_t i = 0; i < n; ++i) {
      const double g = dy.values[at(copy / top_k * n + i)];
      list[0].values[at(copy * n + i)] = g * scores.values[at(copy)];
      list[1].values[at(copy)] += g * x.values[at(copy * n + i)];
    }
  return list;
}

}  // namespace

Reference router_reference() { return {forward_router, backward_router, backward_router_weight}; }
Reference dispatch_reference() { return {forward_dispatch, backward_dispatch, nullptr}; }
Reference routed_matmul_reference() {
  return {forward_routed, backward_routed, backward_routed_weight};
}
Reference combine_reference() { return {forward_combine, backward_combine, nullptr}; }

}  // namespace trainyard
