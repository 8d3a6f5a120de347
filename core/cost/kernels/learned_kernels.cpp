#include "core/cost/kernels/learned_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <list>
#include <mutex>

#include "core/base/digest.h"

namespace trainyard {
namespace {

constexpr std::size_t kFolds = 5;
constexpr double kCoverage = 0.9;       // of held-out errors within LearnedPrice::off
constexpr std::size_t kOwnErrors = 20;  // a kernel with fewer shapes has the errors of all kernels
constexpr double kLeastTime = 1e-9;     // seconds; clocks read no less
constexpr double kBeyond = 0.5;         // of the distance from what was measured, added to `off`

double log2_of(double amount) { return std::log2(1 + amount); }

// The sizes by which a kernel is inside or outside of what was measured of it.
std::vector<double> sizes_of(const Work& w) {
  const auto whole = [](std::int64_t size) { return log2_of(static_cast<double>(size)); };
  return {whole(w.m),
          whole(w.n),
          whole(w.k),
          whole(w.count),
          log2_of(w.flops.value),
          whole(w.read.value),
          whole(w.written.value)};
}

// Returns how much is computed for one that is asked for, when a size is rounded up to a multiple.
double rounded_up(std::int64_t size, std::int64_t multiple) {
  if (size <= 0) return 1;
  const std::int64_t whole = (size + multiple - 1) / multiple * multiple;
  return static_cast<double>(whole) / static_cast<double>(size);
}

std::vector<float> features_of(const Work& w, double formula) {
  std::vector<double> features = sizes_of(w);
  features.push_back(w.kernel);
  features.push_back(static_cast<double>(w.kind));
  features.push_back(static_cast<double>(w.math));
  features.push_back(w.fill);
  features.push_back(std::log2(formula));
  features.push_back(
      std::log2((1 + w.flops.value) / (1 + static_cast<double>(w.read.value + w.written.value))));
  // A small kernel behind a large one finds its operands far from the core.
  features.push_back(w.before.value > 0 ? log2_of(static_cast<double>(w.before.value))
                                        : FeatureTable::kMissing);
  for (const std::int64_t multiple : {16, 128})  // numbers in a vector, rows and columns in a tile
    for (const std::int64_t size : {w.m, w.n, w.k}) features.push_back(rounded_up(size, multiple));
  return {features.begin(), features.end()};
}

FeatureTable table_of(std::span<const Work> works, std::span<const double> formula) {
  FeatureTable table;
  for (std::size_t i = 0; i < works.size(); ++i) {
    const std::vector<float> row = features_of(works[i], formula[i]);
    table.columns = row.size();
    table.add(row);
  }
  return table;
}

// Passes and kernels of the same sizes are slow or quick together, so that trees which saw one of
// them do not count as not having seen the others.
std::size_t fold_of(const Work& w) {
  std::int64_t sizes[] = {w.m, w.n, w.k};
  std::sort(std::begin(sizes), std::end(sizes));
  Digest digest;
  for (const std::int64_t size : sizes) digest.add(size);
  digest.add(w.count);
  if (w.m <= 0) digest.add(w.read.value + w.written.value);
  return (digest.value() >> 16) % kFolds;
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto at =
      static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size() + 1)));
  return values[std::min(values.size(), std::max<std::size_t>(at, 1)) - 1];
}

}  // namespace

LearnedKernels::LearnedKernels(std::span<const KernelTiming> timings, const Formula& formula) {
  std::vector<Work> works;
  std::vector<double> priced;
  std::vector<float> targets;
  for (const KernelTiming& t : timings) {
    works.push_back(t.work);
    priced.push_back(std::max(kLeastTime, formula(t.work)));
    targets.push_back(
        static_cast<float>(std::log(std::max(kLeastTime, to_seconds(t.time)) / priced.back())));
  }
  const FeatureTable table = table_of(works, priced);
  trees_ = std::make_unique<const BoostedTrees>(table, targets);

  held_out_ = priced;  // the formula's own, where all other sizes are in one fold
  std::map<KernelKind, std::vector<double>> errors;
  std::vector<double> all;
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    FeatureTable seen{table.columns, {}}, unseen{table.columns, {}};
    std::vector<float> seen_targets;
    std::vector<std::size_t> left_out;
    for (std::size_t i = 0; i < works.size(); ++i) {
      if (fold_of(works[i]) == fold) {
        unseen.add(table.row(i));
        left_out.push_back(i);
      } else {
        seen.add(table.row(i));
        seen_targets.push_back(targets[i]);
      }
    }
    if (left_out.empty() || seen_targets.empty()) continue;
    const std::vector<float> found = BoostedTrees(seen, seen_targets).predict(unseen);
    for (std::size_t j = 0; j < left_out.size(); ++j) {
      const std::size_t i = left_out[j];
      held_out_[i] = priced[i] * std::exp(static_cast<double>(found[j]));
      const double error = std::abs(static_cast<double>(found[j]) - targets[i]);
      errors[kind_of_kernel(works[i])].push_back(error);
      all.push_back(error);
    }
  }

  for (const Work& w : works) {
    const std::vector<double> sizes = sizes_of(w);
    Family& family = families_[kind_of_kernel(w)];
    if (family.least.empty()) family.least = family.most = sizes;
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      family.least[s] = std::min(family.least[s], sizes[s]);
      family.most[s] = std::max(family.most[s], sizes[s]);
    }
  }
  for (auto& [kernel, family] : families_) {
    const std::vector<double>& own = errors[kernel];
    const std::vector<double>& of = own.size() < kOwnErrors ? all : own;
    family.off = of.empty() ? 1 : quantile(of, kCoverage);
  }
}

bool LearnedKernels::knows(const Work& work) const {
  return families_.count(kind_of_kernel(work)) > 0;
}

std::vector<LearnedPrice> LearnedKernels::prices(std::span<const Work> works,
                                                 std::span<const double> formula) const {
  const std::vector<float> found = trees_->predict(table_of(works, formula));
  std::vector<LearnedPrice> prices(works.size());
  for (std::size_t i = 0; i < works.size(); ++i) {
    const Family& family = families_.at(kind_of_kernel(works[i]));
    const std::vector<double> sizes = sizes_of(works[i]);
    double distance = 0;
    for (std::size_t s = 0; s < sizes.size(); ++s)
      distance = std::max({distance, family.least[s] - sizes[s], sizes[s] - family.most[s]});
    prices[i] = {formula[i] * std::exp(static_cast<double>(found[i])),
                 family.off + kBeyond * distance * std::log(2.0), distance > 0};
  }
  return prices;
}

LearnedPrice LearnedKernels::price(const Work& work, double formula) const {
  return prices({&work, 1}, {&formula, 1}).front();
}

std::shared_ptr<const LearnedKernels> learn_kernels(std::span<const KernelTiming> timings,
                                                    const LearnedKernels::Formula& formula) {
  constexpr std::size_t kMost = 8;
  static std::mutex mutex;
  // It is never destroyed: when a process ends, what the library's destructors need is gone.
  using Learned = std::list<std::pair<std::uint64_t, std::shared_ptr<const LearnedKernels>>>;
  static Learned& learned = *new Learned;
  Digest digest;
  for (const KernelTiming& t : timings) {
    digest.add(t.time.count()).add(std::bit_cast<std::uint64_t>(formula(t.work)));
    const auto [kernel, kind, math, m, n, k, count, flops, read, written] = kernel_key(t.work);
    digest.add(kernel).add(static_cast<int>(kind)).add(static_cast<int>(math));
    digest.add(m).add(n).add(k).add(count).add(std::bit_cast<std::uint64_t>(flops));
    digest.add(read).add(written).add(t.work.before.value);
  }
  const std::lock_guard lock(mutex);  // while one trains, others that want the same trees wait
  for (const auto& [key, kernels] : learned)
    if (key == digest.value()) return kernels;
  learned.emplace_front(digest.value(), std::make_shared<const LearnedKernels>(timings, formula));
  if (learned.size() > kMost) learned.pop_back();
  return learned.front().second;
}

}  // namespace trainyard
