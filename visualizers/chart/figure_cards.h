// Figures of two results beside each other, a card each: what the one has, what the other has, and
// the signed change with whether it is for the better, in words and by an arrow, never by colour
// alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "visualizers/drawing/view_state.h"

namespace trainyard {

enum class Judgement : std::uint8_t { Same, Better, Worse };

struct FigureCard {
  std::string title;   // "Step time"
  std::string a, b;    // "4.938 s", "4.123 s"; "–" where one is not known
  std::string change;  // "−0.814 s, −16.5 %"; empty where one is not known
  bool up = false;     // b is more than a
  Judgement judgement = Judgement::Same;
};

inline constexpr float kFigureCards = 70;  // px of their height

/// Cards share the width. Items: Other, tag the card.
void draw_figure_cards(Drawing&, const Rect& area, const std::vector<FigureCard>&);
Hover describe_figure_card(const std::vector<FigureCard>&, Item);
/// "Step time 4.938 s, then 4.123 s, −0.814 s, better." of each.
std::string spell_figure_cards(const std::vector<FigureCard>&);

}  // namespace trainyard
