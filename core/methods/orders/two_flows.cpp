#include "core/methods/orders/two_flows.h"

#include <array>
#include <cassert>

namespace trainyard {
namespace {

class FlowWriter {
 public:
  explicit FlowWriter(int microbatches) {
    actions_.reserve(6 * static_cast<std::size_t>(microbatches));
  }

  void forward(bool other, bool paired = false) {
    actions_.push_back({Phase::Forward, other, forwards_[other]++, paired});
  }
  void backward(bool other) { actions_.push_back({Phase::Backward, other, backwards_[other]++}); }
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
    w.forward(kOwn, i > 0 || inner > 0), w.backward(kOther);
    w.forward(kOther, true), w.backward(kOwn);
  }
  for (int i = 0; i < inner; ++i) w.backward(kOther), w.forward(kOther, true), w.backward(kOwn);
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

}  // namespace trainyard
