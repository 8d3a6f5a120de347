#include "core/timeline/critical_path.h"

#include <algorithm>

#include "core/timeline/breakdown_parts.h"

namespace trainyard {
namespace {

class Causes {
 public:
  Causes(const Timeline& t, const Program& p) : t_(t), p_(p), leads_(p.instructions.size()) {
    for (const Stream& stream : p.streams)
      if (stream.count > 0) leads_[stream.first] = true;
  }

  // Returns what let the instruction start; invalid for one that waited for nothing.
  InstructionId of(InstructionId id) const {
    const InstructionId peer = p_.instructions[id.value].peer;
    InstructionId latest;
    const auto consider = [&](InstructionId other) {
      if (other == id || other == peer || end(other) > t_.spans[id.value].start) return;
      const bool later = !latest.valid() || end(other) > end(latest);
      if (later || (end(other) == end(latest) && other < latest)) latest = other;
    };
    const auto consider_all = [&](InstructionId of) {
      const Instruction& in = p_.instructions[of.value];
      for (std::uint32_t i = 0; i < in.afters; ++i) consider(p_.after[in.first_after + i]);
      if (!leads_[of.value]) consider({of.value - 1});
    };
    consider_all(id);
    if (peer.valid()) consider_all(peer);
    return latest;
  }

 private:
  Instant end(InstructionId id) const { return t_.spans[id.value].end; }

  const Timeline& t_;
  const Program& p_;
  std::vector<bool> leads_;  // whether an instruction is the first of its stream
};

}  // namespace

CriticalPath critical_path(const Timeline& t, const Program& p) {
  CriticalPath path;
  const auto last = std::max_element(t.spans.begin(), t.spans.end(),
                                     [](const Span& a, const Span& b) { return a.end < b.end; });
  if (last == t.spans.end()) return path;
  const Causes causes(t, p);
  InstructionId id{static_cast<std::uint32_t>(last - t.spans.begin())};
  // The limit ends the walk even where a measured run's times contradict the program.
  while (id.valid() && path.steps.size() < p.instructions.size()) {
    const InstructionId before = causes.of(id);
    const Instant free = before.valid() ? t.spans[before.value].end : Instant{};
    path.steps.push_back({id, t.spans[id.value].start - free});
    id = before;
  }
  std::reverse(path.steps.begin(), path.steps.end());
  return path;
}

Breakdown breakdown(const CriticalPath& path, const Timeline& t, const Program& p,
                    const std::vector<double>& recompute_share) {
  Breakdown b;
  for (const CriticalStep& step : path.steps) {
    const std::uint32_t task = p.instructions[step.id.value].task.value;
    const Duration length = t.spans[step.id.value].length();
    b.bubble += step.wait;
    if (p.tasks[task].kind == TaskKind::Compute)
      add_compute(b, p.tasks[task], length, recompute_share.empty() ? 0.0 : recompute_share[task]);
    else
      transfer_part(b, p.tasks[task]) += length;
  }
  return b;
}

std::optional<std::size_t> place_on(const CriticalPath& path, const Timeline& t, InstructionId id) {
  const Instant start = t.spans[id.value].start;
  const auto starts_before = [&](const CriticalStep& step, Instant at) {
    return t.spans[step.id.value].start < at;
  };
  for (auto step = std::lower_bound(path.steps.begin(), path.steps.end(), start, starts_before);
       step != path.steps.end() && t.spans[step->id.value].start == start; ++step)
    if (step->id == id) return static_cast<std::size_t>(step - path.steps.begin());
  return {};
}

std::optional<std::size_t> step_after(const CriticalPath& path, const Timeline& t, Instant at) {
  const auto ends_after = [&](Instant when, const CriticalStep& step) {
    return when < t.spans[step.id.value].end;
  };
  const auto step = std::upper_bound(path.steps.begin(), path.steps.end(), at, ends_after);
  if (step == path.steps.end()) return {};
  return static_cast<std::size_t>(step - path.steps.begin());
}

}  // namespace trainyard
