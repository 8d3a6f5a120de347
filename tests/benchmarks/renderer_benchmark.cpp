// What a frame of the window's canvas costs in each renderer: a picture of 1,000 to 40,000 boxes
// with labels, painted at the sizes of usual screens, as one line of JSON a figure. A frame is all
// that the window waits for: the draw lists, the renderer, and the pixels back in memory. A driver
// is chosen as for the window:
//   VK_ICD_FILENAMES=/usr/share/vulkan/icd.d/lvp_icd.x86_64.json renderer_benchmark
// Times are what a clock says. The share of differing pixels is held against the software renderer,
// with the tolerance of the renderers' tests (16 of 255).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "visualizers/imgui/canvas.h"
#include "visualizers/imgui/vulkan_device.h"

namespace trainyard {
namespace {

constexpr int kFrames = 30;

// Boxes in rows as a timeline has them, the wider ones with a name.
Drawing boxes(Size size, int count) {
  Drawing d(size);
  const int rows = 40, columns = std::max(1, count / rows);
  const float height = size.height / rows, width = size.width / static_cast<float>(columns);
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      const Rect box{static_cast<float>(column) * width, static_cast<float>(row) * height,
                     0.9F * width, 0.8F * height};
      fill(d, box, {.ink = static_cast<Ink>((row + column) % 5)});
      if (width > 24)
        text(d, {fmt::format("F{}", column % 100), {box.x + 4, box.y + box.height / 2}, 10}, {});
    }
  return d;
}

double milliseconds_of(const auto& work) {
  std::vector<double> times;
  for (int i = 0; i < kFrames + 3; ++i) {
    const auto began = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
    if (i >= 3) times.push_back(took.count());
  }
  std::nth_element(times.begin(), times.begin() + kFrames / 2, times.end());
  return times[kFrames / 2];
}

double differing_percent(const Image& a, const Image& b) {
  std::size_t different = 0;
  const auto off = [](int x, int y) { return std::abs(x - y) > 16; };
  for (int y = 0; y < a.height; ++y)
    for (int x = 0; x < a.width; ++x) {
      const Rgba p = pixel(a, x, y), q = pixel(b, x, y);
      different += off(p.r, q.r) || off(p.g, q.g) || off(p.b, q.b) || off(p.a, q.a);
    }
  return 100.0 * static_cast<double>(different) / (static_cast<double>(a.width) * a.height);
}

void measure(Size size, double scale, int count, Canvas& software, Canvas* gpu) {
  const Drawing d = boxes(size, count);
  const auto line = [&](Canvas& canvas, double different) {
    const double paint = milliseconds_of([&] { canvas.paint(d, scale, Theme::Dark); });
    const double lists = milliseconds_of([&] { canvas.build(d, scale, Theme::Dark); });
    fmt::print(
        "{{\"renderer\": \"{}\", \"pixels\": \"{:.0f}x{:.0f}\", \"boxes\": {}, \"frame_ms\": "
        "{:.3f}, \"of it draw lists\": {:.3f}, \"pixels_that_differ_percent\": {:.4f}}}\n",
        canvas.renderer(), size.width * scale, size.height * scale, count, paint, lists, different);
    std::fflush(stdout);
  };
  const Image expected = software.paint(d, scale, Theme::Dark);
  line(software, 0);
  if (gpu != nullptr) line(*gpu, differing_percent(gpu->paint(d, scale, Theme::Dark), expected));
}

int run() {
  Canvas software(software_renderer());
  std::unique_ptr<Canvas> gpu;
  try {
    gpu = std::make_unique<Canvas>(vulkan_renderer(true));
    fmt::print("{{\"device\": \"{}\"}}\n",
               std::string_view(current_vulkan_device()->properties.deviceName));
  } catch (const RendererFailure& failure) {
    fmt::print("{{\"device\": null, \"why\": \"{}\"}}\n", failure.what());
  }
  for (const Size size : {Size{1600, 1000}, Size{1920, 1080}})
    for (const double scale : {1.0, 2.0})
      for (const int count : {1'000, 10'000, 40'000})
        measure(size, scale, count, software, gpu.get());
  return 0;
}

}  // namespace
}  // namespace trainyard

int main() { return trainyard::run(); }
