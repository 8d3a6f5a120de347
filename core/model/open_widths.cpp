#include "core/model/open_widths.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace trainyard {
namespace {

constexpr std::size_t kMostWidths = 256;

// Documents of some neighbouring widths, which one share stands for.
struct Widths {
  double sum = 0;          // of the documents' widths
  std::int64_t count = 0;  // of the documents
};

std::vector<Widths> widths_of(const OpenWidths& open, const std::vector<std::int64_t>& lengths) {
  std::map<std::int64_t, std::int64_t> counts;
  for (const std::int64_t length : lengths) ++counts[open.width(length)];
  const std::size_t together = (counts.size() + kMostWidths - 1) / kMostWidths;
  std::vector<Widths> list;
  std::size_t n = 0;
  for (const auto& [width, count] : counts) {
    if (n++ % together == 0) list.emplace_back();
    list.back().sum += static_cast<double>(width) * static_cast<double>(count);
    list.back().count += count;
  }
  return list;
}

double log_choose(std::int64_t n, std::int64_t k) {
  const auto of = [](std::int64_t x) { return std::lgamma(static_cast<double>(x) + 1); };
  return of(n) - of(k) - of(n - k);
}

// The probability that the largest of `micro` documents, all different where there are as many, is
// among the first `below` of `all`.
double all_below(std::int64_t below, std::int64_t all, std::int64_t micro) {
  if (micro >= all) return below == all ? 1 : 0;
  double probability = 1;
  for (std::int64_t i = 0; i < micro; ++i)
    probability *=
        static_cast<double>(std::max<std::int64_t>(0, below - i)) / static_cast<double>(all - i);
  return probability;
}

// The mean share of a sorted step's microbatches of which all documents are among the first `below`
// of `all`: a step has each document step / all times, and of the rest a random set.
double sorted_below(std::int64_t below, std::int64_t all, DrawnSamples drawn) {
  const std::int64_t certain = drawn.step / all * below, rest = drawn.step % all;
  const double ways = log_choose(all, rest);
  double microbatches = 0;
  for (std::int64_t h = std::max<std::int64_t>(0, rest - (all - below)); h <= std::min(rest, below);
       ++h) {
    const std::int64_t whole = (certain + h) / drawn.micro;
    microbatches += std::exp(log_choose(below, h) + log_choose(all - below, rest - h) - ways) *
                    static_cast<double>(whole);
  }
  return microbatches * static_cast<double>(drawn.micro) / static_cast<double>(drawn.step);
}

}  // namespace

std::int64_t OpenWidths::width(std::int64_t longest) const {
  if (!buckets.empty()) {
    const auto next = std::lower_bound(buckets.begin(), buckets.end(), longest);
    return next == buckets.end() ? sequence : std::min(*next, sequence);
  }
  return std::min((longest + multiple - 1) / multiple * multiple, sequence);
}

void find_shares(OpenWidths& open, const std::vector<std::int64_t>& lengths, DrawnSamples drawn) {
  open.shares.clear();
  const auto all = static_cast<std::int64_t>(lengths.size());
  std::int64_t below = 0;
  double before = 0;
  for (const Widths& widths : widths_of(open, lengths)) {
    below += widths.count;
    const double up_to = below == all     ? 1
                         : open.by_length ? sorted_below(below, all, drawn)
                                          : all_below(below, all, drawn.micro);
    open.shares.emplace_back(widths.sum / static_cast<double>(widths.count), up_to - before);
    before = up_to;
  }
}

}  // namespace trainyard
