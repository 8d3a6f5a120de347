#include "core/training/row_saves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/packed.h"

namespace trainyard {
namespace {

constexpr std::uint64_t kEverySecond = 2;  // look-up is noted by Ssu

}  // namespace

RowSaves::RowSaves(const PartialRecovery& settings, std::int64_t rows, std::uint64_t seed)
    : how_(settings.how),
      most_(static_cast<std::size_t>(
          settings.chooses_rows()
              ? std::max<std::int64_t>(
                    1, std::llround(std::floor(settings.part * static_cast<double>(rows))))
              : rows)),
      unsaved_(static_cast<std::size_t>(rows), 0),
      random_(seed) {
  if (how_ == ShardSaving::Ssu) listed_.assign(unsaved_.size(), false);
}

void RowSaves::look_up(std::int64_t row) {
  const auto at = static_cast<std::size_t>(row);
  ++unsaved_[at], ++at_risk_;
  const std::uint64_t seen = seen_++;
  if (how_ != ShardSaving::Ssu || seen % kEverySecond != 0 || listed_[at]) return;
  listed_[at] = true;
  if (list_.size() < most_) {
    list_.push_back(row);
    return;
  }
  const std::int64_t last = static_cast<std::int64_t>(list_.size()) - 1;
  std::int64_t& forgotten = list_[static_cast<std::size_t>(random_.between(seen, 0, last))];
  listed_[static_cast<std::size_t>(forgotten)] = false;
  forgotten = row;
}

// The lower of equal rows goes first. A row that has become no number is farther than all others:
// it must have a place in the order, which NaN has not.
std::vector<std::int64_t> RowSaves::highest(const std::function<double(std::int64_t)>& of) const {
  std::vector<std::pair<double, std::int64_t>> rows;
  for (std::int64_t row = 0; row < this->rows(); ++row)
    if (unsaved(row) > 0) {
      const double size = of(row);
      rows.emplace_back(std::isnan(size) ? -std::numeric_limits<double>::infinity() : -size, row);
    }
  const std::size_t count = std::min(most_, rows.size());
  std::nth_element(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count), rows.end());
  std::vector<std::int64_t> chosen;
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(rows[i].second);
  return chosen;
}

std::vector<std::int64_t> RowSaves::choose(const std::function<double(std::int64_t)>& change) {
  std::vector<std::int64_t> chosen;
  if (how_ == ShardSaving::Mfu) {
    chosen = highest([this](std::int64_t row) { return static_cast<double>(unsaved(row)); });
  } else if (how_ == ShardSaving::Scar) {
    chosen = highest(change);
  } else if (how_ == ShardSaving::Ssu) {
    chosen = std::exchange(list_, {});
    listed_.assign(listed_.size(), false);
  } else {
    chosen.resize(unsaved_.size());
    std::iota(chosen.begin(), chosen.end(), std::int64_t{0});
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

void RowSaves::saved(std::span<const std::int64_t> rows) {
  for (const std::int64_t row : rows)
    at_risk_ -= std::exchange(unsaved_[static_cast<std::size_t>(row)], 0);
}

void RowSaves::went_back() {
  std::fill(unsaved_.begin(), unsaved_.end(), 0);
  at_risk_ = 0;
  list_.clear();
  listed_.assign(listed_.size(), false);
}

std::string RowSaves::counted() const {
  std::string bytes;
  append_list(bytes, unsaved_);
  append(bytes, at_risk_);
  append(bytes, seen_);
  append_list(bytes, list_);
  return bytes;
}

void RowSaves::go_on(std::string_view counted) {
  Pieces pieces(counted);
  unsaved_ = pieces.list<std::uint32_t>();
  at_risk_ = pieces.next<std::int64_t>();
  seen_ = pieces.next<std::uint64_t>();
  list_ = pieces.list<std::int64_t>();
  listed_.assign(listed_.size(), false);
  for (const std::int64_t row : list_) listed_[static_cast<std::size_t>(row)] = true;
}

}  // namespace trainyard
