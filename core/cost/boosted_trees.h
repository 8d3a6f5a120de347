// Gradient-boosted regression trees (Chen & Guestrin, "XGBoost", 2016), trained and evaluated by
// the library of that name.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace trainyard {

/// A FeatureTable has one row of `columns` numbers for each sample, row after row.
struct FeatureTable {
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
