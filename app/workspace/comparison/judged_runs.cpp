#include "app/workspace/comparison/judged_runs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace trainyard {
namespace {

struct RunFigure {
  const char *key, *title, *unit;
  std::optional<double> RunScore::* value;
  bool less_is_better;
};
constexpr RunFigure kFigures[] = {
    {"accuracy", "Accuracy", "share", &RunScore::accuracy, false},
    {"mean_return", "Mean return", "", &RunScore::mean_return, false},
    {"evaluation_loss", "Loss on other samples", "", &RunScore::evaluation_loss, true},
    {"loss", "Loss at the end", "", &RunScore::loss, true},
    {"step", "Step time", "s", &RunScore::step, true},
};

using Seeds = std::pair<std::uint64_t, RandomSeeds>;

/// Runs by their seeds; nothing where two runs of a side have the same.
std::optional<std::map<Seeds, const RunScore*>> by_seeds(const std::vector<RunScore>& runs) {
  std::map<Seeds, const RunScore*> found;
  for (const RunScore& run : runs)
    if (!found.emplace(Seeds{run.seed, run.seeds}, &run).second) return std::nullopt;
  return found;
}

}  // namespace

bool came_apart(const std::vector<RunScore>& a, const std::vector<RunScore>& b) {
  if (a.empty() || b.empty()) return false;
  const auto earlier = [](const RunScore& x, const RunScore& y) { return x.started < y.started; };
  const auto [a_first, a_last] = std::minmax_element(a.begin(), a.end(), earlier);
  const auto [b_first, b_last] = std::minmax_element(b.begin(), b.end(), earlier);
  return a_last->started < b_first->started || b_last->started < a_first->started;
}

std::optional<double> figure_of(const RunScore& run, std::string_view key) {
  for (const RunFigure& figure : kFigures)
    if (figure.key == key) return run.*figure.value;
  return std::nullopt;
}

std::vector<JudgedFigure> judge(const std::vector<RunScore>& a, const std::vector<RunScore>& b) {
  std::vector<const RunScore*> mine, theirs;
  for (const RunScore& run : a) mine.push_back(&run);
  for (const RunScore& run : b) theirs.push_back(&run);
  const auto a_seeds = by_seeds(a), b_seeds = by_seeds(b);
  const bool paired = a_seeds && b_seeds && a.size() == b.size() &&
                      std::all_of(a_seeds->begin(), a_seeds->end(), [&](const auto& entry) {
                        return b_seeds->contains(entry.first);
                      });
  if (paired) {
    mine.clear(), theirs.clear();
    for (const auto& [seeds, run] : *a_seeds)
      mine.push_back(run), theirs.push_back(b_seeds->at(seeds));
  }
  std::vector<JudgedFigure> judged;
  for (const RunFigure& figure : kFigures) {
    const auto has = [&](const RunScore* run) {
      return (run->*figure.value).has_value() && std::isfinite(*(run->*figure.value));
    };
    if (a.empty() || b.empty() || !std::all_of(mine.begin(), mine.end(), has) ||
        !std::all_of(theirs.begin(), theirs.end(), has))
      continue;
    const bool evaluated = !judged.empty();
    if (evaluated && figure.value == &RunScore::loss) continue;
    JudgedFigure& one =
        judged.emplace_back(JudgedFigure{figure.key, figure.title, figure.unit, {}, {}});
    for (const RunScore* run : mine) one.scores.a.push_back(*(run->*figure.value));
    for (const RunScore* run : theirs) one.scores.b.push_back(*(run->*figure.value));
    one.scores.less_is_better = figure.less_is_better, one.scores.paired = paired;
    one.verdict = outperforming(one.scores);
  }
  return judged;
}

}  // namespace trainyard
