// Makes a small picture that uses every kind of mark, which the golden and the parity tests paint.
#pragma once

#include <cmath>
#include <string>

#include "visualizers/drawing/drawing.h"

namespace trainyard::testing_scene {

inline void lane(Drawing& d, float y, float shift) {
  hatch(d, {60, y, 560, 18}, Pattern::Idle, {ItemKind::Idle, 0});
  const Ink inks[] = {Ink::Forward,   Ink::Backward,  Ink::WeightGradient,
                      Ink::Recompute, Ink::Optimizer, Ink::Swap};
  float x = 70 + shift;
  for (std::uint64_t i = 0; i < 12; ++i) {
    const float width = 14 + static_cast<float>(i % 4) * 9;
    const Ink ink = inks[i % 6];
    box(d, {x, y, width - 1, 18}, {.ink = ink, .item = {ItemKind::Span, i}});
    text(d,
         {std::to_string(i), {x + width / 2, y + 9}, 10, Weight::Medium, Face::Sans, Align::Center},
         {.ink = label_ink(ink)});
    box(d, {x + 2, y + 20, width / 2, 5},
        {.ink = Ink::Communication, .item = {ItemKind::Span, 100 + i}});
    x += width;
  }
}

inline void wave(Drawing& d, const Rect& plot) {
  std::vector<Column> weights, activations, top;
  for (int i = 0; i < static_cast<int>(plot.width); ++i) {
    const float highest = plot.y + 30 + 20 * std::fabs(static_cast<float>(i % 120) - 60) / 60;
    weights.push_back({plot.bottom() - 30, plot.bottom()});
    activations.push_back({std::floor(highest), plot.bottom() - 30});
    top.push_back({std::floor(highest), std::floor(highest) + 1});
  }
  fill(d, plot, {.ink = Ink::Panel});
  columns(d, plot, weights, {.ink = Ink::MemoryWeights, .item = {ItemKind::Wave, 1}});
  columns(d, plot, activations, {.ink = Ink::MemoryActivations, .item = {ItemKind::Wave, 0}});
  columns(d, plot, top, {.ink = Ink::Text});
  hatch(d, {plot.x, plot.y, 120, 14}, Pattern::Overflow);
  line(d, {plot.x, plot.y + 14}, {plot.right(), plot.y + 14},
       {.ink = Ink::Text, .dash_on = 6, .dash_off = 3, .item = {ItemKind::Capacity, 0}});
  peak_marker(d, {plot.x + 60, plot.y + 30}, {.ink = Ink::Text, .item = {ItemKind::Peak, 0}});
}

inline Drawing scene() {
  Drawing d({640, 400});
  for (int i = 0; i < 9; ++i) {
    const float x = 60 + 70 * static_cast<float>(i);
    line(d, {x, 20}, {x, 380}, {.ink = Ink::Grid});
    text(d,
         {std::to_string(i * 50) + " ms", {x, 10}, 10, Weight::Medium, Face::Sans, Align::Center},
         {.ink = Ink::Text3});
  }
  d.origin = {60, 0};
  for (int i = 0; i < 3; ++i) {
    const float y = 30 + 30 * static_cast<float>(i);
    text(d, {"Stage " + std::to_string(i), {10, y + 9}, 11, Weight::Medium}, {.ink = Ink::Text2});
    const ClipScope clip(d, {60, 24, 560, 200});
    lane(d, y, 15 * static_cast<float>(i));
  }
  wave(d, {60, 140, 560, 110});
  outline(d, {250.5f, 58, 40, 22}, {.ink = Ink::Select, .stroke = 2});
  fill(d, {380, 24, 90, 230}, {.ink = Ink::Range, .alpha = 0.06f, .item = {ItemKind::Range, 0}});
  line(d, {200, 22}, {200, 255},
       {.ink = Ink::Cursor, .dash_on = 2, .dash_off = 2, .item = {ItemKind::Cursor, 0}});
  ring(d, {200, 180}, 4, {.ink = Ink::Cursor, .stroke = 1.5f});
  polyline(d, {{70, 370}, {180, 290}, {300, 340}, {420, 270}, {600, 300}},
           {.ink = Ink::Accent, .stroke = 1.5f});
  polyline(d, {{70, 300}, {300, 380}}, {.ink = Ink::Ghost, .dash_on = 6, .dash_off = 4});
  for (int i = 0; i < 6; ++i)
    disc(d, {100 + 80 * static_cast<float>(i), 350 - 11 * static_cast<float>(i)},
         2 + static_cast<float>(i),
         {.ink = static_cast<Ink>(i), .item = {ItemKind::Dot, static_cast<std::uint64_t>(i)}});
  polygon(d, {{560, 340}, {580, 360}, {560, 380}, {540, 360}}, {.ink = Ink::Error, .alpha = 0.5f});
  text(d, {"GEMM 71.7 GiB", {620, 390}, 12, Weight::SemiBold, Face::Mono, Align::Right},
       {.ink = Ink::Text});
  return d;
}

}  // namespace trainyard::testing_scene
