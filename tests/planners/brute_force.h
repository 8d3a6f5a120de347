// Finds the shortest order by trying all of them: it uses nothing of the solver, and leaves out
// only orders that the remaining work already makes too long.
#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

#include "planners/schedules/schedule_solver.h"

namespace trainyard {

/// Actions are appended in the order in which they start, so that each set of lanes comes up once.
class BruteForce {
 public:
  /// in_sequence: a stage takes microbatches one after the other, which spares trying their names.
  BruteForce(const ScheduleProblem& problem, ScheduleObjective objective, bool in_sequence)
      : problem_(problem),
        objective_(objective),
        in_sequence_(in_sequence),
        stages_(problem.stages.size()),
        microbatches_(static_cast<std::size_t>(problem.microbatches)),
        devices_(static_cast<std::size_t>(problem.devices)) {
    for (std::size_t s = 0; s < stages_; ++s) {
      const StageCost& c = problem.stages[s];
      device_.push_back(device_of({static_cast<std::uint32_t>(s)}, problem.devices,
                                  static_cast<int>(stages_), problem.placement)
                            .value);
      devices_[device_[s]].left +=
          problem.microbatches * (c.forward + c.backward_input + c.backward_weight);
    }
    passed_.assign(stages_ * microbatches_, 0);
    for (auto& list : ends_) list.assign(stages_ * microbatches_, Duration{});
  }

  Duration shortest() {
    extend(Duration{-1}, 0);
    return best_;
  }
  std::int64_t nodes() const { return nodes_; }

 private:
  struct Device {
    Duration first{-1}, free{}, left{};
    std::int64_t held = 0;
  };
  struct Next {
    Duration start;
    std::size_t device, stage, microbatch;
  };

  int passes() const { return problem_.split_backward ? 3 : 2; }
  std::size_t cell(std::size_t s, std::size_t m) const { return s * microbatches_ + m; }
  Duration hop(std::size_t a, std::size_t b) const {
    return device_[a] == device_[b] ? Duration{} : problem_.transfer;
  }

  Duration length(std::size_t s, int pass) const {
    const StageCost& c = problem_.stages[s];
    if (pass == 0) return c.forward;
    if (pass == 2) return c.backward_weight;
    return problem_.split_backward ? c.backward_input : c.backward_input + c.backward_weight;
  }

  bool may_start(std::size_t s, std::size_t m) const {
    const int pass = passed_[cell(s, m)];
    if (pass == passes()) return false;
    if (pass == 0 && s > 0 && passed_[cell(s - 1, m)] < 1) return false;
    if (pass == 1 && s + 1 < stages_ && passed_[cell(s + 1, m)] < 2) return false;
    if (pass == 0 && !problem_.limits.empty()) {
      const StageCost& c = problem_.stages[s];
      const std::int64_t held =
          devices_[device_[s]].held + c.until_input.value + c.until_weight.value;
      if (held > problem_.limits[device_[s]].value) return false;
    }
    return !in_sequence_ || m == 0 || passed_[cell(s, m - 1)] > pass;
  }

  Duration start_of(std::size_t s, std::size_t m) const {
    const int pass = passed_[cell(s, m)];
    Duration start = devices_[device_[s]].free;
    if (pass == 0 && s > 0) start = std::max(start, ends_[0][cell(s - 1, m)] + hop(s - 1, s));
    if (pass == 1 && s + 1 < stages_)
      start = std::max(start, ends_[1][cell(s + 1, m)] + hop(s, s + 1));
    return start;
  }

  void extend(Duration last_start, std::size_t last_device) {
    ++nodes_;
    Duration value{};
    bool left = false;
    for (const Device& d : devices_) {
      left = left || d.left > Duration{};
      const bool span = objective_ == ScheduleObjective::Span;
      value =
          std::max(value, d.free + d.left - (span ? std::max(d.first, Duration{}) : Duration{}));
    }
    // A device that has not begun may begin later and so shorten its span: no reason to stop.
    if (value >= best_ && (objective_ == ScheduleObjective::Makespan || all_begun())) return;
    if (!left) {
      best_ = value;
      return;
    }
    std::vector<Next> all;
    for (std::size_t s = 0; s < stages_; ++s)
      for (std::size_t m = 0; m < microbatches_; ++m) {
        if (!may_start(s, m)) continue;
        const Next next{start_of(s, m), device_[s], s, m};
        if (std::tie(next.start, next.device) > std::tie(last_start, last_device))
          all.push_back(next);
      }
    std::sort(all.begin(), all.end(), [](const Next& a, const Next& b) {
      return std::tie(a.start, a.device, a.stage, a.microbatch) <
             std::tie(b.start, b.device, b.stage, b.microbatch);
    });
    for (const Next& next : all) take(next);
  }

  bool all_begun() const {
    return std::all_of(devices_.begin(), devices_.end(),
                       [](const Device& d) { return d.first >= Duration{}; });
  }

  void take(const Next& next) {
    Device& device = devices_[next.device];
    const Device before = device;
    const StageCost& c = problem_.stages[next.stage];
    int& pass = passed_[cell(next.stage, next.microbatch)];
    const Duration time = length(next.stage, pass);
    if (device.first < Duration{}) device.first = next.start;
    device.free = next.start + time;
    device.left -= time;
    if (pass == 0) device.held += c.until_input.value + c.until_weight.value;
    if (pass == 1) device.held -= c.until_input.value;
    if (pass == passes() - 1) device.held -= c.until_weight.value;
    if (pass < 2) ends_[pass][cell(next.stage, next.microbatch)] = device.free;
    ++pass;
    extend(next.start, next.device);
    --passed_[cell(next.stage, next.microbatch)];
    device = before;
  }

  const ScheduleProblem& problem_;
  ScheduleObjective objective_;
  bool in_sequence_;
  std::size_t stages_, microbatches_;
  std::vector<std::size_t> device_;
  std::vector<Device> devices_;
  std::vector<int> passed_;        // of each stage and microbatch
  std::vector<Duration> ends_[2];  // of forwards and input gradients
  Duration best_ = Duration::max();
  std::int64_t nodes_ = 0;
};

}  // namespace trainyard
