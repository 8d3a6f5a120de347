// goodput: what failures, saves and waits for spare nodes leave of a training, and how often to
// save.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "app/cli/pictures/picture_files.h"
#include "app/cli/text/clusters/goodput_text.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/workspace/scenario/closed_form.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "core/base/units_text.h"
#include "core/lowering/lower.h"
#include "visualizers/energy/energy_view.h"
#include "visualizers/reliability/goodput_view.h"

namespace trainyard {
namespace {

double seconds_word(const Words& words, const char* flag, double usual) {
  return words.has(flag) ? to_seconds(parse_duration(words.text(flag), {"--" + std::string(flag)}))
                         : usual;
}

BytesPerSecond bandwidth_word(const Words& words, const char* flag, BytesPerSecond usual) {
  return words.has(flag) ? parse_bandwidth(words.text(flag), {"--" + std::string(flag)}) : usual;
}

double work_word(const Words& words, double usual) {
  if (!words.has("tokens")) return usual;
  const std::optional<double> work = parse_budget(words.text("tokens"), 1, 1e18);
  if (!work)
    refuse_flag("tokens", fmt::format("expected a count as 15T, 300B or 1e12, found \"{}\"",
                                      words.text("tokens").substr(0, 80)));
  return *work;
}

std::string record_word(const Words& words, const std::string& usual) {
  if (!words.has("failures")) return usual;
  if (words.has("mtbf"))
    refuse_flag("failures", "expected no record beside --mtbf, which says how often the job fails");
  if (words.text("failures") == kNoFailures) return std::string(kNoFailures);
  return with_place("--failures",
                    [&] { return std::string(failure_record(words.text("failures")).name); });
}

Recovery recovery_word(const Words& words) {
  const std::string chosen =
      words.choice("recovery", {"full", "asynchronous", "peers", "partial"}, "full");
  return chosen == "full"           ? Recovery::Full
         : chosen == "asynchronous" ? Recovery::Asynchronous
         : chosen == "peers"        ? Recovery::Peers
                                    : Recovery::Partial;
}

// A flag that would change nothing is refused.
void refuse_idle(const Words& words, const char* flag, bool used, const char* expected) {
  if (words.has(flag) && !used) refuse_flag(flag, expected);
}

GoodputQuestion goodput_question(const Words& words) {
  GoodputQuestion q;
  q.work = work_word(words, q.work);
  q.record = record_word(words, q.record);
  if (words.has("mtbf")) q.mtbf = seconds_word(words, "mtbf", 0);
  q.recovery = recovery_word(words);
  if (words.has("interval")) q.interval = seconds_word(words, "interval", 0);
  q.storage = {bandwidth_word(words, "node-storage", q.storage.node),
               bandwidth_word(words, "storage", q.storage.all)};
  q.detection = seconds_word(words, "detection", q.detection);
  q.scheduling = seconds_word(words, "scheduling", q.scheduling);
  if (words.has("spares")) q.spares = words.integer("spares", 0, kMostSpares, 0);
  q.repair = seconds_word(words, "repair", q.repair);
  q.portion = words.number("lost-samples", 1e-9, 0.999, q.portion);
  q.copies = words.integer("copies", 2, kMostCopies, q.copies);
  q.weeks = words.integer("weeks", 1, kMostWeeks, q.weeks);
  q.seed = static_cast<std::uint64_t>(
      words.integer("seed", 0, 1'000'000'000, static_cast<std::int64_t>(q.seed)));
  refuse_idle(words, "lost-samples", q.recovery == Recovery::Partial,
              "expected --recovery partial beside it, which alone loses samples");
  refuse_idle(words, "lost-samples", !q.interval,
              "expected no --interval beside it, which says already how much is lost");
  refuse_idle(words, "copies", q.recovery == Recovery::Peers,
              "expected --recovery peers beside it, which keeps copies of the state");
  return q;
}

// A field of the question is a flag here.
GoodputAnswer answered(const GoodputSubject& subject, const GoodputQuestion& question) {
  try {
    return goodput(subject, question);
  } catch (const Error& error) {
    throw Error(error.kind(), error.what(), {"--" + error.place().text});
  }
}

int run_goodput(const Words& words, Streams& streams) {
  const GoodputQuestion question = goodput_question(words);
  theme_of(words);  // refused before anything is computed
  Scenario scenario = open_scenario(words, streams);
  const std::unique_ptr<CostModel> costs = open_costs(words, scenario);
  const Result result = estimate(scenario, costs.get());
  const GoodputAnswer answer = answered(goodput_subject(prepare(scenario), result), question);
  write_table_and_picture(
      goodput_table(answer), [&] { return goodput_picture(answer); }, words, streams);
  deliver(words.has("json") ? goodput_document(answer) : goodput_text(answer), words, streams);
  return answer.misfit.empty() ? kDone : kNotMet;
}

}  // namespace

Verb goodput_verb() {
  std::vector<Flag> flags = {
      {"tokens", "N", "of the training, as 15T; samples of a model without tokens (default 1T)"},
      {"failures", "RECORD",
       "whose failures: llama-3 (default), rsc-1, rsc-2, opt-175b, bloom, or none"},
      {"mtbf", "TIME", "between failures of the whole job, as 3h, instead of a record's"},
      {"recovery", "HOW",
       "full (default), asynchronous, peers (in memories of other nodes), or partial (of embedding "
       "tables)"},
      {"interval", "TIME", "useful time between saves, as 10min (default: the best)"},
      {"node-storage", "RATE", "at which a node writes and reads, as 2GB/s (default 1GB/s)"},
      {"storage", "RATE", "at which all nodes together do (default 2TB/s)"},
      {"detection", "TIME", "from a failure until it is known (default 10min)"},
      {"scheduling", "TIME", "until processes have started again (default 5min)"},
      {"spares", "N", "nodes that stand by (default: always enough)"},
      {"repair", "TIME", "of a node that was replaced (default 1d)"},
      {"lost-samples", "SHARE", "that a partial recovery may have (default 0.1)"},
      {"copies", "N", "of state with peers, its own included, 2 to 16 (default 2)"},
      {"weeks", "N", "that are drawn, 1 to 520 (default 8)"},
      {"seed", "N", "of the drawn failures (default 1)"}};
  for (const Flag& flag :
       table_and_picture_flags("overhead by interval, and what changes it, as rows",
                               "draws the overhead over the interval and the weeks there"))
    flags.push_back(flag);
  flags.push_back(calibration_flag());
  flags.push_back(cost_flag());
  flags.push_back({"json", "", "one trainyard/goodput@1 document and nothing else"});
  return {
      .name = "goodput",
      .summary =
          "A training with failures, checkpoints and spare nodes over weeks: days, money, the best "
          "interval.",
      .flags = with_scenario_flags(std::move(flags)),
      .examples = {"goodput --model llama-3-405b --cluster h100-sxm:16128 --set tp=8 --set pp=14 "
                   "--set zero=1 --set recompute=full --set seq=8192 --set global-batch=2016 "
                   "--tokens 15.6T",
                   "goodput --model llama-3-8b --cluster h100-sxm:64 --set tp=2 --set zero=1 --set "
                   "global-batch=128 --recovery asynchronous --mtbf 6h --spares 8"},
      .run = run_goodput};
}

}  // namespace trainyard
