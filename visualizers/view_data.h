// The models of one experiment that views draw, each made when it is first asked for.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <typeindex>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/result/experiment.h"

namespace trainyard {

class ViewData;

/// Derives a model from an experiment: each header of a model declares its own. It may ask for
/// other models, and is linear in the instructions and samples of the experiment.
template <class Model>
Model make_model(const ViewData&);

/// The peak of the fullest device when each wave starts that share of a cycle after the one before.
struct OffsetPeak {
  double share = 0;  // in [0, 1]
  Bytes peak{};
};
/// The same model on the same devices, trained without waves that share them.
struct WaveAlternative {
  std::string name;     // "one wave"
  std::string changes;  // against the plan, as --set takes them: "schedule=1f1b micro-batch=8"
  std::string refused;  // why there is no such plan; then there are no figures either
  double rate = 0;      // tokens or samples a second, as results count
  double mfu = 0;
  Bytes peak{};  // of the fullest device
  bool fits = false;
};
/// What else was simulated beside a plan whose waves share a device.
struct WaveStudy {
  std::vector<OffsetPeak> offsets;  // in increasing order; empty while they are simulated
  std::vector<WaveAlternative> alternatives;
};

/// What views derive from an experiment once, so that each frame asks little. A model stays as it
/// is once it is made; any thread may ask.
class ViewData {
 public:
  /// waves: of a plan whose waves share a device; null where nothing else was simulated.
  ViewData(ExperimentPtr, std::shared_ptr<const CostModel>,
           std::shared_ptr<const WaveStudy> waves = {});

  const ExperimentPtr experiment;
  const CostModel& cost() const { return *cost_; }
  const WaveStudy* wave_study() const { return wave_study_.get(); }

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
  std::shared_ptr<const WaveStudy> wave_study_;
  mutable std::mutex mutex_;  // of the two below, not of the models
  mutable std::map<std::type_index, OnDemand> models_;
  mutable int made_ = 0;
};

}  // namespace trainyard
