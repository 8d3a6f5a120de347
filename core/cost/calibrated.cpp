#include "core/cost/calibrated.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "core/base/error.h"
#include "core/cost/collectives/alpha_beta.h"
#include "core/cost/kernels/learned_kernels.h"
#include "core/cost/local_core.h"
#include "core/cost/priced_by.h"

namespace trainyard {
namespace {

CoreTime formula_of_core(Work work) {
  static const Device core = device("cpu");
  // A curve has one format, which the device may be unable to multiply in; an update multiplies
  // nothing, and its format says how it computes.
  if (work.kind != WorkKind::Optimizer) work.math = DType::F32;
  return local_core_time(work, core);
}

// Returns what a kernel takes by the formula that its measurements are extrapolated with.
using KernelFormula = std::function<CoreTime(const Work&)>;

// Without a base it is the formula of a core of this machine.
CoreTime formula_of(const Work& work, const CostModel* base, const Device& device) {
  if (base == nullptr) return formula_of_core(work);
  return {0, to_seconds(base->compute(work, device)), 0};
}

// Prices of trees, each asked for once.
class LearnedPrices {
 public:
  explicit LearnedPrices(std::shared_ptr<const LearnedKernels> kernels)
      : kernels_(std::move(kernels)) {}
  bool knows(const Work& work) const { return kernels_->knows(work); }
  LearnedPrice price(const Work& work, double formula) const {
    const KernelPlace key = kernel_place(work);
    {
      const std::lock_guard lock(mutex_);
      const auto known = prices_.find(key);
      if (known != prices_.end()) return known->second;
    }
    const LearnedPrice found = kernels_->price(work, formula);
    const std::lock_guard lock(mutex_);
    return prices_.emplace(key, found).first->second;
  }

 private:
  const std::shared_ptr<const LearnedKernels> kernels_;
  mutable std::mutex mutex_;
  mutable std::map<KernelPlace, LearnedPrice> prices_;
};

// The times of one kernel at one shape, each behind another kernel.
class MeasuredPlaces {
 public:
  void add(const KernelTiming& t) { places_.emplace_back(t.work.before, t.time); }

  // Returns the time of the place most like this one. Where nothing is known of what ran before, it
  // is the time in the middle.
  Duration time(Bytes before) const {
    using Place = std::pair<Bytes, Duration>;
    if (before.value <= 0) {
      std::vector<Duration> times;
      for (const Place& place : places_) times.push_back(place.second);
      const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
      std::nth_element(times.begin(), middle, times.end());
      return *middle;
    }
    const auto apart = [&](const Place& place) {
      return std::abs(std::log2(1 + static_cast<double>(place.first.value)) -
                      std::log2(1 + static_cast<double>(before.value)));
    };
    return std::min_element(places_.begin(), places_.end(),
                            [&](const Place& a, const Place& b) { return apart(a) < apart(b); })
        ->second;
  }

 private:
  std::vector<std::pair<Bytes, Duration>> places_;
};

// A Curve gives the time of one kernel as a function of its size, from all its measurements:
// straight lines between neighbours with both axes logarithmic, never falling. A kernel's size is
// the time that the formula gives it.
class Curve {
 public:
  Curve(const std::vector<const KernelTiming*>& measured, const KernelFormula& formula) {
    for (const KernelTiming* t : measured) {
      const CoreTime parts = formula(t->work);
      points_.push_back(
          {std::log(parts.seconds()), std::log(std::max(1e-9, to_seconds(t->time))), 1, parts});
    }
    std::sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) {
      return std::tie(a.size, a.time) < std::tie(b.size, b.time);
    });
    make_rising();
  }

  double seconds_of(const CoreTime& parts) const {
    const Neighbours n = neighbours(parts);
    if (n.below == n.above) return carried(*n.below, parts);
    return std::exp(n.below->time + (n.above->time - n.below->time) * n.share);
  }

  double likeness(const CoreTime& parts) const {
    const Neighbours n = neighbours(parts);
    return (1 - n.share) * alike(n.below->parts, parts) + n.share * alike(n.above->parts, parts);
  }

 private:
  struct Point {
    double size, time;
    int weight;
    CoreTime parts;
  };
  // Beyond the ends of the curve both neighbours are the same point.
  struct Neighbours {
    const Point *below, *above;
    double share;  // position between below and above, in [0, 1]
  };

  Neighbours neighbours(const CoreTime& parts) const {
    const double x = std::log(parts.seconds());
    const Point &first = points_.front(), &last = points_.back();
    if (x >= last.size) return {&last, &last, 0};
    if (x <= first.size) return {&first, &first, 0};
    const auto above =
        std::upper_bound(points_.begin(), points_.end(), x,
                         [](double value, const Point& p) { return value < p.size; });
    const Point &b = *above, &a = *(above - 1);
    return {&a, &b, (x - a.size) / (b.size - a.size)};
  }

  // A measured kernel takes longer (or less) than the formula says. The difference is distributed
  // over its start, arithmetic and traffic in proportion to their squares, so that most of it goes
  // to the largest part: a small product that is slow to start says little about a large one, and a
  // product of one row, which mostly reads the matrix, does not cost a 32nd of a product of 32
  // rows.
  static double carried(const Point& from, const CoreTime& parts) {
    const CoreTime& p = from.parts;
    const double more = std::exp(from.time) - p.seconds();
    const double squares = p.start * p.start + p.arithmetic * p.arithmetic + p.traffic * p.traffic;
    constexpr double kLeast = 0.1;  // least factor on a part of the formula
    const auto part = [&](double mine, double theirs) {
      return mine * std::max(kLeast, 1 + more * theirs / squares);
    };
    return part(parts.start, p.start) + part(parts.arithmetic, p.arithmetic) +
           part(parts.traffic, p.traffic);
  }

  static double alike(const CoreTime& a, const CoreTime& b) {
    const auto part = [&](double x, double y) {
      return std::min(x / a.seconds(), y / b.seconds());
    };
    return part(a.start, b.start) + part(a.arithmetic, b.arithmetic) + part(a.traffic, b.traffic);
  }

  // There is one point per size, the geometric mean of its measurements. Neighbours that fall are
  // pooled to one value (pool adjacent violators, Ayer et al. 1955).
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

  std::vector<Point> points_;
};

// Times of one kind of exchange by its bytes. Between two measured sizes they lie on a straight
// line of logarithms; short ones take what the shortest took, and long ones go on at the last rate.
class ExchangeCurve {
 public:
  void add(const ExchangeTiming& t) {
    points_[static_cast<double>(t.bytes.value)] = to_seconds(t.time);
  }
  double seconds_of(double bytes) const {
    const auto above = points_.lower_bound(bytes);
    if (above == points_.begin()) return above->second;
    const auto below = std::prev(above);
    if (above == points_.end()) {
      if (below == points_.begin()) return below->second;
      const auto before = std::prev(below);
      const double each = (below->second - before->second) / (below->first - before->first);
      return below->second + std::max(0.0, each) * (bytes - below->first);
    }
    const double share = std::log(bytes / below->first) / std::log(above->first / below->first);
    return below->second * std::pow(above->second / below->second, share);
  }
  LinkCost line() const {
    const auto first = points_.begin(), last = std::prev(points_.end());
    return {first->second, std::max(0.0, last->second - first->second) / std::max(1.0, last->first),
            0};
  }

 private:
  std::map<double, double> points_;
};

class Calibrated final : public MeasuredCostModel {
 public:
  Calibrated(Calibration calibration, std::shared_ptr<const CostModel> base, Device device)
      : c_(std::move(calibration)), base_(std::move(base)), device_(std::move(device)) {
    std::map<KernelKind, std::vector<const KernelTiming*>> measured;
    for (const KernelTiming& t : c_.kernels) {
      exact_[kernel_key(t.work)].add(t);
      measured[kind_of_kernel(t.work)].push_back(&t);
    }
    for (const auto& [kernel, timings] : measured)
      curves_.emplace(kernel, Curve(timings, [this](const Work& work) { return formula(work); }));
    if (c_.other_shapes == OtherShapes::Learned)
      learned_.emplace(learned_kernels(c_, base_.get(), device_));
    for (const ExchangeTiming& t : c_.exchanges)
      exchanges_[{t.collective, t.ranks, t.per_node}].add(t);
    contention_ = contention_of(c_.contention);
    basis_ = c_.residual_worst > 0
                 ? fmt::format(
                       "measured on {}: its own check was off by {:.1f} % (median) and "
                       "{:.1f} % at worst",
                       c_.machine, 100 * c_.residual_median, 100 * c_.residual_worst)
                 : fmt::format("measured on {}, not checked against a run", c_.machine);
  }

  std::string_view name() const override { return learned_ ? "learned" : "calibrated"; }

  std::vector<std::string> leaves_out() const override {
    if (base_ != nullptr) {
      std::vector<std::string> list = base_->leaves_out();
      list.emplace_back(
          "kernels and messages that were not recorded take what the cost model says");
      list.emplace_back(shapes());
      if (c_.issue > Duration{})
        list.emplace_back(
            "what the profiler took beside each operator, which counts as the host's: plans of "
            "short kernels are predicted slower than they are");
      return list;
    }
    return {"kernels that were not measured take what a formula of the core says", shapes(),
            "cache that other work on the same chip takes, and changes of its clock",
            "devices of one process, which exchange faster than processes, for which all are taken "
            "where exchanges of processes were measured"};
  }

  Duration compute(const Work& work, const Device& device) const override {
    if (nothing(work)) return {};
    // An update is one instruction that walks over all parameters of a stage, so it has no overhead
    // per kernel.
    const Duration overhead = work.kernel < 0 ? Duration{} : c_.overhead;
    const auto same = exact_.find(kernel_key(work));
    if (same != exact_.end()) return same->second.time(work.before) + overhead;
    if (learned_ && learned_->knows(work))
      return seconds(learned_->price(work, formula(work).seconds()).seconds) + overhead;
    const auto curve = curves_.find(kind_of_kernel(work));
    if (curve != curves_.end()) return seconds(curve->second.seconds_of(formula(work))) + overhead;
    return base_ != nullptr ? base_->compute(work, device)
                            : seconds(local_core_time(work, device).seconds());
  }

  // Where the host was recorded too, issuing each kernel takes what it took there.
  PhaseLoad load(std::span<const WorkCount> works, std::span<const Duration> kernels,
                 const Cluster& cluster) const override {
    if (base_ == nullptr) return CostModel::load(works, kernels, cluster);
    PhaseLoad sum = base_->load(works, kernels, cluster);
    if (c_.issue <= Duration{}) return sum;
    sum.host = 0;
    for (const WorkCount& w : works)
      if (!nothing(w.work)) sum.host += to_seconds(c_.issue) * w.count;
    return sum;
  }
  Duration phase(std::span<const WorkCount> works, std::span<const Duration> kernels, bool update,
                 const Cluster& cluster) const override {
    if (base_ == nullptr) return CostModel::phase(works, kernels, update, cluster);
    return phase(load(works, kernels, cluster), update, cluster);
  }
  // All that a recorded step waits for its host is in the time to issue a kernel, so that nothing
  // is added at a step's end.
  Duration phase(const PhaseLoad& sum, bool update, const Cluster& cluster) const override {
    const bool recorded = update && c_.issue > Duration{};
    return base_ != nullptr && !recorded ? base_->phase(sum, update, cluster)
                                         : CostModel::phase(sum, update, cluster);
  }
  Duration exposed(const PhaseLoad& sum) const override {
    return base_ != nullptr ? base_->exposed(sum) : CostModel::exposed(sum);
  }
  double contention(const Device& device) const override {
    if (contention_) return *contention_;
    return base_ != nullptr ? base_->contention(device) : CostModel::contention(device);
  }
  ProcessMemory process_memory(const Device& device) const override {
    ProcessMemory memory =
        base_ != nullptr ? base_->process_memory(device) : CostModel::process_memory(device);
    if (c_.reserve >= 1) memory.fragmentation = c_.reserve;
    return memory;
  }

  PriceBasis priced_by(const Work& work) const override {
    if (exact_.count(kernel_key(work)) > 0) return {PricedBy::Measurement};
    if (learned_ && learned_->knows(work)) {
      const LearnedPrice price = learned_->price(work, formula(work).seconds());
      return {PricedBy::Learned, 1, price.off, price.beyond};
    }
    const auto curve = curves_.find(kind_of_kernel(work));
    if (curve == curves_.end()) return {PricedBy::Formula};
    return {PricedBy::OtherShapes, curve->second.likeness(formula(work))};
  }

  Duration transfer(Bytes bytes, const Cluster& cluster, std::size_t level) const override {
    const auto messages = exchanges_.find({std::nullopt, 2, 0});
    if (messages != exchanges_.end())
      return seconds(messages->second.seconds_of(static_cast<double>(bytes.value)));
    if (base_ != nullptr) return base_->transfer(bytes, cluster, level);
    return c_.copy.start + bytes / c_.copy.rate;
  }

  CollectiveTime collective(CollectiveKind kind, Bytes bytes, const GroupShape& shape,
                            const Cluster& cluster) const override {
    if (shape.ranks <= 1 || bytes.value <= 0) return {};
    if (base_ != nullptr) return scaled(kind, bytes, shape, cluster);
    const auto n = static_cast<double>(bytes.value);
    LinkCost link{to_seconds(c_.copy.start), 1 / c_.copy.rate.value, 1 / c_.reduce.value};
    const std::int64_t extent = shape.stride * (shape.ranks - 1) + 1;
    const auto took = [&](double time, CollectiveAlgorithm algorithm) {
      return CollectiveTime{seconds(time), algorithm, level_of(cluster, extent)};
    };
    if (const auto measured = exchanges_.find({kind, shape.ranks, 0}); measured != exchanges_.end())
      return took(measured->second.seconds_of(n), CollectiveAlgorithm::Pairwise);
    if (const auto messages = exchanges_.find({std::nullopt, 2, 0}); messages != exchanges_.end())
      link = {messages->second.line().alpha, messages->second.line().beta, link.gamma};
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
      case CollectiveKind::Reduce:
        return took(pipelined_tree_reduce(n, shape.ranks, link), CollectiveAlgorithm::Tree);
      case CollectiveKind::Gather:
        return took(tree_gather(n, shape.ranks, link), CollectiveAlgorithm::Tree);
      case CollectiveKind::Scatter:
        return took(tree_scatter(n, shape.ranks, link), CollectiveAlgorithm::Tree);
      case CollectiveKind::HaloExchange:
        return took(halo_exchange(n, link), CollectiveAlgorithm::Pairwise);
    }
    return {};
  }

  double band() const override { return c_.residual_worst > 0 ? c_.residual_worst : kUnchecked; }
  std::string_view band_basis() const override { return basis_; }

 private:
  static constexpr double kUnchecked = 0.15;  // band of a calibration that was not checked against
                                              // a run

  CoreTime formula(const Work& work) const { return formula_of(work, base_.get(), device_); }

  std::string shapes() const {
    return learned_
               ? "shapes that were not measured take what trees learned from those that were, and "
                 "from the bytes that the kernel before them touches"
               : "shapes between those that were measured lie on a straight line of logarithms";
  }

  // A collective that was recorded takes its recorded time. Groups of other sizes take what the
  // base says, times what it was off by for the group of the nearest size. What was recorded within
  // nodes says nothing about groups across nodes, and the reverse.
  CollectiveTime scaled(CollectiveKind kind, Bytes bytes, const GroupShape& shape,
                        const Cluster& cluster) const {
    CollectiveTime found = base_->collective(kind, bytes, shape, cluster);
    const ExchangeCurve* nearest = nullptr;
    std::int64_t ranks = 0, per_node = 0;
    std::pair<double, double> distance;
    const auto apart = [](std::int64_t a, std::int64_t b) {
      return std::abs(std::log(static_cast<double>(a) / static_cast<double>(b)));
    };
    for (const auto& [of, curve] : exchanges_) {
      const auto& [of_kind, of_ranks, of_node] = of;
      if (of_kind != kind) continue;
      if (of_node > 0 && (of_node < of_ranks) != (shape.per_node < shape.ranks)) continue;
      const std::pair away(apart(of_ranks, shape.ranks),
                           of_node > 0 ? apart(of_node, shape.per_node) : 0);
      if (nearest == nullptr || away < distance)
        nearest = &curve, ranks = of_ranks, per_node = of_node, distance = away;
    }
    if (nearest == nullptr) return found;
    const double measured = nearest->seconds_of(static_cast<double>(bytes.value));
    if (ranks == shape.ranks && (per_node == 0 || per_node == shape.per_node)) {
      found.time = seconds(measured);
      return found;
    }
    GroupShape theirs = shape;
    theirs.ranks = ranks;
    theirs.per_node = per_node > 0 ? per_node : std::min(theirs.per_node, ranks);
    const double base = to_seconds(base_->collective(kind, bytes, theirs, cluster).time);
    if (base > 0) found.time = seconds(to_seconds(found.time) * measured / base);
    return found;
  }

  const Calibration c_;
  const std::shared_ptr<const CostModel> base_;  // null: a core of this machine
  const Device device_;                          // of the base
  std::map<KernelKey, MeasuredPlaces> exact_;
  std::map<KernelKind, Curve> curves_;
  std::optional<LearnedPrices> learned_;  // empty: shapes are interpolated
  std::optional<double> contention_;      // empty: the base's
  // These are by kind, ranks and ranks in one node, of which 0 is any number.
  std::map<std::tuple<std::optional<CollectiveKind>, std::int64_t, std::int64_t>, ExchangeCurve>
      exchanges_;
  std::string basis_;
};

}  // namespace

std::shared_ptr<const LearnedKernels> learned_kernels(const Calibration& c, const CostModel* base,
                                                      const Device& device) {
  if (c.kernels.size() < LearnedKernels::kLeastShapes)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected at least {} measured shapes to learn from, found {}; "
                            "\"trainyard calibrate --networks 100\" measures more",
                            LearnedKernels::kLeastShapes, c.kernels.size()),
                {"--cost"});
  return learn_kernels(c.kernels,
                       [&](const Work& work) { return formula_of(work, base, device).seconds(); });
}

std::optional<double> contention_of(const std::vector<MeasuredContention>& measured) {
  double apart = 0, beside = 0;
  std::optional<double> reverse;
  for (const MeasuredContention& m : measured) {
    if (m.of == kCommunicates) {
      reverse = m.factor;
      continue;
    }
    apart += to_seconds(m.time), beside += to_seconds(m.time) * m.factor;
  }
  if (!(apart > 0)) return {};
  const double factor = std::max(1.0, beside / apart);
  return std::max(1.0, reverse.value_or(factor)) * (1 - 1 / factor);
}

Duration exchange_price(const CostModel& model, const ExchangeTiming& of, const Cluster& cluster) {
  if (!of.collective) return model.transfer(of.bytes, cluster, 0);
  const GroupShape shape{.ranks = of.ranks, .per_node = of.ranks};
  return model.collective(*of.collective, of.bytes, shape, cluster).time;
}

std::unique_ptr<CostModel> calibrated_cost_model(Calibration calibration) {
  return std::make_unique<Calibrated>(std::move(calibration), nullptr, Device{});
}

std::unique_ptr<CostModel> calibrated_cost_model(Calibration calibration,
                                                 std::shared_ptr<const CostModel> base,
                                                 const Device& device) {
  return std::make_unique<Calibrated>(std::move(calibration), std::move(base), device);
}

}  // namespace trainyard
