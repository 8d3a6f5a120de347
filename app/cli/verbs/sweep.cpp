// sweep: one table over models, clusters, prices and settings; each row is a best plan, or the
// reason why there is none.
#include <fmt/format.h>

#include <ostream>
#include <string>

#include "app/cli/interrupt.h"
#include "app/cli/pictures/picture_files.h"
#include "app/cli/status_line.h"
#include "app/cli/text/plans/bound_words.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/text/plans/search_words.h"
#include "app/cli/text/plans/sweep_text.h"
#include "app/workspace/plans/sweep_document.h"
#include "app/workspace/plans/sweep_study.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "visualizers/sweep/sweep_view.h"

namespace trainyard {
namespace {

SweepFigure sweep_figure(const Words& words) {
  std::vector<std::string_view> names;
  for (const SweepFigure figure : kSweepFigures) names.push_back(to_string(figure));
  const std::string word = words.choice("by", names, "step");
  for (const SweepFigure figure : kSweepFigures)
    if (to_string(figure) == word) return figure;
  return SweepFigure::Step;
}

SweepQuestion sweep_question(const Words& words) {
  SweepQuestion question{.models = words.texts("model"), .clusters = words.texts("cluster")};
  for (const std::string& text : words.texts("price"))
    question.prices.push_back(parse_sweep_price(text));
  for (const std::string& text : words.texts("vary"))
    question.vary.push_back(parse_sweep_axis(text));
  question.plan = words.text("plan");
  question.settings = words.texts("set");
  question.as_given = words.has("as-given");
  if (question.as_given)
    for (const char* flag : {"objective", "bound", "spare", "simulate"})
      if (words.has(flag))
        refuse_flag(flag, "expected no --as-given beside it: a plan as given is not searched");
  question.bounds = bounds_of(words);
  question.calibration = prices_word(words);
  question.options = search_options(words);
  return question;
}

std::string sweep_progress(const SweepStudy& study, const SearchProgress* search) {
  const std::string words = combination_words(study, study.rows.size());
  return fmt::format("{} of {}  {}{}{}", study.rows.size() + 1, combinations(study.axes), words,
                     words.empty() ? "" : "  ", search == nullptr ? "" : progress_text(*search));
}

int run_sweep(const Words& words, Streams& streams) {
  SweepQuestion question = sweep_question(words);
  const SweepFigure by = sweep_figure(words);
  theme_of(words);
  const InterruptStop interrupt;
  question.options.stop = interrupt.token();
  SweepStudy study;
  {
    StatusLine status(words, streams);
    question.progress = [&](const SweepStudy& now, const SearchProgress* search) {
      if (search == nullptr ? status.is_shown() : status.is_due())
        status.show(sweep_progress(now, search));
    };
    study = sweep(question);
  }
  if (!words.has("quiet"))
    for (const std::string& sentence : study.assumed)
      streams.err << "note: --model " << sentence << "\n";
  deliver(words.has("json") ? sweep_document(study) : sweep_text(study, by), words, streams);
  write_table_and_picture(
      sweep_table(study), [&] { return sweep_picture(study, by); }, words, streams);
  return best_row(study, SweepFigure::Step) ? kDone : kNotMet;
}

}  // namespace

Verb sweep_verb() {
  std::vector<Flag> flags = {
      {"model", "M",
       "a name of \"trainyard models\", a preset, a config.json or its folder, a trainyard/model "
       "file, or published:ID",
       true},
      {"cluster", "C",
       "device:count with options, as h100-sxm:64, a trainyard/cluster file, or published:ID",
       true},
      {"price", "X",
       "US dollars of a device-hour, in place of the cluster's own (default: the range that is "
       "known of the device)",
       true},
      {"vary", "KEY=V,V,...",
       "a setting with the values that it takes in turn, as seq=4096,8192; others may go with a "
       "value, as \"seq=4096 global-batch=64,8192 global-batch=32\"",
       true},
      {"plan", "P", "a trainyard/plan file that gives what no knob changes"},
      {"set", "KEY=VALUE", "fixes a knob, as tp=8, or any other field of every plan", true},
      {"bound", "KEY=VALUES", "what a knob may be: 8, 1..8, 1,2,4 or any", true},
      {"as-given", "", "simulates the plan that --plan and --set state instead of searching one"}};
  for (const Flag& flag : search_flags()) flags.push_back(flag);
  flags.push_back({"by", "FIGURE",
                   "of the best row and the picture: step (default), throughput, cost, mfu or "
                   "peak"});
  for (const Flag& flag : table_and_picture_flags(
           "every combination as a row",
           "draws the figure there: bars over the values of one axis, or a heat map over the two "
           "longest axes for each combination of the others"))
    flags.push_back(flag);
  flags.push_back(calibration_flag());
  flags.push_back(cost_flag());
  flags.push_back({"json", "", "one trainyard/sweep@1 document and nothing else"});
  flags.push_back({"out", "FILE", "writes there instead of standard output"});
  flags.push_back({"quiet", "", "no progress and no diagnostics"});
  return {
      .name = "sweep",
      .summary = "One table over models, clusters, prices and settings: the best plan of each.",
      .flags = std::move(flags),
      .examples = {"sweep --model gpt2 --model llama-3-8b --cluster h100-sxm:8 --cluster "
                   "a100-sxm-80:8 --set global-batch=64 --set schedule=1f1b",
                   "sweep --model llama-3-8b --cluster h100-sxm:8 --price 2 --price 3.5 --vary "
                   "seq=4096,8192 --set global-batch=64 --set tp=8 --as-given --by cost --json"},
      .run = run_sweep};
}

}  // namespace trainyard
