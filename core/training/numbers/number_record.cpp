#include "core/training/numbers/number_record.h"

#include <algorithm>
#include <utility>

namespace trainyard {

std::string_view to_string(NumberClass one) {
  constexpr ByNumberClass<std::string_view> kNames = {"weights", "gradients", "activations"};
  return kNames[static_cast<std::size_t>(one)];
}

void NumberRecord::begin(std::int64_t first_step, std::int64_t last_step,
                         ByNumberClass<NumberWindow> formats) {
  if (looks_.empty()) first_ = first_step;
  end_ = last_step;
  formats_ = std::move(formats);
}

bool NumberRecord::looks_at(std::int64_t step) const {
  return step == first_ + 1 || step == end_ || step % interval_ == 0;
}

void NumberRecord::add(std::int64_t step, double loss_scale, bool skipped,
                       const SeenNumbers* seen) {
  last_ = step;
  if (loss_scale > 0 && (loss_scales_.empty() || loss_scales_.back().scale != loss_scale))
    loss_scales_.push_back({step, loss_scale});
  if (seen == nullptr) return;
  NumberLook look{step, loss_scale, skipped, seen->updates, formats_, {}};
  NumberWindow& gradients = look.windows[static_cast<std::size_t>(NumberClass::Gradients)];
  if (loss_scale > 0) gradients = divided_by(std::move(gradients), loss_scale);
  for (std::size_t c = 0; c < kNumberClasses; ++c) {
    look.windows[c] = placed_over(std::move(look.windows[c]), seen->histograms[c]);
    look.counts[c] = counts_in(look.windows[c], seen->histograms[c]);
  }
  looks_.push_back(std::move(look));
  if (skipped) return;
  histograms_ = seen->histograms;
  shown_ = looks_.size() - 1;
}

void NumberRecord::go_back(std::int64_t updates) {
  std::erase_if(looks_, [&](const NumberLook& look) { return look.step > updates; });
  std::erase_if(loss_scales_, [&](const LossScaleChange& change) { return change.step > updates; });
  last_ = std::min(last_, updates);
  // Histograms are of one look only, so that nothing is shown until the next one.
  if (shown_ >= looks_.size()) shown_ = SIZE_MAX;
}

}  // namespace trainyard
