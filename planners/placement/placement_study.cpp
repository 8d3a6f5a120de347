#include "planners/placement/placement_study.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

#include "core/base/error.h"
#include "planners/placement/imitation.h"
#include "planners/placement/placement_policies.h"

namespace trainyard {
namespace {

// Training traces have other numbers than those that are held out.
constexpr std::uint64_t kTraining = 100'000;
// Time that parts of the study take against each other, for one of four imitations to learn from a
// trace, for a trace that policies are compared on, and for one of two regrets.
constexpr int kLearning = 2, kComparing = 5, kRegretting = 25;

enum Policy : std::size_t {
  LeastLoaded,
  FirstFit,
  BestFit,
  Imitation,
  InformedImitation,
  HindsightAlone,
  Complementary,
  PairedImitation,
  InformedPairedImitation,
  HindsightPaired,
  Policies,
};
constexpr std::array<std::string_view, Policies> kNames = {"least loaded",
                                                           "first fit",
                                                           "best fit",
                                                           "imitation",
                                                           "imitation, durations known",
                                                           "hindsight",
                                                           "complementary waves",
                                                           "imitation with pairs",
                                                           "imitation with pairs, durations known",
                                                           "hindsight with pairs"};

struct Compared {
  Policy a, b;
};
constexpr Compared kCompared[] = {{LeastLoaded, Complementary},
                                  {LeastLoaded, Imitation},
                                  {Complementary, PairedImitation},
                                  {Imitation, InformedImitation},
                                  {PairedImitation, InformedPairedImitation},
                                  {LeastLoaded, HindsightAlone},
                                  {Complementary, HindsightPaired}};

ChoosePlacement policy_of(const PlacementImitation& imitation) { return std::cref(imitation); }

void add(PolicyOutcome& outcome, const PlacementFigures& figures, int traces) {
  const double share = 1.0 / traces;
  outcome.peaks.push_back(static_cast<double>(figures.peak));
  outcome.peak += share * outcome.peaks.back();
  outcome.peak_to_mean += share * figures.peak_to_mean;
  outcome.utilisation += share * figures.utilisation;
  outcome.fragmentation += share * figures.fragmentation;
  outcome.mean_wait += share * to_seconds(figures.mean_wait);
  outcome.rejected += share * static_cast<double>(figures.rejected);
}

}  // namespace

PlacementStudy placement_study(const PlacementQuestion& q, const std::stop_token& stop,
                               const std::function<void(double)>& progress) {
  const int whole = 4 * kLearning * q.training + kComparing * q.held_out + 2 * kRegretting;
  int done = 0;
  const auto part_done = [&](int part) {
    done += part;
    if (progress) progress(static_cast<double>(done) / whole);
  };
  const PlacementRules alone{q.traces.nodes, q.patience, false};
  PlacementRules paired = alone;
  paired.pairs = true;
  std::vector<JobTrace> training;
  for (int i = 0; i < q.training; ++i)
    training.push_back(draw_trace(q.traces, kTraining + static_cast<std::uint64_t>(i)));
  const auto learn = [&](const PlacementRules& rules, Foreknowledge knows) {
    PlacementImitation learned(training, rules, knows, stop);
    part_done(kLearning * q.training);
    return learned;
  };
  const PlacementImitation plain = learn(alone, Foreknowledge::None);
  const PlacementImitation informed = learn(alone, Foreknowledge::Durations);
  const PlacementImitation plain_pairs = learn(paired, Foreknowledge::None);
  const PlacementImitation informed_pairs = learn(paired, Foreknowledge::Durations);

  PlacementStudy study;
  study.question = q;
  study.learned_from = plain.decisions() + plain_pairs.decisions();
  for (std::size_t p = 0; p < Policies; ++p) {
    study.policies.emplace_back();
    study.policies[p].name = kNames[p];
    study.policies[p].pairs = p >= Complementary;
  }
  for (int i = 0; i < q.held_out; ++i) {
    if (stop.stop_requested()) throw Error(Error::Kind::Cancelled, "stopped", {"placement"});
    const JobTrace trace = draw_trace(q.traces, static_cast<std::uint64_t>(i));
    std::vector<PlacementSchedule> schedules(Policies);
    schedules[LeastLoaded] = place_all(trace, alone, least_loaded);
    schedules[FirstFit] = place_all(trace, alone, first_fit);
    schedules[BestFit] = place_all(trace, alone, best_fit);
    schedules[Imitation] = place_all(trace, alone, policy_of(plain));
    schedules[InformedImitation] = place_all(trace, alone, policy_of(informed));
    schedules[Complementary] = place_all(trace, paired, complementary_waves);
    schedules[PairedImitation] = place_all(trace, paired, policy_of(plain_pairs));
    schedules[InformedPairedImitation] = place_all(trace, paired, policy_of(informed_pairs));
    const Hindsight lone = searched_hindsight(
        trace, alone, {schedules[Imitation], schedules[InformedImitation]}, stop);
    schedules[HindsightAlone] = lone.schedule;
    const Hindsight both = searched_hindsight(
        trace, paired,
        {schedules[PairedImitation], schedules[InformedPairedImitation], lone.schedule}, stop);
    schedules[HindsightPaired] = both.schedule;
    study.peak_bound += static_cast<double>(lone.peak_bound) / q.held_out;
    study.paired_bound += static_cast<double>(both.peak_bound) / q.held_out;
    bool beaten = false;
    for (std::size_t p = 0; p < Policies; ++p) {
      const PlacementRules& rules = p >= Complementary ? paired : alone;
      add(study.policies[p], placement_figures(trace, rules, schedules[p]), q.held_out);
      const PlacementCost& hindsight = p >= Complementary ? both.cost : lone.cost;
      beaten = beaten || placement_cost(trace, rules, schedules[p]) < hindsight;
    }
    if (beaten) ++study.beaten;
    part_done(kComparing);
    if (i > 0) continue;
    study.example = trace;
    study.example_policy = schedules[Complementary];
    study.example_hindsight = schedules[HindsightPaired];
  }
  const double base = study.policies[LeastLoaded].peak;
  for (PolicyOutcome& outcome : study.policies)
    outcome.against_base = base > 0 ? outcome.peak / base - 1 : 0;
  for (const Compared& compared : kCompared) {
    const PolicyOutcome &a = study.policies[compared.a], &b = study.policies[compared.b];
    study.verdicts.push_back({a.name, b.name, a.peak > 0 ? b.peak / a.peak - 1 : 0,
                              outperforming({a.peaks, b.peaks, true, true})});
  }
  study.regret = decision_regret(q.traces, false, 12, 24, stop);
  part_done(kRegretting);
  study.paired_regret = decision_regret(q.traces, true, 6, 12, stop);
  part_done(kRegretting);
  return study;
}

}  // namespace trainyard
