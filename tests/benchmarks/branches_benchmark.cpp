// Measures what inter-operator scheduling gains on this machine: the forward of a block of four
// convolutional branches at batch 1 (inception-tiny), on two cores. Prints the three schedules of
// every kind of layer, measured and predicted. Fails where the stages have less than 1.2 times the
// speed of one operator after another, where the prediction of one of the three is more than 15 %
// off, or where their order by prediction or by measurement is not sequential >= greedy >= best;
// and where any two schedules of any layer leave different bits. The quickest of the rounds counts,
// so that a busy machine decides little; where all cores are busy, run it at a higher priority.
// Arguments: --rounds N (default 101).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "app/workspace/runs/branch_study.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"

namespace trainyard {
namespace {

constexpr double kLeastGain = 1.2, kMostError = 0.15;

int compare(int rounds) {
  if (std::thread::hardware_concurrency() < 2) {
    fmt::print("FAILED: expected a machine of two cores\n");
    return EXIT_FAILURE;
  }
  Scenario scenario{zoo_model("inception-tiny"), make_cluster(device("cpu"), 1), {}};
  for (const char* one : {"precision=fp32", "global-batch=1", "micro-batch=1"})
    apply_setting(scenario.plan, one);
  const BranchStudy study = branch_study(scenario, {.cores = 2, .rounds = rounds});
  int failures = 0;
  const auto fail_if = [&](bool wrong, std::string_view expected) {
    if (!wrong) return;
    fmt::print("FAILED: expected {}\n", expected);
    ++failures;
  };
  for (const BranchPass& pass : study.passes) {
    const auto us = [](Duration d) { return static_cast<double>(d.count()) / 1e3; };
    fmt::print("{} {}: {} operators, {} stages, {} states\n", pass.block,
               pass.backward ? "backward" : "forward", pass.graph.operators.size(),
               pass.best.schedule.stages.size(), pass.found.states);
    const bool judged = pass.block == "mixed" && !pass.backward;
    for (const auto& [name, one] : {std::pair{"sequential", &pass.sequential},
                                    {"greedy", &pass.greedy},
                                    {"best", &pass.best}}) {
      const double error = to_seconds(one->schedule.time) / to_seconds(one->measured) - 1;
      fmt::print("  {:<10} {:8.1f} us, predicted {:8.1f} us ({:+.1f} %), {:.2f} times as fast\n",
                 name, us(one->measured), us(one->schedule.time), 100 * error,
                 us(pass.sequential.measured) / us(one->measured));
      fail_if(judged && std::abs(error) > kMostError, "a prediction within 15 %");
    }
    fail_if(!pass.same_bits, "the same bits of all schedules");
    if (!judged) continue;
    fail_if(us(pass.sequential.measured) < kLeastGain * us(pass.best.measured),
            "at least 1.2 times the speed of one operator after another");
    fail_if(pass.sequential.measured < pass.greedy.measured ||
                pass.greedy.measured < pass.best.measured,
            "sequential >= greedy >= best by the clock");
    fail_if(pass.sequential.schedule.time < pass.greedy.schedule.time ||
                pass.greedy.schedule.time < pass.best.schedule.time,
            "sequential >= greedy >= best by prediction");
  }
  fail_if(study.passes.size() < 4, "four passes");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace trainyard

int main(int argc, char** argv) {
  int rounds = 101;
  for (int i = 1; i + 1 < argc; ++i)
    if (std::string_view(argv[i]) == "--rounds") rounds = std::max(1, std::atoi(argv[i + 1]));
  return trainyard::compare(rounds);
}
