// profile: where the time of a training on this machine goes, with what recording takes taken out.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "app/cli/interrupt.h"
#include "app/cli/pictures/picture_files.h"
#include "app/cli/status_line.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/text/runs/profile_text.h"
#include "app/workspace/runs/profile_study.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/exporters/nested_trace.h"
#include "core/io/bytes/file_writer.h"
#include "core/methods/settings/settings.h"
#include "visualizers/profile/profile_view.h"

namespace trainyard {
namespace {

constexpr std::int64_t kUsualUpdates = 20, kUsualLearning = 30;

ProfileQuestion learner_question(const Words& words) {
  words.choice("learner", {"cart-pole"}, "");
  for (const char* flag : {"model", "cluster", "plan", "data"})
    if (words.has(flag))
      refuse_flag(flag,
                  "expected none beside --learner, which has a model, data and a plan of its own");
  ProfileQuestion question = cart_pole_question(kUsualLearning);
  for (const std::string& assignment : words.texts("set"))
    apply_setting(question.scenario.plan, assignment);
  return question;
}

ProfileQuestion profile_question(const Words& words, Streams& streams) {
  if (words.has("learner")) return learner_question(words);
  Words scenario = words;
  if (!words.has("cluster")) scenario.add("cluster", "cpu:1");
  ProfileQuestion question;
  question.scenario = open_scenario(scenario, streams);
  question.data = words.text("data");
  question.training.steps = kUsualUpdates;
  return question;
}

Duration window_of(const Words& words, Duration usual) {
  if (!words.has("window")) return usual;
  const Duration window = parse_duration(words.text("window"), {"--window"});
  if (window <= Duration{})
    refuse_flag("window", "expected a time above 0, found \"" + words.text("window") + "\"");
  return window;
}

int run_profile(const Words& words, Streams& streams) {
  ProfileQuestion q = profile_question(words, streams);
  for (const std::string& assignment : words.texts("train")) apply_training(q.training, assignment);
  q.training.steps = words.integer("steps", 1, 1'000'000, q.training.steps);
  q.training.seed = static_cast<std::uint64_t>(
      words.integer("seed", 0, INT64_MAX, static_cast<std::int64_t>(q.training.seed)));
  throw_if_errors(check(q.training));
  q.rounds = static_cast<int>(words.integer("rounds", 1, 1000, q.rounds));
  q.window = window_of(words, q.window);
  if (words.has("kinds")) q.levels = q.calibrated = span_levels(words.text("kinds"), "--kinds");
  if (words.has("calibrate")) q.calibrated = span_levels(words.text("calibrate"), "--calibrate");
  const InterruptStop interrupt;
  q.stop = interrupt.token();
  StatusLine status(words, streams);
  q.progress = [&](double share) {
    if (status.is_due()) status.show(fmt::format("profiling {:3.0f} %", 100 * share));
  };
  // It then refuses a recorded level that is not measured.
  const ProfileStudy found = words.has("calibrate")
                                 ? with_place("--calibrate", [&] { return profile_study(q); })
                                 : profile_study(q);
  status.clear();
  if (words.has("trace"))
    write_file(words.text("trace"), nested_trace(found.spans.corrected, found.work));
  write_table_and_picture(
      profile_table(found), [&] { return profile_picture(found); }, words, streams);
  deliver(words.has("json") ? profile_document(found) : profile_text(found), words, streams);
  return kDone;
}

std::vector<Flag> profile_flags() {
  std::vector<Flag> flags = {
      {"learner", "NAME",
       "cart-pole: a policy that learns from what it does, with environment, inference and update "
       "as annotations; instead of a model"},
      {"steps", "N", "updates of each run (default 20, of a learner 30)"},
      {"rounds", "N",
       "each runs without records, with those of each level, without them and with all (default "
       "5)"},
      {"kinds", "LEVELS",
       "recorded levels: some of annotation, task, op, kernel, as task,kernel (default all)"},
      {"calibrate", "LEVELS",
       "levels whose cost is measured (default those of --kinds); a recorded one must be among "
       "them"},
      {"window", "TIME", "between two samples of utilisation, as 100us (default 1ms)"},
      {"train", "KEY=VALUE", "one setting of training, as rate=0.1", true},
      {"data", "NAME", "as run takes it"},
      {"seed", "N", "of weights and data (default 1)"},
      {"json", "", "one trainyard/span-profile@1 document and nothing else"},
      {"trace", "FILE",
       "writes the corrected spans for ui.perfetto.dev, chrome://tracing and trainyard trace"}};
  for (const Flag& flag : table_and_picture_flags(
           "writes the rows of times", "draws times, records and how busy the device is"))
    flags.push_back(flag);
  return with_scenario_flags(std::move(flags));
}

}  // namespace

Verb profile_verb() {
  return {.name = "profile",
          .summary =
              "Where the time of a training here goes, by annotation, task, op and kernel, with "
              "what recording took taken out.",
          .flags = profile_flags(),
          .examples = {"profile --model mlp-small --data random --set global-batch=16 --steps 3 "
                       "--rounds 1",
                       "profile --learner cart-pole --steps 3 --rounds 1"},
          .run = run_profile};
}

}  // namespace trainyard
