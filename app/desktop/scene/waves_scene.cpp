#include "app/desktop/scene/waves_scene.h"

#include <algorithm>
#include <cmath>

#include "visualizers/view_data.h"
#include "visualizers/viewmodel/format.h"
#include "visualizers/waves/waves_model.h"

namespace trainyard {
namespace {

constexpr double kPhaseStep = 0.01;    // of a cycle, by an arrow key
constexpr double kOffsetParts = 1000;  // of a cycle: the precision of an offset in a plan

}  // namespace

const WavesModel* WavesScene::model() const {
  const WavesModel& model = data().get<WavesModel>();
  return model.devices.empty() ? nullptr : &model;
}

ViewState WavesScene::state(double scale) const {
  ViewState state = session_.state();
  state.scale = scale;
  if (dragging_ || session_.stale()) state.wave_offset = wanted_;
  return state;
}

WavesLayout WavesScene::layout() const { return waves_layout(*model(), area(), state(scale_)); }

bool WavesScene::movable() const {
  return model() != nullptr && model()->waves > 1 && session_.experiment()->program.stages == 1;
}

bool WavesScene::on_slider(Point p) const {
  const Rect slider = layout().slider;
  return contains({slider.x - 8, slider.y, slider.width + 16, slider.height + 20}, p);
}

// The plan follows the handle at once; steps that follow each other are one step of undo.
void WavesScene::move_to(double share) {
  wanted_ = std::round(std::clamp(share, 0.0, 1.0) * kOffsetParts) / kOffsetParts;
  const QString value = QString::number(*wanted_, 'g', 3);
  document_.apply("Offset between waves", {"tick-tock.policy=custom", "tick-tock.offset=" + value},
                  "wave offset");
}

void WavesScene::step(double by) {
  const DeviceWaves& waves = model()->devices[layout().device.value];
  move_to((session_.stale() && wanted_ ? *wanted_ : own_offset(*model(), waves).value_or(0)) + by);
}

bool WavesScene::take(const InputFrame& frame) {
  if (model() == nullptr) return false;
  bool changed = false;
  for (const int key : frame.keys) {
    if (key == Qt::Key_P) exploration_.next_peak(), changed = true;
    if (key == Qt::Key_Escape) session_.set_range({}), exploration_.unpin(), changed = true;
    if (key == Qt::Key_M && !(frame.modifiers & kShift)) exploration_.toggle_mark(), changed = true;
    if (!movable() || (key != Qt::Key_Left && key != Qt::Key_Right)) continue;
    step(key == Qt::Key_Left ? -kPhaseStep : kPhaseStep);
    changed = true;
  }
  if (read_time(frame)) changed = true;
  if (frame.pressed[0]) {
    dragging_ = movable() && on_slider(frame.at);
    changed = true;
  }
  if (dragging_ && frame.down[0]) {
    move_to(offset_at(*model(), layout(), frame.at.x, frame.modifiers & kAlt));
    changed = true;
  }
  if (frame.released[0]) {
    if (!dragging_ && std::abs(frame.at.x - pressed_.x) <= kClick) click(frame.at);
    dragging_ = false;
    changed = true;
  }
  return changed;
}

bool WavesScene::read_time(const InputFrame& frame) {
  const WavesLayout at = layout();
  const Viewport v = viewport_of(at.ruler, state(scale_), session_.end());
  const float bottom = state(scale_).by_phase ? at.bar.y : at.memory.bottom();
  const bool over =
      frame.inside && frame.at.x >= v.plot.x && frame.at.x < v.plot.right() && frame.at.y < bottom;
  if (frame.pressed[0]) {
    ranging_ = over;
    pressed_ = frame.at;
    // One cycle of the wave is the period that one compares.
    const DeviceWaves& waves = model()->devices[at.device.value];
    if (frame.twice && hit(last_, frame.at).kind == ItemKind::Wave) {
      ranging_ = false;
      session_.set_range(TimeRange{waves.cycle_from, waves.cycle_from + waves.cycle.period});
    }
  }
  if (!frame.down[0]) ranging_ = false;
  if (frame.at == before_) return false;
  before_ = frame.at;
  if (!over || dragging_) return false;
  const Instant here = time_at(v, static_cast<double>(frame.at.x));
  if (ranging_ && std::abs(frame.at.x - pressed_.x) > kClick) {
    const Instant from = time_at(v, static_cast<double>(pressed_.x));
    session_.set_range(TimeRange{std::min(from, here), std::max(from, here)});
  }
  session_.set_cursor(here);
  return true;
}

// A peak tells what is alive there.
void WavesScene::click(Point p) {
  const Item item = hit(last_, p);
  if (item.kind == ItemKind::Span) return session_.select(item);
  if (item.kind == ItemKind::Other && item.tag >= kMarkTag)
    return exploration_.go_to_mark(item.tag - kMarkTag);
  if (item.kind != ItemKind::Wave && item.kind != ItemKind::Peak) return;
  const DeviceWaves& waves = model()->devices[layout().device.value];
  const Instant at = item.kind == ItemKind::Peak
                         ? Instant{waves.total.at[waves.total.peak]}
                         : waves_instant(*model(), layout(), state(scale_), p);
  session_.set_cursor(at);
  exploration_.pin(waves.device, at);
}

Hover WavesScene::describe(Point p) const {
  return model() == nullptr || dragging_ ? Hover{} : ViewScene::describe(p);
}

Qt::CursorShape WavesScene::shape(Point p) const {
  return movable() && on_slider(p) ? Qt::SizeHorCursor : Qt::ArrowCursor;
}

QString WavesScene::words() const {
  if (model() == nullptr) return "No device holds anything.";
  const DeviceWaves& waves = model()->devices[layout().device.value];
  const OffsetScan scan = scan_of(*model(), layout().device);
  const auto percent = [](double share) { return QString::fromStdString(spell_percent(share)); };
  const std::optional<double> own = own_offset(*model(), waves);
  const auto bytes = [](std::int64_t n) { return QString::fromStdString(spell_bytes({n})); };
  QString text = QString("%1 waves; together they hold at most %2.")
                     .arg(model()->waves)
                     .arg(bytes(run_peak(waves)));
  if (own) text += QString(" Offset %1 of a cycle.").arg(percent(*own));
  if (model()->waves > 1 && !scan.share.empty())
    text += QString(" The lowest peak is %1 at %2.")
                .arg(bytes(scan.bytes[scan.best]), percent(scan.share[scan.best]));
  if (movable()) text += " Left and right arrow keys move the offset.";
  return text;
}

}  // namespace trainyard
