#include "core/timeline/stragglers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

namespace trainyard {
namespace {

constexpr std::size_t kFewest = 8;           // spans of a kind that is judged
constexpr std::size_t kNeighbours = 7;       // on either side
constexpr std::size_t kFewestProcesses = 3;  // that the same kernel is compared over
constexpr double kLeastSpread = 0.01;        // below it clocks and rounding speak
constexpr double kMostSpreads = 10;          // of one detector
constexpr double kStandsOut = 4, kSlowerKernel = 1.2, kSlower = 1.05;
// Normal numbers have 1.4826 times their median absolute deviation as standard deviation, and the
// standard error of their median is 1.2533 times that of their mean.
constexpr double kNormal = 1.4826, kMedianError = 1.2533;
constexpr float kNotJudged = std::numeric_limits<float>::quiet_NaN();

bool computes(std::uint8_t category) {
  const auto kind = static_cast<RecordedKind>(category);
  return kind != RecordedKind::Communication && kind != RecordedKind::Transfer &&
         kind != RecordedKind::Host;
}

// Returns what is between the two middle values where the number is even: where half of a kind is
// slower, neither half stands out. Takes no empty list, and leaves it in another order.
double median_of_scratch(std::span<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double median(std::vector<double> values) { return median_of_scratch(values); }

double spread(std::vector<double> values) {
  const double center = median(values);
  for (double& value : values) value = std::abs(value - center);
  return kNormal * median(std::move(values));
}

// One computation; `beyond` is the logarithm of its duration over the median of its kind.
struct Computation {
  std::uint64_t span = 0;
  std::uint32_t name = 0, sizes = 0, process = 0;
  std::int64_t start = 0;
  double beyond = 0;
  std::uint8_t category = 0;
};

std::vector<Computation> computations_of_streams(const RecordedTrace& trace) {
  const bool streams = std::any_of(trace.threads.begin(), trace.threads.end(),
                                   [](const RecordedThread& thread) { return thread.device; });
  std::vector<Computation> all;
  for (const RecordedRow& row : trace.rows) {
    const RecordedThread& thread = trace.threads[row.thread];
    if (streams && !thread.device) continue;
    for (std::uint64_t span = row.first; span < row.first + row.count; ++span)
      if (computes(trace.category[span]) && trace.end[span] > trace.start[span])
        all.push_back({span, trace.name[span],
                       trace.sizes.empty() ? kSizesNotStated : trace.sizes[span], thread.process,
                       trace.start[span],
                       std::log(static_cast<double>(trace.end[span] - trace.start[span])),
                       trace.category[span]});
  }
  std::sort(all.begin(), all.end(), [](const Computation& a, const Computation& b) {
    return std::tie(a.name, a.sizes, a.category, a.process, a.start, a.span) <
           std::tie(b.name, b.sizes, b.category, b.process, b.start, b.span);
  });
  return all;
}

// Calls `use` with each stretch of neighbours that are alike.
template <class Alike, class Use>
void each_stretch(std::span<Computation> all, const Alike& alike, const Use& use) {
  for (std::size_t from = 0; from < all.size();) {
    std::size_t to = from + 1;
    while (to < all.size() && alike(all[from], all[to])) ++to;
    use(all.subspan(from, to - from));
    from = to;
  }
}

bool one_kind(const Computation& a, const Computation& b) {
  return a.name == b.name && a.sizes == b.sizes && a.category == b.category;
}
bool one_process(const Computation& a, const Computation& b) { return a.process == b.process; }

// The kinds that are judged, each by process and in the order of time, with what of their spans is
// beyond the median of the kind.
template <class Use>
void each_kind(std::vector<Computation>& all, const Use& use) {
  each_stretch(all, one_kind, [&](std::span<Computation> kind) {
    if (kind.size() < kFewest) return;
    std::vector<double> lengths;
    for (const Computation& one : kind) lengths.push_back(one.beyond);
    const double typical = median(std::move(lengths));
    for (Computation& one : kind) one.beyond -= typical;
    use(kind);
  });
}

using Beyond = std::vector<std::optional<double>>;  // of the spans of a kind

// Writes by how many spreads each is beyond its like.
void write_scores(std::span<const Computation> kind, const Beyond& beyond,
                  std::vector<float>& into) {
  std::vector<double> known;
  for (const std::optional<double>& one : beyond)
    if (one) known.push_back(*one);
  if (known.size() < kFewest) return;
  const double unit = std::max(kLeastSpread, spread(std::move(known)));
  for (std::size_t i = 0; i < kind.size(); ++i)
    if (beyond[i]) into[kind[i].span] = static_cast<float>(*beyond[i] / unit);
}

Beyond beyond_kind(std::span<const Computation> kind) {
  Beyond beyond;
  for (const Computation& one : kind) beyond.emplace_back(one.beyond);
  return beyond;
}

Beyond beyond_neighbours(std::span<Computation> kind) {
  Beyond beyond;
  each_stretch(kind, one_process, [&](std::span<const Computation> own) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      const std::size_t from = i - std::min(i, kNeighbours),
                        to = std::min(own.size(), i + kNeighbours + 1);
      std::array<double, 2 * kNeighbours> near{};
      std::size_t count = 0;
      for (std::size_t n = from; n < to; ++n)
        if (n != i) near[count++] = own[n].beyond;
      if (count < kNeighbours)
        beyond.emplace_back();
      else
        beyond.emplace_back(own[i].beyond - median_of_scratch(std::span(near).first(count)));
    }
  });
  return beyond;
}

// Processes that do the same have as many spans of a kind, and the nth of each is the same.
Beyond beyond_processes(std::span<Computation> kind) {
  std::map<std::size_t, std::vector<std::size_t>> begins;  // by the number of spans
  std::size_t at = 0;
  each_stretch(kind, one_process, [&](std::span<const Computation> own) {
    begins[own.size()].push_back(at);
    at += own.size();
  });
  Beyond beyond(kind.size());
  std::vector<double> same;
  for (const auto& [count, firsts] : begins) {
    if (firsts.size() < kFewestProcesses) continue;
    for (std::size_t n = 0; n < count; ++n) {
      same.clear();
      for (const std::size_t first : firsts) same.push_back(kind[first + n].beyond);
      const double typical = median_of_scratch(same);
      for (const std::size_t first : firsts) beyond[first + n] = kind[first + n].beyond - typical;
    }
  }
  return beyond;
}

float mean_of_judging(std::initializer_list<float> scores) {
  double sum = 0;
  int judging = 0;
  for (const float score : scores) {
    if (std::isnan(score)) continue;
    sum += std::clamp<double>(score, -kMostSpreads, kMostSpreads);
    ++judging;
  }
  return judging > 0 ? static_cast<float>(sum / judging) : kNotJudged;
}

StragglerScores scores_of(std::size_t spans, std::vector<Computation>& all) {
  const std::vector<float> none(spans, kNotJudged);
  StragglerScores scores{none, none, none, none};
  each_kind(all, [&](std::span<Computation> kind) {
    write_scores(kind, beyond_kind(kind), scores.of_kind);
    write_scores(kind, beyond_neighbours(kind), scores.of_neighbours);
    write_scores(kind, beyond_processes(kind), scores.of_processes);
    for (const Computation& one : kind)
      scores.together[one.span] =
          mean_of_judging({scores.of_kind[one.span], scores.of_neighbours[one.span],
                           scores.of_processes[one.span]});
  });
  return scores;
}

std::vector<SlowProcess> slow_processes(const RecordedTrace& trace, std::span<Computation> judged) {
  // Only kinds that more than one process has.
  std::vector<std::vector<double>> beyond(trace.processes.size());
  each_stretch(judged, one_kind, [&](std::span<const Computation> kind) {
    if (kind.front().process == kind.back().process) return;
    for (const Computation& one : kind) beyond[one.process].push_back(one.beyond);
  });
  std::vector<double> typical(beyond.size()), error(beyond.size()), known;
  for (std::size_t p = 0; p < beyond.size(); ++p) {
    if (beyond[p].size() < kFewest) continue;
    typical[p] = median(beyond[p]);
    error[p] = kMedianError * std::max(kLeastSpread, spread(beyond[p])) /
               std::sqrt(static_cast<double>(beyond[p].size()));
    known.push_back(typical[p]);
  }
  std::vector<SlowProcess> slow;
  if (known.size() < 2) return slow;
  const double center = median(std::move(known));
  for (std::size_t p = 0; p < beyond.size(); ++p) {
    if (beyond[p].size() < kFewest) continue;
    const double more = typical[p] - center, ratio = std::exp(more);
    if (ratio >= kSlower && more > kStandsOut * std::sqrt(2.0) * error[p])
      slow.push_back({static_cast<std::uint32_t>(p), ratio, beyond[p].size()});
  }
  std::stable_sort(slow.begin(), slow.end(),
                   [](const SlowProcess& a, const SlowProcess& b) { return a.ratio > b.ratio; });
  return slow;
}

// Finds the measured step in which a computation begins. Kineto may write a device as a process of
// its own beside the one that marks the steps: it has the steps of the only process with any.
class MeasuredSteps {
 public:
  explicit MeasuredSteps(const RecordedTrace& trace) {
    std::size_t marked = 0;
    for (std::uint32_t p = 0; p < trace.processes.size(); ++p) {
      of_.push_back(measured_steps(trace, p));
      if (of_.back().empty()) continue;
      only_ = ++marked == 1 ? of_.back() : std::span<const RecordedStep>();
    }
  }
  const RecordedStep* of(const Computation& one) const {
    const std::span<const RecordedStep> own = of_[one.process].empty() ? only_ : of_[one.process];
    const auto step = std::partition_point(own.begin(), own.end(), [&](const RecordedStep& each) {
      return each.to <= Instant{one.start};
    });
    return step != own.end() && step->from <= Instant{one.start} ? &*step : nullptr;
  }
  const std::vector<std::span<const RecordedStep>>& by_process() const { return of_; }

 private:
  std::vector<std::span<const RecordedStep>> of_;
  std::span<const RecordedStep> only_;
};

// A step of those that stand out, by its index, and how often it has the length of the median one.
struct BeyondSteps {
  std::size_t step = 0;
  double ratio = 1;
};

std::vector<BeyondSteps> beyond_steps(std::span<const Duration> steps) {
  std::vector<BeyondSteps> all;
  if (steps.size() < kFewest) return all;
  std::vector<double> lengths;
  for (const Duration length : steps)
    lengths.push_back(std::log(std::max(1e-9, to_seconds(length))));
  const double typical = median(lengths), unit = std::max(kLeastSpread, spread(lengths));
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    const double more = lengths[s] - typical;
    if (std::exp(more) >= kSlower && more >= kStandsOut * unit) all.push_back({s, std::exp(more)});
  }
  return all;
}

std::vector<SlowStep> slow_steps(const RecordedTrace& trace,
                                 const std::vector<Computation>& judged) {
  const MeasuredSteps steps(trace);
  std::map<std::int64_t, Duration> longest;
  for (const std::span<const RecordedStep> own : steps.by_process())
    for (const RecordedStep& step : own) {
      Duration& length = longest[step.number];
      length = std::max(length, step.to - step.from);
    }
  std::vector<std::int64_t> numbers;
  std::vector<Duration> lengths;
  for (const auto& [number, length] : longest) numbers.push_back(number), lengths.push_back(length);
  std::vector<SlowStep> slow;
  std::map<std::int64_t, std::vector<double>> kernels;
  for (const BeyondSteps& one : beyond_steps(lengths)) {
    slow.push_back({numbers[one.step], one.ratio, {}, lengths[one.step]});
    kernels[numbers[one.step]];
  }
  if (slow.empty()) return slow;
  for (const Computation& one : judged) {
    const RecordedStep* const step = steps.of(one);
    if (step == nullptr) continue;
    const auto found = kernels.find(step->number);
    if (found != kernels.end()) found->second.push_back(one.beyond);
  }
  for (SlowStep& step : slow)
    if (!kernels[step.number].empty()) step.kernels = std::exp(median(kernels[step.number]));
  std::stable_sort(slow.begin(), slow.end(),
                   [](const SlowStep& a, const SlowStep& b) { return a.ratio > b.ratio; });
  return slow;
}

std::vector<SlowKernels> slow_kernels(const RecordedTrace& trace, std::span<Computation> judged,
                                      const std::vector<float>& scores) {
  std::vector<SlowKernels> slow;
  const auto alike = [](const Computation& a, const Computation& b) {
    return one_kind(a, b) && one_process(a, b);
  };
  each_stretch(judged, alike, [&](std::span<const Computation> own) {
    SlowKernels found{own[0].name, own[0].process, 0, own.size(), 1, {}, own[0].span};
    const auto length = [&](std::uint64_t span) { return trace.end[span] - trace.start[span]; };
    std::vector<double> ratios;
    double lost = 0;
    for (const Computation& one : own) {
      if (std::exp(one.beyond) < kSlowerKernel || !(scores[one.span] >= kStandsOut)) continue;
      ratios.push_back(one.beyond);
      lost += static_cast<double>(length(one.span)) * (1 - std::exp(-one.beyond));
      if (found.count++ == 0 || length(one.span) > length(found.longest)) found.longest = one.span;
    }
    if (ratios.empty()) return;
    found.ratio = std::exp(median(std::move(ratios)));
    found.lost = Duration{std::llround(std::min(lost, 9e18))};
    slow.push_back(found);
  });
  std::stable_sort(slow.begin(), slow.end(),
                   [](const SlowKernels& a, const SlowKernels& b) { return a.lost > b.lost; });
  return slow;
}

}  // namespace

StragglerScores straggler_scores(const RecordedTrace& trace) {
  std::vector<Computation> all = computations_of_streams(trace);
  return scores_of(trace.start.size(), all);
}

std::vector<std::size_t> outlying_steps(std::span<const Duration> steps) {
  std::vector<std::size_t> all;
  for (const BeyondSteps& one : beyond_steps(steps)) all.push_back(one.step);
  return all;
}

Stragglers find_stragglers(const RecordedTrace& trace) {
  if (trace.start.size() > kMostCompared) return {};
  std::vector<Computation> all = computations_of_streams(trace);
  const StragglerScores scores = scores_of(trace.start.size(), all);
  std::erase_if(all, [&](const Computation& one) { return std::isnan(scores.together[one.span]); });
  return {all.size(), slow_processes(trace, all), slow_steps(trace, all),
          slow_kernels(trace, all, scores.together)};
}

}  // namespace trainyard
