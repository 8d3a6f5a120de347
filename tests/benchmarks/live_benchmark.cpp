// How much processor time a frame of a live run takes while spans stream in: read what came, draw
// lanes, waves and loss over the prediction, and rasterise in software, at 1600 by 900. Prints one
// JSON line. The bar: 18 ms a frame at the 95th percentile, 55 frames a second, with 5,000 spans a
// second arriving.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

#include "app/workspace/runs/live_reader.h"
#include "app/workspace/scenario/workspace.h"
#include "core/timeline/metrics.h"
#include "visualizers/imgui/canvas.h"
#include "visualizers/memory/kept_memory.h"

namespace trainyard {
namespace {

constexpr int kSpansPerSecond = 5000, kFramesPerSecond = 60, kFrames = 300;
constexpr Size kSize{1600, 900};

// The processor time of this process only, without other load of the machine.
double processor_ms() {
  return 1000.0 * static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

// Replays the prediction again and again as if it were measured, each step a little longer.
class Stream {
 public:
  explicit Stream(const Experiment& e) : e_(e) {
    for (std::uint32_t i = 0; i < e.timeline.spans.size(); ++i) order_.push_back(i);
    std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return e.timeline.spans[a].end < e.timeline.spans[b].end;
    });
  }

  void next(std::vector<LiveSpan>& spans, std::vector<LiveMemory>& memory,
            std::vector<LiveStep>& steps) {
    if (at_ == order_.size()) {
      now_ += makespan(e_.timeline);
      ++repetition_;
      at_ = 0;
      steps.push_back({.step = repetition_, .loss = 9.0 / repetition_, .at = now_});
    }
    const std::uint32_t i = order_[at_++];
    const Span span{e_.timeline.spans[i].start + now_, e_.timeline.spans[i].end + now_};
    spans.push_back({.instruction = {i}, .repetition = repetition_, .peer = 0, .span = span});
    const auto rank = static_cast<std::uint32_t>(at_ % e_.waves.size());
    const MemoryWave& wave = e_.waves[rank];
    const Instant ends = std::max(last_, span.end);
    last_ = ends;
    memory.push_back({.device = {rank},
                      .peer = 0,
                      .at = ends,
                      .bytes = wave.samples[at_ % wave.samples.size()].bytes});
  }

 private:
  const Experiment& e_;
  std::vector<std::uint32_t> order_;
  std::size_t at_ = 0;
  std::int32_t repetition_ = 0;
  Instant now_{}, last_{};
};

int run() {
  RunModel model;
  model.predicted =
      simulate(open({"gpt-tiny", "cpu:4", "", {"pp=4", "global-batch=32", "precision=fp32"}}),
               {.grain = Grain::Op, .fixes = false});
  model.running = true;
  model.steps = 400;
  LiveReader reader(model);
  Stream stream(*model.predicted);
  Canvas canvas(software_renderer(), font_files());
  std::vector<double> frames;
  std::vector<LiveSpan> spans;
  std::vector<LiveMemory> memory;
  std::vector<LiveStep> steps;
  for (int frame = 0; frame < kFrames; ++frame) {
    spans.clear(), memory.clear(), steps.clear();
    for (int i = 0; i < kSpansPerSecond / kFramesPerSecond + 1; ++i)
      stream.next(spans, memory, steps);
    const double start = processor_ms();
    reader.take(spans, memory, steps);
    Drawing drawing(kSize);
    draw_run(drawing, {0, 0, kSize.width, kSize.height}, model, {});
    const Image& image = canvas.paint(drawing, 1, Theme::Dark);
    frames.push_back(processor_ms() - start);
    if (image.rgba.empty()) return 1;
  }
  std::sort(frames.begin(), frames.end());
  const double p95 = frames[frames.size() * 95 / 100];
  std::printf(
      "{\"id\": \"live\", \"spans_per_second\": %d, \"instructions\": %zu, \"frames\": %d, "
      "\"p50_ms\": %.2f, \"p95_ms\": %.2f, \"bar_ms\": 18, \"held\": %s}\n",
      kSpansPerSecond, model.predicted->program.instructions.size(), kFrames,
      frames[frames.size() / 2], p95, p95 <= 18 ? "true" : "false");
  return 0;
}

}  // namespace
}  // namespace trainyard

int main() {
  trainyard::keep_freed_memory();
  return trainyard::run();
}
