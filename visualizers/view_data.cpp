#include "visualizers/view_data.h"

#include <utility>

namespace trainyard {

ViewData::ViewData(ExperimentPtr of, std::shared_ptr<const CostModel> cost,
                   std::shared_ptr<const WaveStudy> waves)
    : experiment(std::move(of)), cost_(std::move(cost)), wave_study_(std::move(waves)) {}

int ViewData::made() const {
  const std::lock_guard lock(mutex_);
  return made_;
}

const void* ViewData::model(std::type_index type,
                            std::shared_ptr<const void> (*make)(const ViewData&)) const {
  OnDemand* found = nullptr;
  {
    const std::lock_guard lock(mutex_);
    found = &models_[type];
  }
  // Outside of the lock: a model may ask for another, and who asks for a third need not wait.
  std::call_once(found->once, [&] {
    found->model = make(*this);
    const std::lock_guard lock(mutex_);
    ++made_;
  });
  return found->model.get();
}

}  // namespace trainyard
