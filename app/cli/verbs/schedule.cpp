// schedule: shows the order of work of one schedule, with its grid, bubble and live microbatches,
// and whether an edited order is valid.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "app/cli/text/plans/scenario_words.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "app/workspace/schedules/schedule_study.h"
#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/base/units_text.h"
#include "core/io/documents/order_json.h"
#include "core/methods/catalogue.h"
#include "core/plan/plan_limits.h"

namespace trainyard {
namespace {

Duration time_word(const Words& words, std::string_view flag, Duration fallback) {
  return words.has(flag) ? parse_duration(words.text(flag), {"--" + std::string(flag)}) : fallback;
}

// Converts "--set key=value" to the types of the schedule's parameters.
Params params_of(const Words& words, const Method& chosen) {
  Params params;
  for (const std::string& word : words.texts("set")) {
    const Place place{"--set " + word};
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      throw Error(Error::Kind::InvalidInput, "expected KEY=VALUE, found \"" + word + "\"",
                  {"--set"});
    const std::string key = word.substr(0, equals);
    std::vector<std::string_view> names;
    const ParamSpec* spec = nullptr;
    for (const ParamSpec& each : chosen.params) {
      names.push_back(each.name);
      if (each.name == key) spec = &each;
    }
    if (spec == nullptr)
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("{} has no parameter \"{}\"{}", chosen.name, key,
                              names.empty() ? "; it has none at all" : did_you_mean(key, names)),
                  {"--set"});
    params.set(key, parse_param(*spec, word.substr(equals + 1), place));
  }
  return params;
}

ScheduleRequest request_of(const Words& words) {
  ScheduleRequest request;
  request.name = words.text("");
  request.devices = static_cast<int>(words.integer("stages", 1, 100'000, 4));
  request.microbatches = static_cast<int>(words.integer("microbatches", 1, 1'000'000, 8));
  if (words.has("virtual-stages"))
    request.virtual_stages =
        static_cast<int>(words.integer("virtual-stages", 1, kMostVirtualStages, 1));
  if (words.has("steps")) request.steps = static_cast<int>(words.integer("steps", 1, 10'000, 1));
  request.forward = time_word(words, "forward", request.forward);
  request.backward_input = time_word(words, "backward-input", request.backward_input);
  request.backward_weight = time_word(words, "backward-weight", request.backward_weight);
  request.forward_fill = words.number("forward-fill", 0.01, 1, 1);
  request.backward_fill = words.number("backward-fill", 0.01, 1, 1);
  request.params = params_of(
      words, with_place("schedule", [&]() -> const Method& { return method(request.name); }));
  return request;
}

template <class T, class Each>
std::string joined(const std::vector<T>& list, Each each, const char* between = " ") {
  std::string text;
  for (const T& one : list) text += (text.empty() ? "" : between) + each(one);
  return text;
}

std::string paper_text(const Paper& paper) {
  return fmt::format("{}, \"{}\", {} {}", paper.authors, paper.title, paper.venue, paper.year);
}

std::string title(const ScheduleStudy& s) {
  const ScheduleRequest& r = s.request;
  const auto plural = [](int count, std::string_view what, std::string_view more) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : more);
  };
  std::string text = fmt::format("{}: {}", r.name, plural(r.devices, "stage", "s"));
  if (r.virtual_stages > 1) text += fmt::format(" of {} chunks", r.virtual_stages);
  text += ", " + plural(r.microbatches, "microbatch", "es");
  if (s.asynchronous) text += fmt::format(" a step, step {} of {}", s.step + 1, r.steps);
  return text + "\n\n";
}

// For asynchronous schedules: how old the weights are that a forward reads, and how many versions
// there are.
std::string staleness_text(const ScheduleStudy& s) {
  if (!s.asynchronous) return {};
  const bool consistent =
      std::all_of(s.facts.begin(), s.facts.end(), [](const StageFacts& f) { return f.consistent; });
  return fmt::format(
      "delay              {} updates, by stage; backward reads {}\n"
      "weight versions    {} at once, by stage\n",
      joined(s.facts, [](const StageFacts& f) { return std::to_string(f.forward_delay); }),
      consistent ? "what its forward read" : "newer weights than its forward",
      joined(s.facts, [](const StageFacts& f) { return std::to_string(f.versions); }));
}

// Says what waves gain. Nothing is promised if one wave already fills its device.
std::string waves_text(const ScheduleStudy& s) {
  if (s.over_one_wave == 0) return {};
  constexpr double kNoGain = 1.05;
  return fmt::format("over one wave      {:.2f} times the samples a second{}\n", s.over_one_wave,
                     s.over_one_wave <= kNoGain ? ": one wave already fills the device, and waves "
                                                  "gain nothing"
                     : s.request.devices > 1    ? " of model parallelism with one wave in flight"
                                                : "");
}

std::string study_text(const ScheduleStudy& s) {
  std::string text = title(s) + grid(s) + "\n";
  text += fmt::format("{} {} (ideal {})\n",
                      s.asynchronous ? "step              " : "makespan          ",
                      readable(seconds(s.makespan)), readable(seconds(s.ideal)));
  text += fmt::format("bubble             {} of device time, {} over ideal\n",
                      readable_share(s.bubble_fraction),
                      readable_share(s.ideal > 0 ? s.makespan / s.ideal - 1 : 0.0));
  text += fmt::format(
      "bubble in span     {} ({})\n",
      joined(
          s.devices, [](const DeviceStudy& d) { return readable_share(d.bubble_fraction); }, ", "),
      s.asynchronous ? "of each device, from update to update"
                     : "of each device, between its own first pass and its own last end");
  text += fmt::format("live microbatches  {} (peak of each device)\n",
                      joined(s.devices, [](const DeviceStudy& d) { return to_text(d.live); }));
  text += waves_text(s);
  text += staleness_text(s);
  const Card& card = s.method->card;
  text += fmt::format("\ngains       {}\ncosts       {}\nlegal when  {}\npaper       {}\n\n",
                      card.gains, card.costs, card.legal_when, paper_text(s.method->paper));
  return text + to_text(s.order);
}

OrderDocument document_of(const ScheduleStudy& s) {
  const Card& card = s.method->card;
  OrderDocument document{.schedule = s.request.name,
                         .devices = s.request.devices,
                         .virtual_stages = s.request.virtual_stages,
                         .microbatches = s.request.microbatches,
                         .placement = std::string(to_string(s.method->placement)),
                         .steps = s.request.steps,
                         .step = s.step,
                         .makespan = s.makespan,
                         .ideal = s.ideal,
                         .bubble_fraction = s.bubble_fraction,
                         .over_one_wave = s.over_one_wave,
                         .span_bubble_fraction = {},
                         .live_microbatches = {},
                         .delays = {},
                         .versions = {},
                         .card = {std::string(card.gains), std::string(card.costs),
                                  std::string(card.legal_when), paper_text(s.method->paper)},
                         .order = s.order};
  for (const DeviceStudy& d : s.devices) {
    document.span_bubble_fraction.push_back(d.bubble_fraction);
    document.live_microbatches.push_back(d.live);
  }
  if (s.asynchronous)
    for (const StageFacts& f : s.facts) {
      document.delays.push_back(f.forward_delay);
      document.versions.push_back(f.versions);
    }
  return document;
}

int run_schedule(const Words& words, Streams& streams) {
  const ScheduleRequest request = request_of(words);
  const ScheduleStudy result =
      words.has("check") ? study(request, read_order(words.text("check")), words.text("check"))
                         : study(request);
  deliver(words.has("json") ? order_document(document_of(result))
                            : (words.has("check") ? "the order holds\n" : "") + study_text(result),
          words, streams);
  return kDone;
}

}  // namespace

Verb schedule_verb() {
  return {
      .name = "schedule",
      .summary = "Prints the order of a schedule: its grid, bubble, live microbatches and card.",
      .positional = "NAME",
      .positional_doc = "a schedule of \"trainyard methods\", as 1f1b, zb-v or chimera",
      .positional_required = true,
      .flags = {{"stages", "P", "pipeline stages, a device each (default 4)"},
                {"microbatches", "M", "microbatches of one step (default 8)"},
                {"virtual-stages", "V", "chunks a device (default: as few as the schedule takes)"},
                {"steps", "N",
                 "steps of an asynchronous schedule (default: as many as show it steady)"},
                {"set", "KEY=VALUE", "one parameter of the schedule", true},
                {"forward", "TIME", "of one microbatch on one device, as 1ms (the default)"},
                {"backward-input", "TIME", "the same of the backward for inputs (default 1ms)"},
                {"backward-weight", "TIME", "the same of the backward for weights (default 1ms)"},
                {"forward-fill", "F",
                 "share of a device that a forward fills, where lanes share one (default 1)"},
                {"backward-fill", "F", "the same of backwards (default 1)"},
                {"check", "FILE",
                 "verifies and times this order (text, trainyard/order, PyTorch's CSV) instead"},
                {"json", "", "one trainyard/order@1 document and nothing else"},
                {"out", "FILE", "writes there instead of standard output"},
                {"quiet", "", "no diagnostics"}},
      .examples =
          {"schedule 1f1b --stages 4 --microbatches 8",
           "schedule interleaved --stages 4 --microbatches 8 --virtual-stages 2 --forward 1ms "
           "--backward-input 1ms --backward-weight 1ms --json",
           "schedule zb-h2 --stages 4 --microbatches 8 --backward-input 1.2ms --backward-weight "
           "0.8ms",
           "schedule tick-tock --stages 1 --microbatches 8 --set policy=exclusive --forward-fill "
           "0.4 --backward-fill 0.6"},
      .run = run_schedule};
}

}  // namespace trainyard
