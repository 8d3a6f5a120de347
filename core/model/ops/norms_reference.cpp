// All three norms are y = weight * (x - mean) * scale + bias over groups of elements; they differ
// in the groups and in whether there is a mean.
#include <cmath>

#include "core/model/ops/common.h"
#include "core/model/ops/reference_common.h"

namespace trainyard {
namespace {

// Groups are the elements that share one mean and one scale: a row, a head of it, or a channel of
// all images.
struct Groups {
  std::int64_t count = 0, size = 0;
  std::int64_t channels = 0, image = 0;  // batch norm; else 0

  std::size_t element(std::int64_t group, std::int64_t i) const {
    if (channels == 0) return at(group * size + i);
    return at((i / image * channels + group) * image + i % image);
  }
  std::size_t weight(std::int64_t group, std::int64_t i) const {
    return at(channels == 0 ? i : group);
  }
};

Groups rows_of(const ReferenceCall& c) {
  const std::int64_t size = c.graph[c.node.inputs[1]].shape[0].size;
  std::int64_t elements = 1;
  for (std::int64_t d : local_shape(c.graph[c.node.inputs[0]], c.binding)) elements *= d;
  return {elements / size, size};
}
Groups channels_of(const ReferenceCall& c) {
  const auto shape = local_shape(c.graph[c.node.inputs[0]], c.binding);
  return {shape[1], shape[0] * shape[2] * shape[3], shape[1], shape[2] * shape[3]};
}

// Statistics are stored per group: the mean where there is one, then the scale.
template <Groups (*kGroups)(const ReferenceCall&), bool kMean>
struct Norm {
  static double mean(const HostTensor& statistics, std::int64_t group) {
    return kMean ? statistics.values[at(2 * group)] : 0.0;
  }
  static double scale(const HostTensor& statistics, std::int64_t group) {
    return statistics.values[at(kMean ? 2 * group + 1 : group)];
  }
  static double gain(const ReferenceCall& c, const Groups& g, std::int64_t group, std::int64_t i) {
    const double offset = attribute(c.node, "unit_offset") != 0 ? 1.0 : 0.0;
    return c.input(1).values[g.weight(group, i)] + offset;
  }

  static ReferenceResult forward(const ReferenceCall& c) {
    const Groups g = kGroups(c);
    const HostTensor& x = c.input(0);
    HostTensor y = zeros_of_output(c, 0), statistics = zeros({g.count, kMean ? 2 : 1});
    const auto n = static_cast<double>(g.size);
    for (std::int64_t group = 0; group < g.count; ++group) {
      double mu = 0, square = 0;
      if (kMean)
        for (std::int64_t i = 0; i < g.size; ++i) mu += x.values[g.element(group, i)] / n;
      for (std::int64_t i = 0; i < g.size; ++i)
        square += std::pow(x.values[g.element(group, i)] - mu, 2) / n;
      const double s = 1 / std::sqrt(square + kNormEpsilon);
      if (kMean) statistics.values[at(2 * group)] = mu;
      statistics.values[at(kMean ? 2 * group + 1 : group)] = s;
      for (std::int64_t i = 0; i < g.size; ++i) {
        const double bias = c.node.inputs.size() == 3 ? c.input(2).values[g.weight(group, i)] : 0;
        y.values[g.element(group, i)] =
            (x.values[g.element(group, i)] - mu) * s * gain(c, g, group, i) + bias;
      }
    }
    ReferenceResult result = one(std::move(y));
    result.kept.push_back({kStatistics, std::move(statistics)});
    return result;
  }

  static std::vector<HostTensor> backward_input(const ReferenceCall& c) {
    const Groups g = kGroups(c);
    const HostTensor &x = c.input(0), &dy = c.gradient(0), &statistics = c.fact(kStatistics);
    HostTensor dx = zeros_of_input(c, 0);
    const auto n = static_cast<double>(g.size);
    for (std::int64_t group = 0; group < g.count; ++group) {
      const double mu = mean(statistics, group), s = scale(statistics, group);
      double sum = 0, along = 0;
      for (std::int64_t i = 0; i < g.size; ++i) {
        const std::size_t e = g.element(group, i);
        const double d = dy.values[e] * gain(c, g, group, i);
        sum += d / n;
        along += d * (x.values[e] - mu) * s / n;
      }
      for (std::int64_t i = 0; i < g.size; ++i) {
        const std::size_t e = g.element(group, i);
        const double d = dy.values[e] * gain(c, g, group, i);
        dx.values[e] = s * (d - (kMean ? sum : 0.0) - (x.values[e] - mu) * s * along);
      }
    }
    return only(c, 0, std::move(dx));
  }

  static std::vector<HostTensor> backward_weight(const ReferenceCall& c) {
    const Groups g = kGroups(c);
    const HostTensor &x = c.input(0), &dy = c.gradient(0), &statistics = c.fact(kStatistics);
    std::vector<HostTensor> list(c.node.inputs.size());
    for (std::size_t i = 1; i < list.size(); ++i) list[i] = zeros_of_input(c, i);
    for (std::int64_t group = 0; group < g.count; ++group)
      for (std::int64_t i = 0; i < g.size; ++i) {
        const std::size_t e = g.element(group, i), w = g.weight(group, i);
        const double normed = (x.values[e] - mean(statistics, group)) * scale(statistics, group);
        list[1].values[w] += dy.values[e] * normed;
        if (list.size() == 3) list[2].values[w] += dy.values[e];
      }
    return list;
  }

  static Reference reference() { return {forward, backward_input, backward_weight}; }
};

}  // namespace

Reference layer_norm_reference() { return Norm<rows_of, true>::reference(); }
Reference rms_norm_reference() { return Norm<rows_of, false>::reference(); }
Reference batch_norm_reference() { return Norm<channels_of, true>::reference(); }

}  // namespace trainyard
