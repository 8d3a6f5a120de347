#include "visualizers/run/run_panels.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <utility>

#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/time/timeline_model.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kPad = 12, kTitle = 26, kCell = 60, kBusy = 18, kNote = 16, kRow = 16,
                kHeadings = 18, kLeastTable = 330, kLeastCause = 140, kLeastBar = 60,
                kMostBar = 160;

using Format = std::function<std::string(std::int64_t)>;

std::string time_text(std::int64_t n) { return format_step_time(Duration{n}); }
std::string bytes_text(std::int64_t n) { return format_bytes(Bytes{n}); }

std::string signed_text(const RunResidual& part, const Format& format) {
  const std::int64_t n = part.difference();
  if (n == 0) return "\u00B10";
  return (n < 0 ? "\u2212" : "+") + format(std::abs(n));
}

std::string share_text(const RunResidual& part) {
  if (part.predicted == 0) return "";
  return format_signed_percent(static_cast<double>(part.difference()) /
                               static_cast<double>(part.predicted));
}

void draw_title(Drawing& drawing, const Rect& area, const std::string& title) {
  fill(drawing, {area.x, area.y, area.width, kTitle}, {.ink = Ink::Header});
  write_within(drawing, title, {area.x + kPad, area.y + kTitle / 2}, area.width - 2 * kPad, 11,
               Weight::SemiBold, Ink::Text);
}

void draw_reading(Drawing& drawing, const Rect& cell, const RunReading& reading, std::size_t i) {
  const ClipScope clip(drawing, cell);
  const float x = cell.x + kPad, room = cell.width - 2 * kPad + 8;
  fill(drawing, cell, {.ink = Ink::Panel, .alpha = 0, .item = {ItemKind::Other, kReadingTag + i}});
  write(drawing, reading.name, {x, cell.y + 13}, 10, Weight::Medium, Ink::Text2);
  write_within(drawing, reading.value, {x, cell.y + 30}, room, 15, Weight::SemiBold, Ink::Text);
  write_within(drawing, reading.note, {x, cell.y + 47}, room, 9.5f, Weight::Regular, Ink::Text3);
  line(drawing, {cell.x, cell.bottom() - 0.5f}, {cell.right(), cell.bottom() - 0.5f},
       {.ink = Ink::Border});
}

// A bar of what was measured, and a stroke where it was predicted.
void draw_busy(Drawing& drawing, const Rect& row, const std::string& name, const BusyShares& busy) {
  const float y = row.y + row.height / 2, left = row.x + kPad + 66, right = row.right() - 58;
  const float width = std::max(1.f, right - left);
  write_within(drawing, name, {row.x + kPad, y}, 62, 10, Weight::Medium, Ink::Text2);
  fill(drawing, {left, y - 4, width, 8}, {.ink = Ink::Raised});
  fill(drawing, {left, y - 4, width * static_cast<float>(std::clamp(busy.measured, 0.0, 1.0)), 8},
       {.ink = Ink::Forward});
  const float mark = left + width * static_cast<float>(std::clamp(busy.predicted, 0.0, 1.0));
  line(drawing, {mark, y - 6}, {mark, y + 6}, {.ink = Ink::Ghost, .stroke = 1.5f});
  write(drawing, format_percent(busy.measured), {row.right() - kPad, y}, 10, Weight::Medium,
        Ink::Text, Align::Right);
}

// A bar from the axis: to the right what took more than was predicted.
void draw_difference(Drawing& drawing, const Rect& row, const RunResidual& part,
                     std::int64_t largest) {
  const float axis = row.x + row.width / 2, y = row.y + 3, height = row.height - 6;
  const float length =
      largest == 0 ? 0
                   : row.width / 2 *
                         static_cast<float>(static_cast<double>(std::abs(part.difference())) /
                                            static_cast<double>(largest));
  const Rect bar{part.difference() < 0 ? axis - length : axis, y, length, height};
  if (part.ink == Ink::Idle) {
    hatch(drawing, bar, Pattern::Idle);
    outline(drawing, bar, {.ink = Ink::Axis});
  } else if (length > 0) {
    fill(drawing, bar, {.ink = part.ink});
  }
  line(drawing, {axis, row.y}, {axis, row.bottom()}, {.ink = Ink::Axis});
}

// Right ends but of name, bar and cause, which begin there. No cause and no bar: no room.
struct ResidualColumns {
  float name, predicted, measured, residual, share, bar, bar_end, cause, end;
  bool has_bar() const { return bar_end - bar >= 24; }
  bool has_cause() const { return end - cause >= kLeastCause; }
};
ResidualColumns columns_of(const Rect& area) {
  const float x = area.x + kPad, end = area.right() - kPad;
  // A narrow table keeps its figures and leaves out shares.
  if (area.width < kLeastTable) {
    const float each = (area.width - 2 * kPad - 84) / 3;
    return {x, x + 84 + each, x + 84 + 2 * each, end, end, end, end, end, end};
  }
  ResidualColumns at{x, x + 156, x + 222, x + 292, x + 346, x + 356, end, end, end};
  const float left = end - at.bar - 12;
  const float bar = std::clamp(left * 0.3f, kLeastBar, kMostBar);
  if (left - bar >= kLeastCause) at.bar_end = at.bar + bar, at.cause = at.bar_end + 12;
  return at;
}

void draw_residual_row(Drawing& drawing, const Rect& row, const RunResidual& part,
                       const Format& format, std::int64_t largest, Weight weight, Item item) {
  const ResidualColumns at = columns_of(row);
  const float y = row.y + row.height / 2;
  fill(drawing, row, {.ink = Ink::Panel, .alpha = 0, .item = item});
  if (weight != Weight::SemiBold) {
    const Rect swatch{at.name, y - 4, 8, 8};
    if (part.ink == Ink::Idle) {
      hatch(drawing, swatch, Pattern::Idle);
      outline(drawing, swatch, {.ink = Ink::Axis});
    } else {
      fill(drawing, swatch, {.ink = part.ink});
    }
  }
  const float name = row.width < kLeastTable ? 70 : 92;
  write_within(drawing, part.name, {at.name + 14, y}, name, 10.5f, weight, Ink::Text);
  const auto cell = [&](const std::string& words, float right, Ink ink, Weight heavy) {
    write(drawing, words, {right, y}, 10.5f, heavy, ink, Align::Right);
  };
  cell(format(part.predicted), at.predicted, Ink::Text2, Weight::Regular);
  cell(format(part.measured), at.measured, Ink::Text, Weight::Regular);
  cell(signed_text(part, format), at.residual, Ink::Text, Weight::SemiBold);
  if (at.share > at.residual) cell(share_text(part), at.share, Ink::Text2, Weight::Regular);
  if (at.has_bar())
    draw_difference(drawing, {at.bar, row.y, at.bar_end - at.bar, row.height}, part, largest);
  if (at.has_cause())
    write_within(drawing, part.cause, {at.cause, y}, at.end - at.cause, 10.5f, Weight::Regular,
                 Ink::Text2);
}

void draw_table(Drawing& drawing, const Rect& area, const RunResiduals& residuals,
                const Format& format, std::uint64_t tag) {
  const ClipScope clip(drawing, area);
  draw_title(drawing, area, residuals.of + " by cause");
  const ResidualColumns at = columns_of(area);
  float y = area.y + kTitle;
  const std::pair<const char*, float> headings[] = {
      {"predicted", at.predicted}, {"measured", at.measured}, {"residual", at.residual}};
  for (const auto& [words, right] : headings)
    write(drawing, words, {right, y + kHeadings / 2}, 10, Weight::Medium, Ink::Text3, Align::Right);
  if (at.has_cause())
    write(drawing, "likely cause", {at.cause, y + kHeadings / 2}, 10, Weight::Medium, Ink::Text3);
  y += kHeadings;
  std::int64_t largest = std::abs(residuals.sum.difference());
  for (const RunResidual& part : residuals.parts)
    largest = std::max(largest, std::abs(part.difference()));
  std::uint64_t row = 0;
  for (const RunResidual& part : residuals.parts) {
    draw_residual_row(drawing, {area.x, y, area.width, kRow}, part, format, largest, Weight::Medium,
                      {ItemKind::Other, tag + row++});
    y += kRow;
  }
  line(drawing, {area.x, y + 0.5f}, {area.right(), y + 0.5f}, {.ink = Ink::BorderStrong});
  draw_residual_row(drawing, {area.x, y + 1, area.width, kRow}, residuals.sum, format, largest,
                    Weight::SemiBold, {ItemKind::Other, tag + row});
}

float height_of(const std::optional<RunResiduals>& residuals) {
  return residuals ? kTitle + kHeadings + kRow * static_cast<float>(residuals->parts.size() + 1) + 6
                   : 0.f;
}

Hover hover_of(const std::optional<RunResiduals>& residuals, std::uint64_t row,
               const Format& format) {
  if (!residuals || row > residuals->parts.size()) return {};
  const RunResidual& part = row < residuals->parts.size() ? residuals->parts[row] : residuals->sum;
  Hover hover{part.name, residuals->of, "measured " + format(part.measured), {}};
  hover.lines.push_back("predicted " + format(part.predicted));
  hover.lines.push_back(signed_text(part, format) + " of " + signed_text(residuals->sum, format) +
                        " in all");
  for (const std::string& words : {part.cause, part.figures})
    if (!words.empty()) hover.lines.push_back(words);
  return hover;
}

// Breaks notes between words where they are wider than a line.
std::vector<std::string> in_lines(const std::vector<std::string>& notes, float width) {
  std::vector<std::string> lines;
  for (const std::string& note : notes) {
    std::size_t from = 0, end = 0;
    while (end < note.size()) {
      const std::size_t next = std::min(note.find(' ', end + 1), note.size());
      if (end > from && text_width(note.substr(from, next - from), 10) > width) {
        lines.push_back(note.substr(from, end - from));
        from = end + 1;
      }
      end = next;
    }
    lines.push_back(note.substr(from));
  }
  return lines;
}

}  // namespace

void draw_run_side(Drawing& drawing, const Rect& area, const RunModel& model,
                   const std::optional<RunDeviation>& furthest, bool memory) {
  const ClipScope clip(drawing, area);
  fill(drawing, area, {.ink = Ink::Panel});
  line(drawing, {area.x + 0.5f, area.y}, {area.x + 0.5f, area.bottom()}, {.ink = Ink::Border});
  float y = area.y;
  const std::vector<RunReading> readings = run_readings(model);
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const float width = area.width / 2;
    draw_reading(drawing, {area.x + (i % 2 == 0 ? 0 : width), y, width, kCell}, readings[i], i);
    if (i % 2 == 1) y += kCell;
  }
  const std::vector<std::string> notes =
      in_lines(run_notes(model, furthest), area.width - 2 * kPad);
  float low = area.bottom() - kNote * static_cast<float>(notes.size()) - 6;
  const float notes_top = low;
  if (const auto residuals = memory ? memory_residuals(model) : std::nullopt;
      model.comparison && residuals && y + height_of(residuals) <= low) {
    low -= height_of(residuals);
    draw_table(drawing, {area.x, low, area.width, height_of(residuals)}, *residuals, bytes_text,
               kMemoryTag);
  }
  if (model.comparison && y + kTitle + kBusy <= low) {
    draw_title(drawing, {area.x, y, area.width, kTitle}, "Busy");
    y += kTitle;
    const std::vector<BusyShares>& busy = model.comparison->busy;
    for (std::size_t i = 0; i < busy.size() && y + kBusy <= low; ++i, y += kBusy)
      draw_busy(drawing, {area.x, y, area.width, kBusy},
                rank_name(model.predicted->program, DeviceId{static_cast<std::uint32_t>(i)}),
                busy[i]);
  }
  if (y > low) return;
  y = notes_top;
  for (const std::string& note : notes) {
    write_within(drawing, note, {area.x + kPad, y + kNote / 2}, area.width - 2 * kPad, 10,
                 Weight::Medium, Ink::Text2);
    y += kNote;
  }
}

bool run_residuals_fit_both(float width) {
  return columns_of({0, 0, std::floor(width / 2), 0}).has_cause();
}

float run_residuals_height(const RunModel& model, bool memory) {
  if (!model.comparison) return 0;
  const float time = height_of(time_residuals(model));
  return memory ? std::max(time, height_of(memory_residuals(model))) : time;
}

void draw_run_residuals(Drawing& drawing, const Rect& area, const RunModel& model, bool memory) {
  const std::optional<RunResiduals> time = time_residuals(model), held = memory_residuals(model);
  if (!time || area.height <= 0) return;
  const bool both = memory && held && area.width >= 2 * kLeastTable;
  const float half = both ? std::floor(area.width / 2) : area.width;
  fill(drawing, area, {.ink = Ink::Panel});
  draw_table(drawing, {area.x, area.y, half, area.height}, *time, time_text, kTimeTag);
  if (!both) return;
  draw_table(drawing, {area.x + half, area.y, area.width - half, area.height}, *held, bytes_text,
             kMemoryTag);
  line(drawing, {area.x + half + 0.5f, area.y}, {area.x + half + 0.5f, area.bottom()},
       {.ink = Ink::Border});
}

Hover describe_run_panel(const RunModel& model, Item item) {
  if (item.kind != ItemKind::Other || !model.predicted) return {};
  if (item.tag >= kMemoryTag)
    return hover_of(memory_residuals(model), item.tag - kMemoryTag, bytes_text);
  if (item.tag >= kTimeTag) return hover_of(time_residuals(model), item.tag - kTimeTag, time_text);
  const std::vector<RunReading> readings = run_readings(model);
  if (item.tag < kReadingTag || item.tag - kReadingTag >= readings.size()) return {};
  const RunReading& reading = readings[item.tag - kReadingTag];
  Hover hover{reading.name, "", reading.value, {}};
  if (!reading.note.empty()) hover.lines.push_back(reading.note);
  return hover;
}

}  // namespace trainyard
