#include "visualizers/communication/ring_view.h"

#include <algorithm>
#include <cmath>

#include "visualizers/chart/panel.h"
#include "visualizers/chart/time_plot.h"

namespace trainyard {
namespace {

constexpr double kTurn = 6.283185307179586;

Point on_circle(Point centre, double radius, int rank, int ranks) {
  const double angle = kTurn * rank / ranks - kTurn / 4;
  return {centre.x + static_cast<float>(radius * std::cos(angle)),
          centre.y + static_cast<float>(radius * std::sin(angle))};
}

// Draws an arrow from the edge of a node's rectangle to the edge of the next one.
void arrow(Drawing& drawing, Point from, Point to, Size node, const Style& style) {
  const float dx = to.x - from.x, dy = to.y - from.y;
  const float length = std::max(1.f, std::sqrt(dx * dx + dy * dy));
  const float ux = dx / length, uy = dy / length;
  const float across = std::abs(ux) > 1e-4f ? node.width / 2 / std::abs(ux) : length;
  const float along = std::abs(uy) > 1e-4f ? node.height / 2 / std::abs(uy) : length;
  const float gap = std::min(across, along) + 6;
  if (length < 2 * gap + 8) return;
  const Point a{from.x + ux * gap, from.y + uy * gap}, b{to.x - ux * gap, to.y - uy * gap};
  line(drawing, a, b, style);
  polygon(drawing,
          {{b.x, b.y},
           {b.x - 8 * ux + 4 * uy, b.y - 8 * uy - 4 * ux},
           {b.x - 8 * ux - 4 * uy, b.y - 8 * uy + 4 * ux}},
          style);
}

// Draws the vector of one rank. Each chunk is a column that is as high as it is summed.
void draw_chunks(Drawing& drawing, const Rect& rect, const RingModel& model, int rank) {
  const float cell = rect.width / static_cast<float>(model.ranks);
  for (int chunk = 0; chunk < model.ranks; ++chunk) {
    const int summed = ring_summed(model.ranks, rank, chunk, model.round);
    const float height = rect.height * static_cast<float>(summed) / static_cast<float>(model.ranks);
    const Rect place{rect.x + cell * static_cast<float>(chunk), rect.y, std::max(1.f, cell - 1),
                     rect.height};
    fill(drawing, place,
         {.ink = Ink::Raised,
          .item = {ItemKind::Cell,
                   static_cast<std::uint64_t>(rank) * 4096 + static_cast<std::uint64_t>(chunk)}});
    box(drawing, {place.x, rect.bottom() - height, place.width, height},
        {.ink = summed == model.ranks ? Ink::Optimizer : Ink::Forward});
  }
}

}  // namespace

int ring_rounds(int ranks) { return 2 * (std::max(2, ranks) - 1); }

int ring_sent(int ranks, int rank, int round) {
  const int n = std::max(2, ranks);
  // Adding: rank r sends chunk r - round; passing on: it starts with the one that it has whole.
  const int chunk = round < n - 1 ? rank - round : rank + 1 - (round - (n - 1));
  return ((chunk % n) + n) % n;
}

int ring_summed(int ranks, int rank, int chunk, int round) {
  const int n = std::max(2, ranks);
  // Chunk c reaches rank c + k with k + 1 parts in round k.
  const int behind = (((rank - chunk) % n) + n) % n;
  const int adding = std::min(round, n - 1);
  int summed = behind >= 1 && behind <= adding ? behind + 1 : 1;
  // Rank c - 1 has it whole; in each round after that one more rank.
  const int from_whole = (((rank - (chunk - 1)) % n) + n) % n;
  if (round >= n - 1 && from_whole <= round - (n - 1)) summed = n;
  return summed;
}

std::string ring_words(const RingModel& model) {
  const int n = std::max(2, model.ranks), rounds = ring_rounds(n);
  const int round = std::clamp(model.round, 0, rounds);
  int whole = 0;
  for (int chunk = 0; chunk < n; ++chunk) whole += ring_summed(n, 0, chunk, round) == n ? 1 : 0;
  return "after " + std::to_string(round) + " of " + std::to_string(rounds) + " rounds, " +
         (round < n - 1    ? "adding"
          : round < rounds ? "passing the sums on"
                           : "done") +
         ": " + std::to_string(whole) + " of " + std::to_string(n) + " chunks of each rank " +
         (whole == 1 ? "is" : "are") + " whole";
}

void draw_ring(Drawing& drawing, const Rect& area, const RingModel& model, float large) {
  const ClipScope clip(drawing, area);
  draw_panel_title(drawing, area, model.title, large);
  const int n = std::max(2, model.ranks), rounds = ring_rounds(n);
  const Rect body{area.x, area.y + 30 * large, area.width,
                  std::max(10.f, area.height - 60 * large)};
  write(drawing, ring_words(model), {area.x + area.width / 2, area.bottom() - 15 * large},
        11 * large, Weight::Medium, Ink::Text2, Align::Center);
  const Point centre{body.x + body.width / 2, body.y + body.height / 2};
  const bool chunks = n <= kRingChunks;
  const float node_width = chunks ? std::clamp(body.width / 9, 44.f, 96.f) : 16.f;
  const float node_height = chunks ? std::min(26.f * large, body.height / 7) : 16.f;
  const double radius =
      std::max(10.f, std::min(body.height / 2 - node_height - 12, body.width / 2 - node_width));
  for (int rank = 0; rank < n; ++rank) {
    const Point from = on_circle(centre, radius, rank, n),
                to = on_circle(centre, radius, (rank + 1) % n, n);
    if (model.round < rounds)
      arrow(drawing, from, to, chunks ? Size{node_width, node_height} : Size{8, 8},
            {.ink = Ink::Communication, .stroke = 1.6f});
    if (model.round < rounds && chunks) {
      const Point middle{(from.x + to.x) / 2, (from.y + to.y) / 2};
      const Point out{middle.x + (middle.x - centre.x) * 0.09f,
                      middle.y + (middle.y - centre.y) * 0.09f};
      write(drawing, std::to_string(ring_sent(n, rank, model.round)), out, 11 * large,
            Weight::SemiBold, Ink::Communication, Align::Center);
    }
  }
  for (int rank = 0; rank < n; ++rank) {
    const Point at = on_circle(centre, radius, rank, n);
    const Rect rect{at.x - node_width / 2, at.y - node_height / 2, node_width, node_height};
    if (!chunks) {
      disc(drawing, at, 5, {.ink = Ink::Forward});
      continue;
    }
    fill(drawing, {rect.x - 2, rect.y - 2, rect.width + 4, rect.height + 4}, {.ink = Ink::Canvas});
    draw_chunks(drawing, rect, model, rank);
    outline(drawing, {rect.x - 2, rect.y - 2, rect.width + 3, rect.height + 4},
            {.ink = Ink::BorderStrong});
    // The name stands away from the arrows, which is outside of the circle for the nodes at the top
    // and at the bottom, and inside of it for the others.
    const bool pole = std::abs(at.x - centre.x) < node_width / 2;
    const float outside = at.y < centre.y ? rect.y - 11 : rect.bottom() + 11;
    const float inward = at.x < centre.x ? rect.right() + 30 : rect.x - 30;
    const Point in = pole ? Point{at.x, outside} : Point{inward, at.y};
    write(drawing, "rank " + std::to_string(rank), in, 10 * large, Weight::Medium, Ink::Text3,
          Align::Center);
  }
  if (chunks) {
    write(drawing, "a column a chunk, as high as it is summed", {centre.x, centre.y - 8 * large},
          11 * large, Weight::Medium, Ink::Text3, Align::Center);
    write(drawing, "arrows: the chunk that travels", {centre.x, centre.y + 8 * large}, 11 * large,
          Weight::Medium, Ink::Text3, Align::Center);
  }
}

}  // namespace trainyard
