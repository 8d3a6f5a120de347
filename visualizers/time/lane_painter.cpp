#include "visualizers/time/lane_painter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "visualizers/drawing/text_metrics.h"

namespace trainyard {
namespace {

constexpr float kLabelRoom = 6, kNumberRoom = 3;  // px that a label leaves free
constexpr float kNarrow = 3;                      // px below which a box has no gap and no parts
constexpr float kLeastLabelled = 7;  // px; a digit in the smallest size that is written, and its
                                     // room
constexpr float kLeastIdle = 2;      // px below which a gap is not hatched
constexpr Duration kFarthest{std::int64_t{1} << 62};  // so that differences of times have 64 bits
constexpr float kNarrowFold = 6;                      // px below which a fold has one colour

Ink ink_at(std::uint8_t category) { return static_cast<Ink>(category); }

std::string label_of(const Task& task, const Instruction& instruction, float room, float size) {
  const std::string number = std::to_string(instruction.microbatch);
  const std::string full = letter(task.phase) + number;
  const auto fits = [&](const std::string& words) {
    return text_width(words, size) + (words == number ? kNumberRoom : kLabelRoom) <= room;
  };
  switch (task.phase) {
    case Phase::Forward:
      return fits(number) ? number : "";
    case Phase::Backward:
    case Phase::BackwardInput:
      return fits(full) ? full : fits(number) ? number : "";
    case Phase::BackwardWeight:
      return fits(full) ? full : "";  // never a bare number: it would read as a forward
    case Phase::Update:
      return fits("update") ? "update" : fits("U") ? "U" : "";
  }
  return "";
}

float busy_share(const Fold& f) {
  const int all = std::accumulate(f.share.begin(), f.share.end(), 0);
  return std::min(1.f, static_cast<float>(all) / 255);
}

Duration part(Duration whole, double share) {
  return Duration{static_cast<std::int64_t>(static_cast<double>(whole.count()) * share)};
}

}  // namespace

LanePainter::LanePainter(Drawing& drawing, const TimelineModel& model, const Viewport& v,
                         double scale, bool plain)
    : drawing_(drawing),
      model_(model),
      program_(model.experiment->program),
      v_(v),
      scale_(scale),
      plain_(plain),
      step_(fold_step(v, scale)),
      from_(std::clamp(v.from, -kFarthest, kFarthest)),
      px_per_ns_(1 / ns_per_px(v)),
      low_(double{v.plot.x} - kBeyondPlot),
      high_(double{v.plot.right()} + kBeyondPlot),
      flushed_(drawing.tiles.size()) {}

// Called for every box, so that a vector's own push_back is too much.
[[gnu::always_inline]] inline void LanePainter::put(const Tile& tile) {
  if (waits_ == waiting_.size()) move_on();
  waiting_[waits_++] = tile;
}

void LanePainter::move_on() {
  drawing_.tiles.insert(drawing_.tiles.end(), waiting_.data(), waiting_.data() + waits_);
  waits_ = 0;
}

// As extent(), but what does not change from box to box is worked out once.
inline float LanePainter::place(Instant t) const {
  const double x = double{v_.plot.x} + static_cast<double>((t - from_).count()) * px_per_ns_;
  return static_cast<float>(std::min(high_, std::max(low_, x)));
}

// To be called before a row is drawn.
void LanePainter::begin(std::uint32_t row, float top, float height) {
  folds_.clear();
  boxes_.clear();
  if (plain_) {
    const LowRow low = low_row(v_, scale_, double{height} * scale_);
    steps_ = low.heights;
    fold_low_row(model_.spans, row, v_.from, v_.to, step_, low, boxes_);
  } else {
    fold_row(model_.spans, row, v_.from, v_.to, step_, folds_);
  }
  bounds_ = {v_.plot.x - kBeyondPlot, top, v_.plot.width + 3 * kBeyondPlot, height};
}

// Makes a mark of the tiles so far; to be called before anything else is drawn.
void LanePainter::flush() {
  move_on();
  strip(drawing_, flushed_, bounds_);
  flushed_ = drawing_.tiles.size();
}

void LanePainter::compute(std::uint32_t row, float top, float height, DeviceId device) {
  begin(row, top, height);
  const std::uint32_t base = instruction_at(model_, row, 0).value;
  if (plain_)
    return with_idle(row, top, height, device, boxes_, [&](const LowBox& box, const Extent& e) {
      low_box(box, e, top, height, base);
    });
  with_idle(row, top, height, device, folds_, [&](const Fold& f, const Extent& e) {
    if (f.count == 1)
      span(f, e, top, height, InstructionId{base + f.first});
    else
      folded(f, e, top, height, base + f.first);
  });
}

// The boxes, and the waits between and around them.
template <class Boxes, class Draw>
void LanePainter::with_idle(std::uint32_t row, float top, float height, DeviceId device,
                            const Boxes& boxes, Draw&& draw) {
  const std::uint32_t first_seen =
      boxes.empty() ? window(model_.spans, row, v_.from, v_.to).first : boxes.front().first;
  const std::uint32_t base = instruction_at(model_, row, 0).value;
  float before = place(end_before(row, first_seen));
  for (const auto& box : boxes) {
    const Extent e = place(box.start, box.end);
    idle(before, e.left, top, height, base + box.first);
    draw(box, e);
    before = e.right;
  }
  const std::uint32_t next = boxes.empty() ? first_seen : boxes.back().first + boxes.back().count;
  const bool tail = next == model_.spans.rows[row].count;
  if (!tail) idle(before, place(span_at(model_.spans, row, next).start), top, height, base + next);
  flush();
  if (const float end = place(model_.end); tail && end - before >= kLeastIdle)
    hatch(drawing_, {before, top, end - before, height}, Pattern::Idle,
          {ItemKind::Idle, tail_tag(device)});
}

void LanePainter::low_box(const LowBox& box, const Extent& e, float top, float height,
                          std::uint32_t base) {
  const float busy =
      height * static_cast<float>(std::max<int>(1, box.height)) / static_cast<float>(steps_);
  put({{e.left, top + height - busy, std::max(1.f, e.width()), busy},
       base + box.first,
       box.count == 1 ? ItemKind::Span : ItemKind::Fold,
       ink_at(box.category),
       Tile::Kind::Fill});
}

void LanePainter::comm(std::uint32_t row, float top, float height) {
  begin(row, top, height);
  const std::uint32_t base = instruction_at(model_, row, 0).value;
  for (const LowBox& box : boxes_) low_box(box, place(box.start, box.end), top, height, base);
  for (const Fold& f : folds_) {
    const Extent e = place(f.start, f.end);
    const float width = std::max(kShortestMark, e.width() - (e.width() > kNarrow ? 1.f : 0.f));
    const float busy = f.count == 1 ? height : std::max(1.5f, height * busy_share(f));
    put({{e.left, top + height - busy, width, busy},
         base + f.first,
         f.count == 1 ? ItemKind::Span : ItemKind::Fold,
         Ink::Communication,
         Tile::Kind::Box});
  }
  flush();
}

void LanePainter::overview(std::uint32_t row, float top, float height) {
  begin(row, top, height);
  for (std::size_t i = 0; i < folds_.size();) {
    const Fold& f = folds_[i];
    Extent e = place(f.start, f.end);
    // Neighbours of one colour go as one where what parts them is no pixel.
    for (++i; i < folds_.size() && joins(f, folds_[i], e.right); ++i)
      e.right = place(folds_[i].end);
    put({{e.left, top, std::max(1.f, e.width()), height},
         0,
         ItemKind::None,
         ink_at(f.category),
         Tile::Kind::Fill});
  }
  flush();
}

bool LanePainter::joins(const Fold& f, const Fold& next, float right) const {
  return next.category == f.category && f.count > 1 && next.count > 1 &&
         static_cast<double>(place(next.start) - right) * scale_ < 0.5;
}

Instant LanePainter::end_before(std::uint32_t row, std::uint32_t index) const {
  return index == 0 ? Instant{0} : span_at(model_.spans, row, index - 1).end;
}

void LanePainter::idle(float left, float right, float top, float height, std::uint32_t ended_by) {
  if (right - left >= kLeastIdle)
    put({{left, top, right - left, height}, ended_by, ItemKind::Idle, Ink::Text, Tile::Kind::Idle});
}

void LanePainter::span(const Fold& f, const Extent& e, float top, float height, InstructionId id) {
  const auto part_box = [&](const Rect& box, Ink ink) {
    put({box, id.value, ItemKind::Span, ink, Tile::Kind::Box});
  };
  Rect rect{e.left, top, std::max(kShortestMark, e.width() - (e.width() > kNarrow ? 1.f : 0.f)),
            height};
  const double again = e.width() > kNarrow ? recomputed(f, id) : 0;
  if (again > 0) {
    // The forward done again comes first, and is drawn in proportion even where the box is cut by
    // the plot's edge.
    const float until = std::clamp(
        static_cast<float>(x_of(v_, f.start + part(f.end - f.start, again))), rect.x, rect.right());
    part_box({rect.x, top, until - rect.x, height}, Ink::Recompute);
    rect = {until, top, rect.right() - until, height};
  }
  part_box(rect, ink_at(f.category));
  if (rect.width > kLeastLabelled) label(id, program_.task(id), rect, ink_at(f.category));
}

// The part of a span's time that is forward done again.
double LanePainter::recomputed(const Fold& span, InstructionId id) const {
  const std::vector<double>& shares = model_.experiment->prices.recompute_share;
  return shares.empty() || ink_at(span.category) == Ink::Forward
             ? 0
             : shares[program_.instructions[id.value].task.value];
}

// Within what is visible of the box, so that the label of a box cut by the edge stays in sight.
void LanePainter::label(InstructionId id, const Task& task, const Rect& rect, Ink on) {
  const Rect seen = intersect(rect, v_.plot);
  const float size = std::min(10.f, rect.height - 4);
  if (size < 7 || task.kind != TaskKind::Compute) return;
  std::string words = label_of(task, program_.instructions[id.value], seen.width, size);
  if (words.empty()) return;
  flush();
  write(drawing_, std::move(words), {seen.x + seen.width / 2, rect.y + rect.height / 2}, size,
        Weight::Medium, label_ink(on), Align::Center);
}

// Shares of the fold's time, stacked from the bottom; what is left at the top is idle.
void LanePainter::folded(const Fold& f, const Extent& e, float top, float height,
                         std::uint32_t first) {
  const float width = std::max(1.f, e.width());
  const auto stack = [&](float y, float h, Ink ink) {
    put({{e.left, y, width, h}, first, ItemKind::Fold, ink, Tile::Kind::Fill});
  };
  if (width < kNarrowFold) {
    const float h = std::max(2.f, height * busy_share(f));
    return stack(top + height - h, h, ink_at(f.category));
  }
  float bottom = top + height;
  // From one category that has any time to the next.
  for (auto left = std::bit_cast<std::uint64_t>(f.share); left != 0;) {
    const int c = std::countr_zero(left) / 8;
    left &= ~(std::uint64_t{255} << (8 * c));
    const float h = height * static_cast<float>(f.share[static_cast<std::size_t>(c)]) / 255;
    bottom -= h;
    stack(bottom, h, ink_at(static_cast<std::uint8_t>(c)));
  }
}

}  // namespace trainyard
