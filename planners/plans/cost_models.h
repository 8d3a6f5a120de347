// CostModels holds the cost models of a space's scenarios: one for each software that its plans
// name.
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
  /// An empty function means physical_cost_model().
  explicit CostModels(Make make) : make_(std::move(make)) {}
  /// The model lives as long as this object. May be called from any thread.
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
