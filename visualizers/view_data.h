// The models of one experiment that views draw, each made when it is first asked for.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <typeindex>

#include "core/cost/cost_model.h"
#include "core/result/experiment.h"

namespace trainyard {

class ViewData;

/// Derives a model from an experiment: each header of a model declares its own. It may ask for
/// other models, and is linear in the instructions and samples of the experiment.
template <class Model>
Model make_model(const ViewData&);

/// What views derive from an experiment once, so that each frame asks little. A model stays as it
/// is once it is made; any thread may ask.
class ViewData {
 public:
  ViewData(ExperimentPtr, std::shared_ptr<const CostModel>);

  const ExperimentPtr experiment;
  const CostModel& cost() const { return *cost_; }

  template <class Model>
  const Model& get() const {
    return *static_cast<const Model*>(model(typeid(Model), [](const ViewData& data) {
      return std::shared_ptr<const void>(std::make_shared<const Model>(make_model<Model>(data)));
    }));
  }

  /// How many models there are by now.
  int made() const;

 private:
  struct OnDemand {
    std::once_flag once;
    std::shared_ptr<const void> model;
  };
  const void* model(std::type_index, std::shared_ptr<const void> (*make)(const ViewData&)) const;

  std::shared_ptr<const CostModel> cost_;
  mutable std::mutex mutex_;  // of the two below, not of the models
  mutable std::map<std::type_index, OnDemand> models_;
  mutable int made_ = 0;
};

}  // namespace trainyard
