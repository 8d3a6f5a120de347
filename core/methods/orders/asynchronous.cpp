#include "core/methods/orders/asynchronous.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace trainyard {
namespace {

// FlowLane writes the lane of one stage and tracks which weight versions exist meanwhile.
class FlowLane {
 public:
  FlowLane(const ScheduleShape& shape, const Flow& flow, int stage)
      : shape_(shape),
        flow_(flow),
        stage_{static_cast<std::uint32_t>(stage)},
        lane_{{static_cast<std::uint32_t>(stage)}, "compute"},
        read_(static_cast<std::size_t>(shape.microbatches) *
              static_cast<std::size_t>(shape.steps)) {}

  Lane run() {
    const int m = shape_.microbatches, s = static_cast<int>(stage_.value);
    const int flushed = std::min(flow_.flush_steps, shape_.steps);
    for (int step = 0; step < flushed; ++step) run(step * m, (step + 1) * m, shape_.stages - 1 - s);
    run(flushed * m, shape_.steps * m, flow_.ahead(s));
    return std::move(lane_);
  }

 private:
  // Runs the microbatches [first, last), with nothing in flight before and after them.
  void run(int first, int last, int ahead) {
    int forwards = first, backwards = first;
    for (int place = 0; backwards < last; ++place) {
      if (enters(place) && forwards < last) forward(forwards++);
      if (place >= ahead && enters(place - ahead)) backward(backwards++);
    }
  }
  bool enters(int place) const { return place % flow_.of_places < flow_.entering; }

  void add(Phase phase, int microbatch, int version) {
    lane_.actions.push_back({phase, stage_, microbatch,
                             static_cast<std::int16_t>(microbatch % flow_.waves),
                             static_cast<std::int16_t>(version)});
  }

  void forward(int k) {
    int& version = read_[static_cast<std::size_t>(k)];
    version = flow_.read ? flow_.read(k, newest_) : newest_;
    add(Phase::Forward, k, version);
  }

  void backward(int k) {
    add(Phase::Backward, k, flow_.stash ? read_[static_cast<std::size_t>(k)] : newest_);
    if (++backwards_ % flow_.update_every != 0) return;
    const int index = newest_++;
    lane_.actions.push_back({Phase::Update, stage_, index,
                             static_cast<std::int16_t>(k % flow_.waves),
                             static_cast<std::int16_t>(newest_)});
  }

  const ScheduleShape& shape_;
  const Flow& flow_;
  StageId stage_;
  Lane lane_;
  std::vector<int> read_;  // by microbatch: the version that its forward read
  int newest_ = 0, backwards_ = 0;
};

}  // namespace

void expect_versions(std::string_view method, const ScheduleShape& shape, std::int64_t versions) {
  if (versions > kMostVersions)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("{} would write {} weight versions in {} steps of {} microbatches, and "
                            "an order counts to {}; ask for fewer steps or microbatches",
                            method, versions, shape.steps, shape.microbatches, kMostVersions),
                {"plan#/batch/global"});
}

Order flow_order(std::string_view method, const ScheduleShape& shape, const Flow& flow) {
  assert(shape.stages == shape.devices && "check() has refused virtual stages");
  expect_versions(method, shape,
                  std::int64_t{shape.microbatches} * shape.steps / flow.update_every);
  Order order;
  for (int s = 0; s < shape.stages; ++s) order.lanes.push_back(FlowLane(shape, flow, s).run());
  return order;
}

int settled_after(const ScheduleShape& shape, int ahead) {
  const int m = std::max(1, shape.microbatches);
  return 2 * ((2 * (ahead + 1) + m - 1) / m);
}

Diagnostics check_asynchronous(std::string_view method, const Scenario& scenario,
                               std::int64_t updates_per_step, std::int64_t steps) {
  const Plan& plan = scenario.plan;
  Diagnostics found;
  if (plan.virtual_stages != 1)
    found.push_back({Diagnostic::Severity::Error,
                     fmt::format("{} has one stage per device, and virtual-stages is {}", method,
                                 plan.virtual_stages),
                     {"plan#/virtual_stages"},
                     "virtual-stages=1"});
  if (updates_per_step * steps > kMostVersions)
    found.push_back(
        {Diagnostic::Severity::Error,
         fmt::format("{} would write {} weight versions in the {} steps that it takes to settle, "
                     "and an order counts to {}; fewer microbatches per step need fewer",
                     method, updates_per_step * steps, steps, kMostVersions),
         {"plan#/batch/global"},
         {}});
  return found;
}

}  // namespace trainyard
