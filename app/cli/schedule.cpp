// schedule: the order of work of one schedule, with its grid, bubble and live microbatches; and
// whether an edited order holds.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "app/cli/scenario_words.h"
#include "app/workspace/schedule_study.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/io/order_json.h"
#include "core/methods/catalogue.h"

namespace trainyard {
namespace {

Duration time_word(const Words& words, std::string_view flag, Duration fallback) {
  return words.has(flag) ? parse_duration(words.text(flag), {"--" + std::string(flag)}) : fallback;
}

ScheduleRequest request_of(const Words& words) {
  ScheduleRequest request;
  request.name = words.text("");
  request.devices = static_cast<int>(words.integer("stages", 1, 100'000, 4));
  request.microbatches = static_cast<int>(words.integer("microbatches", 1, 1'000'000, 8));
  const std::int64_t chunks =
      words.integer("virtual-stages", 1, 1000, request.name == "interleaved" ? 2 : 1);
  request.virtual_stages = static_cast<int>(chunks);
  request.forward = time_word(words, "forward", request.forward);
  request.backward_input = time_word(words, "backward-input", request.backward_input);
  request.backward_weight = time_word(words, "backward-weight", request.backward_weight);
  return request;
}

std::string live_text(const std::vector<double>& live) {
  std::string text;
  for (const double peak : live)
    text += fmt::format("{}{}", text.empty() ? "" : " ", to_text(peak));
  return text;
}

std::string study_text(const ScheduleStudy& s) {
  const ScheduleRequest& r = s.request;
  std::string text = fmt::format(
      "{}: {} stage{}{}, {} microbatch{}\n\n{}\n", r.name, r.devices, r.devices == 1 ? "" : "s",
      r.virtual_stages == 1 ? "" : fmt::format(" of {} chunks", r.virtual_stages), r.microbatches,
      r.microbatches == 1 ? "" : "es", grid(s));
  text += fmt::format("makespan           {} (ideal {})\n", readable(seconds(s.makespan)),
                      readable(seconds(s.ideal)));
  text +=
      fmt::format("bubble             {:.2f} % of device time, {:.2f} % over ideal\n",
                  100 * s.bubble_fraction, s.ideal > 0 ? 100 * (s.makespan / s.ideal - 1) : 0.0);
  text += fmt::format("live microbatches  {} (peak of each device)\n\n{}",
                      live_text(s.live_microbatches), to_text(s.order));
  return text;
}

int run_schedule(const Words& words, Streams& streams) {
  const ScheduleRequest request = request_of(words);
  const ScheduleStudy result =
      words.has("check") ? study(request, read_order(words.text("check")), words.text("check"))
                         : study(request);
  if (!words.has("json")) {
    deliver((words.has("check") ? "the order holds\n" : "") + study_text(result), words, streams);
    return kDone;
  }
  deliver(order_document({request.name, request.devices, request.virtual_stages,
                          request.microbatches, result.makespan, result.ideal,
                          result.bubble_fraction, result.live_microbatches, result.order}),
          words, streams);
  return kDone;
}

}  // namespace

Verb schedule_verb() {
  return {
      .name = "schedule",
      .summary =
          "Prints the order of a schedule: its grid, bubble and live microbatches of each stage.",
      .positional = "NAME",
      .positional_doc = "a schedule of \"trainyard methods\": gpipe, 1f1b, interleaved",
      .positional_required = true,
      .flags = {{"stages", "P", "pipeline stages, a device each (default 4)"},
                {"microbatches", "M", "microbatches of one step (default 8)"},
                {"virtual-stages", "V", "chunks a device (default 1; interleaved 2)"},
                {"forward", "TIME", "of one microbatch on one device, as 1ms (the default)"},
                {"backward-input", "TIME", "the same of the backward for inputs (default 1ms)"},
                {"backward-weight", "TIME", "the same of the backward for weights (default 1ms)"},
                {"check", "FILE", "verifies and times this order instead of the schedule's own"},
                {"json", "", "one trainyard/order@1 document and nothing else"},
                {"out", "FILE", "writes there instead of standard output"},
                {"quiet", "", "no diagnostics"}},
      .examples =
          {"schedule 1f1b --stages 4 --microbatches 8",
           "schedule interleaved --stages 4 --microbatches 8 --virtual-stages 2 --forward 1ms "
           "--backward-input 1ms --backward-weight 1ms --json"},
      .run = run_schedule};
}

}  // namespace trainyard
