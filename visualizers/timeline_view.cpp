#include "visualizers/timeline_view.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "visualizers/text_metrics.h"
#include "visualizers/timeline_selection.h"
#include "visualizers/viewmodel/folding.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kFirstLane = 5;                   // px below the ruler
constexpr float kLabelRoom = 6, kNumberRoom = 3;  // px that a label leaves free
constexpr float kNarrow = 3;                      // px below which a box has no gap and no parts
constexpr float kLeastLabelled = 7;  // px; a digit in the smallest size that is written, and its
                                     // room
constexpr float kLeastIdle = 2;      // px below which a gap is not hatched
constexpr Duration kFarthest{std::int64_t{1} << 62};   // so that differences of times have 64 bits
constexpr float kNarrowFold = 6;                       // px below which a fold has one colour
constexpr std::size_t kUsualTiles = 32 * 1024;         // of a full screen; saves moving them
constexpr float kOverviewRow = 4, kOverviewRows = 36;  // px of one row at most, and of all

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
      return fits("update") ? "update" : "";
  }
  return "";
}

// Draws the rows of one rank. One object a frame, so that the list of folds is allocated once.
class LanePainter {
 public:
  LanePainter(Drawing& drawing, const TimelineModel& model, const Viewport& v, double scale)
      : drawing_(drawing),
        model_(model),
        program_(model.experiment->program),
        v_(v),
        scale_(scale),
        step_(fold_step(v, scale)),
        from_(std::clamp(v.from, -kFarthest, kFarthest)),
        ns_per_px_(ns_per_px(v)),
        low_(double{v.plot.x} - kBeyondPlot),
        high_(double{v.plot.right()} + kBeyondPlot),
        flushed_(drawing.tiles.size()) {}

  void compute(std::uint32_t row, float top, float height, DeviceId device) {
    begin(row, top, height);
    const std::uint32_t first_seen =
        folds_.empty() ? window(model_.spans, row, v_.from, v_.to).first : folds_.front().first;
    const std::uint32_t base = instruction_at(model_, row, 0).value;
    float before = place(end_before(row, first_seen));
    for (const Fold& f : folds_) {
      const Extent e = place(f.start, f.end);
      idle(before, e.left, top, height, base + f.first);
      if (f.count == 1)
        span(f, e, top, height, InstructionId{base + f.first});
      else
        folded(f, e, top, height, base + f.first);
      before = e.right;
    }
    const std::uint32_t next =
        folds_.empty() ? first_seen : folds_.back().first + folds_.back().count;
    const bool tail = next == model_.spans.rows[row].count;
    if (!tail)
      idle(before, place(span_at(model_.spans, row, next).start), top, height, base + next);
    flush();
    if (const float end = place(model_.end); tail && end - before >= kLeastIdle)
      hatch(drawing_, {before, top, end - before, height}, Pattern::Idle,
            {ItemKind::Idle, tail_tag(device)});
  }

  void comm(std::uint32_t row, float top) {
    begin(row, top, kCommLane);
    const std::uint32_t base = instruction_at(model_, row, 0).value;
    for (const Fold& f : folds_) {
      const Extent e = place(f.start, f.end);
      const float width = std::max(kShortestMark, e.width() - (e.width() > kNarrow ? 1.f : 0.f));
      const float height = f.count == 1 ? kCommLane : std::max(1.5f, kCommLane * busy_share(f));
      put({{e.left, top + kCommLane - height, width, height},
           base + f.first,
           f.count == 1 ? ItemKind::Span : ItemKind::Fold,
           Ink::Communication,
           Tile::Kind::Box});
    }
    flush();
  }

  void overview(std::uint32_t row, float top, float height) {
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

 private:
  void fold(std::uint32_t row) {
    folds_.clear();
    fold_row(model_.spans, row, v_.from, v_.to, step_, folds_);
  }

  // push_back of what has a name is small enough for compilers to inline, that of what has none is
  // not; it is called for every box.
  [[gnu::always_inline]] void put(const Tile& tile) { drawing_.tiles.push_back(tile); }

  // Makes a mark of the tiles so far; to be called before anything else is drawn.
  void flush() {
    strip(drawing_, flushed_, bounds_);
    flushed_ = drawing_.tiles.size();
  }

  // To be called before a row is drawn.
  void begin(std::uint32_t row, float top, float height) {
    fold(row);
    bounds_ = {v_.plot.x - kBeyondPlot, top, v_.plot.width + 3 * kBeyondPlot, height};
  }

  bool joins(const Fold& f, const Fold& next, float right) const {
    return next.category == f.category && f.count > 1 && next.count > 1 &&
           static_cast<double>(place(next.start) - right) * scale_ < 0.5;
  }

  Instant end_before(std::uint32_t row, std::uint32_t index) const {
    return index == 0 ? Instant{0} : span_at(model_.spans, row, index - 1).end;
  }

  // As extent(), but what does not change from box to box is worked out once.
  Extent place(Instant start, Instant end) const { return {place(start), place(end)}; }
  float place(Instant t) const {
    const double x = double{v_.plot.x} + static_cast<double>((t - from_).count()) / ns_per_px_;
    return static_cast<float>(std::clamp(x, low_, high_));
  }

  static float busy_share(const Fold& f) {
    const int all = std::accumulate(f.share.begin(), f.share.end(), 0);
    return std::min(1.f, static_cast<float>(all) / 255);
  }

  void idle(float left, float right, float top, float height, std::uint32_t ended_by) {
    if (right - left >= kLeastIdle)
      put({{left, top, right - left, height},
           ended_by,
           ItemKind::Idle,
           Ink::Text,
           Tile::Kind::Idle});
  }

  void span(const Fold& f, const Extent& e, float top, float height, InstructionId id) {
    const auto part_box = [&](const Rect& part, Ink ink) {
      put({part, id.value, ItemKind::Span, ink, Tile::Kind::Box});
    };
    Rect rect{e.left, top, std::max(kShortestMark, e.width() - (e.width() > kNarrow ? 1.f : 0.f)),
              height};
    const double again = e.width() > kNarrow ? recomputed(f, id) : 0;
    if (again > 0) {
      // The forward done again comes first, and is drawn in proportion even where the box is cut by
      // the plot's edge.
      const float until =
          std::clamp(static_cast<float>(x_of(v_, f.start + part(f.end - f.start, again))), rect.x,
                     rect.right());
      part_box({rect.x, top, until - rect.x, height}, Ink::Recompute);
      rect = {until, top, rect.right() - until, height};
    }
    part_box(rect, ink_at(f.category));
    if (rect.width > kLeastLabelled) label(id, program_.task(id), rect, ink_at(f.category));
  }

  // The part of a span's time that is forward done again.
  double recomputed(const Fold& span, InstructionId id) const {
    const std::vector<double>& shares = model_.experiment->prices.recompute_share;
    return shares.empty() || ink_at(span.category) == Ink::Forward
               ? 0
               : shares[program_.instructions[id.value].task.value];
  }

  static Duration part(Duration whole, double share) {
    return Duration{static_cast<std::int64_t>(static_cast<double>(whole.count()) * share)};
  }

  // Within what is visible of the box, so that the label of a box cut by the edge stays in sight.
  void label(InstructionId id, const Task& task, const Rect& rect, Ink on) {
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
  void folded(const Fold& f, const Extent& e, float top, float height, std::uint32_t first) {
    const float width = std::max(1.f, e.width());
    const auto part = [&](float y, float h, Ink ink) {
      drawing_.tiles.push_back(
          {{e.left, y, width, h}, first, ItemKind::Fold, ink, Tile::Kind::Fill});
    };
    if (width < kNarrowFold) {
      const float h = std::max(2.f, height * busy_share(f));
      return part(top + height - h, h, ink_at(f.category));
    }
    float bottom = top + height;
    for (std::uint8_t c = 0; c < kCategorySlots; ++c) {
      if (f.share[c] == 0) continue;
      const float h = height * static_cast<float>(f.share[c]) / 255;
      bottom -= h;
      part(bottom, h, ink_at(c));
    }
  }

  Drawing& drawing_;
  const TimelineModel& model_;
  const Program& program_;
  const Viewport& v_;
  double scale_;
  FoldStep step_;
  Instant from_;
  double ns_per_px_;
  double low_, high_;  // where boxes are cut
  std::vector<Fold> folds_;
  std::size_t flushed_;  // of the drawing's tiles: those before it are in strips
  Rect bounds_;          // of the row's tiles
};

std::string whole_percent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

TimeRange measured_range(const TimelineModel& model, const ViewState& state) {
  return state.range.value_or(TimeRange{Instant{0}, model.end});
}

bool is_selected(const TimelineModel& model, const RankLanes& rank, Item selected) {
  if (selected.kind == ItemKind::Lane) return selected.tag == rank.device.value;
  if (selected.kind != ItemKind::Span) return false;
  const SpanPlace place = place_of(model, InstructionId{static_cast<std::uint32_t>(selected.tag)});
  return place.row != kNoRow && model.experiment->program.streams[place.row].device == rank.device;
}

void draw_gutter(Drawing& drawing, const TimelineModel& model, const RankLanes& rank, Point at,
                 const ViewState& state) {
  const bool selected = is_selected(model, rank, state.selected);
  const TimeRange range = measured_range(model, state);
  const double whole = to_seconds(range.length());
  const double busy =
      whole > 0 ? to_seconds(busy_time(model.spans, rank.busy_row, range.from, range.to)) / whole
                : 0;
  const Weight weight = selected ? Weight::SemiBold : Weight::Medium;
  write(drawing, rank.name, {at.x + 10, at.y}, 11, weight, Ink::Text);
  const float place_x = std::max(54.f, 10 + text_width(rank.name, 11, weight) + 5);
  const std::string reading = whole_percent(busy);
  const float room = kGutter - 8 - text_width(reading, 10) - 2 - place_x;
  // Where the whole does not fit, the numbers of the nodes do: "0\u201331".
  const bool fits = text_width(rank.place, 10, Weight::Regular) <= room;
  const std::string place = fits ? rank.place : rank.place.substr(rank.place.find(' ') + 1);
  write(drawing, fit_text(place, room, 10, Weight::Regular), {at.x + place_x, at.y}, 10,
        Weight::Regular, Ink::Text3);
  write(drawing, reading, {at.x + kGutter - 8, at.y}, 10, Weight::Medium, Ink::Text2, Align::Right);
}

void draw_overview(Drawing& drawing, const TimelineLayout& layout, const TimelineModel& model,
                   const ViewState& state) {
  const Rect& area = layout.overview;
  write(drawing, "Step", {area.x + 10, area.y + 18}, 11, Weight::SemiBold, Ink::Text);
  write(drawing, format_step_time(model.end), {area.x + 10, area.y + 32}, 10, Weight::Regular,
        Ink::Text3);
  const float row_height =
      std::min(kOverviewRow, std::max(1.f, kOverviewRows / static_cast<float>(model.ranks.size())));
  // More ranks than rows: each row stands for the first of several.
  const auto rows = std::min<std::size_t>(model.ranks.size(),
                                          static_cast<std::size_t>(kOverviewRows / row_height));
  const float top = area.y + (area.height - row_height * static_cast<float>(rows)) / 2;
  const Rect strip{layout.whole.plot.x, top, layout.whole.plot.width,
                   row_height * static_cast<float>(rows)};
  {
    const ClipScope clip(drawing, strip);
    LanePainter painter(drawing, model, layout.whole, state.scale);
    for (std::size_t i = 0; i < rows; ++i)
      painter.overview(model.ranks[i * model.ranks.size() / rows].busy_row,
                       top + row_height * static_cast<float>(i), row_height);
  }
  const Extent e = extent(layout.whole, layout.shown.from, layout.shown.to);
  const float left = std::clamp(e.left, strip.x, strip.right());
  const float right = std::clamp(e.right, left, strip.right());
  fill(drawing, {strip.x, strip.y, left - strip.x, strip.height},
       {.ink = Ink::Canvas, .alpha = 0.6f});
  fill(drawing, {right, strip.y, strip.right() - right, strip.height},
       {.ink = Ink::Canvas, .alpha = 0.6f});
  outline(drawing, {left - 1, strip.y - 3, right - left + 2, strip.height + 6},
          {.ink = Ink::Text, .stroke = 1.5f});
  line(drawing, {area.x, area.bottom() - 0.5f}, {area.right(), area.bottom() - 0.5f},
       {.ink = Ink::Border});
}

void draw_lane(LanePainter& painter, const RankLanes& rank, float top) {
  const auto lanes = static_cast<float>(std::max<std::size_t>(1, rank.compute.size()));
  for (std::size_t i = 0; i < rank.compute.size(); ++i)
    painter.compute(rank.compute[i], top + kComputeLane * static_cast<float>(i) / lanes,
                    kComputeLane / lanes, rank.device);
  for (const std::uint32_t row : rank.comm) painter.comm(row, top + kComputeLane + 1);
}

void draw_lanes(Drawing& drawing, const TimelineLayout& layout, const TimelineModel& model,
                const ViewState& state) {
  const Rect& area = layout.lanes;
  const ClipScope clip(drawing, area);
  draw_grid(drawing, area, layout.shown);
  LanePainter painter(drawing, model, layout.shown, state.scale);
  drawing.origin = {static_cast<float>(extent(layout.shown, Instant{0}, Instant{0}).left), area.y};
  for (std::size_t i = 0; i < model.ranks.size(); ++i) {
    const float top = lane_top(layout, i);
    if (top + kLanePitch < area.y || top > area.bottom()) continue;
    fill(drawing, {area.x, top - 2, kGutter, kLanePitch - 3},
         {.ink = Ink::Canvas, .item = {ItemKind::Lane, i}});
    draw_gutter(drawing, model, model.ranks[i], {area.x, top + kComputeLane / 2}, state);
    const float border = top + kLanePitch - 3.5f;
    line(drawing, {area.x, border}, {area.right(), border}, {.ink = Ink::Grid});
    const ClipScope plot(drawing,
                         {layout.shown.plot.x, top - 3, layout.shown.plot.width, kLanePitch});
    draw_lane(painter, model.ranks[i], top);
  }
  const ClipScope plot(drawing,
                       {layout.shown.plot.x - 3, area.y, layout.shown.plot.width + 6, area.height});
  draw_selection(drawing, layout, model, state.selected);
}

}  // namespace

std::uint64_t tail_tag(DeviceId device) { return (std::uint64_t{1} << 32) | device.value; }

float timeline_height(const TimelineModel& model) {
  return kOverview + kRuler + kFirstLane + kLanePitch * static_cast<float>(model.ranks.size());
}

TimelineLayout timeline_layout(const TimelineModel& model, const Rect& area,
                               const ViewState& state) {
  TimelineLayout layout;
  layout.overview = {area.x, area.y, area.width, kOverview};
  layout.ruler = {area.x, area.y + kOverview, area.width, kRuler};
  const float top = layout.ruler.bottom();
  layout.lanes = {area.x, top, area.width, std::max(0.f, area.bottom() - top)};
  layout.whole = viewport_of(layout.overview, {}, model.end);
  layout.shown = viewport_of(layout.lanes, state, model.end);
  return layout;
}

float lane_top(const TimelineLayout& layout, std::size_t rank) {
  return layout.lanes.y + kFirstLane + kLanePitch * static_cast<float>(rank) - layout.shown.scroll;
}

void draw_timeline(Drawing& drawing, const Rect& area, const TimelineModel& model,
                   const ViewState& state) {
  const ClipScope clip(drawing, area);
  const TimelineLayout layout = timeline_layout(model, area, state);
  drawing.tiles.reserve(drawing.tiles.size() + kUsualTiles);
  draw_overview(drawing, layout, model, state);
  draw_ruler(drawing, layout.ruler, layout.shown, state, model.end);
  draw_lanes(drawing, layout, model, state);
  draw_time_marks(drawing, layout.lanes, layout.shown, state);
  draw_time_tags(drawing, layout.ruler, layout.shown, state, model.end);
}

}  // namespace trainyard
