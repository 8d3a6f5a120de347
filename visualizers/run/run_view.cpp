#include "visualizers/run/run_view.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/timeline/metrics.h"
#include "visualizers/chart/staleness_histogram.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/run/run_causes.h"
#include "visualizers/run/run_lanes.h"
#include "visualizers/run/run_loss.h"
#include "visualizers/run/run_now.h"
#include "visualizers/run/run_panels.h"
#include "visualizers/run/run_ratios.h"
#include "visualizers/time/memory_model.h"
#include "visualizers/time/memory_wave.h"
#include "visualizers/time/timeline_model.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kHeader = 28, kSide = 304, kLeastWithSide = 860, kLeastWave = 30, kMostWave = 150,
                kGap = 8, kLimitWords = 22;
constexpr std::size_t kMostStaleBars = 24;

std::size_t rank_count(const RunModel& model) {
  return static_cast<std::size_t>(model.predicted->program.devices);
}

Rect rank_area(const RunLayout& layout, std::size_t rank, float scroll) {
  return {layout.ranks.x, layout.ranks.y + layout.pitch * static_cast<float>(rank) - scroll,
          layout.ranks.width, layout.pitch};
}
Rect wave_area(const Rect& rank) {
  const float top = kRunLanes + 6;
  return {rank.x, rank.y + top, rank.width, rank.height - top - kGap};
}

// The sample in effect with the most bytes within each pixel.
std::vector<std::size_t> highest_samples(const MemoryWave& wave, const Viewport& view, int count) {
  std::vector<std::size_t> list;
  std::size_t at = 0;
  const double step = static_cast<double>((view.to - view.from).count()) / count;
  for (int i = 0; i < count; ++i) {
    const Instant from = view.from + Duration{std::llround(step * i)};
    const Instant to = view.from + Duration{std::llround(step * (i + 1))};
    while (at + 1 < wave.samples.size() && wave.samples[at + 1].at <= from) ++at;
    std::size_t best = at;
    Bytes most = wave.samples.empty() ? Bytes{} : total(wave.samples[at].bytes);
    for (std::size_t s = at + 1; s < wave.samples.size() && wave.samples[s].at < to; ++s)
      if (const Bytes held = total(wave.samples[s].bytes); held > most) best = s, most = held;
    list.push_back(best);
  }
  return list;
}

void draw_stack(Drawing& drawing, const Rect& plot, const ByteScale& scale, const MemoryWave& wave,
                const std::vector<std::size_t>& samples, std::uint64_t rank) {
  std::vector<std::int64_t> below(samples.size());
  for (int c = 0; c < kCategories; ++c) {
    std::vector<Column> band(samples.size());
    bool any = false;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const Bytes bytes = wave.samples[samples[i]].bytes[static_cast<std::size_t>(c)];
      if (bytes.value <= 0) continue;
      any = true;
      band[i] = {scale.y(below[i] + bytes.value), scale.y(below[i])};
      below[i] += bytes.value;
    }
    if (any)
      columns(drawing, plot, band,
              {.ink = ink_of(static_cast<Category>(c)), .item = {ItemKind::Wave, rank}});
  }
}

void draw_ghost_line(Drawing& drawing, const Rect& plot, const ByteScale& scale,
                     const MemoryWave& wave, const std::vector<std::size_t>& samples) {
  std::vector<float> top;
  for (const std::size_t s : samples) top.push_back(scale.y(total(wave.samples[s].bytes).value));
  draw_through(drawing, plot, top, 1.5f, 0, {.ink = Ink::Ghost});
}

// What the peak may lie from its prediction, all along the wave.
void draw_band(Drawing& drawing, const Rect& plot, const ByteScale& scale, const MemoryWave& wave,
               const std::vector<std::size_t>& samples) {
  std::vector<Column> band;
  for (const std::size_t s : samples) {
    const auto bytes = static_cast<double>(total(wave.samples[s].bytes).value);
    band.push_back({scale.y(std::llround(bytes * (1 + kPeakLimit))),
                    scale.y(std::llround(bytes * (1 - kPeakLimit)))});
  }
  columns(drawing, plot, band, {.ink = Ink::Ghost, .alpha = 0.22f});
}

void draw_wave(Drawing& drawing, const Rect& area, const Viewport& view, const RunModel& model,
               std::size_t rank) {
  const Rect plot{view.plot.x, area.y, view.plot.width, area.height};
  fill(drawing, plot, {.ink = Ink::Panel});
  const MemoryWave& ghost = model.predicted->waves[rank];
  std::int64_t highest = std::max<std::int64_t>(1, peak_of(ghost).value);
  // Of the step under way where that is shown alone, else of the newest that is over.
  const bool rising = model.now && model.now->alone;
  const std::vector<MemoryWave>& waves = rising ? model.now->waves : model.waves;
  const bool there = rank < waves.size() && !waves[rank].samples.empty();
  for (const std::vector<MemoryWave>* known : {&waves, &model.waves})
    if (rank < known->size()) highest = std::max(highest, peak_of((*known)[rank]).value);
  if (model.aligned)
    highest = std::max({highest, peak_bytes(model.aligned->held), model.aligned->peak.value});
  const ByteScale scale =
      scale_of(plot, highest, model.aligned ? std::min(kLimitWords, plot.height / 4) : 6);
  const int count = std::max(1, static_cast<int>(plot.width));
  const ClipScope clip(drawing, plot);
  if (there) {
    const float right = rising ? std::max(plot.x, cut_x(view, model.now->at)) : plot.right();
    const ClipScope come(drawing, {plot.x, plot.y, right - plot.x, plot.height});
    draw_stack(drawing, plot, scale, waves[rank], highest_samples(waves[rank], view, count), rank);
  }
  if (ghost.samples.empty()) return;
  const std::vector<std::size_t> samples = highest_samples(ghost, view, count);
  draw_band(drawing, plot, scale, ghost, samples);
  if (model.aligned) draw_aligned(drawing, plot, view, scale, model.aligned->held, count);
  draw_ghost_line(drawing, plot, scale, ghost, samples);
  if (!model.aligned) return;
  Limit limit = aligned_limit(model.aligned->peak);
  limit.item = {ItemKind::Peak, rank};
  draw_limits(drawing, plot, scale, {limit});
}

void draw_names(Drawing& drawing, const Rect& rank, const RunModel& model, std::size_t i) {
  const float x = rank.x + 10;
  const Program& program = model.predicted->program;
  write(drawing, rank_name(program, DeviceId{static_cast<std::uint32_t>(i)}),
        {x, rank.y + kGhostLane + 1 + kMeasuredLane / 2}, 11, Weight::SemiBold, Ink::Text);
  write(drawing, "predicted", {rank.x + kGutter - 8, rank.y + kGhostLane / 2}, 9, Weight::Regular,
        Ink::Text3, Align::Right);
  const Rect wave = wave_area(rank);
  const Bytes ghost = peak_of(model.predicted->waves[i]);
  const bool there = i < model.waves.size() && !model.waves[i].samples.empty();
  write(drawing, there ? format_bytes(peak_of(model.waves[i])) : "–", {x, wave.y + 8}, 11,
        Weight::Medium, Ink::Text);
  write(drawing, "predicted " + format_bytes(ghost), {x, wave.y + 22}, 10, Weight::Regular,
        Ink::Text3);
  if (model.comparison && wave.height > 42)
    write(drawing, "apart " + format_percent(model.comparison->waves[i].over_work_share()),
          {x, wave.y + 36}, 10, Weight::Regular, Ink::Text3);
}

void draw_header(Drawing& drawing, const Rect& area, const RunModel& model) {
  const float y = area.y + area.height / 2;
  const Ink ink = model.failed ? Ink::Error : Ink::Text;
  const std::optional<RunJudgement> judgement = judge_run(model);
  const std::string right =
      judgement ? judgement->sentence
                : "predicted " + band_text(model.predicted->result.step).text() + " per step";
  const Ink tone = !judgement ? Ink::Text2 : judgement->holds ? Ink::Ok : Ink::Warn;
  const float room = area.width - 36 - text_width(right, 11);
  write_within(drawing, model.status, {area.x + 10, y}, room, 12, Weight::SemiBold, ink);
  const float used =
      text_width(fit_text(model.status, room, 12, Weight::SemiBold), 12, Weight::SemiBold);
  if (!model.outcome.empty() && used + 24 < room)
    write_within(drawing, model.outcome, {area.x + 10 + used + 12, y}, room - used - 16, 11,
                 Weight::Medium, Ink::Text2);
  write(drawing, right, {area.right() - kPlotMargin, y}, 11, Weight::Medium, tone, Align::Right);
}

}  // namespace

RunLayout run_layout(const RunModel& model, const Rect& area) {
  RunLayout l;
  l.header = {area.x, area.y, area.width, kHeader};
  const float side = area.width >= kLeastWithSide ? kSide : 0;
  const float width = area.width - side;
  const float top = l.header.bottom();
  l.side = {area.x + width, top, side, std::max(0.f, area.bottom() - top)};
  l.memory_aside = side > 0 && !run_residuals_fit_both(width);
  const float residuals = run_residuals_height(model, !l.memory_aside);
  l.residuals = {area.x, area.bottom() - residuals, width, residuals};
  l.loss = {area.x, top, width, std::clamp(area.height * 0.2f, 56.f, 150.f)};
  l.ruler = {area.x, l.loss.bottom() + 6, width, kRuler};
  const float ranks_top = l.ruler.bottom() + 6;
  l.ranks = {area.x, ranks_top, width, std::max(0.f, l.residuals.y - ranks_top)};
  const float lanes = kRunLanes + 6 + kGap;
  const auto ranks = static_cast<float>(std::max<std::size_t>(1, rank_count(model)));
  l.pitch = std::clamp(l.ranks.height / ranks, lanes + kLeastWave, lanes + kMostWave);
  return l;
}

float run_overhang(const RunModel& model, const Rect& area) {
  if (!model.predicted) return 0;
  const RunLayout l = run_layout(model, area);
  return std::max(0.f, l.pitch * static_cast<float>(rank_count(model)) - l.ranks.height);
}

void draw_run(Drawing& drawing, const Rect& area, const RunModel& model, const ViewState& state) {
  if (!model.predicted) return;
  const RunLayout layout = run_layout(model, area);
  draw_header(drawing, layout.header, model);
  Rect loss = layout.loss;
  if (has_ratios(model) || !model.staleness.empty()) {
    loss.width = std::floor(loss.width / 2);
    const Rect beside{loss.right(), loss.y, layout.loss.width - loss.width, loss.height};
    if (has_ratios(model))
      draw_run_ratios(drawing, beside, model);
    else
      draw_staleness(drawing, beside, "Changes by the others that the server took before",
                     staleness_bars(model.staleness, kMostStaleBars),
                     ranks(model.predicted->workload.scenario.plan.mesh, Group::Data) - 1);
  }
  draw_run_loss(drawing, loss, model);
  const Instant end = run_end(model);
  const Viewport view = viewport_of(layout.ranks, state, end);
  draw_run_ruler(drawing, layout.ruler, view, model, state, end);
  const std::optional<RunDeviation> furthest = largest_deviation(model);
  {
    const ClipScope clip(drawing, layout.ranks);
    draw_grid(drawing, layout.ranks, view);
    const float scroll = std::clamp(state.scroll, 0.f, run_overhang(model, area));
    for (std::size_t i = 0; i < rank_count(model); ++i) {
      const Rect rank = rank_area(layout, i, scroll);
      if (rank.bottom() < layout.ranks.y || rank.y > layout.ranks.bottom()) continue;
      draw_names(drawing, rank, model, i);
      const ClipScope inside(drawing,
                             {view.plot.x, layout.ranks.y, view.plot.width, layout.ranks.height});
      draw_run_lanes(drawing, rank, view, model, DeviceId{static_cast<std::uint32_t>(i)});
      draw_wave(drawing, wave_area(rank), view, model, i);
      if (furthest && furthest->device.value == i) draw_deviation(drawing, rank, view, *furthest);
    }
    draw_run_lines(drawing, layout.ranks, view, model);
  }
  draw_run_residuals(drawing, layout.residuals, model, !layout.memory_aside);
  if (layout.side.width > 0)
    draw_run_side(drawing, layout.side, model, furthest, layout.memory_aside);
}

Hover describe_run(const RunModel& model, const Rect& area, const ViewState& state, Item item,
                   Point at) {
  Hover hover;
  if (!model.predicted) return hover;
  const Experiment& predicted = *model.predicted;
  if (item.kind == ItemKind::Other) return describe_run_panel(model, item);
  if (item.kind == ItemKind::Cell) return describe_ratio(model, item);
  if (item.kind == ItemKind::Cursor) return describe_run_line(model, item, run_end(model));
  if (item.kind == ItemKind::Span && item.tag < predicted.program.instructions.size()) {
    const InstructionId id{static_cast<std::uint32_t>(item.tag)};
    hover.title = describe(predicted.program, id);
    hover.lines.push_back("predicted " +
                          format_duration(predicted.timeline.spans[id.value].length()));
    if (id.value < model.spans.size() && model.spans[id.value].end >= model.spans[id.value].start)
      hover.value = "measured " + format_duration(model.spans[id.value].length());
    const std::optional<RunDeviation> furthest = largest_deviation(model);
    if (furthest && id >= furthest->first && id <= furthest->last)
      hover.lines.push_back("largest deviation: " + deviation_words(*furthest));
  } else if (item.kind == ItemKind::Wave && item.tag < model.waves.size()) {
    const Viewport view = viewport_of(run_layout(model, area).ranks, state, run_end(model));
    const Instant when = time_at(view, at.x);
    hover.title =
        "Memory of " + rank_name(predicted.program, DeviceId{static_cast<std::uint32_t>(item.tag)});
    const auto held = [&](const MemoryWave& wave) {
      Bytes bytes{};
      for (const MemoryWave::Sample& s : wave.samples)
        if (s.at <= when) bytes = total(s.bytes);
      return bytes;
    };
    hover.value = format_bytes(held(model.waves[item.tag]));
    hover.lines.push_back("predicted " + format_bytes(held(predicted.waves[item.tag])));
    if (model.aligned)
      hover.lines.push_back("aligned " + format_bytes({value_at(model.aligned->held, when)}));
  } else if (item.kind == ItemKind::Peak && model.aligned) {
    hover.title = "Waves without an offset";
    hover.value = "aligned peak " + format_bytes(model.aligned->peak);
    hover.lines.push_back(peaks_words(model));
  } else if (item.kind == ItemKind::Dot && item.tag < model.losses.size()) {
    hover.title = "Update " + std::to_string(item.tag + 1);
    hover.value = "loss " + loss_text(model.losses[item.tag]);
  }
  return hover;
}

std::string spell_run(const RunModel& model) {
  if (!model.predicted) return "Nothing has been trained yet.";
  std::string text = model.status + ".";
  if (!model.losses.empty())
    text += " Loss " + loss_text(model.losses.back()) + " after " +
            std::to_string(model.losses.size()) + " updates, at first " +
            loss_text(model.losses.front()) + ".";
  text += " Predicted " + spell_duration(model.predicted->result.step.value) + " per step";
  if (model.step > Duration{}) text += ", measured " + spell_duration(model.step);
  text += ".";
  if (model.now) text += " The step under way has come to " + spell_duration(model.now->at) + ".";
  for (std::size_t i = 0; i < model.waves.size() && i < model.predicted->waves.size(); ++i)
    if (!model.waves[i].samples.empty())
      text += " " + rank_name(model.predicted->program, DeviceId{static_cast<std::uint32_t>(i)}) +
              " held " + spell_bytes(peak_of(model.waves[i])) + ", predicted " +
              spell_bytes(peak_of(model.predicted->waves[i])) + ".";
  return text + spell_run_readings(model);
}

}  // namespace trainyard
