// Staircases of this machine's kernels: sweeps products and convolutions past multiples of 16, and
// holds what one more channel costs against the least of it that matters, 8 %. Then orders all
// kernels of random networks, or of a calibration, by their FLOPs alone and by learned prices of
// shapes that were held back. Exits 1 where no step of 8 % is found and its absence is not proven
// by the intervals either, or where the rank correlation (Spearman) of FLOPs with the measured
// times is not below that of the learned prices by 0.05.
//
//   probe_benchmark [CALIBRATION.json]
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "app/workspace/runs/kernel_probe.h"
#include "app/workspace/runs/machine_calibration.h"
#include "backends/cpu/calibration/calibrate.h"
#include "core/io/bytes/files.h"
#include "core/io/documents/calibration_json.h"
#include "core/validation/kernel_order.h"

namespace trainyard {
namespace {

constexpr int kNetworks = 80;
constexpr double kLeastStep = 1.08;   // time of one more channel over that of the multiple of 16
constexpr double kLeastApart = 0.05;  // of rank correlations

struct Found {
  bool step = false, absent = true;
};

// Prints what the first width past each multiple of 16 costs.
void past_multiples(const ProbeQuestion& question, Found& found) {
  const WidthProbe probe = kernel_probe(question);
  fmt::print("{} over {}, {} rounds\n", probed_words(probe), probe.varied, probe.rounds);
  for (const StairStep& jump : probe.stairs.jumps) {
    const std::int64_t from = probe.widths[jump.jump.from].width;
    if (from % 16 != 0) continue;
    const Banded<double>& ratio = jump.jump.ratio;
    const bool step = ratio.value >= kLeastStep && ratio.low > jump.roofline;
    fmt::print("  {:>4} to {:>4}: {:+6.1f} % ({:+.1f} to {:+.1f} %), roofline {:+.1f} %{}\n", from,
               from + 1, 100 * (ratio.value - 1), 100 * (ratio.low - 1), 100 * (ratio.high - 1),
               100 * (jump.roofline - 1), step ? ": a step of 8 % or more" : "");
    found.step = found.step || step;
    found.absent = found.absent && ratio.high < kLeastStep;
  }
}

KernelOrder order_of(const Calibration& c, const KernelResiduals& residuals, const char* what,
                     const std::function<bool(const KernelTiming&)>& of) {
  const KernelOrder order = kernel_order(c, residuals, of);
  fmt::print("{:24} FLOPs {:.3f}, bytes {:.3f}, roofline {:.3f}, learned {:.3f}, of {} shapes\n",
             what, order.flops.value_or(0), order.bytes.value_or(0), order.formula.value_or(0),
             order.learned.value_or(0), order.kernels);
  return order;
}

int run(const Calibration& c) {
  Found found;
  past_multiples({.varied = varied_size("n=126..162")}, found);
  past_multiples({.op = "convolution", .varied = varied_size("channels=62..82")}, found);
  past_multiples({.op = "convolution", .varied = varied_size("filters=62..82")}, found);
  past_multiples(
      {.op = "attention", .sizes = {{"tokens", 128}}, .varied = varied_size("head=62..66")}, found);
  past_multiples({.op = "layer_norm", .varied = varied_size("width=766..786")}, found);
  fmt::print("{}\n", found.step ? "a staircase: one more channel past a multiple of 16 costs 8 % "
                                  "or more"
                     : found.absent ? "no staircase: every interval ends below 8 %"
                                    : "neither a step of 8 % nor its absence: missed");
  fmt::print("\nrank correlation (Spearman) with measured times, shapes held back from learning\n");
  const KernelResiduals residuals = machine_residuals(c);
  order_of(c, residuals, "products, convolutions",
           [](const KernelTiming& t) { return t.work.kind == WorkKind::Product; });
  const KernelOrder all =
      order_of(c, residuals, "all kernels", [](const KernelTiming&) { return true; });
  const double below = all.learned.value_or(0) - all.flops.value_or(1);
  const bool apart = below >= kLeastApart;
  fmt::print("FLOPs are below learned prices by {:.3f} (at least {}){}\n", below, kLeastApart,
             apart ? "" : ": missed");
  return (found.step || found.absent) && apart ? 0 : 1;
}

}  // namespace
}  // namespace trainyard

int main(int count, char** words) {
  using namespace trainyard;
  if (count > 1) return run(read_calibration(read_file(words[1]), words[1]));
  return run(calibrate(random_workloads(kNetworks, 1), {.box = std::chrono::seconds(60)}));
}
