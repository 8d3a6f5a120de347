// solve: finds the shortest order of a pipeline's passes within a memory limit, or the curve of
// time against memory.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/verbs/json_schemas.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "app/workspace/schedules/schedule_study.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/io/documents/order_json.h"
#include "core/io/json/fields.h"
#include "planners/schedules/schedule_solver.h"

namespace trainyard {
namespace {

// The problem in chunk time: times are multiplied by the number of chunks, so that a chunk's share
// of a device's time is whole nanoseconds. Each chunk of a microbatch holds one byte.
struct Question {
  ScheduleProblem problem;
  int chunks = 1;
  double seconds(Duration d) const { return to_seconds(d) / chunks; }
  double microbatches(Bytes b) const { return static_cast<double>(b.value) / chunks; }
};

Duration time_word(std::string_view text, std::string_view flag) {
  constexpr Duration kMost = std::chrono::hours(24 * 365);
  const Duration time = parse_duration(text, {"--" + std::string(flag)});
  if (time > kMost)
    refuse_flag(flag, fmt::format("expected at most 365 d, found {}", to_text(time)));
  return time;
}

std::vector<std::string> parts_of(const std::string& text, char between) {
  std::vector<std::string> parts{""};
  for (const char c : text)
    if (c == between)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

// Reads "1ms/2ms/2ms,..." for each virtual stage.
std::vector<StageCost> stage_times(const std::string& text, int stages, int chunks) {
  constexpr std::string_view kFlag = "stage-times";
  std::vector<StageCost> costs;
  for (const std::string& stage : parts_of(text, ',')) {
    const std::vector<std::string> times = parts_of(stage, '/');
    if (times.size() != 3)
      refuse_flag(kFlag,
                  fmt::format("expected forward/backward-input/backward-weight of stage {}, as "
                              "1ms/1ms/1ms, found \"{}\"",
                              costs.size(), stage));
    costs.push_back({chunks * time_word(times[0], kFlag), chunks * time_word(times[1], kFlag),
                     chunks * time_word(times[2], kFlag), 0_B, 1_B});
  }
  if (costs.size() != static_cast<std::size_t>(stages))
    refuse_flag(kFlag, fmt::format("expected times of {} stages, a comma between two, found {}",
                                   stages, costs.size()));
  return costs;
}

Question solve_question_of(const Words& words) {
  Question q;
  ScheduleProblem& p = q.problem;
  p.devices = static_cast<int>(words.integer("stages", 1, 10'000, 4));
  p.microbatches = static_cast<int>(words.integer("microbatches", 1, 1'000'000, 8));
  const bool v = words.choice("placement", {"cyclic", "v"}, "cyclic") == "v";
  p.placement = v ? Placement::V : Placement::Cyclic;
  q.chunks = static_cast<int>(words.integer("virtual-stages", 1, 100, v ? 2 : 1));
  p.split_backward = !words.has("whole-backward");
  p.transfer = q.chunks * time_word(words.text("transfer", "0ns"), "transfer");
  const int stages = p.devices * q.chunks;
  if (words.has("stage-times")) {
    for (const std::string_view flag : {"forward", "backward-input", "backward-weight"})
      if (words.has(flag)) refuse_flag(flag, "expected either this or --stage-times, found both");
    p.stages = stage_times(words.text("stage-times"), stages, q.chunks);
  } else {
    const auto time = [&](std::string_view flag) {
      return time_word(words.text(flag, "1ms"), flag);
    };
    p.stages.assign(static_cast<std::size_t>(stages),
                    {time("forward"), time("backward-input"), time("backward-weight"), 0_B, 1_B});
  }
  if (words.has("memory-limit")) {
    if (words.has("sweep"))
      refuse_flag("memory-limit", "expected either this or --sweep, found both");
    const double limit = words.number("memory-limit", 1, 1e6, 1);
    p.limits.assign(static_cast<std::size_t>(p.devices),
                    Bytes{static_cast<std::int64_t>(limit * q.chunks + 1e-9)});
  }
  return q;
}

Duration total_work(const ScheduleProblem& p) {
  Duration sum{};
  for (const StageCost& c : p.stages)
    sum += p.microbatches * (c.forward + c.backward_input + c.backward_weight);
  return sum;
}

double bubble_of(const ScheduleProblem& p, Duration makespan) {
  const double possible = to_seconds(makespan) * p.devices;
  return possible > 0 ? 1 - to_seconds(total_work(p)) / possible : 0;
}

// The shortest schedule of the catalogue within the limits; null if none keeps them.
const NamedSchedule* best_of(const std::vector<NamedSchedule>& all,
                             const std::vector<Bytes>& limits) {
  const NamedSchedule* best = nullptr;
  for (const NamedSchedule& named : all) {
    bool keeps = true;
    for (std::size_t d = 0; d < limits.size(); ++d)
      keeps = keeps && named.timing.peaks[d] <= limits[d];
    if (keeps && (best == nullptr || named.timing.makespan < best->timing.makespan)) best = &named;
  }
  return best;
}

std::string proof_text(const Question& q, const SolvedSchedule& s) {
  if (s.optimal) return "no order is shorter";
  return fmt::format("no order is shorter than {}, {:.2f} % less",
                     readable(seconds(q.seconds(s.lower_bound))),
                     100 * (1 - to_seconds(s.lower_bound) / to_seconds(s.timing.makespan)));
}

std::string grid_of(const Question& q, const SolvedSchedule& s) {
  ScheduleStudy study;
  study.request.devices = q.problem.devices;
  study.request.microbatches = q.problem.microbatches;
  study.request.virtual_stages = q.chunks;
  study.order = s.order;
  for (std::size_t l = 0; l < s.order.lanes.size(); ++l) {
    study.spans.emplace_back();
    for (std::size_t i = 0; i < s.order.lanes[l].actions.size(); ++i) {
      const Action& a = s.order.lanes[l].actions[i];
      const StageCost& c = q.problem.stages[a.stage.value];
      const Duration start = s.timing.starts[l][i];
      const Duration length = a.phase == Phase::Forward         ? c.forward
                              : a.phase == Phase::BackwardInput ? c.backward_input
                              : a.phase == Phase::BackwardWeight
                                  ? c.backward_weight
                                  : c.backward_input + c.backward_weight;
      study.spans.back().push_back({start, start + length});
    }
  }
  return grid(study);
}

std::string solved_text(const Question& q, const SolvedSchedule& s) {
  const ScheduleProblem& p = q.problem;
  std::string text = fmt::format("solved: {} device{}{}, {} microbatch{}\n\n{}\n", p.devices,
                                 p.devices == 1 ? "" : "s",
                                 q.chunks == 1 ? "" : fmt::format(" of {} chunks", q.chunks),
                                 p.microbatches, p.microbatches == 1 ? "" : "es", grid_of(q, s));
  text += fmt::format("makespan           {}; {}\n",
                      readable(seconds(q.seconds(s.timing.makespan))), proof_text(q, s));
  text += fmt::format("bubble             {} of device time\n",
                      readable_share(bubble_of(p, s.timing.makespan)));
  text += "live microbatches ";
  for (const Bytes peak : s.timing.peaks) text += " " + to_text(q.microbatches(peak));
  text += " (peak of each device)\n";
  text += fmt::format("found by           {} ({} tried)\n", s.found_by, s.tried);
  const std::vector<NamedSchedule> all = named_schedules(p);
  if (const NamedSchedule* named = best_of(all, p.limits))
    text += fmt::format("best by name       {}, {}\n", named->name,
                        readable(seconds(q.seconds(named->timing.makespan))));
  else
    text += "best by name       none keeps the limit\n";
  return text + "\n" + to_text(s.order);
}

std::string solved_document(const Question& q, const SolvedSchedule& s) {
  const ScheduleProblem& p = q.problem;
  OrderDocument document{.schedule = "solved",
                         .devices = p.devices,
                         .virtual_stages = q.chunks,
                         .microbatches = p.microbatches,
                         .placement = std::string(to_string(p.placement)),
                         .steps = 1,
                         .makespan = q.seconds(s.timing.makespan),
                         .ideal = 0,
                         .bubble_fraction = bubble_of(p, s.timing.makespan),
                         .span_bubble_fraction = {},
                         .lower_bound = q.seconds(s.lower_bound),
                         .found_by = s.found_by,
                         .live_microbatches = {},
                         .delays = {},
                         .versions = {},
                         .card = {},
                         .order = s.order};
  std::vector<Duration> work(static_cast<std::size_t>(p.devices));
  for (std::size_t i = 0; i < p.stages.size(); ++i) {
    const StageCost& c = p.stages[i];
    const DeviceId d = device_of({static_cast<std::uint32_t>(i)}, p.devices,
                                 static_cast<int>(p.stages.size()), p.placement);
    work[d.value] += p.microbatches * (c.forward + c.backward_input + c.backward_weight);
  }
  document.ideal = q.seconds(*std::max_element(work.begin(), work.end()));
  for (const Bytes peak : s.timing.peaks)
    document.live_microbatches.push_back(q.microbatches(peak));
  return order_document(document);
}

std::string sweep_text(const Question& q, const std::vector<TradePoint>& points) {
  const std::vector<NamedSchedule> all = named_schedules(q.problem);
  std::string text = fmt::format("{:>8}  {:>9}  {:>8}  {:>9}  {:<20}  {}\n", "limit", "makespan",
                                 "bubble", "bound", "best by name", "found by");
  for (const TradePoint& point : points) {
    const SolvedSchedule& s = point.solved;
    const NamedSchedule* named =
        best_of(all, std::vector<Bytes>(static_cast<std::size_t>(q.problem.devices), point.limit));
    const std::string by_name =
        named == nullptr ? "none fits"
                         : fmt::format("{}, {}", named->name,
                                       readable(seconds(q.seconds(named->timing.makespan))));
    text += fmt::format(
        "{:>8}  {:>9}  {:>8}  {:>9}  {:<20}  {}\n", to_text(q.microbatches(point.limit)),
        readable(seconds(q.seconds(s.timing.makespan))),
        readable_share(bubble_of(q.problem, s.timing.makespan)),
        s.optimal ? "optimal" : readable(seconds(q.seconds(s.lower_bound))), by_name, s.found_by);
  }
  return text;
}

// A point of the sweep, and the best schedule of the catalogue that keeps its limit.
struct SweptPoint {
  const Question* question;
  const TradePoint* point;
  const NamedSchedule* named;
};

struct Sweep {
  const Question& question;
  const std::vector<TradePoint>& points;
  std::vector<NamedSchedule> named;
};

std::vector<SweptPoint> swept_points(const Sweep& sweep) {
  const Question& q = sweep.question;
  std::vector<SweptPoint> list;
  for (const TradePoint& point : sweep.points)
    list.push_back(
        {&q, &point,
         best_of(sweep.named,
                 std::vector<Bytes>(static_cast<std::size_t>(q.problem.devices), point.limit))});
  return list;
}

Fields<SweptPoint> swept_point_fields() {
  const auto solved = [](auto member) {
    return [member](const SweptPoint& p) -> const auto& { return p.point->solved.*member; };
  };
  const auto makespan = [](const SweptPoint& p) {
    return p.question->seconds(p.point->solved.timing.makespan);
  };
  const auto bound = [](const SweptPoint& p) {
    return p.question->seconds(p.point->solved.lower_bound);
  };
  const auto bubble = [](const SweptPoint& p) {
    return bubble_of(p.question->problem, p.point->solved.timing.makespan);
  };
  const auto named_makespan = [](const SweptPoint& p) {
    return p.named ? std::optional(p.question->seconds(p.named->timing.makespan)) : std::nullopt;
  };
  return {{"limit", [](const SweptPoint& p) { return p.question->microbatches(p.point->limit); },
           "live microbatches of a device"},
          {"makespan", makespan, "seconds"},
          {"lower_bound", bound, "seconds; no order is shorter"},
          {"optimal", solved(&SolvedSchedule::optimal)},
          {"found_by", solved(&SolvedSchedule::found_by)},
          {"bubble_fraction", bubble, number(kShare)},
          {"named", [](const SweptPoint& p) { return p.named ? &p.named->name : nullptr; },
           "the best schedule of the catalogue that keeps the limit"},
          {"named_makespan", named_makespan, "seconds"}};
}

Fields<Sweep> trade_fields() {
  const auto problem = [](auto member) {
    return [member](const Sweep& sweep) -> const auto& { return sweep.question.problem.*member; };
  };
  return document_fields<Sweep>(
      "trainyard/trade",
      {{"devices", problem(&ScheduleProblem::devices), whole(1)},
       {"virtual_stages", [](const Sweep& sweep) { return sweep.question.chunks; }, whole(1)},
       {"microbatches", problem(&ScheduleProblem::microbatches), whole(1)},
       {"placement", problem(&ScheduleProblem::placement)},
       {"points", swept_points, list_of(object(swept_point_fields()))}});
}

std::string sweep_document(const Question& q, const std::vector<TradePoint>& points) {
  return write_json(trade_fields().write({q, points, named_schedules(q.problem)}));
}

int run_solve(const Words& words, Streams& streams) {
  const Question q = solve_question_of(words);
  if (words.has("sweep")) {
    const auto most = static_cast<int>(words.integer("sweep", 1, 1000, 10));
    const std::vector<TradePoint> points = sweep_limits(q.problem, most);
    deliver(words.has("json") ? sweep_document(q, points) : sweep_text(q, points), words, streams);
    return kDone;
  }
  const SolvedSchedule solved = solve(q.problem);
  deliver(words.has("json") ? solved_document(q, solved) : solved_text(q, solved), words, streams);
  return kDone;
}

}  // namespace

Json trade_schema() { return trade_fields().schema(); }

Verb solve_verb() {
  return {
      .name = "solve",
      .summary = "Finds the shortest order of a pipeline's passes that keeps a memory limit.",
      .flags = {{"stages", "P", "pipeline stages, a device each (default 4)"},
                {"microbatches", "M", "microbatches of one step (default 8)"},
                {"placement", "NAME", "cyclic (the default) or v, where the stages come back"},
                {"virtual-stages", "V", "chunks a device (default 1; v 2)"},
                {"forward", "TIME", "of one microbatch on one device, as 1ms (the default)"},
                {"backward-input", "TIME", "the same of the backward for inputs (default 1ms)"},
                {"backward-weight", "TIME", "the same of the backward for weights (default 1ms)"},
                {"stage-times", "F/I/W,...",
                 "instead of those: the three of each virtual stage, in order of data flow"},
                {"whole-backward", "", "inputs and weights in one pass"},
                {"transfer", "TIME", "of one message between two devices (default 0ns)"},
                {"memory-limit", "N", "live microbatches of each device (default: no limit)"},
                {"sweep", "POINTS",
                 "from the least limit to the one beyond which nothing is gained"},
                {"json", "", "one trainyard/order@1 (with --sweep trainyard/trade@1) document"},
                {"out", "FILE", "writes there instead of standard output"},
                {"quiet", "", "no diagnostics"}},
      .examples = {"solve --stages 4 --microbatches 12 --memory-limit 4",
                   "solve --stages 4 --microbatches 8 --placement v --transfer 0.1ms "
                   "--memory-limit 3 --json",
                   "solve --stages 2 --stage-times 1ms/2ms/1ms,2ms/2ms/2ms --sweep 6"},
      .run = run_solve};
}

}  // namespace trainyard
