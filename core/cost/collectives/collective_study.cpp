#include "core/cost/collectives/collective_study.h"

#include <algorithm>

namespace trainyard {
namespace {

// The messages that all-reduces of so many bytes send.
std::vector<MessageTiming> between(const std::vector<MessageTiming>& all, std::int64_t low,
                                   std::int64_t high) {
  std::vector<MessageTiming> list;
  for (const MessageTiming& one : all)
    if (one.bytes.value >= low && one.bytes.value <= high) list.push_back(one);
  return list;
}

double seconds_per_byte(std::span<const MessageTiming> adding) {
  double sum = 0;
  for (const MessageTiming& one : adding)
    sum += to_seconds(one.time) / static_cast<double>(one.bytes.value);
  return sum / static_cast<double>(adding.size());
}

template <class Time>
const CollectiveTiming& least_by(const CollectiveStudy& study, Bytes bytes, Time time) {
  const CollectiveTiming* best = nullptr;
  for (const CollectiveTiming& row : study.rows)
    if (row.bytes == bytes && (best == nullptr || row.*time < best->*time)) best = &row;
  return *best;
}

}  // namespace

// Least squares of (alpha + n beta) / t - 1, whose two equations are solved by hand.
LinkCost fit_messages(std::span<const MessageTiming> messages) {
  double w = 0, wn = 0, wnn = 0, s = 0, sn = 0;
  for (const MessageTiming& one : messages) {
    const double share = 1 / to_seconds(one.time), n = static_cast<double>(one.bytes.value) * share;
    w += share * share, wn += share * n, wnn += n * n;
    s += share, sn += n;
  }
  const double determinant = w * wnn - wn * wn;
  const double alpha = (s * wnn - sn * wn) / determinant;
  const double beta = (sn * w - s * wn) / determinant;
  if (alpha < 0) return {0, sn / wnn, 0};
  if (beta < 0) return {s / w, 0, 0};
  return {alpha, beta, 0};
}

void price_collectives(CollectiveStudy& study) {
  study.links.clear();
  for (CollectiveTiming& row : study.rows) {
    const auto same = [&](const LinkAtSize& one) { return one.bytes == row.bytes; };
    auto link = std::find_if(study.links.begin(), study.links.end(), same);
    if (link == study.links.end()) {
      const std::int64_t high = row.bytes.value, low = high / study.ranks;
      LinkAtSize fitted{row.bytes, fit_messages(between(study.busy, low, high)),
                        fit_messages(between(study.alone, low, high))};
      fitted.busy.gamma = fitted.alone.gamma = seconds_per_byte(between(study.adding, low, high));
      link = study.links.insert(study.links.end(), fitted);
    }
    const auto price = [&](const LinkCost& cost) {
      return seconds(collective_seconds(CollectiveKind::AllReduce, row.algorithm,
                                        static_cast<double>(row.bytes.value), study.ranks, cost));
    };
    row.priced_alone = price(link->alone);
    row.priced = row.algorithm == CollectiveAlgorithm::Tree ? row.priced_alone : price(link->busy);
  }
}

const CollectiveTiming& fastest_measured(const CollectiveStudy& study, Bytes bytes) {
  return least_by(study, bytes, &CollectiveTiming::measured);
}
const CollectiveTiming& fastest_priced(const CollectiveStudy& study, Bytes bytes) {
  return least_by(study, bytes, &CollectiveTiming::priced);
}

}  // namespace trainyard
