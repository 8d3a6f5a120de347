#include "app/cli/text/runs/repeats_text.h"

#include "app/cli/text/lines.h"
#include "app/workspace/comparison/judged_runs.h"
#include "app/workspace/runs/repeats.h"
#include "core/io/json/fields.h"

namespace trainyard {
namespace {

std::string seed_words(const RunScore& score, const std::vector<RandomSource>& varied) {
  std::string text;
  for (const RandomSource source : varied)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(source),
                        score.seeds[static_cast<std::size_t>(source)].value_or(score.seed));
  return text;
}

/// One figure over all repeats. Judged against themselves, runs have the figures that all have.
struct RepeatedFigure {
  JudgedFigure figure;
  ScoreSummary summary;
};

std::vector<RepeatedFigure> figures_of(const RunRepeats& repeats) {
  std::vector<RepeatedFigure> all;
  for (JudgedFigure& figure : judge(repeats.scores, repeats.scores)) {
    const ScoreSummary summary = summarise(figure.scores.a);
    all.push_back({std::move(figure), summary});
  }
  return all;
}

Fields<RunScore> score_fields(const std::vector<RandomSource>& varied) {
  return {{"run", [](const RunScore& s) { return s.id; }, kWhereSet, "its number in the run list"},
          {"seed", &RunScore::seed},
          {"seeds", [varied](const RunScore& s) { return seed_words(s, varied); },
           "of the varied sources, as order 1, weights 1"},
          {"accuracy", &RunScore::accuracy},
          {"evaluation_loss", &RunScore::evaluation_loss},
          {"mean_return", &RunScore::mean_return},
          {"loss", &RunScore::loss, "over the last tenth of the steps"},
          {"step_seconds", &RunScore::step}};
}

Fields<RepeatedFigure> figure_fields() {
  const auto of = [](auto member) { return in(&RepeatedFigure::summary, member); };
  return {{"name", in(&RepeatedFigure::figure, &JudgedFigure::key)},
          {"unit", in(&RepeatedFigure::figure, &JudgedFigure::unit), kWhereSet},
          {"mean", of(&ScoreSummary::mean)},
          {"deviation", of(&ScoreSummary::deviation), "standard deviation of one run"},
          {"lowest", of(&ScoreSummary::lowest)},
          {"highest", of(&ScoreSummary::highest)}};
}

Fields<RunRepeats> repeats_fields(const std::vector<RandomSource>& varied) {
  const auto sources = [](const RunRepeats& r) {
    std::vector<std::string> names;
    for (const RandomSource source : r.varied) names.emplace_back(to_string(source));
    return names;
  };
  return document_fields<RunRepeats>(
      "trainyard/repeats", {{"model", &RunRepeats::model},
                            {"cluster", &RunRepeats::cluster},
                            {"varied", sources, list_of(text()), "what was drawn anew in each"},
                            {"tag", &RunRepeats::tag, kWhereSet, "of all of them in the run list"},
                            {"stopped", &RunRepeats::stopped},
                            {"runs", &RunRepeats::scores, list_of(object(score_fields(varied)))},
                            {"figures", figures_of, list_of(object(figure_fields()))}});
}

}  // namespace

std::string repeats_text(const RunRepeats& repeats) {
  Out out;
  std::string varied;
  for (const RandomSource source : repeats.varied)
    varied += (varied.empty() ? "" : ", ") + std::string(random_source_words(source));
  line(out, "{} on {}, {} runs{}; between them differ: {}\n", repeats.model, repeats.cluster,
       repeats.scores.size(), repeats.stopped ? ", stopped before all were done" : "", varied);
  const std::vector<RepeatedFigure> figures = figures_of(repeats);
  std::string heads = fmt::format("{:>6}", "run");
  for (const RepeatedFigure& f : figures) heads += fmt::format("  {:>21}", f.figure.title);
  line(out, "{}  seeds", heads);
  // Judging orders runs by their seeds, which is the order in which they were made.
  for (std::size_t i = 0; i < repeats.scores.size(); ++i) {
    const RunScore& score = repeats.scores[i];
    std::string row = fmt::format("{:>6}", score.id > 0 ? std::to_string(score.id) : "-");
    for (const RepeatedFigure& f : figures)
      row += fmt::format("  {:>21}", judged_text(f.figure, f.figure.scores.a[i]));
    line(out, "{}  {}", row, seed_words(score, repeats.varied));
  }
  line(out, "");
  for (const RepeatedFigure& f : figures)
    line(out, "{:<22} {} mean, {} standard deviation, {} to {}", f.figure.title,
         judged_text(f.figure, f.summary.mean), judged_text(f.figure, f.summary.deviation),
         judged_text(f.figure, f.summary.lowest), judged_text(f.figure, f.summary.highest));
  if (!repeats.tag.empty())
    line(out,
         "\nAnother plan repeated alike gives pairs: trainyard compare runs:tag:{} runs:tag:OTHER",
         repeats.tag);
  return out;
}

std::string repeats_document(const RunRepeats& repeats) {
  return write_json(repeats_fields(repeats.varied).write(repeats));
}

Json repeats_schema() { return repeats_fields({}).schema(); }

}  // namespace trainyard
