#include "visualizers/memory/cause_place.h"

#include <algorithm>
#include <vector>

#include "core/timeline/metrics.h"

namespace trainyard {
namespace {

bool communicates(const Task& task, std::string_view cause) {
  if (task.kind == TaskKind::Compute) return false;
  if (is_host(task.kind)) return cause == "host";
  if (task.kind != TaskKind::Collective) return cause == "pipeline";
  switch (task.group) {
    case Group::Tensor:
    case Group::TensorHeads:
      return cause == "tensor parallel";
    case Group::Context:
    case Group::ContextHeads:
    case Group::ContextRing:
      return cause == "context parallel";
    case Group::Expert:
      return cause == "expert parallel";
    case Group::Pipeline:
      return cause == "pipeline";
    default:
      return cause == "data parallel";
  }
}

bool is_of(const Task& task, double recomputed, std::string_view cause) {
  if (task.kind != TaskKind::Compute) return communicates(task, cause);
  if (cause == "forward") return task.phase == Phase::Forward;
  if (cause == "optimizer") return task.phase == Phase::Update;
  const bool backward = task.phase != Phase::Forward && task.phase != Phase::Update;
  return backward && (cause == "backward" || (cause == "recompute" && recomputed > 0));
}

class Longest {
 public:
  explicit Longest(const StepWindow& window) : window_(window) {}
  void take(Instant from, Instant to) {
    from = std::max(from, window_.from), to = std::min(to, window_.to);
    if (to > from && (!found_ || to - from > found_->length())) found_ = TimeRange{from, to};
  }
  const std::optional<TimeRange>& found() const { return found_; }

 private:
  StepWindow window_;
  std::optional<TimeRange> found_;
};

std::vector<Span> computations_of(const Experiment& e, DeviceId device) {
  std::vector<Span> spans;
  for (const Stream& stream : e.program.streams)
    if (stream.device == device && stream.compute)
      for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i)
        spans.push_back(e.timeline.spans[i]);
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.start < b.start; });
  return spans;
}

}  // namespace

std::optional<TimeRange> longest_stretch(const Experiment& e, DeviceId device,
                                         std::string_view cause) {
  const StepWindow window = step_window(e.timeline, e.program);
  Longest longest(window);
  if (cause == "bubble" || cause == "allocator" || cause == "input") {
    Instant covered = window.from;
    for (const Span& span : computations_of(e, device)) {
      longest.take(covered, span.start);
      covered = std::max(covered, span.end);
    }
    longest.take(covered, window.to);
    return longest.found();
  }
  for (const Stream& stream : e.program.streams) {
    if (stream.device != device) continue;
    for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i) {
      const std::uint32_t task = e.program.instructions[i].task.value;
      const double recomputed =
          task < e.prices.recompute_share.size() ? e.prices.recompute_share[task] : 0;
      if (is_of(e.program.tasks[task], recomputed, cause))
        longest.take(e.timeline.spans[i].start, e.timeline.spans[i].end);
    }
  }
  return longest.found();
}

}  // namespace trainyard
