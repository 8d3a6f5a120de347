#include "core/result/benchmark_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

#include "core/result/outperforming.h"

namespace trainyard {
namespace {

constexpr double kUnequalTrials = 2;  // times the trials of the system with fewest

class ReportCheck {
 public:
  explicit ReportCheck(const BenchmarkReport& report) : report_(report) {}

  std::vector<ReportFinding> run() {
    if (report_.systems.size() < 2)
      add(ReportFlaw::Missing, "systems",
          fmt::format("{} of the two systems that a comparison needs are there",
                      report_.systems.size()),
          "name the rival with its runs, even where it is a published one");
    for (std::size_t i = 0; i < report_.systems.size(); ++i) system(i);
    tuning_together();
    divisors();
    threshold();
    evaluation();
    axes();
    significance();
    return std::move(found_);
  }

 private:
  void add(ReportFlaw flaw, std::string place, std::string sentence, std::string fix) {
    found_.push_back({flaw, std::move(place), std::move(sentence), std::move(fix)});
  }

  void system(std::size_t i) {
    const ReportSystem& s = report_.systems[i];
    const std::string place = fmt::format("systems/{}", i);
    const auto listed = static_cast<std::int64_t>(s.runs.size());
    if (s.runs.empty())
      add(ReportFlaw::Missing, place + "/runs", fmt::format("{} has no run", s.name),
          "list every run with its seeds and its value");
    if (!s.runs_made)
      add(ReportFlaw::Missing, place + "/runs_made",
          fmt::format("how many runs of {} were made is not stated", s.name),
          "state the number, with those that failed and those that are not listed");
    else if (*s.runs_made > listed)
      add(ReportFlaw::CherryPickedRuns, place + "/runs",
          fmt::format("{} of the {} runs of {} are listed: the best of many is better than any of "
                      "them is on average",
                      listed, *s.runs_made, s.name),
          "list all of them");
    std::int64_t hidden = 0;
    for (const ReportRun& run : s.runs) hidden += run.value && !run.reported ? 1 : 0;
    if (hidden > 0)
      add(ReportFlaw::CherryPickedRuns, place + "/runs",
          fmt::format("{} of {} runs of {} do not count for the claim", hidden, listed, s.name),
          "let every run count that has a value");
    seeds(s, place);
    if (!s.tuning)
      add(ReportFlaw::Missing, place + "/tuning",
          fmt::format("how many trials the settings of {} took is not stated", s.name),
          "state the trials and their device time, 0 where there were none");
    else
      tuning(s, place);
  }

  void tuning(const ReportSystem& s, const std::string& place) {
    if (s.tuning->trials > 0 && !s.tuning->device_seconds)
      add(ReportFlaw::Missing, place + "/tuning/device_seconds",
          fmt::format("what the {} trials of {} cost is not stated", s.tuning->trials, s.name),
          "state their device seconds: who tunes more pays more");
    if (s.tuning->on_evaluation_samples)
      add(ReportFlaw::TunedOnTheTest, place + "/tuning",
          fmt::format(
              "{} trials of {} were chosen by the samples on which the claim rests, so that "
              "its value is no longer that of samples it has not seen",
              s.tuning->trials, s.name),
          "choose by other samples than those of the claim");
  }

  /// Seeds that are no range, or are others than the rival's, may be the best of more.
  void seeds(const ReportSystem& s, const std::string& place) {
    std::map<std::string, std::vector<std::int64_t>> by_key;
    for (const ReportRun& run : s.runs) {
      if (run.seeds.empty()) {
        add(ReportFlaw::Missing, place + "/runs", fmt::format("a run of {} states no seed", s.name),
            "state every seed of every run");
        return;
      }
      for (const std::string& word : run.seeds) {
        const std::size_t equals = word.find('=');
        std::int64_t value = 0;
        const char* const end = word.data() + word.size();
        if (equals != std::string::npos &&
            std::from_chars(word.data() + equals + 1, end, value).ptr == end)
          by_key[word.substr(0, equals)].push_back(value);
      }
    }
    for (auto& [key, values] : by_key) {
      std::sort(values.begin(), values.end());
      values.erase(std::unique(values.begin(), values.end()), values.end());
      if (values.back() - values.front() + 1 == static_cast<std::int64_t>(values.size())) continue;
      add(ReportFlaw::CherryPickedSeeds, place + "/runs",
          fmt::format("the values of {} in {} are {}, with gaps: runs between them may have been "
                      "left out",
                      key, s.name, fmt::join(values, ", ")),
          "use seeds that follow each other, or those that the plan's digest gives");
    }
    if (&s == &report_.systems.front()) return;
    const auto all_seeds = [](const ReportSystem& of) {
      std::vector<std::vector<std::string>> all;
      for (const ReportRun& run : of.runs) all.push_back(run.seeds);
      std::sort(all.begin(), all.end());
      return all;
    };
    if (all_seeds(s) != all_seeds(report_.systems.front()))
      add(ReportFlaw::CherryPickedSeeds, place + "/runs",
          fmt::format("{} ran with other seeds than {}", s.name, report_.systems.front().name),
          "give both the same seeds, so that their runs are pairs");
  }

  void tuning_together() {
    std::int64_t fewest = INT64_MAX, most = 0;
    for (const ReportSystem& s : report_.systems) {
      if (!s.tuning) return;
      fewest = std::min(fewest, s.tuning->trials), most = std::max(most, s.tuning->trials);
    }
    if (report_.systems.size() < 2 ||
        static_cast<double>(most) <=
            kUnequalTrials * static_cast<double>(std::max<std::int64_t>(1, fewest)))
      return;
    add(ReportFlaw::UnequalTuning, "systems",
        fmt::format("one system was tuned with {} trials and another with {}", most, fewest),
        "give every system the same trials, or show the metric over their number");
  }

  void divisors() {
    for (std::size_t i = 0; i < report_.systems.size(); ++i) {
      const ReportSystem& s = report_.systems[i];
      if (i > 0 && s.divided_by != report_.systems.front().divided_by)
        add(ReportFlaw::WinningMetric, fmt::format("systems/{}/divided_by", i),
            fmt::format("{} is divided by {} and {} by {}", s.name, per(s),
                        report_.systems.front().name, per(report_.systems.front())),
            "divide all by the same, and show the plain metric too");
      else if (i == 0 && !s.divided_by.empty())
        add(ReportFlaw::WinningMetric, "systems/0/divided_by",
            fmt::format("the metric is shown per {} and not as it is", s.divided_by),
            "show the plain metric beside it");
    }
  }

  static std::string per(const ReportSystem& s) {
    return s.divided_by.empty() ? "nothing" : s.divided_by;
  }

  bool reaches(double value) const {
    return report_.less_is_better ? value <= *report_.target : value >= *report_.target;
  }

  void threshold() {
    if (!report_.target || report_.systems.size() < 2) return;
    std::size_t reach = 0;
    bool curves = true;
    for (const ReportSystem& s : report_.systems) {
      reach += std::any_of(s.runs.begin(), s.runs.end(),
                           [&](const ReportRun& run) { return run.value && reaches(*run.value); });
      curves = curves && s.curve.size() >= 3;
    }
    if (reach == 0 || reach == report_.systems.size() || curves) return;
    add(ReportFlaw::RivalsThreshold, "target",
        fmt::format("{} of {} systems reach {}, and nothing shows by how little the others miss it",
                    reach, report_.systems.size(), *report_.target),
        "show the whole curve of each system: at least three points of curve");
  }

  void evaluation() {
    if (!report_.evaluation) {
      add(ReportFlaw::Missing, "evaluation", "when runs were evaluated is not stated",
          "state every how many updates, on how many samples, and whether that was fixed before");
      return;
    }
    const ReportEvaluation& e = *report_.evaluation;
    if (!e.stated_before)
      add(ReportFlaw::FirstPass, "evaluation/stated_before",
          "the schedule of evaluations was not fixed before the first run",
          "write it into the plan, as evaluation=on with evaluation.every");
    if (report_.target && e.every > 0 && e.passes < 2)
      add(ReportFlaw::FirstPass, "evaluation/passes",
          fmt::format("a run counts from the first of its evaluations, every {} updates, that "
                      "reaches {}: with enough of them one does by chance",
                      e.every, *report_.target),
          "ask for two in a row");
  }

  void axes() {
    if (!report_.axes) {
      add(ReportFlaw::Missing, "axes", "the axes of its pictures are not stated",
          "state the scale of each, an empty list where there is no picture");
      return;
    }
    for (std::size_t i = 0; i < report_.axes->size(); ++i) {
      const ReportAxis& axis = (*report_.axes)[i];
      if (axis.scale != "logarithmic" || axis.ideal) continue;
      add(ReportFlaw::LogarithmicAxis, fmt::format("axes/{}", i),
          fmt::format("{} over {} is drawn on a logarithmic axis, on which a factor of two looks "
                      "small",
                      axis.figure, axis.name),
          "draw it on a linear axis, or the line of an ideal system beside it");
    }
  }

  /// The values that count, in the order of the seeds.
  static std::vector<double> values_of(const ReportSystem& s) {
    std::vector<const ReportRun*> runs;
    for (const ReportRun& run : s.runs)
      if (run.value && run.reported) runs.push_back(&run);
    std::stable_sort(runs.begin(), runs.end(),
                     [](const ReportRun* a, const ReportRun* b) { return a->seeds < b->seeds; });
    std::vector<double> values;
    for (const ReportRun* run : runs) values.push_back(*run->value);
    return values;
  }

  void significance() {
    const auto best = std::find_if(report_.systems.begin(), report_.systems.end(),
                                   [&](const ReportSystem& s) { return s.name == report_.better; });
    if (report_.better.empty()) return;
    if (best == report_.systems.end()) {
      add(ReportFlaw::Missing, "better",
          fmt::format("\"{}\" is said to be better, and no system is called so", report_.better),
          "name one of the systems");
      return;
    }
    for (const ReportSystem& rival : report_.systems) {
      if (&rival == &*best) continue;
      OutperformingScores scores{values_of(rival), values_of(*best), report_.less_is_better, false};
      if (scores.a.empty() || scores.b.empty()) continue;
      std::vector<std::vector<std::string>> mine, theirs;
      for (const ReportRun& run : rival.runs) mine.push_back(run.seeds);
      for (const ReportRun& run : best->runs) theirs.push_back(run.seeds);
      std::sort(mine.begin(), mine.end()), std::sort(theirs.begin(), theirs.end());
      scores.paired = mine == theirs && scores.a.size() == scores.b.size();
      const Outperforming verdict = outperforming(scores);
      const bool stands = verdict.b_leads() && (verdict.outcome == RunsVerdict::Better ||
                                                verdict.outcome == RunsVerdict::NotMeaningful);
      if (stands) continue;
      std::string judged = outperforming_sentence(verdict, rival.name, best->name);
      judged.pop_back();  // its full stop, behind which the fix follows
      add(ReportFlaw::NotSignificant, "claim", "its runs do not bear it out. " + judged,
          "make the runs that are needed, or claim less");
    }
  }

  const BenchmarkReport& report_;
  std::vector<ReportFinding> found_;
};

}  // namespace

std::string_view to_string(ReportFlaw flaw) {
  constexpr std::string_view kNames[] = {
      "missing",          "cherry-picked-runs", "cherry-picked-seeds", "winning-metric",
      "tuned-on-test",    "unequal-tuning",     "first-pass",          "rivals-threshold",
      "logarithmic-axis", "not-significant"};
  return kNames[static_cast<std::size_t>(flaw)];
}

std::vector<ReportFinding> check_report(const BenchmarkReport& report) {
  return ReportCheck(report).run();
}

}  // namespace trainyard
