#include "app/desktop/scene/order_scene.h"

#include <algorithm>
#include <cmath>

#include "app/desktop/scene/time_navigator.h"
#include "visualizers/view_data.h"

namespace trainyard {
namespace {

constexpr float kDragBegins = 4;    // px
constexpr float kRowsByNotch = 66;  // px that a notch of the wheel moves the rows by

}  // namespace

ViewState OrderScene::state(double scale) const {
  ViewState state = session_.state();
  state.scale = scale;
  state.selected = {};
  if (chosen_)
    if (const OrderCell* found = cell(*chosen_))
      state.selected = {ItemKind::Cell, found->instruction.value};
  return state;
}

const OrderCell* OrderScene::cell(const Action& action) const {
  const Program& program = session_.experiment()->program;
  for (const OrderCell& each : data().get<OrderGrid>().cells)
    if (action_of(program, each) == action) return &each;
  return nullptr;
}

const OrderCell* OrderScene::cell_of(Item item) const {
  if (item.kind != ItemKind::Cell) return nullptr;
  for (const OrderCell& each : data().get<OrderGrid>().cells)
    if (each.instruction.value == item.tag) return &each;
  return nullptr;
}

const OrderCell* OrderScene::cell_beside(const OrderCell& from, int cells) const {
  const std::vector<OrderCell>& all = data().get<OrderGrid>().cells;
  const std::ptrdiff_t at = &from - all.data() + cells;
  if (at < 0 || at >= static_cast<std::ptrdiff_t>(all.size())) return nullptr;
  const OrderCell& found = all[static_cast<std::size_t>(at)];
  return found.row == from.row ? &found : nullptr;
}

std::optional<Slot> OrderScene::slot_at(const OrderCell& dragged, float x) const {
  const Order order = editor_.order();
  const Program& program = session_.experiment()->program;
  const auto from = find_slot(order, action_of(program, dragged));
  if (!from) return {};
  Slot to{from->lane, order.lanes[from->lane].actions.size() - 1};
  const OrderCell* behind = cell_behind(data().get<OrderGrid>(), dragged.row, x,
                                        dragged.instruction, area(), state(scale_));
  if (behind == nullptr) return to;
  // An update that the schedule makes after its order has no slot: its place is the end.
  const auto next = find_slot(order, action_of(program, *behind));
  if (!next || next->lane != from->lane) return to;
  to.position = next->position - (next->position > from->position ? 1 : 0);
  return to;
}

Drawing OrderScene::paint(Size size, double scale) const {
  Drawing drawing = ViewScene::paint(size, scale);
  const OrderCell* dragged = dragging_ && chosen_ ? cell(*chosen_) : nullptr;
  if (dragged == nullptr) return drawing;
  const OrderGrid& grid = data().get<OrderGrid>();
  const Rect all = whole(size);
  const OrderCell* behind =
      cell_behind(grid, dragged->row, now_.x, dragged->instruction, all, state(scale));
  const Rect home = cell_rect(grid, *dragged, all, state(scale));
  const Rect next = behind == nullptr ? Rect{} : cell_rect(grid, *behind, all, state(scale));
  const float x = next.width > 0 ? next.x : now_.x;
  line(drawing, {x, home.y - 4}, {x, home.bottom() + 4}, {.ink = Ink::Select, .stroke = 2});
  outline(drawing, {now_.x - (pressed_.x - home.x), home.y, home.width, home.height},
          {.ink = Ink::Ghost, .stroke = 1, .dash_on = 3, .dash_off = 2});
  return drawing;
}

void OrderScene::select(Item item) {
  chosen_.reset();
  if (const OrderCell* found = cell_of(item))
    chosen_ = action_of(session_.experiment()->program, *found);
}

bool OrderScene::key(int key, const InputFrame& frame) {
  if (key == Qt::Key_Escape) {
    chosen_.reset();
    dragging_ = false;
    return true;
  }
  const std::vector<OrderCell>& cells = data().get<OrderGrid>().cells;
  if (cells.empty()) return false;
  const bool sideways = key == Qt::Key_Left || key == Qt::Key_Right;
  if (!sideways && key != Qt::Key_Up && key != Qt::Key_Down) return false;
  const OrderCell* here = chosen_ ? cell(*chosen_) : nullptr;
  const Program& program = session_.experiment()->program;
  if (here == nullptr) {
    chosen_ = action_of(program, cells.front());
    return true;
  }
  const int by = key == Qt::Key_Left || key == Qt::Key_Up ? -1 : 1;
  if (sideways && (frame.modifiers & kAlt)) {
    const auto from = find_slot(editor_.order(), *chosen_);
    if (from && (by > 0 || from->position > 0))
      editor_.move(
          *chosen_,
          {from->lane, static_cast<std::size_t>(static_cast<std::ptrdiff_t>(from->position) + by)});
    else if (!from)
      editor_.move(*chosen_, {});  // says why it does not move
    return true;
  }
  if (sideways) {
    if (const OrderCell* next = cell_beside(*here, by)) chosen_ = action_of(program, *next);
    return true;
  }
  // Of the row above or below, what stands in the same slot or behind it.
  const auto row = static_cast<std::int64_t>(here->row) + by;
  const OrderCell* found = nullptr;
  for (const OrderCell& each : cells)
    if (each.row == row && (found == nullptr || found->slot < here->slot)) found = &each;
  if (found != nullptr) chosen_ = action_of(program, *found);
  return true;
}

// Along the slots as along time, and the wheel without a modifier from row to row.
bool OrderScene::pan(const InputFrame& frame) {
  const OrderGrid& grid = data().get<OrderGrid>();
  const Viewport now = order_viewport(grid, area(), state(scale_));
  const Instant slot = grid.end / std::max(1, grid.slots);
  std::optional<TimeRange> shown = session_.state().shown;
  const bool moved = navigate_time(shown, now, {Instant{}, grid.end, slot}, frame);
  if (moved) session_.show(shown);
  if (frame.wheel_y == 0 || moved) return moved;
  session_.scroll_to(std::clamp(session_.state().scroll - kRowsByNotch * frame.wheel_y, 0.F,
                                order_overhang(grid, area())));
  return true;
}

bool OrderScene::take(const InputFrame& frame) {
  bool again = pan(frame);
  for (const int pressed : frame.keys) again = key(pressed, frame) || again;
  if (frame.pressed[0]) {
    select(hit(last_, frame.at));
    pressed_ = now_ = frame.at;
    again = true;
  }
  if (frame.down[0] && chosen_) {
    dragging_ = dragging_ || std::abs(frame.at.x - pressed_.x) >= kDragBegins;
    now_ = frame.at;
    again = again || dragging_;
  }
  if (frame.released[0]) {
    const OrderCell* dragged = dragging_ && chosen_ ? cell(*chosen_) : nullptr;
    dragging_ = false;
    if (dragged != nullptr) {
      const Action action = *chosen_;
      const auto to = slot_at(*dragged, frame.at.x);
      editor_.move(action, to.value_or(Slot{}));
    }
    again = true;
  }
  return again;
}

Hover OrderScene::describe(Point p) const { return dragging_ ? Hover{} : ViewScene::describe(p); }

Qt::CursorShape OrderScene::shape(Point p) const {
  if (dragging_) return Qt::ClosedHandCursor;
  return cell_of(hit(last_, p)) != nullptr ? Qt::OpenHandCursor : Qt::ArrowCursor;
}

QString OrderScene::words() const {
  QString text = QString("Order of work, %1 lanes.").arg(data().get<OrderGrid>().streams.size());
  if (editor_.edited()) text += " Edited.";
  if (chosen_)
    text += QString(" Selected %1; Alt with Left or Right moves it.")
                .arg(QString::fromStdString(to_text(*chosen_)));
  if (!editor_.reason().isEmpty()) text += " " + editor_.reason() + ".";
  return text;
}

}  // namespace trainyard
