// Measures what inter-operator scheduling gains on this machine, at batch 1: of a block of four
// convolutional branches (inception-tiny), of eight like convolutions of one image, of attention
// beside an MLP (neox-tiny) and of attention with queries, keys and values apart (mixtral-tiny), on
// two cores and on one. Prints the schedules of every kind of layer, measured and predicted: one
// after another, greedy, the best that run operators beside each other, the best that run them as
// one, and the best of both.
//
// Fails where the stages of the branches' forward have less than 1.2 times the speed of one
// operator after another on two cores, where the prediction of one of its schedules is more than
// 15 % off, or where their order by prediction or by measurement is not sequential >= greedy >=
// best; where the best of any layer is predicted slower than another schedule; where two schedules
// of a layer whose predictions are more than 15 % apart are measured the other way round; where
// schedules that merge nothing leave different bits, and where merged ones leave numbers that are
// too far off. Layers of less than 50 us are not judged by the clock. The quickest of the rounds
// counts, so that a busy machine decides little; where all cores are busy, run it at a higher
// priority.
// Arguments: --rounds N (default 101).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "app/workspace/runs/branches/branch_study.h"
#include "core/methods/settings/settings.h"
#include "core/model/graph_builder.h"
#include "core/model/zoo/zoo.h"

namespace trainyard {
namespace {

constexpr double kLeastGain = 1.2, kMostError = 0.15;
constexpr Duration kLeastJudged = std::chrono::microseconds(50);

// 1 x 1 convolutions of an image of 8 x 8 from 64 channels to 16, and the sum of them.
Model like_convolutions(int count) {
  GraphBuilder b;
  const TensorId image = b.graph.input =
      b.activation("input", {kBatch, whole(64), whole(8), whole(8)});
  TensorId sum;
  for (int i = 0; i < count; ++i) {
    const std::string name = fmt::format("conv{}", i);
    const TensorId weight =
        b.parameter(name + ".weight", {whole(16), whole(64), whole(1), whole(1)});
    const TensorId out = b.node(name, convolution(), {image, weight}, {{"stride", 1}});
    sum = i == 0 ? out : b.residual(fmt::format("sum{}", i), sum, out);
  }
  Model model;
  model.name = fmt::format("{} like convolutions", count), model.family = "made";
  model.blocks.push_back(b.block("like", 1, true, sum));
  return model;
}

class Comparison {
 public:
  explicit Comparison(int rounds) : rounds_(rounds) {}

  int failures() const { return failures_; }

  void of(const Model& model, int cores) {
    Scenario scenario{model, make_cluster(device("cpu"), 1), {}};
    for (const char* one : {"precision=fp32", "global-batch=1", "micro-batch=1"})
      apply_setting(scenario.plan, one);
    const BranchStudy study = branch_study(scenario, {.cores = cores, .rounds = rounds_});
    fmt::print("{} on {}\n", model.name, cores == 1 ? "one core" : fmt::format("{} cores", cores));
    for (const BranchPass& pass : study.passes) {
      print(pass);
      expect_order(pass);
      fail_if(!pass.same_bits, "the same bits of all schedules that merge nothing");
      fail_if(pass.merged_difference > kMostMergedDifference, "the numbers of single operators");
      if (cores == 2 && pass.block == "mixed" && !pass.backward) expect_gain(pass);
    }
  }

 private:
  void fail_if(bool wrong, std::string_view expected) {
    if (!wrong) return;
    fmt::print("FAILED: expected {}\n", expected);
    ++failures_;
  }
  static double error(const RunSchedule& one) {
    return to_seconds(one.schedule.time) / to_seconds(one.measured) - 1;
  }

  static void print(const BranchPass& pass) {
    fmt::print("  {} {}: {} operators, {} that may run as one, {} stages, {} states\n", pass.block,
               direction(pass), pass.graph.operators.size(), pass.graph.merges.size(),
               pass.best.schedule.stages.size(), pass.found.states);
    for (const auto& [name, one] : schedules_of(pass))
      fmt::print(
          "    {:<17} {:8.1f} us, predicted {:8.1f} us ({:+.1f} %), {:.2f} times as fast{}\n", name,
          1e6 * to_seconds(one->measured), 1e6 * to_seconds(one->schedule.time), 100 * error(*one),
          to_seconds(pass.sequential.measured) / to_seconds(one->measured),
          merges_operators(pass, *one) ? ", merges" : "");
    if (pass.merged_difference > 0)
      fmt::print("    merged numbers are within {:.1g}\n", pass.merged_difference);
  }

  void expect_order(const BranchPass& pass) {
    const auto schedules = schedules_of(pass);
    for (const auto& [quick, a] : schedules)
      for (const auto& [slow, b] : schedules) {
        fail_if(b == &pass.best && a->schedule.time < b->schedule.time,
                fmt::format("the best predicted at most as long as {}", quick));
        const bool apart =
            to_seconds(a->schedule.time) < (1 - kMostError) * to_seconds(b->schedule.time);
        fail_if(apart && a->measured >= kLeastJudged && a->measured > b->measured,
                fmt::format("{} quicker than {} by the clock, as predicted", quick, slow));
      }
  }

  void expect_gain(const BranchPass& pass) {
    for (const auto& [name, one] : schedules_of(pass))
      fail_if(std::abs(error(*one)) > kMostError, "a prediction within 15 %");
    fail_if(to_seconds(pass.sequential.measured) < kLeastGain * to_seconds(pass.best.measured),
            "at least 1.2 times the speed of one operator after another");
    fail_if(pass.sequential.measured < pass.greedy.measured ||
                pass.greedy.measured < pass.best.measured,
            "sequential >= greedy >= best by the clock");
    fail_if(pass.sequential.schedule.time < pass.greedy.schedule.time ||
                pass.greedy.schedule.time < pass.best.schedule.time,
            "sequential >= greedy >= best by prediction");
  }

  const int rounds_;
  int failures_ = 0;
};

int compare(int rounds) {
  if (std::thread::hardware_concurrency() < 2) {
    fmt::print("FAILED: expected a machine of two cores\n");
    return EXIT_FAILURE;
  }
  Comparison comparison(rounds);
  for (const Model& model : {zoo_model("inception-tiny"), like_convolutions(8),
                             zoo_model("neox-tiny"), zoo_model("mixtral-tiny")})
    for (const int cores : {2, 1}) comparison.of(model, cores);
  return comparison.failures() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace trainyard

int main(int argc, char** argv) {
  int rounds = 101;
  for (int i = 1; i + 1 < argc; ++i)
    if (std::string_view(argv[i]) == "--rounds") rounds = std::max(1, std::atoi(argv[i + 1]));
  return trainyard::compare(rounds);
}
