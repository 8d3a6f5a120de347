// ZB-V has two chunks per device, the second on the way back, so that the first device has the loss
// and starts the backward itself. If F=B=W no device waits between its first and last pass, at
// 1F1B's memory. Each device warms up with forwards of the first chunk until the second chunk's
// reach it, then takes one forward, input and weight gradient of each chunk in turn; at the end
// weight gradients wait until no input gradient is left.
//
// Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024.
#include <algorithm>
#include <array>
#include <cassert>

#include "core/methods/catalogue.h"
#include "core/methods/orders/schedule_check.h"

namespace trainyard {
namespace {

// VWriter writes one device's lane and counts what each chunk has done so far.
class VWriter {
 public:
  VWriter(const ScheduleShape& shape, int device) : shape_(shape) {
    const auto d = static_cast<std::uint32_t>(device);
    stages_ = {StageId{d}, StageId{static_cast<std::uint32_t>(shape.stages) - 1 - d}};
    lane_ = {{d}, "compute"};
    lane_.actions.reserve(6 * static_cast<std::size_t>(shape.microbatches));
  }
  void forward(int chunk) { act(Phase::Forward, chunk, forwards_); }
  void input_gradient(int chunk) { act(Phase::BackwardInput, chunk, inputs_); }
  void weight_gradient(int chunk) { act(Phase::BackwardWeight, chunk, weights_); }
  int forwards(int chunk) const { return forwards_[static_cast<std::size_t>(chunk)]; }
  int inputs(int chunk) const { return inputs_[static_cast<std::size_t>(chunk)]; }
  int weights(int chunk) const { return weights_[static_cast<std::size_t>(chunk)]; }
  Lane take() { return std::move(lane_); }

 private:
  using Counts = std::array<int, 2>;

  // Microbatches that exist only to give the schedule its length are left out.
  void act(Phase phase, int chunk, Counts& counts) {
    const auto c = static_cast<std::size_t>(chunk);
    const int m = counts[c]++;
    if (m < shape_.microbatches) lane_.actions.push_back({phase, stages_[c], m});
  }

  const ScheduleShape& shape_;
  std::array<StageId, 2> stages_;
  Lane lane_;
  Counts forwards_{}, inputs_{}, weights_{};
};

Lane lane_of(const ScheduleShape& shape, int d) {
  const int p = shape.devices, n = std::max(shape.microbatches, 2 * p - 1);
  VWriter w(shape, d);
  for (int i = 0; i < 2 * (p - d) - 1; ++i) w.forward(0);
  for (int i = 0; i < d; ++i) w.forward(1), w.forward(0);
  for (int i = 0; i < p - d; ++i) w.forward(1), w.input_gradient(1), w.weight_gradient(1);
  while (w.forwards(1) < n) {
    if (w.forwards(0) < n) w.forward(0);
    w.input_gradient(0), w.weight_gradient(0);
    w.forward(1), w.input_gradient(1), w.weight_gradient(1);
  }
  for (int i = 0; i < d; ++i) w.input_gradient(0), w.input_gradient(1);
  while (w.inputs(0) < n) w.input_gradient(0), w.weight_gradient(0);
  while (w.weights(1) < n) w.weight_gradient(1);
  while (w.weights(0) < n) w.weight_gradient(0);
  return w.take();
}

Order order_zb_v(const ScheduleShape& shape, const Params&) {
  assert(shape.stages == 2 * shape.devices && "check() has refused the rest");
  Order order;
  for (int d = 0; d < shape.devices; ++d) order.lanes.push_back(lane_of(shape, d));
  return order;
}

}  // namespace

Method zb_v() {
  return {
      .name = "zb-v",
      .axis = MethodAxis::Schedule,
      .summary = "Two chunks per device in a V and a split backward: no waiting at 1F1B's memory.",
      .paper = {"Zero Bubble Pipeline Parallelism", "Qi et al.", "ICLR", 2024},
      .card = {.gains = "a device idles (p-1)(B-W) between its first and last pass, if W <= F <= B "
                        "and with 2p microbatches or more: nothing if F=B=W; the memory of 1F1B's "
                        "first stage on every device",
               .costs = "twice the sends; with one update of all devices at the end the step still "
                        "exceeds the ideal by (p-1)B/2 or more",
               .legal_when = "virtual-stages is 2"},
      .file = "core/methods/schedules/zb_v.cpp",
      .check = [](const Scenario& s, const Params&) { return expect_chunks(s, "zb-v", 2); },
      .placement = Placement::V,
      .order = order_zb_v,
      .splits_backward = true,
  };
}

}  // namespace trainyard
