#include "app/workspace/plans/placement_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "planners/index.h"

namespace trainyard {
namespace {

Instant end_of_job(const PlacementStudy& study, const PlacementSchedule& schedule, int job) {
  return schedule[at(job)].start + study.example.jobs[at(job)].duration;
}

// A job adds this to its node: its peak, or half of the bytes that its pair holds.
OccupancyPanel occupancy_panel(const PlacementStudy& study, std::string title,
                               const PlacementSchedule& schedule) {
  const PlacementRules rules{study.question.traces.nodes, study.question.patience, true};
  const NodeProfile profile = node_profile(study.example, rules, schedule);
  const auto jobs = static_cast<int>(schedule.size());
  OccupancyPanel panel{std::move(title), {}};
  std::map<int, std::size_t> open;  // the block of a job that still runs
  for (std::size_t i = 0; i + 1 < profile.edges.size(); ++i) {
    const Instant now = profile.edges[i], then = profile.edges[i + 1];
    const auto runs = [&](int job) {
      return schedule[at(job)].node >= 0 && schedule[at(job)].start <= now &&
             now < end_of_job(study, schedule, job);
    };
    std::vector<std::int64_t> saved(schedule.size());
    for (int j = 0; j < jobs; ++j) {
      const int partner = schedule[at(j)].partner;
      if (partner < 0 || !runs(j) || !runs(partner)) continue;
      const std::int64_t saving = study.example.saving(partner, j);
      saved[at(partner)] = saving / 2, saved[at(j)] = saving - saving / 2;
    }
    std::vector<std::int64_t> height(at(rules.nodes.count));
    for (int j = 0; j < jobs; ++j) {
      if (!runs(j)) continue;
      std::int64_t& low = height[at(schedule[at(j)].node)];
      const std::int64_t high = low + study.example.peak(j) - saved[at(j)];
      const auto found = open.find(j);
      OccupancyBlock* last = found == open.end() ? nullptr : &panel.blocks[found->second];
      if (last != nullptr && last->to == now && last->low == low && last->high == high) {
        last->to = then;
      } else {
        open[j] = panel.blocks.size();
        panel.blocks.push_back({j, schedule[at(j)].node, study.example.jobs[at(j)].kind, now, then,
                                low, high, saved[at(j)] > 0});
      }
      low = high;
    }
  }
  return panel;
}

const PolicyOutcome& outcome_of(const PlacementStudy& study, std::string_view name) {
  return *std::find_if(study.policies.begin(), study.policies.end(),
                       [&](const PolicyOutcome& one) { return one.name == name; });
}

std::string gap_sentence(const PlacementStudy& study, std::string_view learned,
                         std::string_view hindsight) {
  const double seen = outcome_of(study, hindsight).peak;
  const std::string informed = fmt::format("{}, durations known", learned);
  return fmt::format(
      "The {} has a peak {:.1f} % above {}; told when running jobs end, it is still {:.1f} % "
      "above.",
      learned, 100 * (outcome_of(study, learned).peak / seen - 1), hindsight,
      100 * (outcome_of(study, informed).peak / seen - 1));
}

std::string regret_sentence(const DecisionRegret& regret, std::string_view where) {
  return fmt::format(
      "{} pairs, the best place depends on jobs yet to come at {} of {} decisions; whoever does "
      "not know them loses at least {:.2f} % of hindsight's peak by one decision, up to {:.1f} %.",
      where, regret.with_loss, regret.decisions, 100 * regret.loss, 100 * regret.largest);
}

}  // namespace

OccupancyModel occupancy_model(const PlacementStudy& study) {
  OccupancyModel model;
  for (const JobKind& kind : study.example.kinds) model.kinds.push_back(kind.name);
  model.nodes = study.question.traces.nodes.count;
  model.capacity = study.question.traces.nodes.bytes;
  model.panels = {occupancy_panel(study, "Complementary waves", study.example_policy),
                  occupancy_panel(study, "Hindsight with pairs", study.example_hindsight)};
  for (const OccupancyPanel& panel : model.panels)
    for (const OccupancyBlock& block : panel.blocks) model.end = std::max(model.end, block.to);
  model.peaks.title = "Peak of the most loaded node, mean of all traces";
  model.peaks.unit = "GB";
  model.peaks.parts = {{"peak", Ink::MemoryActivations}};
  for (const PolicyOutcome& policy : study.policies)
    model.peaks.rows.push_back({policy.name, {policy.peak / 1e9}});
  return model;
}

DataTable placement_table(const PlacementStudy& study) {
  std::vector<std::vector<DataCell>> rows;
  std::vector<Item> items;
  for (const PolicyOutcome& policy : study.policies) {
    items.push_back({ItemKind::Dot, rows.size()});
    rows.push_back({policy.name, policy.peak / 1e9, policy.peak_to_mean, policy.utilisation,
                    seconds(policy.mean_wait).count(), policy.rejected, policy.fragmentation});
  }
  return listed_table("Policies of placement",
                      {{"policy", DataUnit::Words},
                       {"peak, GB", DataUnit::Digits},
                       {"peak to mean", DataUnit::Digits},
                       {"utilisation", DataUnit::Share},
                       {"mean wait", DataUnit::Time},
                       {"rejected jobs", DataUnit::Digits},
                       {"fragmentation", DataUnit::Share}},
                      std::move(rows), std::move(items));
}

std::string placement_bound(const PlacementStudy& study) {
  return fmt::format(
      "No schedule that starts jobs as they arrive has a mean peak below {:.1f} GB, with pairs "
      "below {:.1f} GB; hindsight is the best that search found, and was beaten on {} traces.",
      study.peak_bound / 1e9, study.paired_bound / 1e9, study.beaten);
}

std::vector<std::string> verdict_sentences(const PlacementStudy& study) {
  constexpr double kSame = 0.0005;  // of a peak, which is shown in tenths of a percent
  std::vector<std::string> found;
  for (const PolicyVerdict& one : study.verdicts)
    found.push_back(std::abs(one.change) < kSame
                        ? fmt::format("{} and {} have the same peak.", one.b, one.a)
                        : fmt::format("{} against {}, peak {:+.1f} %: {}", one.b, one.a,
                                      100 * one.change,
                                      outperforming_sentence(one.verdict, one.a, one.b)));
  return found;
}

std::vector<std::string> unlearnable_sentences(const PlacementStudy& study) {
  std::vector<std::string> sentences;
  for (const auto& [learned, hindsight] :
       {std::pair{"imitation", "hindsight"}, {"imitation with pairs", "hindsight with pairs"}})
    if (outcome_of(study, hindsight).peak > 0)
      sentences.push_back(gap_sentence(study, learned, hindsight));
  sentences.push_back(regret_sentence(study.regret, "Without"));
  sentences.push_back(regret_sentence(study.paired_regret, "With"));
  return sentences;
}

}  // namespace trainyard
