#include "core/cost/calibrated.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "core/cost/alpha_beta.h"

namespace trainyard {
namespace {

double bytes_of(const Work& work) {
  return static_cast<double>(work.read.value) + static_cast<double>(work.written.value);
}

using KernelShape = std::tuple<std::int16_t, WorkKind, DType, std::int64_t, std::int64_t,
                               std::int64_t, std::int64_t, double, std::int64_t, std::int64_t>;
KernelShape shape_of(const Work& w) {
  return {w.kernel, w.kind,  w.math,        w.m,          w.n,
          w.k,      w.count, w.flops.value, w.read.value, w.written.value};
}

using Kernel = std::tuple<std::int16_t, WorkKind, DType>;
Kernel kernel_of(const Work& w) { return {w.kernel, w.kind, w.math}; }

// The time of one kernel as a function of its size, through all that was measured of it: straight
// lines between neighbours where both axes are logarithms, never falling.
class Curve {
 public:
  explicit Curve(const std::vector<const KernelTiming*>& measured) {
    by_flops_ = std::all_of(measured.begin(), measured.end(),
                            [](const KernelTiming* t) { return t->work.flops.value > 0; });
    for (const KernelTiming* t : measured)
      points_.push_back({std::log(std::max(1.0, size(t->work))),
                         std::log(std::max(1e-9, to_seconds(t->time))), 1});
    std::sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) {
      return std::tie(a.size, a.time) < std::tie(b.size, b.time);
    });
    make_rising();
  }

  double seconds_of(const Work& work, double least) const {
    const double x = std::log(std::max(1.0, size(work)));
    const Point &first = points_.front(), &last = points_.back();
    // Beyond the largest, and below the smallest down to what starting anything takes, in
    // proportion.
    if (x >= last.size) return std::exp(last.time + (x - last.size));
    if (x <= first.size)
      return std::max(std::exp(first.time + (x - first.size)),
                      std::min(std::exp(first.time), least));
    const auto above =
        std::upper_bound(points_.begin(), points_.end(), x,
                         [](double value, const Point& p) { return value < p.size; });
    const Point &b = *above, &a = *(above - 1);
    return std::exp(a.time + (b.time - a.time) * (x - a.size) / (b.size - a.size));
  }

 private:
  struct Point {
    double size, time;
    int weight;
  };

  double size(const Work& work) const { return by_flops_ ? work.flops.value : bytes_of(work); }

  // One point a size, their geometric mean, and neighbours that fall pooled into one height
  // (pool adjacent violators, Ayer et al. 1955).
  void make_rising() {
    std::vector<Point> merged;
    for (const Point& p : points_) {
      if (merged.empty() || p.size > merged.back().size) {
        merged.push_back(p);
        continue;
      }
      Point& same = merged.back();
      same.time = (same.time * same.weight + p.time) / (same.weight + 1);
      ++same.weight;
    }
    struct Pool {
      double time;
      int weight;
      std::size_t points;
    };
    std::vector<Pool> pools;
    for (const Point& p : merged) {
      pools.push_back({p.time, p.weight, 1});
      while (pools.size() > 1 && pools[pools.size() - 2].time > pools.back().time) {
        const Pool last = pools.back();
        pools.pop_back();
        Pool& into = pools.back();
        into.time =
            (into.time * into.weight + last.time * last.weight) / (into.weight + last.weight);
        into.weight += last.weight, into.points += last.points;
      }
    }
    std::size_t at = 0;
    for (const Pool& pool : pools)
      for (std::size_t i = 0; i < pool.points; ++i) merged[at++].time = pool.time;
    points_ = std::move(merged);
  }

  bool by_flops_ = true;
  std::vector<Point> points_;
};

class Calibrated final : public CostModel {
 public:
  explicit Calibrated(Calibration calibration) : c_(std::move(calibration)) {
    std::map<Kernel, std::vector<const KernelTiming*>> measured;
    for (const KernelTiming& t : c_.kernels) {
      exact_[shape_of(t.work)] = t.time;
      measured[kernel_of(t.work)].push_back(&t);
    }
    for (const auto& [kernel, timings] : measured) curves_.emplace(kernel, Curve(timings));
    basis_ = c_.residual_worst > 0
                 ? fmt::format(
                       "measured on {}: its own check was off by {:.1f} % in the middle and "
                       "{:.1f} % at worst",
                       c_.machine, 100 * c_.residual_median, 100 * c_.residual_worst)
                 : fmt::format("measured on {}, not checked against a run", c_.machine);
  }

  std::string_view name() const override { return "calibrated"; }

  std::vector<std::string> leaves_out() const override {
    return {"kernels that were not measured take what the roofline of the device says",
            "shapes between those that were measured lie on a straight line of logarithms",
            "cache that other work on the same chip takes, and changes of its clock"};
  }

  Duration compute(const Work& work, const Device& device) const override {
    if (work.flops.value == 0 && work.read.value == 0 && work.written.value == 0) return {};
    // An update walks over all parameters of a stage in one instruction.
    const Duration overhead = work.kernel < 0 ? Duration{} : c_.overhead;
    const auto same = exact_.find(shape_of(work));
    if (same != exact_.end()) return same->second + overhead;
    const auto curve = curves_.find(kernel_of(work));
    if (curve == curves_.end()) return fallback_->compute(work, device);
    return seconds(curve->second.seconds_of(work, to_seconds(device.launch.value))) + overhead;
  }

  Duration transfer(Bytes bytes, const Cluster&, std::size_t) const override {
    return c_.copy.start + bytes / c_.copy.rate;
  }

  CollectiveTime collective(CollectiveKind kind, Bytes bytes, const GroupShape& shape,
                            const Cluster& cluster) const override {
    if (shape.ranks <= 1 || bytes.value <= 0) return {};
    const auto n = static_cast<double>(bytes.value);
    const LinkCost link{to_seconds(c_.copy.start), 1 / c_.copy.rate.value, 1 / c_.reduce.value};
    const std::int64_t extent = shape.stride * (shape.ranks - 1) + 1;
    const auto took = [&](double time, CollectiveAlgorithm algorithm) {
      return CollectiveTime{seconds(time), algorithm, level_of(cluster, extent)};
    };
    switch (kind) {
      case CollectiveKind::AllReduce:
        return took(ring_all_reduce(n, shape.ranks, link), CollectiveAlgorithm::Ring);
      case CollectiveKind::ReduceScatter:
        return took(ring_reduce_scatter(n, shape.ranks, link), CollectiveAlgorithm::Ring);
      case CollectiveKind::AllGather:
        return took(ring_all_gather(n, shape.ranks, link), CollectiveAlgorithm::Ring);
      case CollectiveKind::AllToAll:
        return took(pairwise_all_to_all(n, shape.ranks, link), CollectiveAlgorithm::Pairwise);
      case CollectiveKind::Broadcast:
        return took(pipelined_tree_broadcast(n, shape.ranks, link), CollectiveAlgorithm::Tree);
    }
    return {};
  }

  double band() const override { return c_.residual_worst > 0 ? c_.residual_worst : kUnchecked; }
  std::string_view band_basis() const override { return basis_; }

 private:
  static constexpr double kUnchecked = 0.15;  // of what nobody held against a run

  const Calibration c_;
  const std::unique_ptr<CostModel> fallback_ = roofline_cost_model();
  std::map<KernelShape, Duration> exact_;
  std::map<Kernel, Curve> curves_;
  std::string basis_;
};

}  // namespace

std::unique_ptr<CostModel> calibrated_cost_model(Calibration calibration) {
  return std::make_unique<Calibrated>(std::move(calibration));
}

}  // namespace trainyard
