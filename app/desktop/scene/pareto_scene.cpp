#include "app/desktop/scene/pareto_scene.h"

#include <algorithm>
#include <cmath>

#include "app/desktop/scene/tip.h"
#include "app/workspace/plans/plan_points.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kDrag = 4;  // px that tell a drag from a click

QString count(std::uint64_t n) {
  return QString::fromStdString(format_count(static_cast<std::int64_t>(n)));
}

// "1 plan", "12 plans"
std::string counted(std::size_t n, const std::string& noun) {
  return format_count(static_cast<std::int64_t>(n)) + " " + noun + (n == 1 ? "" : "s");
}

}  // namespace

QString words_of(const Planning& planning) {
  if (!planning.error().empty()) return QString::fromStdString(planning.error());
  if (!planning.running()) return "Nothing has been searched yet.";
  const PlanProgress& now = planning.progress();
  if (now.simulating) return "Simulating the best …";
  if (now.tried == 0) return "Laying out the space …";
  return now.total == 0 ? QString("%1 plans tried …").arg(count(now.tried))
                        : QString("%1 of %2 plans tried …").arg(count(now.tried), count(now.total));
}

const ParetoModel& ParetoScene::model() const {
  const auto findings = planning_.findings();
  if (findings == nullptr) return planning_.progress().picture;
  return findings == lettered_of_ ? lettered_ : findings->picture;
}

std::optional<std::size_t> ParetoScene::point_with(const ParetoModel& model, PlanId id) const {
  const auto at =
      std::lower_bound(model.points.begin(), model.points.end(), id,
                       [](const ParetoPoint& p, PlanId wanted) { return p.id < wanted; });
  if (at == model.points.end() || at->id != id) return std::nullopt;
  return static_cast<std::size_t>(at - model.points.begin());
}

void ParetoScene::set_letters(std::vector<std::pair<std::string, PlanId>> letters) {
  letters_ = std::move(letters);
  const auto findings = planning_.findings();
  if (findings != lettered_of_ && findings != nullptr) lettered_ = findings->picture;
  lettered_of_ = findings;
  lettered_.letters.clear();
  if (findings == nullptr) return;
  for (const auto& [letter, id] : letters_)
    if (const auto point = point_with(lettered_, id)) lettered_.letters.push_back({letter, *point});
}

void ParetoScene::choose(std::optional<PlanId> id) {
  state_.selected = id ? point_with(model(), *id) : std::nullopt;
}

Drawing ParetoScene::draw(Size size, double) {
  size_ = size;
  last_ = Drawing(size);
  if (model().points.empty()) {
    if (planning_.findings() == nullptr) {
      write(last_, words_of(planning_).toStdString(), {12, 24}, 12, Weight::Regular,
            planning_.error().empty() ? Ink::Text2 : Ink::Error);
      if (planning_.error().empty() && !planning_.running())
        write(last_, "Search for plans, and their step time and memory are drawn here.", {12, 44},
              12, Weight::Regular, Ink::Text3);
    } else {
      write(last_, "No plan of this space is legal; what became of each is at the right.", {12, 24},
            12, Weight::Regular, Ink::Text2);
    }
    return last_;
  }
  if (!has_axis(model(), state_.x)) state_.x = ParetoAxis::Memory;
  if (!has_axis(model(), state_.y)) state_.y = ParetoAxis::Step;
  // Points of another model mean nothing here.
  if (state_.selected && *state_.selected >= model().points.size()) state_.selected.reset();
  draw_pareto(last_, area(), model(), state_);
  return last_;
}

bool ParetoScene::take(std::optional<std::size_t> point) {
  if (!point || planning_.findings() == nullptr) return false;
  state_.selected = point;
  told_.chosen(model().points[*point].id);
  return true;
}

bool ParetoScene::press(const InputFrame& frame) {
  pressed_ = frame.at;
  dragged_ = false;
  return false;
}

bool ParetoScene::release() {
  if (!pressed_) return false;
  const Point from = *pressed_;
  pressed_.reset();
  if (dragged_) {
    told_.brushed();
    return true;
  }
  if (take(point_of(model(), area(), state_, hit(last_, from)))) return true;
  if (!state_.brush) return false;
  state_.brush.reset();
  told_.brushed();
  return true;
}

bool ParetoScene::key(int key) {
  switch (key) {
    case Qt::Key_Left:
      return take(step_along(model(), state_, -1));
    case Qt::Key_Right:
      return take(step_along(model(), state_, 1));
    case Qt::Key_Home:
      return take(best_of(model()));
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (state_.selected) told_.opened();
      return false;
    case Qt::Key_Escape:
      if (!state_.brush) return false;
      state_.brush.reset();
      told_.brushed();
      return true;
    default:
      return false;
  }
}

bool ParetoScene::input(const InputFrame& frame) {
  if (model().points.empty()) return false;
  bool again = false;
  if (frame.pressed[0]) again |= press(frame);
  if (pressed_ && (frame.down[0] || frame.released[0]) &&
      std::hypot(frame.at.x - pressed_->x, frame.at.y - pressed_->y) > kDrag) {
    dragged_ = true;
    state_.brush = brush_between(pareto_plot(model(), area(), state_), *pressed_, frame.at);
    again = true;
  }
  if (frame.released[0]) again |= release();
  for (const int each : frame.keys) again |= key(each);
  return again;
}

QString ParetoScene::tooltip(Point at) {
  const auto findings = planning_.findings();
  if (findings == nullptr) return {};
  const Item item = hit(last_, at);
  const auto point = point_of(model(), area(), state_, item);
  if (!point) return {};
  const ParetoPoint& p = model().points[*point];
  std::string reason = plan_details(*findings->space, p.id);
  if (item.kind == ItemKind::Cell)
    reason = counted(points_of_cell(model(), area(), state_, item).size(), "plan") + " here";
  const Hover hover = describe_point(model(), *point, plan_name(*findings->space, p.id), reason);
  return tip_html(hover, "Click: why   Enter: open the plan");
}

QString ParetoScene::description() const {
  if (model().points.empty()) return "Step time against memory of plans. " + words_of(planning_);
  QString words =
      "Step time against memory of plans. " + QString::fromStdString(pareto_words(model())) + ".";
  const auto findings = planning_.findings();
  if (findings != nullptr && state_.selected && *state_.selected < model().points.size()) {
    const ParetoPoint& p = model().points[*state_.selected];
    words += " Chosen: " +
             QString::fromStdString(plan_name(*findings->space, p.id) + ", " +
                                    value_text(p.step, ParetoAxis::Step) + ", " +
                                    value_text(p.memory, ParetoAxis::Memory)) +
             ".";
  }
  return words;
}

Qt::CursorShape ParetoScene::cursor(Point at) {
  const ItemKind kind = hit(last_, at).kind;
  return kind == ItemKind::Dot || kind == ItemKind::Cell ? Qt::PointingHandCursor : Qt::CrossCursor;
}

}  // namespace trainyard
