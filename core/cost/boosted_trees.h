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

struct TreeOptions {
  int rounds = 300;        // trees, each of which corrects the sum of those before it
  int depth = 5;           // splits from a root to a leaf, at most
  double rate = 0.06;      // part of a tree's correction that is applied
  double shrink = 1;       // L2 penalty on a leaf's value
  double least_leaf = 1;   // samples in a leaf, at least
  double row_share = 0.8;  // of the samples, drawn anew for each tree
  double column_share = 0.8;
};

/// The trees are immutable. They were trained on one thread with a fixed seed: equal samples give
/// equal trees.
class BoostedTrees {
 public:
  /// Minimises the squared error. There must be at least one sample, as many targets as rows, and
  /// all numbers must be finite. Blocks while it trains.
  BoostedTrees(const FeatureTable&, std::span<const float> targets, const TreeOptions& = {});
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
