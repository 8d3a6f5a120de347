// How fast the views answer, as one line of JSON a figure: which goal it belongs to, what was
// measured, the goal and whether it was met. Frames go the way that the window's do: an experiment,
// the models made of it, draw_timeline and draw_memory into a Drawing, the canvas's vertices.
//
// Figures of one thread are its CPU time, so that neighbours on the machine do not count; `wall` is
// what a clock says of the same, and the figure where several threads work. With --huge the
// timeline has 100 M spans and the program takes 5 GiB; with --brief only the timeline of 10 M is
// measured. Goals are those of a machine with two processors and no GPU, in a release build; a line
// without a goal informs. Exits with 1 when a goal is missed.
#include <sched.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/timeline/metrics.h"
#include "visualizers/imgui/canvas.h"
#include "visualizers/memory/kept_memory.h"
#include "visualizers/memory/memory_view.h"
#include "visualizers/timeline/timeline_view.h"
#include "visualizers/viewmodel/folding.h"
#include "visualizers/viewmodel/span_index.h"
#include "visualizers/viewmodel/statistics.h"

namespace trainyard {
namespace {

constexpr int kFrames = 300, kWarmUp = 10;
constexpr std::uint32_t kSpans = 10'000'000;
constexpr int kRanks = 128;  // a compute row and a communication row each
constexpr int kWaves = 16, kSamples = 2'000'000;
constexpr Size kScreen{1920, 1080};

double milliseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

struct Took {
  double cpu = 0, wall = 0;
};

template <class F>
Took time_of(F&& work) {
  const double cpu = milliseconds(CLOCK_THREAD_CPUTIME_ID), wall = milliseconds(CLOCK_MONOTONIC);
  work();
  return {milliseconds(CLOCK_THREAD_CPUTIME_ID) - cpu, milliseconds(CLOCK_MONOTONIC) - wall};
}

// Pins each thread to a processor. Some schedulers (such as that of a guest with two processors)
// leave the threads of sections of a few milliseconds on one processor, and the scheduler would be
// measured instead.
class Pinned : public tbb::task_scheduler_observer {
 public:
  Pinned() { observe(true); }
  void on_scheduler_entry(bool) override {
    cpu_set_t allowed, own;
    sched_getaffinity(0, sizeof allowed, &allowed);
    const int which = tbb::this_task_arena::current_thread_index();
    CPU_ZERO(&own);
    for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &allowed) && seen++ == which) CPU_SET(cpu, &own);
    if (CPU_COUNT(&own) > 0) sched_setaffinity(0, sizeof own, &own);
  }
};

bool all_met = true;

void report(const char* id, const std::string& what, std::optional<double> goal, double figure,
            const char* unit, std::optional<double> wall = {}) {
  const bool met = !goal || figure <= *goal;
  all_met &= met;
  std::printf("{\"id\": \"%s\", \"what\": \"%s\", ", id, what.c_str());
  if (goal) std::printf("\"goal\": %g, ", *goal);
  std::printf("\"figure\": %.3f, \"unit\": \"%s\"", figure, unit);
  if (wall) std::printf(", \"wall\": %.3f", *wall);
  if (goal) std::printf(", \"met\": %s", met ? "true" : "false");
  std::printf("}\n");
  std::fflush(stdout);
}

// The value that the given part of the frames does not exceed.
double quantile(const std::vector<Took>& frames, double part, double Took::* clock) {
  std::vector<double> times;
  for (const Took& frame : frames) times.push_back(frame.*clock);
  std::sort(times.begin(), times.end());
  return times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))];
}

struct Goals {
  std::optional<double> p50, p95, p99, max;
};

void report_frames(const char* id, const std::string& what, const std::vector<Took>& frames,
                   const Goals& goals, double Took::* clock = &Took::cpu) {
  const auto line = [&](const char* name, double part, std::optional<double> goal) {
    report(id, what + ", " + name, goal, quantile(frames, part, clock), "ms",
           quantile(frames, part, &Took::wall));
  };
  line("p50", 0.5, goals.p50);
  line("p95", 0.95, goals.p95);
  line("p99", 0.99, goals.p99);
  line("max", 1, goals.max);
}

enum Kind : std::uint32_t { kForward, kBackward, kWeights, kUpdate, kReduce, kKinds };

void add_tasks(Program& program) {
  const char* names[] = {"forward", "backward", "weight gradient", "update", "all-reduce"};
  const Phase phases[] = {Phase::Forward, Phase::Backward, Phase::BackwardWeight, Phase::Update,
                          Phase::Update};
  for (std::uint32_t kind = 0; kind < kKinds; ++kind) {
    Task task;
    task.kind = kind == kReduce ? TaskKind::Collective : TaskKind::Compute;
    task.phase = phases[kind];
    task.name = program.names.intern(names[kind]);
    program.tasks.push_back(task);
  }
}

// Makes a row like that of a pipeline rank: runs of forward, backward and weight gradient one after
// the other, with occasional pauses.
class RowMaker {
 public:
  RowMaker(std::uint32_t rank, bool compute, std::uint32_t spans)
      : random_(2 * rank + (compute ? 0 : 1)),
        compute_(compute),
        spans_(spans),
        at_(std::int64_t{rank} * 1000) {}

  struct Made {
    Instruction instruction;
    Span span;
  };
  Made next() {
    if (random_() % 16 == 0) at_ += random_() % 200'000;
    const auto kind = static_cast<std::uint32_t>(i_ / 40 % 3 == 0 ? 0 : kBackward + random_() % 2);
    const std::int64_t length = 2'000 + random_() % 50'000;
    Made made;
    made.instruction.task = TaskId{!compute_          ? std::uint32_t{kReduce}
                                   : i_ + 1 == spans_ ? std::uint32_t{kUpdate}
                                                      : kind};
    made.instruction.microbatch = static_cast<std::int32_t>(i_++);
    made.span = {Instant{at_}, Instant{at_ + length}};
    at_ += length;
    return made;
  }

 private:
  std::mt19937 random_;
  bool compute_;
  std::uint32_t spans_, i_ = 0;
  std::int64_t at_;
};

void add_stream(Experiment& e, std::uint32_t rank, bool compute, std::uint32_t spans) {
  Program& program = e.program;
  const auto first = static_cast<std::uint32_t>(program.instructions.size());
  RowMaker row(rank, compute, spans);
  for (std::uint32_t i = 0; i < spans; ++i) {
    const RowMaker::Made made = row.next();
    program.instructions.push_back(made.instruction);
    e.timeline.spans.push_back(made.span);
  }
  program.streams.push_back(
      {DeviceId{rank}, compute ? "compute" : "comm", {}, compute, first, spans});
}

std::shared_ptr<Experiment> empty_experiment(int ranks) {
  auto e = std::make_shared<Experiment>();
  e->workload.scenario.cluster = parse_cluster("h100-sxm:" + std::to_string(ranks));
  e->workload.scenario.plan.mesh.pp = ranks;
  e->workload.scenario.plan.mesh.dp = 1;
  e->program.devices = e->program.stages = ranks;
  add_tasks(e->program);
  e->prices.recompute_share.assign(kKinds, 0);
  e->prices.recompute_share[kBackward] = 0.25;
  return e;
}

std::shared_ptr<Experiment> experiment(int ranks, std::uint32_t spans) {
  const std::shared_ptr<Experiment> e = empty_experiment(ranks);
  e->program.instructions.reserve(spans);
  e->timeline.spans.reserve(spans);
  const std::uint32_t each = spans / 2 / static_cast<std::uint32_t>(ranks);
  for (std::uint32_t rank = 0; rank < static_cast<std::uint32_t>(ranks); ++rank)
    for (const bool compute : {true, false}) add_stream(*e, rank, compute, each);
  return e;
}

MemoryWave wave(std::uint32_t device, Duration step) {
  std::mt19937 random(device);
  MemoryWave wave;
  wave.samples.resize(kSamples);
  std::int64_t t = 0, kept = std::int64_t{8} << 30;
  for (int i = 0; i < kSamples; ++i) {
    MemoryWave::Sample& sample = wave.samples[static_cast<std::size_t>(i)];
    sample.at = Instant{t};
    t += step.count() / 2 + random() % step.count();
    kept = std::clamp(
        kept + (i / 1000 % 2 == 0 ? 1 : -1) * static_cast<std::int64_t>(random() % (8 << 20)),
        std::int64_t{0}, std::int64_t{50} << 30);
    sample.bytes[static_cast<std::size_t>(Category::Weights)] = 12_GiB;
    sample.bytes[static_cast<std::size_t>(Category::OptimizerState)] = 10_GiB;
    sample.bytes[static_cast<std::size_t>(Category::Activations)] = Bytes{kept};
    if (total(sample.bytes) > total(wave.samples[wave.peak].bytes))
      wave.peak = static_cast<std::size_t>(i);
  }
  return wave;
}

MemoryModel waves(Instant end) {
  auto e = experiment(kWaves, 2 * kWaves);
  e->timeline.spans.back().end = end;
  e->result.capacity = 80_GiB;
  for (std::uint32_t device = 0; device < kWaves; ++device)
    e->waves.push_back(wave(device, end / kSamples));
  return memory_model(e);
}

// The views of a user at work: from everything down to a 20 000th and back, twice, panning all the
// way.
ViewState frame_state(int frame, Instant end) {
  const TimeLimits limits{Instant{0}, end};
  const double depth = 0.5 - 0.5 * std::cos(frame * 4 * 3.14159265358979 / kFrames);
  const Rect plot = plot_of({0, 0, kScreen.width, kScreen.height});
  const Viewport all = fit({plot, Instant{0}, Instant{1}}, limits.first, limits.last, limits);
  const Viewport v = pan(zoom(all, std::pow(20'000.0, depth), 300 + 4 * frame % 1400, limits),
                         -3.0 * (frame % 100), limits);
  ViewState state;
  state.shown = TimeRange{v.from, v.to};
  return state;
}

// Times `frame(state)` over the scripted frames.
template <class F>
std::vector<Took> frames(Instant end, F&& frame) {
  std::vector<Took> times;
  for (int i = -kWarmUp; i < kFrames; ++i) {
    const ViewState state = frame_state(std::max(0, i), end);
    const Took took = time_of([&] { frame(state); });
    if (i >= 0) times.push_back(took);
  }
  return times;
}

void measure_timeline(const TimelineModel& model) {
  Canvas canvas(software_renderer(), font_files());
  std::size_t most = 0;
  const auto measure = [&](float height, bool every_rank) {
    return frames(model.end, [&](ViewState state) {
      state.every_rank = every_rank;
      Drawing d({kScreen.width, height});
      draw_timeline(d, {0, 0, d.size.width, d.size.height}, model, state);
      canvas.build(d, 1, Theme::Dark);
      most = std::max(most, d.marks.size() + d.tiles.size());
    });
  };
  const auto fullest = [&](const char* id) {
    report(id, "marks of the fullest frame", {}, static_cast<double>(most), "");
    most = 0;
  };
  // 32 ranks of two rows each, below overview and ruler.
  const float some = kOverview + kRuler + 32 * kFullLanes.pitch;
  const std::string rows64 = "timeline of 10 M spans, 64 of 256 rows, query and vertices";
  report_frames("V1", rows64, measure(some, false), {1, {}, 3, 5}, &Took::wall);
  fullest("V1");
  const std::string rows256 = "timeline of 10 M spans, all 256 rows, every rank in sight";
  report_frames("V2", rows256 + ", every processor", measure(kScreen.height, true), {{}, {}, 7, {}},
                &Took::wall);
  fullest("V2");
  // Repeats this for a screen nearly four times as high.
  const std::string high = "timeline of 10 M spans, all 256 rows at their full height";
  report_frames("V2", high + ", every processor", measure(timeline_height(model), false), {},
                &Took::wall);
  fullest("V2");
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  report_frames("V1", rows64 + ", one thread", measure(some, false), {});
  report_frames("V2", rows256 + ", one thread", measure(kScreen.height, true), {{}, {}, 12, {}});
  report_frames("V2", high + ", one thread", measure(timeline_height(model), false), {});
}

void measure_waves(const MemoryModel& model) {
  std::vector<std::size_t> peaks;
  const auto query = frames(model.end, [&](const ViewState& state) {
    for (const StepCurve& curve : model.totals)
      highest_of(curve, state.shown->from, state.shown->to, 1776, peaks);
  });
  report_frames("V7", "16 waves of 2 M samples, any zoom, nothing kept", query, {{}, {}, 5, {}});
  Canvas canvas(software_renderer(), font_files());
  const auto drawn = frames(model.end, [&](const ViewState& state) {
    Drawing d({kScreen.width, memory_height(model)});
    draw_memory(d, {0, 0, d.size.width, d.size.height}, model, state);
    canvas.build(d, 1, Theme::Dark);
  });
  report_frames("V7", "the same with categories and vertices", drawn, {});
}

void measure_full_frame(const TimelineModel& timeline, const MemoryModel& memory) {
  Canvas canvas(software_renderer(), font_files());
  const float height = memory_height(memory);
  const Rect above{0, 0, kScreen.width, kScreen.height - height};
  const Rect below{0, above.bottom(), kScreen.width, height};
  const auto times = frames(timeline.end, [&](const ViewState& state) {
    Drawing d(kScreen);
    draw_timeline(d, above, timeline, state);
    draw_memory(d, below, memory, state);
    canvas.paint(d, 1, Theme::Dark);
  });
  report_frames("V8", "full frame in software, 1920 x 1080, timeline and waves", times,
                {{}, 16, {}, {}}, &Took::wall);
}

void measure_statistics(const TimelineModel& model) {
  const SpanStore& store = model.spans;
  std::vector<std::uint32_t> rows;
  for (std::uint32_t r = 0; r < store.rows.size(); ++r) rows.push_back(r);
  std::size_t names = 0;
  const auto table = [&](Instant to) {
    return time_of([&] { names += range_statistics(store, rows, Instant{0}, to).size(); });
  };
  std::int64_t busy = 0;
  std::vector<Took> totals, tables;
  const Took whole = table(model.end);
  NameSums sums;
  const Took summed = time_of([&] { sums = sum_names(store); });
  std::vector<Took> quick;
  for (int i = 0; i < 20; ++i)
    quick.push_back(time_of([&] {
      names += quick_statistics(store, sums, rows, model.end * i / 100, model.end * (100 - i) / 100)
                   .size();
    }));
  for (int i = 0; i < 40; ++i) {
    const Instant to = model.end * (60 + i) / 100;
    totals.push_back(time_of([&] {
      for (const std::uint32_t row : rows) busy += busy_time(store, row, Instant{0}, to).count();
    }));
    tables.push_back(table(model.end * (10 + i) / 10'000));
  }
  const bool found = names > 0 && busy > 0;
  // Uses every core, since this is what a user waits for.
  report_frames("V12", "table by name of a range over 6 to 10 M spans, first", quick,
                {{}, {}, {}, found ? 20.0 : 0}, &Took::wall);
  report("V12", "the same with exact percentiles, which follow", {}, whole.wall, "ms", whole.wall);
  report("V12", "sums by name of 10 M spans", {}, summed.wall, "ms", summed.wall);
  report("V3", "resident bytes a span of 10 M with those sums", 26,
         static_cast<double>(resident_bytes(store) + resident_bytes(sums)) /
             static_cast<double>(store.start.size()),
         "B");
  report_frames("V12", "time by category while dragging over 10 M spans", totals, {{}, 2, {}, {}});
  report_frames("V12", "table by name while dragging over 50 000 spans", tables, {{}, 2, {}, {}});
}

// A hundred million spans in 1024 rows: the store that the views read with the program's
// instructions beside it, as much as a machine with 8 GiB can hold; the run's own list of times is
// not kept.
TimelineModel huge_model() {
  constexpr std::uint32_t kHuge = 100'000'000;
  constexpr int kHugeRanks = 512;
  const std::shared_ptr<Experiment> e = empty_experiment(kHugeRanks);
  Program& program = e->program;
  TimelineModel model;
  program.instructions.reserve(kHuge);
  reserve_spans(model.spans, kHuge);
  const std::uint32_t each = kHuge / 2 / kHugeRanks;
  for (std::uint32_t rank = 0; rank < kHugeRanks; ++rank) {
    RankLanes lanes{
        DeviceId{rank}, {2 * rank}, {2 * rank + 1}, 2 * rank, "Stage " + std::to_string(rank),
        "node 0"};
    for (const bool compute : {true, false}) {
      RowMaker row(rank, compute, each);
      program.streams.push_back({DeviceId{rank},
                                 compute ? "compute" : "comm",
                                 {},
                                 compute,
                                 static_cast<std::uint32_t>(program.instructions.size()),
                                 each});
      const auto span_of = [&](std::uint32_t) -> RowSpan {
        const RowMaker::Made made = row.next();
        program.instructions.push_back(made.instruction);
        const Task& task = program.task(made.instruction);
        return {made.span.start, made.span.end, task.name.value,
                static_cast<std::uint8_t>(ink_of(task))};
      };
      add_row(model.spans, each, span_of, compute ? kNoRow : 2 * rank);
      model.end = std::max(model.end, Instant{model.spans.end.back()});
    }
    model.ranks.push_back(std::move(lanes));
  }
  model.experiment = e;
  return model;
}

// Half as much again as V1 grants ten million.
int run_huge() {
  TimelineModel model = huge_model();
  const Took built = time_of([&] { index_spans(model.spans); });
  report("V3", "indices of 100 M spans in 1024 rows", {}, built.cpu, "ms", built.wall);
  report("V3", "resident bytes a span of 100 M", 26,
         static_cast<double>(resident_bytes(model.spans)) /
             static_cast<double>(model.spans.start.size()),
         "B");
  Canvas canvas(software_renderer(), font_files());
  const auto times = frames(model.end, [&](const ViewState& state) {
    Drawing d({kScreen.width, kOverview + kRuler + 32 * kFullLanes.pitch});
    draw_timeline(d, {0, 0, d.size.width, d.size.height}, model, state);
    canvas.build(d, 1, Theme::Dark);
  });
  report_frames("V3", "timeline of 100 M spans, 64 of 1024 rows, query and vertices", times,
                {1.5, {}, 4.5, 7.5}, &Took::wall);
  return all_met ? 0 : 1;
}

int run(bool brief) {
  const auto e = experiment(kRanks, kSpans);
  TimelineModel model;
  const Took built = time_of([&] { model = timeline_model(e); });
  std::vector<Took> indexed;
  for (int i = 0; i < 5; ++i) indexed.push_back(time_of([&] { index_spans(model.spans); }));
  report("V4", "indices of 10 M spans, with sums and folds, median of 5", 80,
         quantile(indexed, 0.5, &Took::wall), "ms", quantile(indexed, 0.5, &Took::wall));
  report("V4", "model of an experiment of 10 M spans, indices included", {}, built.wall, "ms",
         built.wall);
  report("V3", "resident bytes a span of 10 M", 26,
         static_cast<double>(resident_bytes(model.spans)) /
             static_cast<double>(model.spans.start.size()),
         "B");
  measure_timeline(model);
  if (brief) return all_met ? 0 : 1;
  measure_statistics(model);
  const MemoryModel memory = waves(model.end);
  measure_waves(memory);
  measure_full_frame(model, memory);
  return all_met ? 0 : 1;
}

}  // namespace
}  // namespace trainyard

int main(int argc, char** argv) {
  trainyard::keep_freed_memory();
  const std::string word = argc > 1 ? argv[1] : "";
  const trainyard::Pinned pinned;
  return word == "--huge" ? trainyard::run_huge() : trainyard::run(word == "--brief");
}
