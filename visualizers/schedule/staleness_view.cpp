#include "visualizers/schedule/staleness_view.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/timeline/metrics.h"
#include "visualizers/chart/section_bar.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kNarrowestBox = 1;  // px of a box; narrower cells share one, which shows the
                                    // stalest
constexpr int kLegendSteps = 6;     // the most delays that the legend shows besides 0
constexpr float kPalest = 0.3f;     // the alpha of the shortest delay

std::string updates(int delay) {
  return std::to_string(delay) + (delay == 1 ? " update" : " updates");
}

struct Forward {
  std::int32_t microbatch;
  Instant start, end;
  InstructionId id;
};

// The forward passes of each stage. One of many operators lasts from its first one to its last.
std::vector<std::vector<Forward>> forwards_of(const Program& program, const Timeline& timeline) {
  std::vector<std::vector<Forward>> all(static_cast<std::size_t>(program.stages));
  for (const Stream& stream : program.streams) {
    if (!stream.compute) continue;
    for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i) {
      const Task& task = program.task(InstructionId{i});
      if (task.phase != Phase::Forward || task.kind != TaskKind::Compute) continue;
      const Span& span = timeline.spans[i];
      std::vector<Forward>& list = all[task.stage.value];
      const std::int32_t microbatch = program.instructions[i].microbatch;
      if (i > stream.first && !list.empty() && list.back().id.value < i &&
          list.back().microbatch == microbatch && list.back().end <= span.start &&
          list.back().id.value >= stream.first)
        list.back().end = span.end;
      else
        list.push_back({microbatch, span.start, span.end, InstructionId{i}});
    }
  }
  for (std::vector<Forward>& list : all)
    std::stable_sort(list.begin(), list.end(), [](const Forward& a, const Forward& b) {
      return std::pair(a.microbatch, a.start) < std::pair(b.microbatch, b.start);
    });
  return all;
}

// Pairs what the program says about the forwards of a stage with when they ran. Both are sorted by
// microbatch.
void add_cells(StalenessModel& model, std::uint32_t stage, const std::vector<Forward>& forwards,
               const Staleness* first, const Staleness* last) {
  const std::size_t before = model.cells.size();
  auto forward = forwards.begin();
  for (const Staleness* s = first; s != last; ++s) {
    while (forward != forwards.end() && forward->microbatch < s->microbatch) ++forward;
    if (forward == forwards.end() || forward->microbatch != s->microbatch) continue;
    model.cells.push_back(
        {forward->id, stage, s->microbatch, forward->start, forward->end, s->delay, s->consistent});
    ++forward;
  }
  const auto cells = model.cells.begin() + static_cast<std::ptrdiff_t>(before);
  std::stable_sort(cells, model.cells.end(), [](const StalenessCell& a, const StalenessCell& b) {
    return a.start < b.start;
  });
  for (auto cell = cells; cell != model.cells.end(); ++cell)
    if (cell + 1 != model.cells.end()) cell->end = std::max(cell->start, (cell + 1)->start);
}

float delay_alpha(int delay, int most) {
  return most < 2 ? 1.f
                  : kPalest + (1 - kPalest) * static_cast<float>(delay - 1) /
                                  static_cast<float>(most - 1);
}

Style style_of(int delay, int most, Item item) {
  if (delay == 0) return {.ink = Ink::Raised, .item = item};
  return {.ink = Ink::Swap, .alpha = delay_alpha(delay, most), .item = item};
}

void draw_staleness_bar(Drawing& drawing, const Rect& bar, const StalenessModel& model) {
  const float left = draw_section_bar(drawing, bar, "Staleness"), y = bar.y + bar.height / 2;
  float right = bar.right() - kPlotMargin;
  if (model.most > 0) {
    right = end_section_bar(drawing, bar, "updates", Ink::Text3);
    const int step = (model.most + kLegendSteps - 1) / kLegendSteps;
    for (int delay = model.most; delay >= 0; delay -= delay > 0 && delay < step ? delay : step) {
      const Item item{ItemKind::Legend, static_cast<std::uint64_t>(delay)};
      fill(drawing, {right - 20, y - 7, 20, 14}, style_of(delay, model.most, item));
      write(drawing, std::to_string(delay), {right - 10, y}, 10, Weight::Medium, Ink::Text,
            Align::Center);
      right -= 22;
    }
  }
  write_in_section_bar(drawing, bar, left, right - 8, staleness_sentence(model),
                       model.most > 0 ? Ink::Text : Ink::Text2);
}

void draw_name(Drawing& drawing, const Rect& row, const StalenessModel& model,
               std::uint32_t stage) {
  const float size = row.height < 12 ? 9.f : 11.f, y = row.y + row.height / 2;
  fill(drawing, {row.x, row.y, kGutter, row.height},
       {.ink = Ink::Canvas, .item = {ItemKind::Lane, stage}});
  write(drawing, "Stage " + std::to_string(stage), {row.x + 10, y}, size, Weight::Medium,
        Ink::Text);
  int versions = 0;
  for (const StageFacts& facts : model.stages)
    if (facts.stage.value == stage) versions = std::max(versions, facts.versions);
  write(drawing, std::to_string(versions) + (versions == 1 ? " version" : " versions"),
        {row.x + kGutter - 8, y}, std::min(size, 10.f), Weight::Regular, Ink::Text3, Align::Right);
}

// A box shows one cell, or the stalest of several cells that are too narrow to be seen alone.
struct Shown {
  float left, right;
  std::size_t cell;
};

void draw_box(Drawing& drawing, const Rect& row, const StalenessModel& model, const Shown& shown,
              const ViewState& state) {
  const StalenessCell& cell = model.cells[shown.cell];
  const Item item{ItemKind::Cell, shown.cell};
  const float gap = shown.right - shown.left > 3 ? 1.f : 0.f;
  const Rect box{shown.left, row.y, std::max(1.f, shown.right - shown.left - gap), row.height};
  fill(drawing, box, style_of(cell.delay, model.most, item));
  if (!cell.consistent) hatch(drawing, box, Pattern::Ghost, item);
  const std::string number = std::to_string(cell.delay);
  if (row.height >= 11 && text_width(number, 10) + 4 <= box.width)
    write(drawing, number, {box.x + box.width / 2, row.y + row.height / 2}, 10, Weight::Medium,
          cell.delay == 0 ? Ink::Text3 : Ink::Text, Align::Center);
  if (state.selected == item) frame_selected(drawing, box, 2);
}

void draw_stage_row(Drawing& drawing, const Rect& row, const StalenessModel& model,
                    std::size_t first, std::size_t last, const Viewport& v,
                    const ViewState& state) {
  Shown open{0, 0, last};
  const auto flush = [&] {
    if (open.cell != last) draw_box(drawing, row, model, open, state);
  };
  for (std::size_t i = first; i < last; ++i) {
    const StalenessCell& cell = model.cells[i];
    if (cell.end < v.from || cell.start > v.to) continue;
    const Extent e = extent(v, cell.start, cell.end);
    if (open.cell != last && open.right - open.left < kNarrowestBox) {
      open.right = e.right;
      if (cell.delay > model.cells[open.cell].delay) open.cell = i;
      continue;
    }
    flush();
    open = {e.left, e.right, i};
  }
  flush();
}

}  // namespace

StalenessModel staleness_model(ExperimentPtr experiment) {
  StalenessModel model;
  const Program& program = experiment->program;
  model.end = makespan(experiment->timeline);
  model.stages = facts(program);
  const std::vector<Staleness> all = staleness(program);
  const std::vector<std::vector<Forward>> forwards = forwards_of(program, experiment->timeline);
  const Staleness* at = all.data();
  const Staleness* const end = all.data() + all.size();
  for (std::uint32_t stage = 0; stage < forwards.size(); ++stage) {
    const Staleness* const first = at;
    while (at != end && at->stage.value == stage) ++at;
    add_cells(model, stage, forwards[stage], first, at);
  }
  for (const StalenessCell& cell : model.cells) {
    model.most = std::max(model.most, cell.delay);
    model.consistent = model.consistent && cell.consistent;
  }
  model.experiment = std::move(experiment);
  return model;
}

std::string staleness_sentence(const StalenessModel& model) {
  if (model.cells.empty()) return "no update lies within the run";
  if (model.most == 0 && model.consistent)
    return "no weight is stale: every gradient is applied to the weights it was computed with";
  const auto stalest =
      std::max_element(model.cells.begin(), model.cells.end(),
                       [](const auto& a, const auto& b) { return a.delay < b.delay; });
  std::string words = "weights are up to " + updates(model.most) + " old, on stage " +
                      std::to_string(stalest->stage);
  words += model.consistent ? "; weights are stashed"
                            : "; hatched: the backward reads another version than its forward";
  return words;
}

void draw_staleness(Drawing& drawing, const Rect& area, const StalenessModel& model,
                    const ViewState& state) {
  const ClipScope clip(drawing, area);
  const Rect ruler{area.x, area.y, area.width, kRuler};
  const Viewport v = viewport_of(ruler, state, model.end);
  draw_ruler(drawing, ruler, v, state, model.end);
  const Rect header{area.x, ruler.bottom(), area.width, kStalenessHeader};
  draw_staleness_bar(drawing, header, model);
  const Rect rows{area.x, header.bottom() + 4, area.width,
                  std::max(0.f, area.bottom() - header.bottom() - 4)};
  const int stages = model.experiment->program.stages;
  const float height =
      std::clamp(rows.height / static_cast<float>(std::max(1, stages)), 3.f, kStalenessRow);
  std::size_t first = 0;
  for (std::uint32_t stage = 0; stage < static_cast<std::uint32_t>(stages); ++stage) {
    std::size_t last = first;
    while (last < model.cells.size() && model.cells[last].stage == stage) ++last;
    const Rect row{area.x, rows.y + height * static_cast<float>(stage), area.width,
                   std::max(2.f, height - 2)};
    if (height >= 9) draw_name(drawing, row, model, stage);
    const ClipScope plot(drawing, {v.plot.x, row.y - 2, v.plot.width, row.height + 4});
    draw_stage_row(drawing, row, model, first, last, v, state);
    first = last;
  }
  const float shown = std::min(rows.height, height * static_cast<float>(stages));
  draw_time_marks(drawing, {rows.x, rows.y, rows.width, shown}, v, state);
  draw_time_tags(drawing, ruler, v, state, model.end);
}

Hover describe_staleness(const StalenessModel& model, Item item) {
  const Program& program = model.experiment->program;
  if (item.kind == ItemKind::Legend)
    return {"Delay",
            "in updates",
            updates(static_cast<int>(item.tag)),
            {"between the weights that a forward reads and those that its gradient changes"}};
  if (item.kind == ItemKind::Lane) {
    const auto found = std::find_if(model.stages.begin(), model.stages.end(),
                                    [&](const StageFacts& f) { return f.stage.value == item.tag; });
    if (found == model.stages.end()) return {};
    return {
        "Stage " + std::to_string(item.tag),
        "staleness",
        updates(found->forward_delay),
        {found->consistent ? "weights are stashed: backward reads the version of its forward"
                           : "backward reads weights " + updates(found->backward_delay) + " old",
         std::to_string(found->versions) + " weight versions at once",
         std::to_string(found->live) + " microbatches in flight"}};
  }
  if (item.kind != ItemKind::Cell || item.tag >= model.cells.size()) return {};
  const StalenessCell& cell = model.cells[item.tag];
  const int version = program.instructions[cell.forward.value].weights;
  Hover hover{"Forward, microbatch " + std::to_string(cell.microbatch),
              "stage " + std::to_string(cell.stage),
              cell.delay == 0 ? "not stale" : updates(cell.delay) + " old",
              {}};
  hover.lines.push_back("reads weight version " + std::to_string(version) +
                        "; its gradient makes version " + std::to_string(version + cell.delay + 1));
  hover.lines.push_back(cell.consistent ? "its backward reads the same version"
                                        : "its backward reads another version");
  hover.lines.push_back("at " + instant_text(cell.start, model.end));
  return hover;
}

}  // namespace trainyard
