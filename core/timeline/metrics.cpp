#include "core/timeline/metrics.h"

#include <algorithm>
#include <numeric>

#include "core/timeline/breakdown_parts.h"

namespace trainyard {
namespace {

std::uint32_t end_of(const Stream& s) { return s.first + s.count; }

// Returns the computations of one device in order of their start, in any lane.
std::vector<InstructionId> computations(const Timeline& t, const Program& p, DeviceId device) {
  std::vector<InstructionId> list;
  int lanes = 0;
  for (const Stream& s : p.streams) {
    if (s.device != device || !s.compute) continue;
    ++lanes;
    for (std::uint32_t i = s.first; i < end_of(s); ++i) list.push_back({i});
  }
  if (lanes > 1)
    std::sort(list.begin(), list.end(), [&](InstructionId a, InstructionId b) {
      const Span &x = t.spans[a.value], &y = t.spans[b.value];
      return x.start != y.start ? x.start < y.start : a < b;
    });
  return list;
}

// IdleReasons finds why a device is idle: it walks from the end of a gap back along what was waited
// for. Communication on the way is exposed, even where another cause of the same wait ended later;
// for example, weights that arrive before the neighbour's result are waited for too. The rest is
// bubble.
class IdleReasons {
 public:
  IdleReasons(const Timeline& t, const Program& p)
      : t_(t), p_(p), stream_of_(p.instructions.size()) {
    for (std::uint32_t s = 0; s < p.streams.size(); ++s)
      std::fill(stream_of_.begin() + p.streams[s].first, stream_of_.begin() + end_of(p.streams[s]),
                s);
  }

  void explain(Instant from, Instant to, InstructionId waiting, Breakdown& b) const {
    const Duration gap = to - from;
    Duration exposed = follow(latest_before(waiting, to), from, to, b);
    const Instruction& in = p_.instructions[waiting.value];
    for (std::uint32_t i = 0; i < in.afters && to > from; ++i)
      exposed += follow(p_.after[in.first_after + i], from, to, b);
    b.bubble += gap - exposed;
  }

  // Explains the time after the last computation by the device's communication that still runs,
  // latest first.
  void explain_tail(Instant from, Instant to, DeviceId device, Breakdown& b) const {
    InstructionId last;
    for (const Stream& s : p_.streams)
      if (s.device == device && !s.compute && lasts(p_.task(InstructionId{end_of(s) - 1}).kind))
        if (const InstructionId id{end_of(s) - 1};
            !last.valid() || t_.spans[id.value].end > t_.spans[last.value].end)
          last = id;
    if (!last.valid() || t_.spans[last.value].end <= from) {
      b.bubble += to - from;
      return;
    }
    const Span& span = t_.spans[last.value];
    const Instant end = std::min(to, span.end);
    b.bubble += to - end;
    const Duration shown = std::max(Duration{}, end - std::max(from, span.start));
    transfer_part(b, p_.task(last)) += shown;
    if (span.start > from) explain(from, std::min(to, span.start), last, b);
  }

 private:
  // Finds the communication within [from, to), from `cause` back along what it waited for, up to
  // the first computation. Returns its length; `to` becomes the start of the earliest.
  Duration follow(InstructionId cause, Instant from, Instant& to, Breakdown& b) const {
    Duration exposed{};
    for (; cause.valid() && to > from; cause = latest_before(cause, to)) {
      const Task& task = p_.task(cause);
      const Span& span = t_.spans[cause.value];
      if (task.kind == TaskKind::Compute || span.end <= from) break;
      const Duration shown = std::min(to, span.end) - std::max(from, span.start);
      if (shown > Duration{}) transfer_part(b, task) += shown, exposed += shown;
      to = std::min(to, span.start);
    }
    return exposed;
  }

  // Returns whether the task may still run when a step's computation is over.
  static bool lasts(TaskKind kind) { return kind == TaskKind::Collective || is_host(kind); }

  // Returns the one that ended last, not after `to`, among what `id` waited for and the instruction
  // before it in its stream.
  InstructionId latest_before(InstructionId id, Instant to) const {
    InstructionId best;
    const auto consider = [&](InstructionId other) {
      const Instant end = t_.spans[other.value].end;
      if (end <= to && (!best.valid() || end > t_.spans[best.value].end)) best = other;
    };
    const Instruction& in = p_.instructions[id.value];
    for (std::uint32_t i = 0; i < in.afters; ++i) consider(p_.after[in.first_after + i]);
    if (id.value > p_.streams[stream_of_[id.value]].first) consider({id.value - 1});
    return best;
  }

  const Timeline& t_;
  const Program& p_;
  std::vector<std::uint32_t> stream_of_;
};

Breakdown break_down(const IdleReasons& reasons, const Timeline& t, const Program& p,
                     DeviceId device, const std::vector<double>& recompute_share,
                     const StepWindow& window) {
  Breakdown b;
  Instant covered = window.from;
  for (InstructionId id : computations(t, p, device)) {
    const Span& span = t.spans[id.value];
    if (span.end <= window.from) continue;
    const Instant start = std::min(span.start, window.to), end = std::min(span.end, window.to);
    if (start > covered) reasons.explain(covered, start, id, b);
    // Lanes that overlap share the device, so time counts once, for the computation that began
    // first.
    const Duration own = end - std::max(covered, start);
    const std::uint32_t task = p.instructions[id.value].task.value;
    if (own > Duration{})
      add_compute(b, p.tasks[task], own, recompute_share.empty() ? 0.0 : recompute_share[task]);
    covered = std::max(covered, end);
    if (covered == window.to) break;
  }
  if (window.to > covered) reasons.explain_tail(covered, window.to, device, b);
  return b;
}

struct MemoryEvent {
  Instant at;
  bool allocate;
  std::uint32_t buffer;
  // Releases come first, because memory that is freed at an instant may be allocated again at it.
  friend bool operator<(const MemoryEvent& a, const MemoryEvent& b) {
    return a.at != b.at ? a.at < b.at : a.allocate < b.allocate;
  }
};

// Instructions of a stream follow each other, so only the events within one, and those where one
// ends and the next begins, may be out of order. Each event therefore moves back by a few places at
// most.
void add_in_order(std::vector<MemoryEvent>& events, std::size_t first, const MemoryEvent& event) {
  std::size_t at = events.size();
  events.push_back(event);
  for (; at > first && event < events[at - 1]; --at) events[at] = events[at - 1];
  events[at] = event;
}

std::vector<MemoryEvent> memory_events(const Timeline& t, const Program& p, DeviceId device) {
  std::vector<MemoryEvent> events;
  for (const Stream& s : p.streams) {
    if (s.device != device) continue;
    const std::size_t first = events.size();
    for (std::uint32_t i = s.first; i < end_of(s); ++i) {
      const Task& task = p.task(InstructionId{i});
      for (std::uint32_t e = task.first_effect; e < task.first_effect + task.effects; ++e) {
        const MemoryEffect& effect = p.effects[e];
        add_in_order(events, first,
                     {effect.at_end ? t.spans[i].end : t.spans[i].start, effect.allocate,
                      effect.buffer.value});
      }
    }
    std::inplace_merge(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(first),
                       events.end());
  }
  return events;
}

// Returns the end of the last update of each step; the makespan where the program is one step.
std::vector<Instant> step_ends(const Timeline& t, const Program& p) {
  if (p.steps < 2) return {makespan(t)};
  std::int32_t most = 0;
  const auto each_update = [&](auto f) {
    for (const Stream& s : p.streams)
      for (std::uint32_t i = s.first; s.compute && i < end_of(s); ++i)
        if (p.task(InstructionId{i}).phase == Phase::Update) f(p.instructions[i], t.spans[i]);
  };
  each_update([&](const Instruction& in, const Span&) { most = std::max(most, in.microbatch); });
  const std::int32_t of_a_step = std::max(1, (most + 1) / p.steps);
  std::vector<Instant> ends(static_cast<std::size_t>(p.steps));
  each_update([&](const Instruction& in, const Span& span) {
    const auto step = static_cast<std::size_t>(in.microbatch / of_a_step);
    if (step < ends.size()) ends[step] = std::max(ends[step], span.end);
  });
  return ends;
}

}  // namespace

Bytes total(const CategoryBytes& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), Bytes{});
}

Duration makespan(const Timeline& t) {
  Duration last{};
  for (const Span& s : t.spans) last = std::max(last, s.end);
  return last;
}

Duration busy(const Timeline& t, const Program& p, DeviceId device) {
  Duration sum{};
  Instant covered{};
  for (InstructionId id : computations(t, p, device)) {
    const Span& span = t.spans[id.value];
    sum += std::max(Duration{}, span.end - std::max(covered, span.start));
    covered = std::max(covered, span.end);
  }
  return sum;
}

MemoryWave memory_wave(const Timeline& t, const Program& p, DeviceId device) {
  MemoryWave wave;
  CategoryBytes now{};
  for (const Buffer& b : p.buffers)
    if (b.persistent && b.device == device) now[static_cast<std::size_t>(b.category)] += b.bytes;
  wave.samples.push_back({Instant{}, now});
  Bytes most = total(now);
  const std::vector<MemoryEvent> events = memory_events(t, p, device);
  wave.samples.reserve(events.size() + 1);
  Bytes sum = most;
  for (std::size_t i = 0; i < events.size();) {
    const Instant at = events[i].at;
    for (; i < events.size() && events[i].at == at; ++i) {
      const Buffer& b = p.buffers[events[i].buffer];
      const Bytes by = events[i].allocate ? b.bytes : -b.bytes;
      now[static_cast<std::size_t>(b.category)] += by;
      sum += by;
    }
    if (wave.samples.back().at == at)
      wave.samples.back().bytes = now;
    else
      wave.samples.push_back({at, now});
    if (sum > most) most = sum, wave.peak = wave.samples.size() - 1;
  }
  return wave;
}

std::vector<Alive> alive_at(const Timeline& t, const Program& p, DeviceId device, Instant at) {
  std::vector<int> instances(p.buffers.size(), 0);
  for (std::size_t i = 0; i < p.buffers.size(); ++i)
    if (p.buffers[i].persistent && p.buffers[i].device == device) instances[i] = 1;
  for (const MemoryEvent& e : memory_events(t, p, device)) {
    if (e.at > at) break;
    instances[e.buffer] += e.allocate ? 1 : -1;
  }
  std::vector<Alive> alive;
  for (std::uint32_t i = 0; i < instances.size(); ++i)
    if (instances[i] > 0) alive.push_back({{i}, instances[i], p.buffers[i].bytes * instances[i]});
  std::stable_sort(alive.begin(), alive.end(),
                   [](const Alive& a, const Alive& b) { return a.bytes > b.bytes; });
  return alive;
}

int live_microbatches(const Timeline& t, const Program& p, StageId stage) {
  std::vector<int> instances(p.buffers.size(), 0);
  int most = 0;
  for (const MemoryEvent& e : memory_events(t, p, device_of(p, stage))) {
    const Buffer& b = p.buffers[e.buffer];
    if (b.stage != stage || b.category != Category::Activations) continue;
    most = std::max(most, instances[e.buffer] += e.allocate ? 1 : -1);
  }
  return most;
}

StepWindow step_window(const Timeline& t, const Program& p) {
  const std::vector<Instant> ends = step_ends(t, p);
  const std::size_t middle = ends.size() / 2;
  const StepWindow window{middle > 0 ? ends[middle - 1] : Instant{}, ends[middle]};
  return window.length() > Duration{} ? window : StepWindow{{}, makespan(t)};
}

std::vector<Duration> step_times(const Timeline& t, const Program& p) {
  std::vector<Duration> times;
  Instant last{};
  for (const Instant end : step_ends(t, p)) {
    times.push_back(std::max(Duration{}, end - last));
    last = std::max(last, end);
  }
  times.back() += makespan(t) - last;
  return times;
}

std::vector<Breakdown> breakdowns(const Timeline& t, const Program& p,
                                  const std::vector<double>& recompute_share) {
  const IdleReasons reasons(t, p);
  const StepWindow window = step_window(t, p);
  std::vector<Breakdown> all;
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(p.devices); ++d)
    all.push_back(break_down(reasons, t, p, {d}, recompute_share, window));
  return all;
}

Breakdown breakdown(const Timeline& t, const Program& p, DeviceId device,
                    const std::vector<double>& recompute_share) {
  return break_down(IdleReasons(t, p), t, p, device, recompute_share, step_window(t, p));
}

DeviceId critical_device(const std::vector<Breakdown>& all) {
  const auto least =
      std::min_element(all.begin(), all.end(),
                       [](const Breakdown& a, const Breakdown& b) { return a.bubble < b.bubble; });
  return DeviceId{static_cast<std::uint32_t>(least - all.begin())};
}

Breakdown total(const std::vector<Breakdown>& all) {
  Breakdown sum;
  for (const Breakdown& b : all)
    for (const NamedPart& part : breakdown_parts()) sum.*part.part += b.*part.part;
  return sum;
}

double share(const Breakdown& whole, Duration part) {
  const Duration sum = whole.sum();
  return sum > Duration{} ? static_cast<double>(part.count()) / static_cast<double>(sum.count())
                          : 0;
}

double bubble_fraction(const Breakdown& device_time) {
  return share(device_time, device_time.bubble);
}

double exposed_communication_fraction(const Breakdown& device_time) {
  return share(device_time, device_time.exposed_communication());
}

}  // namespace trainyard
