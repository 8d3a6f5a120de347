#include "app/desktop/scene/compare_scenes.h"
#include "app/desktop/controls/canvas_widget.h"

#include <algorithm>
#include <utility>

#include "app/desktop/controls/text.h"
#include "app/desktop/scene/time_navigator.h"
#include "app/desktop/scene/tip.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/compare/outperforming_view.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

QString tip_of(const Hover& hover) { return hover.title.empty() ? QString() : tip_html(hover); }

Rect whole(const Drawing& drawing) { return {0, 0, drawing.size.width, drawing.size.height}; }

bool clicked(const InputFrame& frame) { return frame.inside && frame.pressed[0]; }

}  // namespace

std::unique_ptr<ChartScene> card_scene(const CompareLook& look) {
  return std::make_unique<ChartScene>(ChartOf<CompareLook>{
      [&look] { return &look; },
      [](Drawing& drawing, const Rect& area, const CompareLook& l, const ViewState&) {
        draw_figure_cards(drawing, area, l.cards);
      },
      [](const CompareLook& l, Item item) { return describe_figure_card(l.cards, item); },
      [](const CompareLook& l) {
        return l.cards.empty() ? l.words : q(spell_figure_cards(l.cards));
      },
      {}});
}

std::unique_ptr<ChartScene> judged_scene(const CompareLook& look) {
  return std::make_unique<ChartScene>(ChartOf<CompareLook>{
      [&look] { return &look; },
      [](Drawing& drawing, const Rect& area, const CompareLook& l, const ViewState&) {
        if (l.result != nullptr) draw_outperforming(drawing, area, l.result->judged);
      },
      [](const CompareLook& l, Item item) {
        return l.result == nullptr ? Hover{} : describe_outperforming(l.result->judged, item);
      },
      [](const CompareLook& l) {
        return l.result == nullptr ? l.words : q(spell_outperforming(l.result->judged));
      },
      {}});
}

// Timelines

Drawing CompareScene::draw(Size size, double scale) {
  last_ = Drawing(size);
  if (look_.timelines == nullptr) {
    const QString words = look_.result == nullptr ? look_.words
                                                  : QString(
                                                        "One of the two is a document of "
                                                        "figures, without a timeline.");
    write(last_, words.toStdString(), {12, 24}, 12, Weight::Regular, Ink::Text2);
    return last_;
  }
  look_.state.a.scale = look_.state.b.scale = scale;
  draw_comparison(last_, area(), *look_.timelines, look_.state);
  return last_;
}

bool CompareScene::over_b(Point at) const {
  if (look_.state.linked) return false;
  const ComparisonLayout l = comparison_layout(*look_.timelines, area(), look_.state);
  return at.y >= l.b_ruler.y;
}

Instant CompareScene::end_of(bool b) const {
  const ComparisonModel& model = *look_.timelines;
  const Instant end = look_.state.linked ? model.end : (b ? model.b : model.a).step.length();
  return std::max(end, Instant{1});
}

Viewport CompareScene::viewport(bool b) const {
  return viewport_of(area(), b ? look_.state.b : look_.state.a, end_of(b));
}

bool CompareScene::key(int key) {
  const std::uint32_t rank = shown_rank(*look_.timelines, look_.state);
  if (key == Qt::Key_Up)
    look_.state.rank = rank == 0 ? 0 : rank - 1;
  else if (key == Qt::Key_Down)
    look_.state.rank = rank + 1;
  else if (key == Qt::Key_Home)
    look_.state.a.shown.reset(), look_.state.b.shown.reset();
  else if (key == Qt::Key_Escape)
    look_.state.a.range.reset(), look_.state.b.range.reset(), look_.state.a.cursor.reset();
  else if (key == Qt::Key_L)
    told_.link();
  else if (key == Qt::Key_X)
    told_.swap();
  else if (key == Qt::Key_D)
    told_.deltas();
  else
    return false;
  return true;
}

bool CompareScene::input(const InputFrame& frame) {
  if (look_.timelines == nullptr) return false;
  const Rect plot = plot_of(area());
  const Point at = frame.inside ? frame.at : Point{plot.x + plot.width / 2, plot.y + 40};
  // D shows the differences here, so the arrows go along time in place of A and D.
  InputFrame along = frame;
  std::erase(along.keys, Qt::Key_D);
  std::replace(along.keys.begin(), along.keys.end(), int{Qt::Key_Left}, int{Qt::Key_A});
  std::replace(along.keys.begin(), along.keys.end(), int{Qt::Key_Right}, int{Qt::Key_D});
  const bool b_moves = over_b(at);
  bool moved = navigate_time((b_moves ? look_.state.b : look_.state.a).shown, viewport(b_moves),
                             {.first = Instant{}, .last = end_of(b_moves)}, along);
  if (clicked(frame)) {
    const Item item = hit(last_, frame.at);
    if (item.kind == ItemKind::Lane) {
      look_.state.rank = static_cast<std::uint32_t>(item.tag);
      told_.changed();
    } else if (contains(plot, frame.at)) {
      const bool b = over_b(frame.at);
      (b ? look_.state.b : look_.state.a).cursor = time_at(viewport(b), frame.at.x);
    }
    moved = true;
  }
  for (const int pressed : frame.keys) moved |= key(pressed);
  return moved;
}

QString CompareScene::tooltip(Point at) {
  if (look_.timelines == nullptr) return {};
  return tip_of(describe_comparison(*look_.timelines, area(), look_.state, hit(last_, at), at));
}

QString CompareScene::description() const {
  if (look_.result == nullptr) return look_.words;
  QString text = q(look_.result->headline) + ". A is " + q(look_.result->a.name) + ", B is " +
                 q(look_.result->b.name) + ".";
  for (const std::string& reason : look_.result->reasons) text += " " + q(reason);
  if (look_.timelines == nullptr) return text;
  if (const auto& range = look_.state.b.range)
    text += QString(" Shown is %1 to %2.")
                .arg(q(instant_text(range->from, look_.timelines->end)),
                     q(instant_text(range->to, look_.timelines->end)));
  return text;
}

// Causes

Drawing CauseScene::draw(Size size, double) {
  last_ = Drawing(size);
  const WaterfallModel* causes = look_.causes();
  if (causes == nullptr) return last_;
  ViewState state;
  if (look_.chosen) state.selected = {ItemKind::Other, static_cast<std::uint64_t>(*look_.chosen)};
  draw_waterfall(last_, whole(last_), *causes, state);
  return last_;
}

bool CauseScene::input(const InputFrame& frame) {
  const WaterfallModel* causes = look_.causes();
  if (causes == nullptr || causes->parts.empty()) return false;
  const int last = static_cast<int>(causes->parts.size()) - 1;
  if (clicked(frame)) {
    const Item item = hit(last_, frame.at);
    if (item.kind != ItemKind::Other || item.tag >= causes->parts.size()) return false;
    jump_(static_cast<int>(item.tag));
    return true;
  }
  bool moved = false;
  for (const int key : frame.keys) {
    const int now = look_.chosen.value_or(-1);
    if (key == Qt::Key_Down)
      jump_(std::min(last, now + 1));
    else if (key == Qt::Key_Up)
      jump_(std::max(0, now - 1));
    else if (key == Qt::Key_Return || key == Qt::Key_Enter || key == Qt::Key_Home)
      jump_(key == Qt::Key_Home ? 0 : std::max(0, now));
    else
      continue;
    moved = true;
  }
  return moved;
}

QString CauseScene::tooltip(Point at) {
  const WaterfallModel* causes = look_.causes();
  return causes == nullptr ? QString() : tip_of(describe_waterfall(*causes, hit(last_, at)));
}

QString CauseScene::description() const {
  const WaterfallModel* causes = look_.causes();
  return causes == nullptr ? look_.words : q(causes->title + ". " + waterfall_words(*causes)) + ".";
}

// Ranks

Drawing RankScene::draw(Size size, double) {
  last_ = Drawing(size);
  if (look_.result == nullptr || look_.timelines == nullptr) return last_;
  ViewState state;
  state.selected = {ItemKind::Lane, shown_rank(*look_.timelines, look_.state)};
  draw_rank_deltas(last_, whole(last_), look_.result->ranks, state);
  return last_;
}

bool RankScene::input(const InputFrame& frame) {
  if (look_.result == nullptr || look_.timelines == nullptr) return false;
  const int count = static_cast<int>(look_.result->ranks.ranks.size());
  const int now = static_cast<int>(shown_rank(*look_.timelines, look_.state));
  if (clicked(frame)) {
    const Item item = hit(last_, frame.at);
    if (item.kind != ItemKind::Lane) return false;
    choose_(static_cast<int>(item.tag));
    return true;
  }
  bool moved = false;
  for (const int key : frame.keys) {
    if (key != Qt::Key_Up && key != Qt::Key_Down) continue;
    choose_(std::clamp(now + (key == Qt::Key_Down ? 1 : -1), 0, std::max(0, count - 1)));
    moved = true;
  }
  return moved;
}

QString RankScene::tooltip(Point at) {
  if (look_.result == nullptr) return {};
  return tip_of(describe_rank_delta(look_.result->ranks, hit(last_, at)));
}

QString RankScene::description() const {
  if (look_.result == nullptr) return look_.words;
  QString text = "Idle and peak memory of each stage, A to B.";
  for (std::size_t i = 0; i < look_.result->ranks.ranks.size(); ++i) {
    const Hover hover = describe_rank_delta(look_.result->ranks, {ItemKind::Lane, i});
    text += " " + q(hover.title + ": " + hover.value) + ".";
  }
  return text;
}

}  // namespace trainyard
