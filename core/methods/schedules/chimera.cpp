// Chimera runs two 1F1B pipelines in opposite directions on the same devices, each with half of a
// unit of p microbatches. With F = B each fills the other's gaps; units follow one another.
//
//   d0  F0 F1    f2 b2 f3 b3 B0    B1      p = 4, m = 4, B = F; small letters come up
//   d1     F0 f2 F1 f3 b2 B0 b3 B1
//   d2     f2 F0 f3 F1 B0 b2 B1 b3
//   d3  f2 f3    F0 B0 F1 B1 b2    b3
//
// Li and Hoefler, "Chimera: Efficiently Training Large-Scale Neural Networks with Bidirectional
// Pipelines", SC 2021.
#include <algorithm>
#include <cassert>

#include "core/methods/catalogue.h"
#include "core/methods/orders/schedule_check.h"

namespace trainyard {
namespace {

// A GridSlot is an action in its slot of a grid where forward and backward take one slot each.
struct GridSlot {
  std::int64_t at = 0;
  Action action;
};

// Adds a unit's actions on one device: microbatches from `first` on, the first half of them
// downwards.
void add_unit(std::vector<GridSlot>& slots, int p, int device, int first, int count,
              std::int64_t start) {
  const int down = (count + 1) / 2;
  for (int k = 0; k < count; ++k) {
    const bool up = k >= down;
    const int stage = up ? p - 1 - device : device, nth = up ? k - down : k;
    const auto add = [&](Phase phase, int slot) {
      slots.push_back({start + slot + 2 * std::int64_t{nth},
                       {.phase = phase,
                        .stage = {static_cast<std::uint32_t>(stage)},
                        .microbatch = first + k,
                        .wave = static_cast<std::int16_t>(up)}});
    };
    add(Phase::Forward, stage);
    add(Phase::Backward, 2 * p - 1 - stage);
  }
}

Order order_chimera(const ScheduleShape& shape, const Params&) {
  assert(shape.stages == shape.devices && shape.devices % 2 == 0 && "check() has refused the rest");
  const int p = shape.devices, m = shape.microbatches;
  Order order;
  std::vector<GridSlot> slots;
  for (int d = 0; d < p; ++d) {
    slots.clear();
    for (int first = 0; first < m; first += p)
      add_unit(slots, p, d, first, std::min(p, m - first), 2 * std::int64_t{first});
    std::sort(slots.begin(), slots.end(),
              [](const GridSlot& a, const GridSlot& b) { return a.at < b.at; });
    Lane lane{{static_cast<std::uint32_t>(d)}, "compute"};
    lane.actions.reserve(slots.size());
    for (const GridSlot& slot : slots) lane.actions.push_back(slot.action);
    order.lanes.push_back(std::move(lane));
  }
  return order;
}

Diagnostics check_chimera(const Scenario& scenario, const Params&) {
  Diagnostics found = expect_chunks(scenario, "chimera", 1);
  for (Diagnostic& d : expect_even_devices(scenario, "chimera")) found.push_back(std::move(d));
  return found;
}

}  // namespace

Method chimera() {
  return {
      .name = "chimera",
      .axis = MethodAxis::Schedule,
      .summary = "Two 1F1B pipelines against each other, each in the other's gaps.",
      .paper = {"Chimera: Efficiently Training Large-Scale Neural Networks with Bidirectional "
                "Pipelines",
                "Li and Hoefler", "SC", 2021},
      .card = {.gains = "a bubble of (p-2) max(F, B_full) for p microbatches instead of (p-1)(F + "
                        "B_full); between p/2+1 and p alive instead of 1 to p",
               .costs = "every device holds the weights of two stages, and their gradients are "
                        "reduced between the copies; each further p microbatches add (p-2)|B_full "
                        "- F|, more than 1F1B's bubble in a long step",
               .legal_when = "virtual-stages is 1 and pp is even"},
      .file = "core/methods/schedules/chimera.cpp",
      .check = check_chimera,
      .placement = Placement::Bidirectional,
      .order = order_chimera,
  };
}

}  // namespace trainyard
