#include "visualizers/chart/figure_cards.h"

#include <algorithm>

#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"

namespace trainyard {
namespace {

constexpr float kCardPad = 12;

const char* words_of(Judgement judgement) {
  return judgement == Judgement::Better ? "better" : judgement == Judgement::Worse ? "worse" : "";
}
Ink ink_of(Judgement judgement) {
  return judgement == Judgement::Better  ? Ink::Ok
         : judgement == Judgement::Worse ? Ink::Warn
                                         : Ink::Text3;
}

// Draws an open arrow that is 7 px wide and points up or down.
void draw_arrow(Drawing& drawing, Point at, bool up, Ink ink) {
  const float tip = up ? -2.f : 2.f;
  polyline(drawing, {{at.x, at.y - tip}, {at.x + 3.5f, at.y + tip}, {at.x + 7, at.y - tip}},
           {.ink = ink, .stroke = 1.5f});
}

void draw_values(Drawing& drawing, const FigureCard& card, const Rect& place) {
  const float y = place.y + 35, width = place.width - 2 * kCardPad;
  float x = place.x + kCardPad;
  const float small = text_width(card.a, 12), large = text_width(card.b, 15, Weight::SemiBold);
  if (small + 22 + large <= width) {
    write(drawing, card.a, {x, y}, 12, Weight::Medium, Ink::Text2);
    x += small + 8;
    polyline(drawing, {{x, y - 3}, {x + 3, y}, {x, y + 3}}, {.ink = Ink::Text3, .stroke = 1});
    x += 12;
  }
  write_within(drawing, card.b, {x, y}, place.right() - kCardPad - x + 4, 15, Weight::SemiBold,
               Ink::Text);
}

}  // namespace

void draw_figure_cards(Drawing& drawing, const Rect& area, const std::vector<FigureCard>& cards) {
  fill(drawing, area, {.ink = Ink::Panel});
  line(drawing, {area.x, area.bottom() - 0.5f}, {area.right(), area.bottom() - 0.5f},
       {.ink = Ink::Border});
  const float width = area.width / static_cast<float>(std::max<std::size_t>(1, cards.size()));
  for (std::size_t i = 0; i < cards.size(); ++i) {
    const FigureCard& card = cards[i];
    const Rect place{area.x + width * static_cast<float>(i), area.y, width, area.height};
    const ClipScope clip(drawing, place);
    fill(drawing, place, {.ink = Ink::Panel, .alpha = 0, .item = {ItemKind::Other, i}});
    if (i > 0)
      line(drawing, {place.x + 0.5f, place.y}, {place.x + 0.5f, place.bottom()},
           {.ink = Ink::Border});
    write_within(drawing, card.title, {place.x + kCardPad, place.y + 15}, width - 2 * kCardPad, 11,
                 Weight::Medium, Ink::Text2);
    draw_values(drawing, card, place);
    if (card.change.empty()) continue;
    const float y = place.y + 55;
    const bool same = card.judgement == Judgement::Same;
    if (!same) draw_arrow(drawing, {place.x + kCardPad, y}, card.up, ink_of(card.judgement));
    const float x = place.x + kCardPad + (same ? 0.f : 13.f), room = place.right() - kCardPad - x;
    const std::string shown = fit_text(card.change, room, 11);
    write(drawing, shown, {x, y}, 11, Weight::Medium, ink_of(card.judgement));
    const float used = text_width(shown, 11) + 5;
    const std::string judged = words_of(card.judgement);
    if (used + text_width(judged, 11) <= room)
      write(drawing, judged, {x + used, y}, 11, Weight::Regular, Ink::Text3);
  }
}

Hover describe_figure_card(const std::vector<FigureCard>& cards, Item item) {
  if (item.kind != ItemKind::Other || item.tag >= cards.size()) return {};
  const FigureCard& card = cards[item.tag];
  Hover hover{card.title, "", card.b, {"A: " + card.a, "B: " + card.b}};
  if (!card.change.empty()) hover.lines.push_back(card.change);
  if (const std::string judged = words_of(card.judgement); !judged.empty())
    hover.lines.push_back("B is " + judged);
  return hover;
}

std::string spell_figure_cards(const std::vector<FigureCard>& cards) {
  std::string words;
  for (const FigureCard& card : cards) {
    words += (words.empty() ? "" : " ") + card.title + " " + card.a + ", then " + card.b;
    if (!card.change.empty()) words += ", " + card.change;
    if (const std::string judged = words_of(card.judgement); !judged.empty())
      words += ", " + judged;
    words += ".";
  }
  return words;
}

}  // namespace trainyard
