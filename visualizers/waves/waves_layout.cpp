#include "visualizers/waves/waves_layout.h"

#include <algorithm>

namespace trainyard {
namespace {

constexpr float kOffsetHeight = 132, kOffsetAxis = 26;
constexpr float kCards = 250, kLeastPlot = 550;

}  // namespace

WavesLayout waves_layout(const WavesModel& model, const Rect& whole, const ViewState& state) {
  WavesLayout layout;
  Rect area = whole;
  const bool cards = model.by_plan && area.width >= kCards + kLeastPlot;
  if (cards) area.width -= kCards;
  layout.cards = {area.right(), area.y, cards ? kCards : 0, area.height};
  const bool chosen = state.expanded && state.expanded->value < model.devices.size();
  layout.device = chosen ? *state.expanded : model.worst;
  auto part = [&, y = area.y](float height) mutable {
    height = std::clamp(height, 0.f, std::max(0.f, area.bottom() - y));
    const Rect rect{area.x, y, area.width, height};
    y += height;
    return rect;
  };
  layout.ruler = part(kRuler);
  layout.lanes = part(static_cast<float>(std::min(model.waves, 8)) * (kWaveLane + kWaveLaneGap) +
                      kWaveLaneGap);
  layout.bar = part(kSectionBar);
  const float rest = area.bottom() - layout.bar.bottom();
  layout.memory = part(std::max(rest * 0.5f, rest - kSectionBar - kOffsetHeight));
  layout.offset_bar = part(kSectionBar);
  layout.offset = part(area.height);
  const Rect plot = plot_of(layout.offset);
  layout.slider = {plot.x, plot.y + 6, plot.width, std::max(0.f, plot.height - 6 - kOffsetAxis)};
  return layout;
}

}  // namespace trainyard
