// Gradient-boosted regression trees (Chen & Guestrin, "XGBoost", 2016), trained and evaluated by
// the library of that name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace trainyard {

/// A FeatureTable has one row of `columns` numbers for each sample, row after row.
struct FeatureTable {
  static constexpr float kMissing = -3e38F;  // a feature that a sample does not have

  std::size_t columns = 0;
  std::vector<float> values;
  std::size_t rows() const { return columns == 0 ? 0 : values.size() / columns; }
  std::span<const float> row(std::size_t r) const {
    return std::span(values).subspan(r * columns, columns);
  }
  /// Throws std::invalid_argument unless the row has `columns` numbers.
  void add(std::span<const float> row);
};

/// The trees are immutable. They were trained on one thread with a fixed seed: equal samples give
/// equal trees.
class BoostedTrees {
 public:
  /// Minimises the squared error. There must be at least one sample, as many targets as rows, and
  /// all numbers must be finite. Blocks while it trains.
  BoostedTrees(const FeatureTable&, std::span<const float> targets);
  /// Ranks the rows within lists: higher predictions are earlier in the order of `times`, which are
  /// logarithms, the shortest first. `lists` says how many rows each list has, one list's behind
  /// the other's, at least one row in all. Minimises the ListMLE loss with every place weighted by
  /// how much longer the next time is. Blocks while it trains.
  BoostedTrees(const FeatureTable&, std::span<const std::uint32_t> lists,
               std::span<const float> times);
  ~BoostedTrees();
  BoostedTrees(BoostedTrees&&) noexcept;
  BoostedTrees& operator=(BoostedTrees&&) noexcept;

  /// One prediction per row; any thread may ask, one after the other. Throws std::invalid_argument
  /// for rows of another width.
  std::vector<float> predict(const FeatureTable&) const;

 private:
  struct Booster;
  std::unique_ptr<Booster> booster_;
};

}  // namespace trainyard
