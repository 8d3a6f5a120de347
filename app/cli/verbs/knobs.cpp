// knobs: shows what each knob of a plan is worth, how far it can be turned, and what would have to
// change for another plan to win.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "app/cli/pictures/knobs_picture.h"
#include "app/cli/text/plans/knob_answers.h"
#include "app/cli/text/plans/knob_questions.h"
#include "app/cli/text/plans/knobs_text.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/workspace/scenario/run_once.h"
#include "app/workspace/scenario/setting_words.h"
#include "app/workspace/scenario/workspace.h"
#include "core/base/error.h"
#include "core/io/documents/plan_json.h"
#include "core/methods/settings/settings.h"

namespace trainyard {
namespace {

constexpr int kNeighbours = 1, kLongRange = 12;
// Knobs that no field of a plan says, each with a table of its own.
constexpr std::string_view kWrap = "wrap", kReshardMesh = "reshard-mesh",
                           kRecomputeMethod = "recompute-method";

CostOf costs_of(const std::unique_ptr<CostModel>& given) {
  using Shared = std::shared_ptr<const CostModel>;
  if (given != nullptr)
    return [lent = given.get()](const Scenario&) { return Shared(Shared(), lent); };
  return [](const Scenario& s) { return Shared(cost_model(s)); };
}

// One call gives one answer.
void expect_one_answer(const Words& words) {
  constexpr std::array<std::string_view, 6> kAnswers = {"knob",    "largest", "smallest",
                                                        "against", "owners",  "questions"};
  std::string_view first;
  for (const std::string_view answer : kAnswers) {
    if (!words.has(answer)) continue;
    if (!first.empty())
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("expected one of --{} and --{}, found both", first, answer),
                  {"trainyard knobs"});
    first = answer;
  }
}

// The typed words, such as "--model llama-3-8b ...", or else the scenario of the questions.
std::string knob_scenario_words(const Words& words) {
  std::string text;
  for (const std::string_view flag : {"model", "cluster", "plan", "set"})
    for (const std::string& value : words.texts(flag))
      text += fmt::format("{}--{} {}", text.empty() ? "" : " ", flag,
                          value.find(' ') == std::string::npos ? value : "\"" + value + "\"");
  return text.empty() ? std::string(kQuestionScenario) : text;
}

// Converts "tp=8,pp=2,split=10,10" to "tp=8 pp=2 split=10,10": a part without a key belongs to the
// word before.
std::string spaced(std::string text) {
  for (std::size_t comma = text.find(','); comma != std::string::npos;
       comma = text.find(',', comma + 1)) {
    const std::size_t next = std::min(text.find_first_of(", ", comma + 1), text.size());
    const std::string_view word = std::string_view(text).substr(comma + 1, next - comma - 1);
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos && (find_setting(word.substr(0, equals)) != nullptr ||
                                             is_choice_param(word.substr(0, equals))))
      text[comma] = ' ';
  }
  return text;
}

// Opens the other plan: a file, or settings applied to the first.
Scenario rival(const Scenario& scenario, const std::string& words) {
  Scenario other = scenario;
  if (words.find('=') == std::string::npos) {
    other.plan = read_plan(words);
    return other;
  }
  // Both plans share the batch and sequence; the number of replicas follows from the other degrees.
  other.plan.batch = complete(scenario).batch;
  other.plan.mesh.dp.reset();
  apply_words(other.plan, spaced(words), {"--against"});
  return other;
}

std::string boundary_of(const Words& words, const Scenario& scenario, const CostOf& cost,
                        bool& fits) {
  words.choice("smallest", {kDevicesKnob}, kDevicesKnob);
  const KnobBoundary found = words.has("largest") ? largest(scenario, words.text("largest"), cost)
                                                  : fewest_devices(scenario, cost);
  fits = found.last.has_value();
  return words.has("json") ? boundary_document(found) : boundary_text(found);
}

std::string flip_of(const Words& words, const Scenario& scenario, const CostOf& cost) {
  const std::string other = words.text("against");
  const Flip found = flip(scenario, rival(scenario, other), cost);
  const FlipNames names{"the plan", other};
  return words.has("json") ? flip_document(found, names) : flip_text(found, names);
}

std::string owners_of(const Words& words, const Scenario& scenario, const CostOf& cost) {
  const std::shared_ptr<const CostModel> prices = cost(scenario);
  const ExperimentPtr run = run_once(scenario, {.cost = prices.get()});
  const Owners found = owners(*run);
  const RecomputeEffect effect = recompute_effect(scenario, cost);
  return words.has("json") ? owners_document(found, effect) : owners_text(found, effect);
}

std::string wrapping_of(const Words& words, const Scenario& scenario, const CostOf& cost) {
  const std::vector<Wrapping> all = wrappings(scenario, cost);
  return words.has("json") ? wrapping_document(all) : wrapping_text(scenario, all);
}

std::string resharding_of(const Words& words, const Scenario& scenario, const CostOf& cost) {
  const std::vector<Resharding> all = reshardings(scenario, cost);
  return words.has("json") ? resharding_document(all) : resharding_text(scenario, all);
}

std::string recomputation_of(const Words& words, const Scenario& scenario, const CostOf& cost) {
  const RecomputeStudy study = study_recomputation(scenario, *cost(scenario));
  return words.has("json") ? recomputation_document(study) : recomputation_text(scenario, study);
}

bool only_knob(const Words& words, std::string_view key) {
  return words.texts("knob") == std::vector<std::string>{std::string(key)};
}

std::string strips_of(const Words& words, const Scenario& scenario, const CostOf& cost,
                      Streams& streams) {
  const bool alone = words.has("knob");
  const Sensitivity found =
      sensitivity(scenario, cost, {words.texts("knob"), alone ? kLongRange : kNeighbours});
  write_strips(found, words, streams);
  return words.has("json") ? strips_document(found) : strips_text(found, alone);
}

int run_knobs(const Words& words, Streams& streams) {
  expect_one_answer(words);
  if (words.has("questions")) {
    const std::string scenario = knob_scenario_words(words);
    deliver(words.has("json") ? questions_document(scenario) : questions_text(scenario), words,
            streams);
    return kDone;
  }
  Scenario scenario = open_scenario(words, streams);
  const std::unique_ptr<CostModel> calibrated = open_costs(words, scenario);
  const CostOf cost = costs_of(calibrated);
  bool fits = true;
  const std::string text =
      words.has("largest") || words.has("smallest") ? boundary_of(words, scenario, cost, fits)
      : words.has("against")                        ? flip_of(words, scenario, cost)
      : words.has("owners")                         ? owners_of(words, scenario, cost)
      : only_knob(words, kWrap)                     ? wrapping_of(words, scenario, cost)
      : only_knob(words, kReshardMesh)              ? resharding_of(words, scenario, cost)
      : only_knob(words, kRecomputeMethod)          ? recomputation_of(words, scenario, cost)
                                                    : strips_of(words, scenario, cost, streams);
  deliver(text, words, streams);
  return fits ? kDone : kNotMet;
}

}  // namespace

Verb knobs_verb() {
  std::vector<Flag> flags = {
      {"knob", "KEY",
       "this one only, over a longer range: a setting, devices, wrap (layers a sharded unit), "
       "reshard-mesh (ranks that keep gathered weights) or recompute-method (memory against time "
       "by every published method)",
       true},
      {"largest", "KEY", "micro-batch, global-batch or seq: how far it goes until it does not fit"},
      {"smallest", "devices", "the fewest devices on which some mesh fits"},
      {"against", "PLAN",
       "a plan file, or settings on top of this plan as tp=4,pp=8: what would have to change for "
       "the slower of the two to win"},
      {"owners", "", "by whom the peak is held: modules, sharded units, recomputation"},
      {"questions", "", "17 questions about memory, each with the command that answers it"}};
  for (const Flag& flag : strips_picture_flags()) flags.push_back(flag);
  flags.push_back(calibration_flag());
  flags.push_back(cost_flag());
  flags.push_back({"json", "", "one document and nothing else"});
  return {
      .name = "knobs",
      .summary = "What each knob of a plan is worth, how far it goes, what would flip a choice.",
      .flags = with_scenario_flags(std::move(flags)),
      .examples = {"knobs --model llama-3-70b --cluster h100-sxm:64 --set tp=8 --set pp=4 "
                   "--set global-batch=128",
                   "knobs --model llama-3-8b --cluster h100-sxm:64 --set zero=3 --set "
                   "global-batch=512 --largest seq",
                   "knobs --model llama-3-70b --cluster h100-sxm:64 --set tp=8 --set pp=4 --set "
                   "global-batch=128 --set zero=1 --against tp=4,pp=8",
                   "knobs --questions"},
      .run = run_knobs};
}

}  // namespace trainyard
