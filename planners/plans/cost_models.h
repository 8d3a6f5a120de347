// The cost models of a space's scenarios: one for each software that its plans name.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include "core/cost/cost_model.h"
#include "core/plan/plan.h"

namespace trainyard {

class CostModels {
 public:
  using Make = std::function<std::unique_ptr<CostModel>(const Scenario&)>;
  /// Empty = physical_cost_model().
  explicit CostModels(Make make) : make_(std::move(make)) {}
  /// Lives as long as this; safe on any thread.
  const CostModel& of(const Scenario&);

 private:
  struct Entry {
    Software software;
    std::unique_ptr<CostModel> model;
  };
  Make make_;
  std::mutex lock_;
  std::list<Entry> made_;
};

}  // namespace trainyard
