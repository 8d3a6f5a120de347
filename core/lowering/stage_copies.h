// A StageCopy is a stage on one of the devices that hold it, a "place" for short. Lowering makes
// tasks, buffers and state once per place; all except bidirectional placements have one place per
// stage.
#pragma once

#include <vector>

#include "core/lowering/workload.h"

namespace trainyard {

struct StageCopy {
  StageId stage;
  DeviceId device;
};

class StageCopies {
 public:
  explicit StageCopies(const Workload& w)
      : devices_(w.scenario.plan.mesh.pp),
        stages_(static_cast<int>(w.table.size())),
        placement_(w.placement) {
    for (std::uint32_t s = 0; s < w.table.size(); ++s)
      for (int copy = 0; copy < copies(placement_); ++copy)
        list_.push_back({StageId{s}, device(StageId{s}, copy)});
  }

  std::size_t size() const { return list_.size(); }
  const StageCopy& operator[](std::size_t i) const { return list_[i]; }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }

  /// The index of the stage's copy on that device.
  int copy(StageId stage, DeviceId on) const {
    return copies(placement_) > 1 && device(stage, 0) != on ? 1 : 0;
  }
  /// Index of the place.
  std::size_t of(StageId stage, DeviceId on) const { return index(stage, copy(stage, on)); }
  std::size_t index(StageId stage, int copy) const {
    return stage.value * static_cast<std::size_t>(copies(placement_)) +
           static_cast<std::size_t>(copy);
  }
  DeviceId device(StageId stage, int copy) const {
    return device_of(stage, devices_, stages_, placement_, copy);
  }
  bool copied() const { return copies(placement_) > 1; }

 private:
  int devices_, stages_;
  Placement placement_;
  std::vector<StageCopy> list_;
};

}  // namespace trainyard
