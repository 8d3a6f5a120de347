#include "visualizers/run/run_causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/program/order.h"
#include "visualizers/time/timeline_model.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

std::string share_words(Duration predicted, Duration measured) {
  if (predicted.count() <= 0) return "not predicted";
  return format_signed_percent(to_seconds(measured) / to_seconds(predicted) - 1);
}

std::string work_name(const Program& program, InstructionId id) {
  return std::string(program.name(program.task(id).name));
}

// Instructions of one stream from `first` on that do one thing for one microbatch.
std::uint32_t end_of_go(const Program& p, const Stream& stream, std::uint32_t first) {
  const Instruction& begun = p.instructions[first];
  std::uint32_t end = first + 1;
  for (; end < stream.first + stream.count; ++end) {
    const Instruction& in = p.instructions[end];
    const Task &a = p.task(begun), &b = p.task(in);
    if (in.microbatch != begun.microbatch || in.wave != begun.wave || a.stage != b.stage ||
        a.phase != b.phase)
      break;
  }
  return end;
}

}  // namespace

std::string cause_words(const CauseResidual& cause, const Program& program) {
  const ResidualOrigin& at = cause.origin;
  const bool more = cause.difference() > Duration{};
  switch (at.kind) {
    case OriginKind::None:
      return "";
    case OriginKind::Span:
      return fmt::format("one {} span: {}", more ? "slow" : "quick", describe(program, at.span));
    case OriginKind::Work:
      return fmt::format("mostly {}, {}", work_name(program, at.span),
                         share_words(at.predicted, at.measured));
    case OriginKind::Spread:
      return fmt::format("{} kinds of work, most {}, {}", at.kinds, work_name(program, at.span),
                         share_words(at.predicted, at.measured));
    case OriginKind::Hidden:
      return more ? "less of the transfers behind work" : "more of the transfers behind work";
    case OriginKind::Fill:
      return "mostly while the pipeline fills";
    case OriginKind::Steady:
      return "mostly between forward and backward";
    case OriginKind::Drain:
      return "mostly while the pipeline drains";
  }
  return "";
}

std::string cause_figures(const CauseResidual& cause, const Program& program) {
  const ResidualOrigin& at = cause.origin;
  std::string what;
  switch (at.kind) {
    case OriginKind::None:
      return "";
    case OriginKind::Span:
    case OriginKind::Work:
    case OriginKind::Spread:
      what = work_name(program, at.span);
      break;
    case OriginKind::Hidden:
      what = "all transfers";
      break;
    default:
      what = "waits there";
  }
  return fmt::format("{} {}, predicted {}", what, format_duration(at.measured),
                     format_duration(at.predicted));
}

std::string memory_cause(const WaveResidual& wave, Category category, Bytes predicted_at_peak,
                         Bytes measured_at_peak) {
  if (predicted_at_peak == measured_at_peak) return "";
  const auto at = static_cast<std::size_t>(category);
  const Bytes predicted = wave.predicted_most[at], measured = wave.measured_most[at];
  if (predicted == measured)
    return fmt::format("as much at its own most, {}", format_bytes(measured));
  return fmt::format("at its own most {}, predicted {}", format_bytes(measured),
                     format_bytes(predicted));
}

double RunDeviation::share() const {
  return predicted.count() > 0 ? to_seconds(difference()) / to_seconds(predicted) : 0;
}

std::optional<RunDeviation> largest_deviation(const RunModel& model) {
  if (!model.predicted) return {};
  const Program& p = model.predicted->program;
  const std::vector<Span>& predicted = model.predicted->timeline.spans;
  if (model.spans.size() != predicted.size()) return {};
  std::optional<RunDeviation> furthest;
  for (const Stream& stream : p.streams) {
    if (!stream.compute) continue;
    for (std::uint32_t i = stream.first; i < stream.first + stream.count;) {
      const std::uint32_t end = end_of_go(p, stream, i);
      const bool whole = std::all_of(model.spans.begin() + i, model.spans.begin() + end,
                                     [](const Span& span) { return span.end >= span.start; });
      const RunDeviation one{.first = {i},
                             .last = {end - 1},
                             .device = stream.device,
                             .name = {},
                             .measured = {model.spans[i].start, model.spans[end - 1].end},
                             .predicted = predicted[end - 1].end - predicted[i].start};
      i = end;
      if (!whole || one.difference() == Duration{}) continue;
      if (!furthest ||
          std::abs(one.difference().count()) > std::abs(furthest->difference().count()))
        furthest = one;
    }
  }
  if (furthest) {
    const Instruction& in = p.instructions[furthest->first.value];
    furthest->name = fmt::format("{}, {}{}", rank_name(p, furthest->device),
                                 letter(p.task(in).phase), in.microbatch);
    if (in.wave != 0) furthest->name += fmt::format("/{}", in.wave);
  }
  return furthest;
}

std::string deviation_words(const RunDeviation& deviation) {
  return fmt::format(
      "{}: {}, predicted {}, {}", deviation.name, format_duration(deviation.measured.length()),
      format_duration(deviation.predicted), format_signed_percent(deviation.share()));
}

}  // namespace trainyard
