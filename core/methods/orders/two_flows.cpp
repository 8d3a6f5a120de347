#include "core/methods/orders/two_flows.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "core/methods/orders/recurrence.h"

namespace trainyard {
namespace {

class FlowWriter {
 public:
  explicit FlowWriter(int microbatches) {
    actions_.reserve(6 * static_cast<std::size_t>(microbatches));
  }

  void forward(bool other) { actions_.push_back({Phase::Forward, other, forwards_[other]++}); }
  void backward(bool other, bool paired = false) {
    actions_.push_back({Phase::Backward, other, backwards_[other]++, paired});
  }
  void input_gradient(bool other) {
    owed_.push_back({Phase::BackwardWeight, other, backwards_[other]});
    actions_.push_back({Phase::BackwardInput, other, backwards_[other]++});
  }
  // Adds the oldest weight gradient that has not run yet.
  void weight_gradient() { actions_.push_back(owed_[paid_++]); }

  std::vector<FlowAction> take() {
    assert(paid_ == owed_.size() && forwards_ == backwards_);
    return std::move(actions_);
  }

 private:
  std::vector<FlowAction> actions_, owed_;
  std::size_t paid_ = 0;
  std::array<std::int32_t, 2> forwards_{}, backwards_{};
};

}  // namespace

std::vector<FlowAction> two_flows(int places, int place, int microbatches) {
  assert(0 <= place && place < places && microbatches >= 2 * places);
  constexpr bool kOwn = false, kOther = true;
  const int inner = places - 1 - place;  // devices between this one and where the flows meet
  FlowWriter w(microbatches);

  for (int i = 0; i < 2 * inner; ++i) w.forward(kOwn);
  for (int i = 0; i <= place; ++i) w.forward(kOwn), w.forward(kOther);
  for (int i = 0; i < inner; ++i) w.input_gradient(kOther), w.weight_gradient(), w.forward(kOther);
  for (int i = 0; i < microbatches - 2 * places + place + 1; ++i) {
    // Where the flows meet, running the first pair one after the other is faster.
    w.forward(kOwn), w.backward(kOther, i > 0 || inner > 0);
    w.forward(kOther), w.backward(kOwn, true);
  }
  for (int i = 0; i < inner; ++i) w.backward(kOther), w.forward(kOther), w.backward(kOwn, true);
  // This is the drain: for the second half of the remaining microbatches the input gradients are
  // sent on first.
  for (int i = 0; i < 2 * (place + 1); ++i) {
    const bool other = i % 2 == 0;
    if (i > place)
      w.input_gradient(other);
    else
      w.backward(other);
  }
  for (int i = 0; i < inner; ++i) w.weight_gradient(), w.input_gradient(kOwn);
  for (int i = 0; i <= place; ++i) w.weight_gradient();
  return w.take();
}

ParamSpec pairs_param() {
  return {.name = "pairs",
          .fallback = std::string("auto"),
          .doc =
              "whether a forward and the backward after it run together, so that each hides what "
              "the other one's layers send: together, in-turn, or auto (which is faster)",
          .values = {"auto", "together", "in-turn"}};
}

Params decide_pairs(const ScheduleShape& shape, const Params& params,
                    Order (*order)(const ScheduleShape&, const Params&)) {
  if (params.text("pairs") != "auto") return params;
  const auto with = [&](const char* pairs) {
    Params decided = params;
    decided.set("pairs", std::string(pairs));
    return decided;
  };
  const PhaseTimes& t = shape.times;
  if (t.forward_waits + t.backward_waits == Duration{}) return with("in-turn");
  const auto stages = static_cast<std::size_t>(shape.stages);
  const auto each = [&](Duration total, Duration waits) {
    return std::vector<ActionTime>(
        stages, {.compute = total - std::min(total, waits), .blocking = std::min(total, waits)});
  };
  PipelineTimes times;
  times.forward = each(t.forward, t.forward_waits);
  times.backward = each(t.backward_input + t.backward_weight, t.backward_waits);
  times.backward_input = each(t.backward_input, t.backward_waits);
  times.backward_weight = each(t.backward_weight, {});
  times.transfer = t.transfer;
  const auto span = [&](const Params& decided) {
    return follow(order(shape, decided), shape, times, {.holdings = false}).span;
  };
  return span(with("together")) < span(with("in-turn")) ? with("together") : with("in-turn");
}

}  // namespace trainyard
