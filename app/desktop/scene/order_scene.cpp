#include "app/desktop/scene/order_scene.h"

#include <algorithm>
#include <cmath>

#include "app/desktop/scene/analyse_scene.h"
#include "visualizers/view_data.h"

namespace trainyard {
namespace {

constexpr float kDragBegins = 4;  // px

}  // namespace

ViewState OrderScene::state() const {
  ViewState state = session_.state();
  state.scale = scale_;
  state.selected = {};
  if (selected_)
    if (const OrderCell* found = cell(*selected_))
      state.selected = {ItemKind::Cell, found->instruction.value};
  return state;
}

const OrderCell* OrderScene::cell(const Action& action) const {
  const Program& program = session_.experiment()->program;
  for (const OrderCell& each : session_.data()->order().cells)
    if (action_of(program, each) == action) return &each;
  return nullptr;
}

const OrderCell* OrderScene::cell_at(Point p) const {
  const Item item = hit(last_, p);
  if (item.kind != ItemKind::Cell) return nullptr;
  for (const OrderCell& each : session_.data()->order().cells)
    if (each.instruction.value == item.tag) return &each;
  return nullptr;
}

const OrderCell* OrderScene::cell_beside(const OrderCell& from, int cells) const {
  const std::vector<OrderCell>& all = session_.data()->order().cells;
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
  const OrderCell* behind =
      cell_behind(session_.data()->order(), dragged.row, x, dragged.instruction, area(), state());
  if (behind == nullptr) return to;
  // An update that the schedule makes after its order has no slot: its place is the end.
  const auto next = find_slot(order, action_of(program, *behind));
  if (!next || next->lane != from->lane) return to;
  to.position = next->position - (next->position > from->position ? 1 : 0);
  return to;
}

Drawing OrderScene::draw(Size size, double scale) {
  last_ = Drawing(size);
  scale_ = scale;
  if (session_.data() == nullptr) return last_;
  const OrderGrid& grid = session_.data()->order();
  draw_order(last_, area(), session_.experiment()->program, grid, state());
  const OrderCell* dragged = dragging_ && selected_ ? cell(*selected_) : nullptr;
  if (dragged == nullptr) return last_;
  const OrderCell* behind =
      cell_behind(grid, dragged->row, now_.x, dragged->instruction, area(), state());
  const Rect home = cell_rect(grid, *dragged, area(), state());
  const Rect next = behind == nullptr ? Rect{} : cell_rect(grid, *behind, area(), state());
  const float x = next.width > 0 ? next.x : now_.x;
  line(last_, {x, home.y - 4}, {x, home.bottom() + 4}, {.ink = Ink::Select, .stroke = 2});
  outline(last_, {now_.x - (pressed_.x - home.x), home.y, home.width, home.height},
          {.ink = Ink::Ghost, .stroke = 1, .dash_on = 3, .dash_off = 2});
  return last_;
}

bool OrderScene::key(int key, const InputFrame& frame) {
  if (key == Qt::Key_Escape) {
    selected_.reset();
    dragging_ = false;
    return true;
  }
  const std::vector<OrderCell>& cells = session_.data()->order().cells;
  if (cells.empty()) return false;
  const bool sideways = key == Qt::Key_Left || key == Qt::Key_Right;
  if (!sideways && key != Qt::Key_Up && key != Qt::Key_Down) return false;
  const OrderCell* here = selected_ ? cell(*selected_) : nullptr;
  const Program& program = session_.experiment()->program;
  if (here == nullptr) {
    selected_ = action_of(program, cells.front());
    return true;
  }
  const int by = key == Qt::Key_Left || key == Qt::Key_Up ? -1 : 1;
  if (sideways && (frame.modifiers & kAlt)) {
    const auto from = find_slot(editor_.order(), *selected_);
    if (from && (by > 0 || from->position > 0))
      editor_.move(
          *selected_,
          {from->lane, static_cast<std::size_t>(static_cast<std::ptrdiff_t>(from->position) + by)});
    else if (!from)
      editor_.move(*selected_, {});  // says why it does not move
    return true;
  }
  if (sideways) {
    if (const OrderCell* next = cell_beside(*here, by)) selected_ = action_of(program, *next);
    return true;
  }
  // Of the row above or below, what stands in the same slot or behind it.
  const auto row = static_cast<std::int64_t>(here->row) + by;
  const OrderCell* found = nullptr;
  for (const OrderCell& each : cells)
    if (each.row == row && (found == nullptr || found->slot < here->slot)) found = &each;
  if (found != nullptr) selected_ = action_of(program, *found);
  return true;
}

bool OrderScene::input(const InputFrame& frame) {
  if (session_.data() == nullptr) return false;
  bool again = false;
  for (const int pressed : frame.keys) again = key(pressed, frame) || again;
  if (frame.pressed[0]) {
    const OrderCell* found = cell_at(frame.at);
    selected_.reset();
    if (found != nullptr) selected_ = action_of(session_.experiment()->program, *found);
    pressed_ = now_ = frame.at;
    again = true;
  }
  if (frame.down[0] && selected_) {
    dragging_ = dragging_ || std::abs(frame.at.x - pressed_.x) >= kDragBegins;
    now_ = frame.at;
    again = again || dragging_;
  }
  if (frame.released[0]) {
    const OrderCell* dragged = dragging_ && selected_ ? cell(*selected_) : nullptr;
    dragging_ = false;
    if (dragged != nullptr) {
      const Action action = *selected_;
      const auto to = slot_at(*dragged, frame.at.x);
      editor_.move(action, to.value_or(Slot{}));
    }
    again = true;
  }
  return again;
}

QString OrderScene::tooltip(Point p) {
  if (session_.data() == nullptr || dragging_) return {};
  const Hover hover =
      describe_order(session_.experiment()->program, session_.data()->order(), hit(last_, p));
  return hover.title.empty() ? QString() : tip_html(hover);
}

Qt::CursorShape OrderScene::cursor(Point p) {
  if (session_.data() == nullptr) return Qt::ArrowCursor;
  if (dragging_) return Qt::ClosedHandCursor;
  return cell_at(p) != nullptr ? Qt::OpenHandCursor : Qt::ArrowCursor;
}

QString OrderScene::description() const {
  if (session_.data() == nullptr) return "Order of work. Nothing has been simulated yet.";
  QString text = QString("Order of work, %1 lanes.").arg(session_.data()->order().streams.size());
  if (editor_.edited()) text += " Edited.";
  if (selected_)
    text += QString(" Selected %1; Alt with Left or Right moves it.")
                .arg(QString::fromStdString(to_text(*selected_)));
  if (!editor_.reason().isEmpty()) text += " " + editor_.reason() + ".";
  return text;
}

}  // namespace trainyard
