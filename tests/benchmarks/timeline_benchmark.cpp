// How fast the views answer, as one line of JSON a goal: what was measured, the goal and whether it
// was met. Figures are CPU time of the one thread that works, so that neighbours on the machine do
// not count. Goals are those of a machine with two processors and no GPU, in a release build. Exits
// with 1 when a goal is missed.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "visualizers/imgui/canvas.h"
#include "visualizers/viewmodel/folding.h"
#include "visualizers/viewmodel/statistics.h"
#include "visualizers/viewmodel/step_curve.h"

namespace trainyard {
namespace {

constexpr int kFrames = 300;
constexpr std::uint32_t kRows = 256;
constexpr Size kScreen{1920, 1080};
constexpr float kGutter = 20;

double milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

template <class F>
double time_of(F&& work) {
  const double before = milliseconds();
  work();
  return milliseconds() - before;
}

struct Quantiles {
  double p50, p95, p99, max;
};

Quantiles quantiles(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const auto at = [&](double q) {
    return times[static_cast<std::size_t>(q * static_cast<double>(times.size() - 1))];
  };
  return {at(0.5), at(0.95), at(0.99), times.back()};
}

bool all_met = true;

void report(const char* goal, const char* what, double found, double limit, const char* unit) {
  const bool met = found <= limit;
  all_met &= met;
  std::printf(
      "{\"goal\": \"%s\", \"what\": \"%s\", \"found\": %.3f, \"limit\": %.3f, \"unit\": \"%s\", "
      "\"met\": %s}\n",
      goal, what, found, limit, unit, met ? "true" : "false");
  std::fflush(stdout);
}

// A row as a pipeline stage has it: runs of forward, backward and weight gradient, pauses now and
// then.
std::vector<RowSpan> pipeline_row(std::uint32_t seed, std::uint32_t spans) {
  std::mt19937 random(seed);
  std::vector<RowSpan> row;
  row.reserve(spans);
  std::int64_t at = seed * 1000;
  for (std::uint32_t i = 0; i < spans; ++i) {
    if (random() % 16 == 0) at += random() % 200'000;
    const auto category = static_cast<std::uint8_t>(i / 40 % 3 == 0 ? 0 : 1 + random() % 6);
    const std::int64_t length = 2'000 + random() % 50'000;
    row.push_back(
        {Instant{at}, Instant{at + length}, static_cast<std::uint32_t>(random() % 60), category});
    at += length;
  }
  return row;
}

SpanStore pipeline(std::uint32_t spans) {
  SpanStore store;
  for (auto* times : {&store.start, &store.end}) times->reserve(spans);
  store.name.reserve(spans);
  store.category.reserve(spans);
  for (std::uint32_t r = 0; r < kRows; ++r) add_row(store, pipeline_row(r, spans / kRows));
  return store;
}

TimeLimits limits_of(const SpanStore& store) {
  return {Instant{0}, Instant{*std::max_element(store.end.begin(), store.end.end())}};
}

// The frames of a person at work: from everything down to a 20 000th and back, twice, panning all
// the way.
Viewport frame_view(int frame, const TimeLimits& limits) {
  const Rect plot{kGutter, 0, kScreen.width - kGutter, kScreen.height};
  const double depth = 0.5 - 0.5 * std::cos(frame * 4 * 3.14159265358979 / kFrames);
  const Viewport all = fit({plot, Instant{0}, Instant{1}}, limits.first, limits.last, limits);
  return pan(zoom(all, std::pow(20'000.0, depth), 300 + 4 * frame % 1400, limits),
             -3.0 * (frame % 100), limits);
}

void draw_rows(const SpanStore& store, const Viewport& view, std::uint32_t rows, float pitch,
               Drawing& d) {
  static std::vector<Fold> folds;
  for (std::uint32_t r = 0; r < rows; ++r) {
    folds.clear();
    fold_row(store, r, view.from, view.to, fold_step(view, 1), folds);
    const float y = static_cast<float>(r) * pitch;
    for (const Fold& fold : folds) {
      const auto x = static_cast<float>(x_of(view, fold.start)),
                 right = static_cast<float>(x_of(view, fold.end));
      box(d, {x, y, std::max(1.f, right - x), pitch - 1},
          {.ink = static_cast<Ink>(fold.category),
           .item = {fold.count == 1 ? ItemKind::Span : ItemKind::Fold, fold.first}});
    }
  }
}

Drawing timeline(const SpanStore& store, const Viewport& view, std::uint32_t rows, float pitch) {
  Drawing d(kScreen);
  const ClipScope clip(d, view.plot);
  draw_rows(store, view, rows, pitch, d);
  return d;
}

void measure_timeline(const SpanStore& store) {
  const TimeLimits limits = limits_of(store);
  Canvas canvas(software_renderer());
  const auto frames = [&](std::uint32_t rows, float pitch) {
    std::vector<double> times;
    for (int i = -10; i < kFrames; ++i) {
      const Viewport view = frame_view(std::max(0, i), limits);
      const double took =
          time_of([&] { canvas.build(timeline(store, view, rows, pitch), 1, Theme::Dark); });
      if (i >= 0) times.push_back(took);
    }
    return quantiles(times);
  };
  const Quantiles some = frames(64, 16), all = frames(kRows, 4);
  report("V1", "10 M spans, 64 of 256 rows, query and vertices, p50", some.p50, 1, "ms");
  report("V1", "10 M spans, 64 of 256 rows, query and vertices, p99", some.p99, 3, "ms");
  report("V1", "10 M spans, 64 of 256 rows, query and vertices, max", some.max, 5, "ms");
  report("V2", "10 M spans, all 256 rows, one thread, p99", all.p99, 12, "ms");
}

std::vector<StepCurve> waves() {
  std::vector<StepCurve> curves;
  for (std::uint32_t device = 0; device < 16; ++device) {
    std::mt19937 random(device);
    std::vector<std::int64_t> at, value;
    std::int64_t t = 0, bytes = std::int64_t{20} << 30;
    for (int i = 0; i < 2'000'000; ++i) {
      at.push_back(t += 500 + random() % 3'000);
      value.push_back(bytes += (i / 1000 % 2 == 0 ? 1 : -1) *
                               static_cast<std::int64_t>(random() % (64 << 20)));
    }
    curves.push_back(step_curve(std::move(at), std::move(value)));
  }
  return curves;
}

void measure_waves(const std::vector<StepCurve>& curves) {
  const TimeLimits limits{Instant{0}, Instant{curves.front().at.back()}};
  std::vector<double> fresh, cached;
  std::vector<ValueRange> ranges;
  std::vector<RangeCache> caches(curves.size());
  for (int i = 0; i < kFrames; ++i) {
    const Viewport view = frame_view(i, limits);
    fresh.push_back(time_of([&] {
      for (const StepCurve& curve : curves) ranges_of(curve, view.from, view.to, 1900, ranges);
    }));
    for (std::size_t c = 0; c < curves.size(); ++c)
      caches[c].ranges(curves[c], view.from, view.to, 1900);
    cached.push_back(time_of([&] {
      for (std::size_t c = 0; c < curves.size(); ++c)
        caches[c].ranges(curves[c], view.from, view.to, 1900);
    }));
  }
  report("V7", "16 waves of 2 M samples, any zoom, p99", quantiles(fresh).p99, 5, "ms");
  report("V7", "the same again, p99", quantiles(cached).p99, 0.5, "ms");
}

void measure_full_frame(const SpanStore& store, const std::vector<StepCurve>& curves) {
  const TimeLimits limits = limits_of(store);
  Canvas canvas(software_renderer(), font_files());
  std::vector<double> times;
  std::vector<ValueRange> ranges;
  for (int i = -5; i < 100; ++i) {
    const Viewport view = frame_view(3 * std::max(0, i), limits);
    const double took = time_of([&] {
      Drawing d(kScreen);
      hatch(d, {kGutter, 0, 1900, 600}, Pattern::Idle);
      draw_rows(store, view, 32, 18, d);
      for (std::size_t c = 0; c < 8; ++c) {
        ranges_of(curves[c], view.from, view.to, 1900, ranges);
        const float bottom = 660 + 52 * static_cast<float>(c);
        std::vector<Column> wave;
        for (const ValueRange& range : ranges)
          wave.push_back(
              {bottom - std::clamp(static_cast<float>(range.high) / 3e9f, 1.f, 48.f), bottom});
        columns(d, {kGutter, bottom - 50, 1900, 50}, wave, {.ink = Ink::MemoryActivations});
      }
      for (int l = 0; l < 400; ++l)
        text(d,
             {"F" + std::to_string(l),
              {kGutter + 40 * static_cast<float>(l % 47), 9 + 18 * static_cast<float>(l / 47)}},
             {.ink = Ink::White});
      canvas.paint(d, 1, Theme::Dark);
    });
    if (i >= 0) times.push_back(took);
  }
  report("V8", "full frame in software, 1920 x 1080, timeline and waves, p95", quantiles(times).p95,
         16, "ms");
}

void measure_statistics(const SpanStore& store) {
  const TimeLimits limits = limits_of(store);
  std::vector<std::uint32_t> rows;
  for (std::uint32_t r = 0; r < kRows; ++r) rows.push_back(r);
  std::size_t names = 0;
  const double whole =
      time_of([&] { names += range_statistics(store, rows, limits.first, limits.last).size(); });
  std::int64_t busy = 0;
  std::vector<double> totals, table;
  for (int i = 0; i < 40; ++i) {
    const Instant to = limits.first + (limits.last - limits.first) * (60 + i) / 100;
    totals.push_back(time_of([&] {
      for (const std::uint32_t row : rows) busy += busy_time(store, row, limits.first, to).count();
    }));
    const Instant near = limits.first + (limits.last - limits.first) * (50 + i) / 10'000;
    table.push_back(
        time_of([&] { names += range_statistics(store, rows, limits.first, near).size(); }));
  }
  report("V12", "table by name of a range over 10 M spans", names == 0 ? 1e9 : whole, 20, "ms");
  report("V12", "time by category while dragging over 10 M spans, p95",
         busy == 0 ? 1e9 : quantiles(totals).p95, 2, "ms");
  report("V12", "table by name while dragging over 50 000 spans, p95", quantiles(table).p95, 2,
         "ms");
}

int run() {
  SpanStore store = pipeline(10'000'000);
  report("V4", "indices of 10 M spans", time_of([&] { index_spans(store); }), 80, "ms");
  report("V3", "resident bytes a span",
         static_cast<double>(resident_bytes(store)) / static_cast<double>(store.start.size()), 26,
         "B");
  measure_timeline(store);
  const std::vector<StepCurve> curves = waves();
  measure_waves(curves);
  measure_full_frame(store, curves);
  measure_statistics(store);
  return all_met ? 0 : 1;
}

}  // namespace
}  // namespace trainyard

int main() { return trainyard::run(); }
