#include "core/rules/fired_places.h"

#include <algorithm>
#include <utility>

namespace trainyard {
namespace {

bool makes(const Task& task, TensorRole role) {
  if (task.kind != TaskKind::Compute) return false;
  switch (role) {
    case TensorRole::Gradient:
      return task.phase != Phase::Forward && task.phase != Phase::Update;
    case TensorRole::Weight:
    case TensorRole::Update:
      return task.phase == Phase::Update;
    default:
      return task.phase == Phase::Forward;
  }
}

template <class F>
void each_span(const Program& program, const Timeline& timeline, int device, F&& f) {
  for (const Stream& stream : program.streams)
    if (static_cast<int>(stream.device.value) == device)
      for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i)
        f(program.task(InstructionId{i}), timeline.spans[i]);
}

std::optional<Instant> place_of_tensor(const FiredRule& fired, const Program& program,
                                       const Timeline& timeline) {
  std::optional<Instant> of_layer, of_device;
  each_span(program, timeline, fired.device, [&](const Task& task, const Span& span) {
    if (!makes(task, *fired.role)) return;
    if (!of_device || span.end < *of_device) of_device = span.end;
    if (task.layer == fired.layer && (!of_layer || span.end < *of_layer)) of_layer = span.end;
  });
  return of_layer ? of_layer : of_device;
}

// `end` is that of the whole timeline, until which a device that is done early waits too.
std::optional<Instant> longest_wait(int device, const Program& program, const Timeline& timeline,
                                    Instant end) {
  std::vector<Span> spans;
  each_span(program, timeline, device, [&](const Task& task, const Span& span) {
    if (task.kind == TaskKind::Compute || task.kind == TaskKind::Collective) spans.push_back(span);
  });
  if (spans.empty()) return std::nullopt;
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::pair(a.start, a.end) < std::pair(b.start, b.end);
  });
  Instant busy_until{}, from{};
  Duration longest{};
  for (const Span& span : spans) {
    if (span.start - busy_until > longest) longest = span.start - busy_until, from = busy_until;
    busy_until = std::max(busy_until, span.end);
  }
  return end - busy_until > longest ? busy_until : from;
}

}  // namespace

void find_places(std::vector<FiredRule>& fired, const Program& program, const Timeline& timeline) {
  if (timeline.spans.size() != program.instructions.size()) return;
  // Every simulation comes through here, and rules fire for many devices of one: its end is sought
  // once.
  std::optional<Instant> end;
  for (FiredRule& one : fired) {
    if (one.at || one.device < 0) continue;
    if (!one.role && !end) {
      end = Instant{};
      for (const Span& span : timeline.spans) end = std::max(*end, span.end);
    }
    one.at = one.role ? place_of_tensor(one, program, timeline)
                      : longest_wait(one.device, program, timeline, *end);
  }
}

}  // namespace trainyard
