// plan: finds the best plans for a model on a cluster, the Pareto front of time, memory and money,
// and why every other plan lost.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <ostream>

#include "app/cli/interrupt.h"
#include "app/cli/pictures/plan_picture.h"
#include "app/cli/status_line.h"
#include "app/cli/text/plans/bound_words.h"
#include "app/cli/text/plans/plan_text.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/text/plans/search_words.h"
#include "app/cli/together.h"
#include "backends/launch.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/io/bytes/file_writer.h"
#include "core/io/documents/plan_json.h"
#include "core/methods/settings/settings.h"

namespace trainyard {
namespace {

[[noreturn]] void refuse_plan_flag(std::string_view flag, const std::string& message) {
  throw Error(Error::Kind::InvalidInput, message, {"--" + std::string(flag)});
}

class SearchLine {
 public:
  SearchLine(const Words& words, Streams& streams) : line_(words, streams) {}

  void update(const SearchProgress& now) {
    if (line_.is_due()) line_.show(progress_text(now));
  }

 private:
  StatusLine line_;
};

PlanQuestion question_of(const Words& words) {
  PlanQuestion question;
  question.request = {words.text("model"), words.text("cluster"), words.text("plan"),
                      words.texts("set")};
  for (const char* flag : {"global-batch", "seq"})
    if (words.has(flag)) {
      Plan scratch;  // the range is that of the setting, the place that of the flag
      find_setting(flag)->apply(scratch, words.text(flag), {fmt::format("--{}", flag)});
      const std::vector<std::string> keys = setting_keys(question.request.settings);
      if (std::find(keys.begin(), keys.end(), flag) != keys.end())
        refuse_plan_flag(flag,
                         fmt::format("expected either this or --set {}=..., found both", flag));
      question.request.settings.push_back(fmt::format("{}={}", flag, words.text(flag)));
    }
  question.bounds = bounds_of(words);
  question.calibration = prices_word(words);
  return question;
}

SearchOptions options_of(const Words& words, const Clock& clock) {
  SearchOptions options = search_options(words);
  options.top = static_cast<std::size_t>(words.integer("top", 1, 10'000, kListed));
  options.clock = &clock;
  return options;
}

// As many threads as oneTBB would use: the cores that this process may use.
int threads_of(const SearchOptions& options) {
  cpu_set_t cores;
  if (options.threads > 0 || sched_getaffinity(0, sizeof cores, &cores) != 0)
    return std::max(1, options.threads);
  return CPU_COUNT(&cores);
}

void fill(PlanAnswer& answer, PlanPrices& prices, const Words& words) {
  for (const Candidate& c : answer.found.best)
    answer.best.push_back(prices.result(answer.space, c));
  for (const Candidate& c : answer.found.front)
    answer.front.push_back(prices.estimated(answer.space.scenario(c.id)));
  answer.fates = fate_samples(answer.space, answer.found, answer.options);
  if (answer.found.best.empty()) answer.none = no_plan(answer.space, answer.found, answer.options);
  const std::int64_t starts = words.integer("refine", 0, 1000, 8);
  if (!words.has("why") && starts > 0 && !answer.found.stopped && !answer.found.best.empty() &&
      answer.options.objective == PlanObjective::Time)
    answer.refined =
        refine(answer.space, answer.found, answer.options, static_cast<std::size_t>(starts));
  if (words.has("why"))
    answer.why = why_plan(answer.space, answer.found, answer.options, prices,
                          plan_words_of(words.text("why")));
}

void write_refined(const PlanAnswer& answer, const Words& words, Streams& streams) {
  const auto most = static_cast<std::int64_t>(answer.refined.size());
  if (most == 0)
    refuse_plan_flag("refined", "nothing beyond the grid is quicker than the best of it");
  const std::int64_t which = words.integer("refined", 1, most, 1);
  const RefinedPlan& chosen = answer.refined[static_cast<std::size_t>(which - 1)];
  Scenario s = answer.space.scenario(chosen.from);
  s.plan = chosen.plan;
  write_file(words.text("out"), plan_document(complete(s)));
  if (!words.has("quiet"))
    streams.err << "wrote refined plan " << which << " to " << words.text("out") << "\n";
}

void write_files(const PlanAnswer& answer, const Words& words, Streams& streams) {
  if (words.has("all")) write_file(words.text("all"), plans_csv(answer.space, answer.found));
  if (!words.has("out") || answer.found.best.empty()) return;
  if (words.has("refined")) return write_refined(answer, words, streams);
  const std::vector<Candidate>& best = answer.found.best;
  const auto rank =
      static_cast<std::size_t>(words.integer("rank", 1, static_cast<std::int64_t>(best.size()), 1));
  const Candidate& chosen = best[rank - 1];
  write_file(words.text("out"), chosen_plan(answer.space, chosen.id));
  if (words.has("quiet")) return;
  streams.err << "wrote #" << rank << " to " << words.text("out");
  if (chosen.devices != answer.space.base().cluster.count)
    streams.err << ", a plan for " << chosen.devices << " devices";
  streams.err << "\n";
}

int exit_of(const PlanAnswer& answer, const Words& words, Streams& streams) {
  if (answer.found.best.empty()) return answer.found.stopped ? kFailed : kNotMet;
  const std::optional<Evidence>& evidence = answer.best.front().evidence;
  if (words.has("strict") && (!evidence || evidence->outside)) {
    streams.err << (evidence ? evidence->sentence : "nothing was held against rows") << "\n";
    return kOutside;
  }
  return kDone;
}

// A prepared search; errors in its words have been reported already.
struct Study {
  SteadyClock clock;
  Instant begun = clock.now();
  PlanQuestion question;
  SearchOptions options;
  PlanSpace space;
  PlanPrices prices;

  explicit Study(const Words& words)
      : question(question_of(words)),
        options(options_of(words, clock)),
        space(open_space(question)),
        prices(prices_word(words)) {
    for (const char* flag : {"rank", "refined"})
      if (words.has(flag) && !words.has("out"))
        refuse_plan_flag(flag, "expected --out FILE beside it, which says where the plan goes");
    if (words.has("why")) expect_words(space, plan_words_of(words.text("why")));
    expect_searchable(space, options);
  }
};

SearchResult searched(Study& study, const Words& words, Streams& streams) {
  SearchLine progress(words, streams);
  study.options.progress = [&](const SearchProgress& now) { progress.update(now); };
  study.prices.equip(study.options);
  SearchResult found = search_question(study.question, study.space, study.options);
  study.options.progress = {};
  return found;
}

int print_answer(Study& study, const SearchResult& found, const Words& words, Streams& streams) {
  PlanAnswer answer{.space = study.space,
                    .found = found,
                    .options = study.options,
                    .threads = threads_of(study.options),
                    .ranks = study.options.ranks != nullptr ? study.options.ranks->count() : 1,
                    .seconds = 0,
                    .best = {},
                    .front = {},
                    .fates = {},
                    .refined = {},
                    .none = {},
                    .why = {}};
  fill(answer, study.prices, words);
  answer.seconds = to_seconds(study.clock.now() - study.begun);
  write_files(answer, words, streams);
  write_search_pictures(answer, words, streams);
  streams.out << (words.has("json")  ? search_document(answer)
                  : words.has("why") ? why_text(answer)
                                     : search_text(answer));
  return exit_of(answer, words, streams);
}

// Everything that determines a search.
std::string question_text(const Study& study) {
  const Scenario& base = study.space.base();
  const SearchOptions& o = study.options;
  std::string text = fmt::format("{} of {} layers\n{}\n{} {} {} {}\n{}", base.model.name,
                                 layer_count(base.model), base.cluster.name, to_string(o.objective),
                                 o.top, o.simulate, o.spare.value, plan_document(base.plan));
  for (const Knob& knob : study.space.knobs())
    text += fmt::format("{}={}\n", knob.key, fmt::join(knob.values, ","));
  return text;
}

int search_together(Processes& ranks, const Words& words, Streams& streams) {
  std::unique_ptr<Study> study;
  begin_together(ranks, [&] { study = std::make_unique<Study>(words); });
  expect_one_question(ranks, question_text(*study), "plan", "search");
  study->options.ranks = &ranks;
  SearchResult found;
  work_together(ranks, streams, [&] { found = searched(*study, words, streams); });
  // Only the first rank prints.
  return ranks.rank() == 0 ? print_answer(*study, found, words, streams) : kDone;
}

int run_plan(const Words& words, Streams& streams) {
  // Ctrl-C reaches all ranks through their launcher and ends them.
  if (const std::unique_ptr<Processes> ranks = join_processes())
    return search_together(*ranks, words, streams);
  Study study(words);
  const InterruptStop interrupt;
  study.options.stop = interrupt.token();
  const SearchResult found = searched(study, words, streams);
  return print_answer(study, found, words, streams);
}

}  // namespace

Verb plan_verb() {
  std::vector<Flag> flags = {
      {"model", "M",
       "a name of \"trainyard models\", a config.json or its folder, a trainyard/model file, "
       "or published:ID"},
      {"cluster", "C",
       "device:count with options, as h100-sxm:64, a trainyard/cluster file, or published:ID"},
      {"global-batch", "N", "samples of one step: every plan has this"},
      {"seq", "N", "tokens of a sample (default: the model's own)"},
      {"top", "K", "plans of the list (default 10)"},
      {"set", "KEY=VALUE", "fixes a knob, as tp=8, or any other field of every plan", true},
      {"bound", "KEY=VALUES", "what a knob may be: 8, 1..8, 1,2,4 or any", true},
      {"plan", "P", "a trainyard/plan file that gives what no knob changes"},
      {"refine", "N",
       "so many plans beyond the grid: layers recomputed just as far as memory asks, layers "
       "split by cost, waves of one device with --bound schedule=...,tick-tock (default 8)"},
      {"why", "WORDS", "explains one plan instead, as \"tp=8,pp=2\": the best with these words"},
      {"all", "FILE", "writes every plan tried with its figures and fate, as CSV"},
      {"out", "FILE", "writes the winner as a trainyard/plan file"},
      {"rank", "N", "writes this one of the list instead"},
      {"refined", "N", "writes this one of those beyond the grid instead"},
      {"svg", "FILE", "draws every plan there: memory, step time, the front, what does not fit"},
      {"png", "FILE", "the same as pixels, two a logical one"},
      calibration_flag(),
      cost_flag(),
      {"json", "", "one trainyard/search@1 document and nothing else"},
      {"strict", "", "exit 4 when the winner lies outside the range of measured runs"},
      {"quiet", "", "no progress and no diagnostics"}};
  const std::vector<Flag> shared = search_flags();
  flags.insert(flags.begin() + 4, shared.begin(), shared.end());
  return {
      .name = "plan",
      .summary = "Searches for the best plans, and says why every other one lost.",
      .flags = std::move(flags),
      .examples =
          {"plan --model llama-3-8b --cluster h100-sxm:8 --global-batch 64 --bound "
           "schedule=1f1b,zb-v --bound micro-batch=1..4",
           "plan --model llama-3-8b --cluster h100-sxm:16 --global-batch 64 --set schedule=1f1b "
           "--bound zero=0,1 --bound micro-batch=1,2 --why \"tp=8,pp=2\"",
           "plan --model gpt2 --cluster h100-sxm:8 --global-batch 64 --set pp=1 --bound "
           "devices=1..8 --objective money --top 3 --json"},
      .splits = true,
      .run = run_plan};
}

}  // namespace trainyard
