#include <cmath>
#include <numbers>

#include "core/model/ops/reference_common.h"
#include "core/model/patch_grid.h"

namespace trainyard {
namespace {

// --- one input, one output: y = f(x) ---

template <double (*kF)(double)>
ReferenceResult forward_unary(const ReferenceCall& c) {
  HostTensor y = zeros_of_output(c, 0);
  const HostTensor& x = c.input(0);
  for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] = kF(x.values[i]);
  y.experts = x.experts;
  return one(std::move(y));
}

// kSlope is a function of the input, or of the output where the op keeps the output.
template <double (*kSlope)(double), bool kOfOutput>
std::vector<HostTensor> backward_unary(const ReferenceCall& c) {
  const HostTensor &kept = kOfOutput ? c.output(0) : c.input(0), &dy = c.gradient(0);
  HostTensor dx = zeros_of_input(c, 0);
  for (std::size_t i = 0; i < dx.values.size(); ++i)
    dx.values[i] = dy.values[i] * kSlope(kept.values[i]);
  return only(c, 0, std::move(dx));
}

double gelu_of(double x) { return x * 0.5 * (1 + std::erf(x / std::numbers::sqrt2)); }
double gelu_slope(double x) {
  constexpr double kRootTwoPi = 2.5066282746310002;
  return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)) + x * std::exp(-x * x / 2) / kRootTwoPi;
}
double relu_of(double x) { return x > 0 ? x : 0; }
double relu_slope(double y) { return y > 0 ? 1 : 0; }
double squared_relu_of(double x) { return x > 0 ? x * x : 0; }
double squared_relu_slope(double x) { return x > 0 ? 2 * x : 0; }
double tanh_of(double x) { return std::tanh(x); }
double tanh_slope(double y) { return 1 - y * y; }

// --- sums and products of two tensors ---

// Returns the index into the second input, whose dimensions of size 1 are repeated along the
// first's.
std::size_t repeated(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                     std::size_t index) {
  std::size_t found = 0, stride = 1;
  for (std::size_t d = a.size(); d-- > 0;) {
    const std::size_t coordinate = index % at(a[d]);
    index /= at(a[d]);
    if (b[d] != 1) found += coordinate * stride;
    stride *= at(b[d]);
  }
  return found;
}

ReferenceResult forward_add(const ReferenceCall& c) {
  const HostTensor &a = c.input(0), &b = c.input(1);
  HostTensor y = a;
  for (std::size_t i = 0; i < y.values.size(); ++i)
    y.values[i] += b.values[repeated(a.shape, b.shape, i)];
  return one(std::move(y));
}

std::vector<HostTensor> backward_add(const ReferenceCall& c) {
  const HostTensor& dy = c.gradient(0);
  std::vector<HostTensor> list = {dy, zeros_of_input(c, 1)};
  for (std::size_t i = 0; i < dy.values.size(); ++i)
    list[1].values[repeated(dy.shape, list[1].shape, i)] += dy.values[i];
  return list;
}

ReferenceResult forward_multiply(const ReferenceCall& c) {
  HostTensor y = c.input(0);
  for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] *= c.input(1).values[i];
  return one(std::move(y));
}

std::vector<HostTensor> backward_multiply(const ReferenceCall& c) {
  std::vector<HostTensor> list = {c.gradient(0), c.gradient(0)};
  for (std::size_t i = 0; i < list[0].values.size(); ++i) {
    list[0].values[i] *= c.input(1).values[i];
    list[1].values[i] *= c.input(0).values[i];
  }
  return list;
}

HostTensor scaled(const ReferenceCall& c, HostTensor x) {
  const double factor = static_cast<double>(attribute(c.node, "numerator", 1)) /
                        static_cast<double>(attribute(c.node, "denominator", 1));
  for (double& value : x.values) value *= factor;
  return x;
}
ReferenceResult forward_scale(const ReferenceCall& c) { return one(scaled(c, c.input(0))); }
std::vector<HostTensor> backward_scale(const ReferenceCall& c) {
  return only(c, 0, scaled(c, c.gradient(0)));
}

// --- dropout, rotary positions ---

ReferenceResult forward_dropout(const ReferenceCall& c) {
  HostTensor y = c.input(0), mask = zeros_like(y);
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    mask.values[i] = c.random.uniform(i) < kDropout ? 0 : 1;
    y.values[i] *= mask.values[i] / (1 - kDropout);
  }
  ReferenceResult result = one(std::move(y));
  result.kept.push_back({"mask", std::move(mask)});
  return result;
}

std::vector<HostTensor> backward_dropout(const ReferenceCall& c) {
  HostTensor dx = c.gradient(0);
  const HostTensor& mask = c.fact("mask");
  for (std::size_t i = 0; i < dx.values.size(); ++i)
    dx.values[i] *= mask.values[i] / (1 - kDropout);
  return only(c, 0, std::move(dx));
}

// A patch of an image has two positions (Wang et al., "Qwen2-VL", 2024): the first half of the
// pairs of a head turn by its row, the others by its column. A class token does not turn.
double turns_of_patch(const PatchGrid& grid, std::int64_t token, std::int64_t pair,
                      std::int64_t pairs) {
  constexpr double kBase = 10000;
  const std::int64_t patch = token % grid.image_tokens() - grid.class_tokens, rows = pairs / 2;
  if (patch < 0) return 0;
  const auto [row, column] = grid.cell(patch);
  return static_cast<double>(pair < rows ? row : column) *
         std::pow(kBase, -2.0 * static_cast<double>(pair < rows ? pair : pair - rows) /
                             static_cast<double>(pairs));
}

// Element i of a head's first half is rotated with element i of its second half, by the angle
// position / base^(2i / size) (Su et al. 2021).
HostTensor rotated(const ReferenceCall& c, HostTensor x, double direction) {
  constexpr double kBase = 10000;
  const Dim& last = c.graph[c.node.inputs[0]].shape.back();
  const std::int64_t heads = last.units > 0 ? last.units : 1, size = width(x) / heads,
                     half = size / 2, a_position = rows(x) / x.shape[0];
  const bool of_patches = attribute(c.node, "columns") > 0;
  const PatchGrid grid = of_patches ? patch_grid(c.node, x.shape[0]) : PatchGrid{};
  for (std::int64_t r = 0; r < rows(x) * heads; ++r)
    for (std::int64_t i = 0; i < half; ++i) {
      const std::int64_t position = r / heads / a_position, sample = r / heads % a_position;
      const double turns = static_cast<double>(
          c.documents != nullptr ? c.documents->in_document(sample, position) : position);
      const double angle =
          direction * (of_patches ? turns_of_patch(grid, position, i, half)
                                  : turns * std::pow(kBase, -2.0 * static_cast<double>(i) /
                                                                static_cast<double>(size)));
      double &low = x.values[at(r * size + i)], &high = x.values[at(r * size + half + i)];
      const double turned = low * std::cos(angle) - high * std::sin(angle);
      high = low * std::sin(angle) + high * std::cos(angle);
      low = turned;
    }
  return x;
}

ReferenceResult forward_rotary(const ReferenceCall& c) { return one(rotated(c, c.input(0), 1)); }
std::vector<HostTensor> backward_rotary(const ReferenceCall& c) {
  return only(c, 0, rotated(c, c.gradient(0), -1));
}

}  // namespace

Reference add_reference() { return {forward_add, backward_add, nullptr}; }
Reference multiply_reference() { return {forward_multiply, backward_multiply, nullptr}; }
Reference scale_reference() { return {forward_scale, backward_scale, nullptr}; }
Reference gelu_reference() {
  return {forward_unary<gelu_of>, backward_unary<gelu_slope, false>, nullptr};
}
Reference relu_reference() {
  return {forward_unary<relu_of>, backward_unary<relu_slope, true>, nullptr};
}
Reference squared_relu_reference() {
  return {forward_unary<squared_relu_of>, backward_unary<squared_relu_slope, false>, nullptr};
}
Reference tanh_reference() {
  return {forward_unary<tanh_of>, backward_unary<tanh_slope, true>, nullptr};
}
Reference dropout_reference() { return {forward_dropout, backward_dropout, nullptr}; }
Reference rotary_reference() { return {forward_rotary, backward_rotary, nullptr}; }

}  // namespace trainyard
