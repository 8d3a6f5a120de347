#include "core/cost/boosted_trees.h"

#include <fmt/format.h>
#include <xgboost/c_api.h>

#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>

namespace trainyard {
namespace {

void check(int status) {
  if (status != 0) throw std::runtime_error(std::string("XGBoost: ") + XGBGetLastError());
}

class Samples {
 public:
  Samples(const FeatureTable& table, std::span<const float> targets) {
    check(XGDMatrixCreateFromMat(table.values.data(), table.rows(), table.columns, kMissing,
                                 &handle_));
    if (const int status =
            XGDMatrixSetFloatInfo(handle_, "label", targets.data(), targets.size())) {
      XGDMatrixFree(handle_);
      check(status);
    }
  }
  ~Samples() { XGDMatrixFree(handle_); }
  Samples(const Samples&) = delete;
  Samples& operator=(const Samples&) = delete;
  DMatrixHandle handle() const { return handle_; }

  static constexpr float kMissing = -3e38F;  // no feature has this value

 private:
  DMatrixHandle handle_ = nullptr;
};

// The library takes an array as the text of the array interface of NumPy.
std::string array_interface(const FeatureTable& table) {
  return fmt::format(R"({{"data": [{}, true], "shape": [{}, {}], "typestr": "<f4", "version": 3}})",
                     reinterpret_cast<std::uintptr_t>(table.values.data()), table.rows(),
                     table.columns);
}

}  // namespace

void FeatureTable::add(std::span<const float> row) {
  if (row.size() != columns) throw std::invalid_argument("a row of another width");
  values.insert(values.end(), row.begin(), row.end());
}

struct BoostedTrees::Booster {
  std::size_t columns = 0;
  BoosterHandle handle = nullptr;
  std::mutex mutex;  // the library keeps its results in the booster

  Booster() = default;
  Booster(const Booster&) = delete;
  Booster& operator=(const Booster&) = delete;
  ~Booster() { XGBoosterFree(handle); }
  void set(const char* name, const std::string& value) {
    check(XGBoosterSetParam(handle, name, value.c_str()));
  }
};

BoostedTrees::BoostedTrees(const FeatureTable& table, std::span<const float> targets,
                           const TreeOptions& options)
    : booster_(std::make_unique<Booster>()) {
  if (targets.empty() || targets.size() != table.rows())
    throw std::invalid_argument("expected a target for each of at least one row");
  const Samples samples(table, targets);
  const DMatrixHandle handle = samples.handle();
  booster_->columns = table.columns;
  check(XGBoosterCreate(&handle, 1, &booster_->handle));
  booster_->set("verbosity", "0");
  booster_->set("nthread", "1");
  booster_->set("seed", "1");
  booster_->set("objective", "reg:squarederror");
  booster_->set("tree_method", "hist");
  booster_->set("base_score", "0");
  booster_->set("max_depth", std::to_string(options.depth));
  booster_->set("eta", fmt::format("{}", options.rate));
  booster_->set("lambda", fmt::format("{}", options.shrink));
  booster_->set("min_child_weight", fmt::format("{}", options.least_leaf));
  booster_->set("subsample", fmt::format("{}", options.row_share));
  booster_->set("colsample_bytree", fmt::format("{}", options.column_share));
  for (int round = 0; round < options.rounds; ++round)
    check(XGBoosterUpdateOneIter(booster_->handle, round, handle));
}

BoostedTrees::~BoostedTrees() = default;
BoostedTrees::BoostedTrees(BoostedTrees&&) noexcept = default;
BoostedTrees& BoostedTrees::operator=(BoostedTrees&&) noexcept = default;

std::vector<float> BoostedTrees::predict(const FeatureTable& table) const {
  if (table.rows() == 0) return {};
  if (table.columns != booster_->columns) throw std::invalid_argument("rows of another width");
  constexpr const char* kConfig =
      R"({"type": 0, "training": false, "iteration_begin": 0, "iteration_end": 0,
          "strict_shape": false, "missing": -3e38, "cache_id": 0})";
  const std::lock_guard lock(booster_->mutex);
  const bst_ulong* shape = nullptr;
  bst_ulong dimensions = 0;
  const float* found = nullptr;
  check(XGBoosterPredictFromDense(booster_->handle, array_interface(table).c_str(), kConfig,
                                  nullptr, &shape, &dimensions, &found));
  return {found, found + table.rows()};
}

}  // namespace trainyard
