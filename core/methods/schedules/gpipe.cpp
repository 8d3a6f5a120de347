// In GPipe every microbatch goes forward through all stages, then all of them go backward. This is
// simple, but the activations of the whole batch are alive in between.
//
//   d0  F0 F1 F2 F3                      B0 B1 B2 B3
//   d1     F0 F1 F2 F3                B0 B1 B2 B3
//   d2        F0 F1 F2 F3          B0 B1 B2 B3
//   d3           F0 F1 F2 F3 B0 B1 B2 B3
//
// Huang et al., "GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism",
// NeurIPS 2019.
#include "core/methods/catalogue.h"
#include "core/methods/orders/closed_form.h"

namespace trainyard {
namespace {

// With several stages per device, each of its stages processes all microbatches before the next one
// begins.
Order order_gpipe(const ScheduleShape& shape, const Params&) {
  Order order;
  for (int d = 0; d < shape.devices; ++d) {
    Lane lane{{static_cast<std::uint32_t>(d)}, "compute"};
    const auto all = [&](Phase phase, int stage) {
      for (int m = 0; m < shape.microbatches; ++m)
        lane.actions.push_back({phase, {static_cast<std::uint32_t>(stage)}, m});
    };
    const int chunks = (shape.stages - d + shape.devices - 1) / shape.devices;
    for (int c = 0; c < chunks; ++c) all(Phase::Forward, c * shape.devices + d);
    for (int c = chunks; c-- > 0;) all(Phase::Backward, c * shape.devices + d);
    order.lanes.push_back(std::move(lane));
  }
  return order;
}

}  // namespace

Method gpipe() {
  return {
      .name = "gpipe",
      .axis = MethodAxis::Schedule,
      .summary = "Sends all microbatches forward, then all of them backward.",
      .paper = {"GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism",
                "Huang et al.", "NeurIPS", 2019},
      .card = {.gains = "a model too large for one device; bubble (p-1)/(m+p-1), small when "
                        "microbatches are many",
               .costs = "activations of all m microbatches alive at once on every stage",
               .legal_when = "always"},
      .file = "core/methods/schedules/gpipe.cpp",
      .order = order_gpipe,
      .closed_form = gpipe_closed_form,
  };
}

}  // namespace trainyard
