#include "core/cost/kernels/variant_ranking.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <map>
#include <mutex>
#include <utility>

#include "core/base/digest.h"
#include "core/cost/kernels/boosted_trees.h"

namespace trainyard {
namespace {

constexpr std::size_t kRankingFolds = 5;
constexpr double kTold = 0.01;  // two times closer than this, as a share, have no order

double log_size(double size) { return std::log2(1 + size); }

// One row for each variant that the shape has.
void add_rows_of(const KernelShape& shape, FeatureTable& table, std::vector<int>& variants) {
  const std::size_t count = shape_names(shape.kernel).size();
  const int choices = static_cast<int>(variant_names(shape.kernel).size());
  std::vector<float> row;
  for (std::size_t i = 0; i < count; ++i) {
    const auto size = static_cast<double>(shape.sizes[i]);
    row.push_back(static_cast<float>(log_size(size)));
    row.push_back(static_cast<float>(shape.sizes[i] % 16));
  }
  const auto of = [&](std::size_t i) { return static_cast<double>(shape.sizes[i]); };
  const bool product = shape.kernel == VariantKernel::Product;
  // Numbers in the first operand, the second and the result.
  const double first = product ? of(0) * of(2) : of(1) * of(2) * of(3) * of(4),
               second = product ? of(2) * of(1) : of(2) * of(5) * of(8) * of(8),
               result = product ? of(0) * of(1) : of(1) * of(5) * of(6) * of(7);
  for (const double derived : {first, second, result, first + second + result, flops_of(shape),
                               flops_of(shape) / (1 + first + second + result)})
    row.push_back(static_cast<float>(log_size(derived)));
  const std::size_t at = row.size();
  row.resize(at + static_cast<std::size_t>(choices));
  for (int v = 0; v < choices; ++v) {
    if (!has_variant(shape, v)) continue;
    for (int other = 0; other < choices; ++other)
      row[at + static_cast<std::size_t>(other)] = other == v ? 1.0F : 0.0F;
    table.columns = row.size();
    table.add(row);
    variants.push_back(v);
  }
}

// Passes and directions of one shape are alike, so that one fold has them all.
std::size_t ranking_fold(const KernelShape& shape) {
  std::vector<std::int64_t> sizes(shape.sizes.begin(), shape.sizes.end());
  if (shape.kernel == VariantKernel::Product) {
    sizes.resize(3);
    std::sort(sizes.begin(), sizes.end());
  } else {
    sizes.front() = 0;
  }
  Digest digest;
  for (const std::int64_t size : sizes) digest.add(size);
  return (digest.value() >> 16) % kRankingFolds;
}

double seconds_of(const VariantTiming& t, int variant) {
  return to_seconds(t.times[static_cast<std::size_t>(variant)]);
}

// In a step a convolution that goes another way than its neighbours finds its code, and the code
// that lays out its operands, in no cache. In steps of resnet-20 that took 5 to 18 us.
constexpr double kOtherCode = 10e-6;  // seconds

double seconds_in_step(const VariantTiming& t, int variant) {
  const bool cold = variant != t.usual && t.shape.kernel == VariantKernel::Convolution;
  return seconds_of(t, variant) + (cold ? kOtherCode : 0);
}

// Another way than the usual one must be clearly faster, since operands of a step are elsewhere
// than where the variants were timed.
constexpr double kWorth = 0.05;  // as a share of the usual way's time
constexpr float kSure = 0.4F;    // by which its score is higher, where it was not measured

struct Rankings {
  FeatureTable table;
  std::vector<int> variants;         // by row
  std::vector<std::uint32_t> lists;  // rows of each list
  std::vector<float> times;          // by row, as a logarithm

  void add(const VariantTiming& t) {
    const std::size_t before = variants.size();
    add_rows_of(t.shape, table, variants);
    lists.push_back(static_cast<std::uint32_t>(variants.size() - before));
    for (std::size_t r = before; r < variants.size(); ++r)
      times.push_back(
          static_cast<float>(std::log(std::max(1e-9, seconds_in_step(t, variants[r])))));
  }
  BoostedTrees learn() const { return BoostedTrees(table, lists, times); }
};

// Variants with their scores, the one that is ranked first in front.
std::vector<std::pair<float, int>> ranked(const BoostedTrees& trees, const KernelShape& shape) {
  FeatureTable table;
  std::vector<int> variants;
  add_rows_of(shape, table, variants);
  const std::vector<float> scores = trees.predict(table);
  std::vector<std::pair<float, int>> order;
  for (std::size_t r = 0; r < variants.size(); ++r) order.emplace_back(scores[r], variants[r]);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  return order;
}

int first_of(const std::vector<std::pair<float, int>>& order, int usual) {
  for (const auto& [score, variant] : order)
    if (variant == usual) return order.front().first > score + kSure ? order.front().second : usual;
  return usual;
}

}  // namespace

struct VariantRanking::Learned {
  struct OfKernel {
    std::unique_ptr<const BoostedTrees> trees;
    KernelShape least, most;
  };
  std::vector<VariantTiming> timings;
  std::map<KernelShape, int> measured;                       // the fastest
  std::map<VariantKernel, std::optional<OfKernel>> kernels;  // nothing: too few to learn from
  std::once_flag all_held_out;
  std::vector<HeldOutVariants> held_out;
  std::vector<std::optional<int>> choices;  // by timing
  std::mutex mutex;
  std::map<KernelShape, int> asked;  // what the trees answered

  std::vector<std::size_t> timings_of(VariantKernel) const;  // empty: too few
  const std::optional<OfKernel>& learned(VariantKernel);
  void hold_out();
  void hold_out(VariantKernel kernel, const std::vector<std::size_t>& own);
};

std::vector<std::size_t> VariantRanking::Learned::timings_of(VariantKernel kernel) const {
  std::vector<std::size_t> own;
  for (std::size_t i = 0; i < timings.size(); ++i)
    if (timings[i].shape.kernel == kernel) own.push_back(i);
  if (own.size() < kLeastShapes) own.clear();
  return own;
}

auto VariantRanking::Learned::learned(VariantKernel kernel) -> const std::optional<OfKernel>& {
  const auto [at, fresh] = kernels.try_emplace(kernel);
  const std::vector<std::size_t> own = fresh ? timings_of(kernel) : std::vector<std::size_t>{};
  if (own.empty()) return at->second;
  Rankings all;
  OfKernel found;
  found.least = found.most = timings[own.front()].shape;
  for (const std::size_t i : own) {
    all.add(timings[i]);
    for (std::size_t s = 0; s < kMostShapeSizes; ++s) {
      found.least.sizes[s] = std::min(found.least.sizes[s], timings[i].shape.sizes[s]);
      found.most.sizes[s] = std::max(found.most.sizes[s], timings[i].shape.sizes[s]);
    }
  }
  found.trees = std::make_unique<const BoostedTrees>(all.learn());
  at->second = std::move(found);
  return at->second;
}

void VariantRanking::Learned::hold_out() {
  for (const VariantKernel kernel : kVariantKernels)
    if (const std::vector<std::size_t> own = timings_of(kernel); !own.empty())
      hold_out(kernel, own);
}

void VariantRanking::Learned::hold_out(VariantKernel kernel, const std::vector<std::size_t>& own) {
  HeldOutVariants sums;
  sums.kernel = kernel;
  sums.often.resize(variant_names(kernel).size());
  double in_order = 0, pairs = 0;
  for (std::size_t fold = 0; fold < kRankingFolds; ++fold) {
    Rankings seen;
    for (const std::size_t i : own)
      if (ranking_fold(timings[i].shape) != fold) seen.add(timings[i]);
    if (seen.lists.empty()) continue;
    const BoostedTrees trees = seen.learn();
    for (const std::size_t i : own) {
      const VariantTiming& t = timings[i];
      if (ranking_fold(t.shape) != fold) continue;
      const auto order = ranked(trees, t.shape);
      const double best = seconds_of(t, t.best());
      const auto loss = [&](int variant) { return seconds_of(t, variant) / best; };
      const int first = first_of(order, t.usual), ranked_first = order.front().second,
                next = order[std::min<std::size_t>(1, order.size() - 1)].second;
      choices[i] = first;
      ++sums.shapes;
      ++sums.often[static_cast<std::size_t>(first)];
      sums.chosen += std::log(loss(first));
      sums.chosen_worst = std::max(sums.chosen_worst, loss(first) - 1);
      sums.second += std::log(std::min(loss(ranked_first), loss(next)));
      sums.usual += std::log(loss(t.usual));
      sums.usual_worst = std::max(sums.usual_worst, loss(t.usual) - 1);
      for (std::size_t a = 0; a < order.size(); ++a)
        for (std::size_t b = a + 1; b < order.size(); ++b) {
          const double apart = std::log(loss(order[b].second) / loss(order[a].second));
          if (std::abs(apart) < kTold) continue;
          pairs += 1;
          in_order += apart > 0 ? 1 : -1;
        }
    }
  }
  const double shapes = std::max(1, sums.shapes);
  for (double* mean : {&sums.chosen, &sums.second, &sums.usual})
    *mean = std::exp(*mean / shapes) - 1;
  sums.tau = pairs > 0 ? in_order / pairs : 1;
  held_out.push_back(std::move(sums));
}

int chosen_variant(const VariantTiming& t) {
  int chosen = t.usual;
  double least = (1 - kWorth) * seconds_of(t, t.usual);
  for (int v = 0; v < static_cast<int>(t.times.size()); ++v)
    if (seconds_of(t, v) > 0 && seconds_in_step(t, v) <= least)
      chosen = v, least = seconds_in_step(t, v);
  return chosen;
}

std::string held_out_words(const HeldOutVariants& found) {
  std::vector<std::string> often;
  const auto names = variant_names(found.kernel);
  for (std::size_t v = 0; v < names.size(); ++v)
    often.push_back(fmt::format("{} {}", names[v], found.often[v]));
  return fmt::format(
      "{}: of {} shapes that were held out the chosen way takes {:.1f} % longer than the fastest "
      "in "
      "the mean, {:.0f} % at worst; the usual way {:.1f} %, {:.0f} % at worst; chosen: {}",
      to_string(found.kernel), found.shapes, 100 * found.chosen, 100 * found.chosen_worst,
      100 * found.usual, 100 * found.usual_worst, fmt::join(often, ", "));
}

VariantRanking::VariantRanking(std::vector<VariantTiming> timings)
    : learned_(std::make_unique<Learned>()) {
  learned_->timings = std::move(timings);
  learned_->choices.resize(learned_->timings.size());
  for (const VariantTiming& t : learned_->timings)
    learned_->measured.emplace(t.shape, chosen_variant(t));
}

VariantRanking::~VariantRanking() = default;

int VariantRanking::choose(const KernelShape& shape, int usual) const {
  const std::lock_guard lock(learned_->mutex);
  if (const auto measured = learned_->measured.find(shape); measured != learned_->measured.end())
    return measured->second;
  if (const auto asked = learned_->asked.find(shape); asked != learned_->asked.end())
    return asked->second;
  const auto& kernel = learned_->learned(shape.kernel);
  if (!kernel) return usual;
  for (std::size_t s = 0; s < kMostShapeSizes; ++s)
    if (shape.sizes[s] < kernel->least.sizes[s] || shape.sizes[s] > kernel->most.sizes[s])
      return usual;
  return learned_->asked[shape] = first_of(ranked(*kernel->trees, shape), usual);
}

const std::vector<HeldOutVariants>& VariantRanking::held_out() const {
  std::call_once(learned_->all_held_out, [this] { learned_->hold_out(); });
  return learned_->held_out;
}

std::optional<int> VariantRanking::held_out_choice(std::size_t timing) const {
  held_out();
  return learned_->choices.at(timing);
}

std::shared_ptr<const VariantRanking> rank_variants(const std::vector<VariantTiming>& timings) {
  constexpr std::size_t kMost = 4;
  static std::mutex mutex;
  // It is never destroyed: when a process ends, what the library's destructors need is gone.
  using Known = std::list<std::pair<std::uint64_t, std::shared_ptr<const VariantRanking>>>;
  static Known& known = *new Known;
  Digest digest;
  for (const VariantTiming& t : timings) {
    digest.add(static_cast<int>(t.shape.kernel)).add(t.usual);
    for (const std::int64_t size : t.shape.sizes) digest.add(size);
    for (const Duration time : t.times) digest.add(time.count());
  }
  const std::lock_guard lock(mutex);
  for (const auto& [key, ranking] : known)
    if (key == digest.value()) return ranking;
  known.emplace_front(digest.value(), std::make_shared<const VariantRanking>(timings));
  if (known.size() > kMost) known.pop_back();
  return known.front().second;
}

}  // namespace trainyard
