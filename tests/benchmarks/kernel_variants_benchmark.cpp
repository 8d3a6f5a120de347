// Ways to compute kernels, chosen by a ranking: measures those of random networks, or reads a
// calibration that did, and says how much longer the chosen way takes than the fastest at shapes
// that training did not see. Then runs the kernels of a step of the small models of the zoo, at
// three microbatch sizes, the usual way and the chosen way in turns. Exits 1 where the chosen way
// of a kernel loses more than 3 % in the mean (geometric), or where a step takes more than kNoise
// longer than the usual way. Wants a quiet machine.
//
//   kernel_variants_benchmark [CALIBRATION.json]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "app/workspace/runs/machine_calibration.h"
#include "backends/cpu/calibration/calibrate.h"
#include "backends/cpu/calibration/rehearsal.h"
#include "core/cost/kernel_times.h"
#include "core/cost/kernels/variant_ranking.h"
#include "core/io/bytes/files.h"
#include "core/io/documents/calibration_json.h"

namespace trainyard {
namespace {

constexpr int kNetworks = 150;
constexpr int kRounds = 41;
constexpr double kMostLoss = 0.03;
constexpr double kNoise = 0.02;  // by which equal steps differ on a quiet machine

struct Step {
  double usual = 0, chosen = 0;  // seconds of all kernels, medians
  double ratio = 1;              // median of those of neighbouring rounds
};

Step step_of(const Workload& workload, const VariantChooser& chooser) {
  Rehearsal rehearsal(workload, 768_MiB);
  const auto run = [&](const VariantChooser* by) {
    rehearsal.choose_by(by);
    std::int64_t sum = 0;
    rehearsal.run([&](const Work&, Duration took) { sum += took.count(); });
    return sum;
  };
  run(nullptr), run(&chooser);  // create oneDNN's kernels
  std::vector<std::int64_t> usual, chosen;
  for (int round = 0; round < kRounds; ++round) {
    const bool usual_first = round % 2 == 0;
    if (usual_first) usual.push_back(run(nullptr));
    chosen.push_back(run(&chooser));
    if (!usual_first) usual.push_back(run(nullptr));
  }
  std::vector<double> ratios;
  for (std::size_t r = 0; r < usual.size(); ++r)
    ratios.push_back(static_cast<double>(chosen[r]) / static_cast<double>(usual[r]));
  std::nth_element(ratios.begin(), ratios.begin() + kRounds / 2, ratios.end());
  return {1e-9 * static_cast<double>(quantile(usual, 0.5)),
          1e-9 * static_cast<double>(quantile(chosen, 0.5)), ratios[kRounds / 2]};
}

int run(const Calibration& c) {
  bool met = !c.variants.empty();
  const auto ranking = rank_variants(c.variants);
  fmt::print("{} shapes measured in all their ways\n", c.variants.size());
  for (const HeldOutVariants& found : ranking->held_out()) {
    const bool holds = found.chosen <= kMostLoss;
    fmt::print("{}; best of two {:.2f} %, tau {:.3f}{}\n", held_out_words(found),
               100 * found.second, found.tau, holds ? "" : ": missed");
    met = met && holds;
  }
  double sum = 0;
  int steps = 0;
  for (const Workload& workload : standard_workloads()) {
    const Step step = step_of(workload, *ranking);
    const bool holds = step.ratio <= 1 + kNoise;
    fmt::print("{:16} microbatch {:3}  usual {:8.3f} ms, chosen {:8.3f} ms, {:.3f}{}\n",
               workload.scenario.model.name, workload.scenario.plan.batch.micro, 1e3 * step.usual,
               1e3 * step.chosen, step.ratio, holds ? "" : ": slower");
    sum += std::log(step.ratio);
    ++steps;
    met = met && holds;
  }
  fmt::print("a step takes {:.3f} of the usual (geometric mean of {})\n", std::exp(sum / steps),
             steps);
  return met ? 0 : 1;
}

}  // namespace
}  // namespace trainyard

int main(int count, char** words) {
  using namespace trainyard;
  if (count > 1) return run(read_calibration(read_file(words[1]), words[1]));
  return run(calibrate(random_workloads(kNetworks, 1), {.box = std::chrono::seconds(150)}));
}
