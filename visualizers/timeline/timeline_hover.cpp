#include <algorithm>
#include <string>
#include <utility>

#include "visualizers/timeline/rule_lane.h"
#include "visualizers/timeline/timeline_view.h"
#include "visualizers/viewmodel/folding.h"
#include "visualizers/viewmodel/format.h"
#include "visualizers/viewmodel/statistics.h"

namespace trainyard {
namespace {

std::string_view phase_word(Phase phase) {
  switch (phase) {
    case Phase::Forward:
      return "Forward";
    case Phase::Backward:
      return "Backward";
    case Phase::BackwardInput:
      return "Input gradient";
    case Phase::BackwardWeight:
      return "Weight gradient";
    case Phase::Update:
      return "Optimizer";
  }
  return "";
}

std::string capitalized(std::string_view words) {
  std::string text(words);
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string_view ink_word(Ink ink) {
  switch (ink) {
    case Ink::Forward:
      return "forward";
    case Ink::Backward:
      return "backward";
    case Ink::WeightGradient:
      return "weight gradient";
    case Ink::Communication:
      return "communication";
    case Ink::Optimizer:
      return "optimizer";
    default:
      return "other";
  }
}

class Teller {
 public:
  explicit Teller(const TimelineModel& model)
      : model_(model), experiment_(*model.experiment), program_(experiment_.program) {}

  Hover span(InstructionId id) const {
    const Task& task = program_.task(id);
    const Span span = experiment_.timeline.spans[id.value];
    Hover hover{title(id), where(id), format_duration(span.length()), {}};
    hover.lines.push_back(when(span));
    if (const InstructionId cause = awaited(experiment_, id); cause.valid())
      hover.lines.push_back("waited for " + describe(program_, cause));
    if (task.kind == TaskKind::Compute)
      add_compute(hover, id, span);
    else
      add_transfer(hover, task, span);
    hover.lines.push_back(path_text(model_, id));
    if (const std::string memory = memory_change(task); !memory.empty())
      hover.lines.push_back(memory);
    hover.lines.push_back(source());
    return hover;
  }

  // A Fold or a LowBox.
  template <class Box>
  Hover fold(std::uint32_t row, const Box& f) const {
    const Duration whole = f.end - f.start;
    const BusyTimes busy = busy_times(model_.spans, row, f.start, f.end);
    const Duration sum = busy_time(model_.spans, row, f.start, f.end);
    const Stream& stream = program_.streams[row];
    Hover hover{format_count(f.count) + " narrow spans",
                rank_name(program_, stream.device) + ", " + stream.name,
                format_duration(whole),
                {}};
    hover.lines.push_back("busy " + format_duration(sum) + ", " + share(sum, whole) +
                          " of their extent");
    hover.lines.push_back("mostly " + std::string(ink_word(static_cast<Ink>(f.category))) + ", " +
                          share(Duration{busy[f.category]}, sum) + " of the busy time");
    const std::uint32_t longest = longest_of(model_.spans, row, f.first, f.first + f.count);
    const InstructionId id = instruction_at(model_, row, longest);
    hover.lines.push_back("longest: " + title(id) + ", " +
                          format_duration(experiment_.timeline.spans[id.value].length()));
    hover.lines.push_back(when({f.start, f.end}));
    return hover;
  }

  Hover idle(std::uint32_t row, std::uint32_t index) const {
    const SpanRow& spans = model_.spans.rows[row];
    const Stream& stream = program_.streams[row];
    const bool tail = index == spans.count;
    const Instant from = index == 0 ? Instant{0} : span_at(model_.spans, row, index - 1).end;
    const Instant to = tail ? model_.end : span_at(model_.spans, row, index).start;
    Hover hover{"Idle",
                rank_name(program_, stream.device) + ", " + stream.name,
                format_duration(to - from),
                {}};
    if (!tail)
      if (const InstructionId cause = awaited(experiment_, instruction_at(model_, row, index));
          cause.valid())
        hover.lines.push_back("waits for " + describe(program_, cause));
    hover.lines.push_back(when({from, to}));
    hover.lines.push_back("cause: " + std::string(idle_cause(row, index)));
    return hover;
  }

 private:
  std::string title(InstructionId id) const {
    const Task& task = program_.task(id);
    const std::int32_t microbatch = program_.instructions[id.value].microbatch;
    const std::string name(program_.name(task.name));
    std::string words =
        task.kind == TaskKind::Compute ? std::string(phase_word(task.phase)) : capitalized(name);
    if (task.kind == TaskKind::Compute && task.node.valid()) words += " " + name;
    if (task.repeats > 1) words += " \u00D7 " + std::to_string(task.repeats);
    return task.phase == Phase::Update ? words
                                       : words + ", microbatch " + std::to_string(microbatch);
  }

  std::string where(InstructionId id) const {
    const SpanPlace place = place_of(model_, id);
    const Stream& stream = program_.streams[place.row];
    std::string words = "stage " + std::to_string(program_.task(id).stage.value);
    words += ", " + model_.ranks[stream.device.value].place + ", " + stream.name;
    return words;
  }

  std::string when(Span span) const {
    return instant_text(span.start, model_.end) + " to " + instant_text(span.end, model_.end) +
           ", " + share(span.length(), model_.end) + " of the run";
  }

  static std::string share(Duration part, Duration whole) {
    return format_percent(whole.count() > 0 ? to_seconds(part) / to_seconds(whole) : 0);
  }

  void add_compute(Hover& hover, InstructionId id, Span span) const {
    const TaskPrices& prices = experiment_.prices;
    const std::size_t task = program_.instructions[id.value].task.value;
    if (task >= prices.flops.size() || prices.flops[task].value <= 0) return;
    std::string words = format_flops(prices.flops[task]);
    const double peak = experiment_.result.peak_flops.value, time = to_seconds(span.length());
    if (peak > 0 && time > 0)
      words += ", " + format_percent(prices.flops[task].value / time / peak) + " of peak";
    if (task < prices.recompute_share.size() && prices.recompute_share[task] > 0)
      words += ", " + format_percent(prices.recompute_share[task]) + " of the time recomputes";
    hover.lines.push_back(words);
  }

  void add_transfer(Hover& hover, const Task& task, Span span) const {
    if (task.bytes.value <= 0) return;
    const Bytes all = task.bytes * task.repeats;
    std::string words = format_bytes(all);
    if (span.length().count() > 0)
      words +=
          ", " + format_bandwidth({static_cast<double>(all.value) / to_seconds(span.length())});
    if (task.kind == TaskKind::Collective)
      words += " among " + std::string(to_string(task.group)) + " ranks";
    hover.lines.push_back(words);
  }

  std::string memory_change(const Task& task) const {
    Bytes change{};
    for (std::uint32_t i = 0; i < task.effects; ++i) {
      const MemoryEffect& effect = program_.effects[task.first_effect + i];
      const Bytes bytes = program_.buffers[effect.buffer.value].bytes;
      change += effect.allocate ? bytes : -bytes;
    }
    if (change.value == 0) return "";
    return change.value > 0 ? "keeps " + format_bytes(change) : "frees " + format_bytes(-change);
  }

  std::string source() const {
    const bool simulated = experiment_.timeline.clock == Timeline::Clock::Simulated;
    return (simulated ? "simulated" : "measured") + (experiment_.timeline.backend.empty()
                                                         ? std::string()
                                                         : " by " + experiment_.timeline.backend);
  }

  // Fill is idle before a rank's first backward, drain what follows its last forward, steady all
  // between.
  std::string_view idle_cause(std::uint32_t row, std::uint32_t index) const {
    const std::uint32_t count = model_.spans.rows[row].count;
    const auto ink = [&](std::uint32_t i) {
      return ink_of(program_.task(instruction_at(model_, row, i)));
    };
    bool backward_before = false, forward_after = false;
    for (std::uint32_t i = 0; i < index && !backward_before; ++i)
      backward_before = ink(i) != Ink::Forward;
    for (std::uint32_t i = count; i > index && !forward_after; --i)
      forward_after = ink(i - 1) == Ink::Forward;
    if (!backward_before) return "pipeline fill";
    return forward_after ? "uneven or blocking work between stages" : "pipeline drain";
  }

  const TimelineModel& model_;
  const Experiment& experiment_;
  const Program& program_;
};

// As the lane was drawn.
Hover describe_fold(const TimelineModel& model, const TimelineLayout& layout, double scale,
                    SpanPlace place) {
  const Viewport& v = layout.shown;
  const FoldStep step = fold_step(v, scale);
  const auto told = [&](const auto& boxes) {
    const auto found = std::find_if(boxes.begin(), boxes.end(),
                                    [&](const auto& box) { return box.first == place.index; });
    return found == boxes.end() ? Hover{} : Teller(model).fold(place.row, *found);
  };
  if (layout.sizes.low()) {
    const Stream& stream = model.experiment->program.streams[place.row];
    const std::size_t lanes = stream.compute ? model.ranks[stream.device.value].compute.size() : 1;
    const float height = lane_place(layout, stream).height / static_cast<float>(lanes);
    std::vector<LowBox> boxes;
    fold_low_row(model.spans, place.row, v.from, v.to, step,
                 low_row(v, scale, double{height} * scale), boxes);
    return told(boxes);
  }
  std::vector<Fold> folds;
  fold_row(model.spans, place.row, v.from, v.to, step, folds);
  return told(folds);
}

Hover describe_rank(const TimelineModel& model, std::size_t index, const ViewState& state) {
  const RankLanes& rank = model.ranks[index];
  const TimeRange range = state.range.value_or(TimeRange{Instant{0}, model.end});
  const Duration busy = busy_time(model.spans, rank.busy_row, range.from, range.to);
  Hover hover{rank.name, rank.place, format_duration(busy), {}};
  hover.lines.push_back("busy " + format_percent(share_of_range(busy, range.from, range.to)) +
                        (state.range ? " of the range" : " of the run"));
  hover.lines.push_back(format_count(model.experiment->program.replicas) + " devices do the same");
  return hover;
}

}  // namespace

std::string path_text(const TimelineModel& model, InstructionId id) {
  const auto place = place_on(model.path, model.experiment->timeline, id);
  if (!place) return "not on the critical path";
  return "on the critical path, step " + format_count(static_cast<std::int64_t>(*place) + 1) +
         " of " + format_count(static_cast<std::int64_t>(model.path.steps.size()));
}

Hover describe_timeline(const TimelineModel& model, const Rect& area, const ViewState& state,
                        Item item) {
  if (Hover rule = describe_rule(model, item); !rule.title.empty()) return rule;
  if (item.kind == ItemKind::Other) return describe_mark(state, item, model.end);
  const Program& program = model.experiment->program;
  if (item.kind == ItemKind::Lane) return describe_rank(model, item.tag, state);
  if (item.kind == ItemKind::Idle && item.tag > InstructionId::kNone) {
    const std::uint32_t row = model.ranks[static_cast<std::uint32_t>(item.tag)].compute.front();
    return Teller(model).idle(row, program.streams[row].count);
  }
  const InstructionId id{static_cast<std::uint32_t>(item.tag)};
  const SpanPlace place = place_of(model, id);
  if (place.row == kNoRow) return {};
  switch (item.kind) {
    case ItemKind::Span:
      return Teller(model).span(id);
    case ItemKind::Fold:
      return describe_fold(model, timeline_layout(model, area, state), state.scale, place);
    case ItemKind::Idle:
      return Teller(model).idle(place.row, place.index);
    default:
      return {};
  }
}

}  // namespace trainyard
