#include "app/desktop/tables/name_tables.h"

#include <utility>

namespace trainyard {
namespace {

constexpr std::uint64_t kAtOnce = 200'000;  // spans, which take some milliseconds

std::uint64_t spans_in(const SpanStore& store, const std::vector<std::uint32_t>& rows, Instant from,
                       Instant to) {
  std::uint64_t count = 0;
  for (const std::uint32_t row : rows) {
    const SpanWindow seen = window(store, row, from, to);
    count += seen.last - seen.first;
  }
  return count;
}

}  // namespace

void NameTables::ask(std::shared_ptr<const void> owner, const SpanStore& store,
                     std::vector<std::uint32_t> rows, Instant from, Instant to, Heard heard) {
  background_.stop();
  if (spans_in(store, rows, from, to) <= kAtOnce)
    return heard(range_statistics(store, rows, from, to), true);
  std::shared_ptr<const Summed> summed =
      summed_ != nullptr && summed_->owner == owner ? summed_ : nullptr;
  background_.ask(
      [this, owner = std::move(owner), &store, rows = std::move(rows), from, to, heard, summed](
          const std::stop_token& stop, const auto& tell) mutable {
        if (summed == nullptr) {
          summed = std::make_shared<const Summed>(Summed{owner, sum_names(store, stop)});
          if (stop.stop_requested()) return std::vector<NameStatistics>{};
          tell([this, summed] { summed_ = summed; });
        }
        tell([heard, table = quick_statistics(store, summed->sums, rows, from, to)] {
          heard(table, false);
        });
        return range_statistics(store, rows, from, to, stop);
      },
      [heard](const std::vector<NameStatistics>& table) { heard(table, true); });
}

}  // namespace trainyard
