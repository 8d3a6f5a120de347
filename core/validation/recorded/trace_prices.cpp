#include "core/validation/recorded/trace_prices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/cluster/local_device.h"
#include "core/cost/kernel_times.h"
#include "core/validation/recorded/planned_units.h"
#include "core/validation/recorded/recorded_contention.h"
#include "core/validation/recorded/recorded_exchanges.h"
#include "core/validation/recorded/recorded_instructions.h"
#include "core/validation/recorded/recorded_reserve.h"
#include "core/validation/recorded/recorded_units.h"
#include "core/validation/recorded/trace_match.h"

namespace trainyard {
namespace {

Duration sum_of(const std::vector<Duration>& times) {
  Duration sum{};
  for (const Duration time : times) sum += time;
  return sum;
}

Duration median_of(std::vector<std::int64_t> times) {
  return times.empty() ? Duration{} : Duration{quantile(std::move(times), 0.5)};
}

using Key = std::pair<StepPart, std::string>;
using TimesByKey = std::map<Key, std::vector<Duration>>;  // of one step of one process, in order

class TraceReader {
 public:
  TraceReader(const RecordedTrace& trace, const Workload& workload, const CostModel& base,
              const MemorySnapshot* memory)
      : trace_(trace), workload_(workload), base_(base), memory_(memory) {}

  TracePrices read() {
    program_ = lower(
        workload_,
        {.grain = Grain::Op, .steps = 1, .times = {}, .price = {}, .framework = {}, .stop = {}});
    if (!follow_program()) match_units();
    return finish();
  }

 private:
  // Where Trainyard wrote the recording, its spans are the program's instructions. Returns whether
  // they are.
  bool follow_program() {
    const std::vector<RecordedInstruction> spans = recorded_instructions(trace_, program_);
    if (spans.empty()) return false;
    followed_ = true;
    contention_ = contention_of_instructions(program_, spans);
    Instant first{std::numeric_limits<std::int64_t>::max()}, last{};
    for (const auto& [id, span] : spans) {
      const Task& task = program_.task(id);
      const Duration took = priced_time(task, contention_.apart(span));
      first = std::min(first, Instant{span.from}), last = std::max(last, Instant{span.to});
      const std::span works = std::span(program_.works).subspan(task.first_work, task.works);
      if (task.kind == TaskKind::Compute && took > Duration{}) {
        add_together(kernels_, works, took, base_, device());
        for (const WorkCount& work : works) {
          if (nothing(work.work)) continue;
          TracedWork& row = row_of(op_of(work.work), part_of(task));
          row.predicted += base_.compute(work.work, device()) * work.count;
          row.measured += took, ++row.calls, row.by_shape = true;
          break;
        }
      } else if (task.kind == TaskKind::Collective && task.bytes.value > 0) {
        const GroupShape& shape = workload_.groups[static_cast<std::size_t>(task.group)];
        if (shape.ranks <= 1) continue;
        exchange(task.collective, shape.ranks, task.bytes, took / task.repeats);
        TracedWork& row =
            row_of(collective_words(task.collective, shape.ranks), StepPart::Communication);
        row.predicted +=
            base_.collective(task.collective, task.bytes, shape, workload_.scenario.cluster).time *
            task.repeats;
        row.measured += took, row.calls += task.repeats, row.by_shape = true;
      }
    }
    for (auto& [name, row] : rows_) {
      row.measured = row.measured / program_.devices;
      row.predicted = row.predicted / program_.devices;
      row.calls /= program_.devices;
    }
    found_.step = last - first, found_.steps = 1;
    // Kernels of another device have the time of its host in them (see priced_time()).
    if (!is_local_core(device())) found_.calibration.issue = Duration{1};
    return true;
  }

  // Compares kernels that a profiler recorded.
  void compare_kernels() {
    std::vector<WorkSpan> communicated = communicated_spans(trace_);
    std::uint32_t alike = 0;
    for (const RecordedExchange& one :
         recorded_exchanges(trace_, devices_per_node(workload_.scenario.cluster)).list) {
      for (const RecordedCollective* last : one.last) {
        communicated.push_back(span_of(*last));
        communicated.back().alike = alike;
      }
      ++alike;
    }
    contention_ = RecordedContention(computed_spans(trace_), communicated);
  }
  static WorkSpan span_of(const RecordedCollective& one) {
    return {one.process, one.from.count(), one.to.count(), kCommunicates};
  }

  void match_units() {
    compare_kernels();
    const std::vector<RecordedStepUnits> steps = recorded_units(trace_);
    std::vector<std::int64_t> lengths;
    std::map<std::uint32_t, std::vector<const RecordedStepUnits*>> by_process;
    for (const RecordedStepUnits& step : steps) {
      by_process[step.process].push_back(&step);
      lengths.push_back(step.length.count());
    }
    found_.step = median_of(lengths), found_.steps = static_cast<std::int64_t>(steps.size());
    hold_back(lengths);
    // Ranks that do the same are recorded each; the first of the pipeline come first.
    const auto devices = static_cast<std::uint32_t>(program_.devices);
    std::map<std::uint32_t, std::vector<const RecordedStepUnits*>> by_device;
    std::uint32_t at = 0;
    const auto each =
        std::max<std::uint32_t>(1, static_cast<std::uint32_t>(by_process.size()) / devices);
    for (const auto& [process, own] : by_process) {
      auto& into = by_device[std::min(devices - 1, at++ / each)];
      into.insert(into.end(), own.begin(), own.end());
    }
    for (const auto& [device, own] : by_device) {
      std::vector<PlannedUnit> planned = units_of(device);
      if (are_stated()) std::erase_if(planned, [](const PlannedUnit& u) { return is_message(u); });
      match_device(planned, own);
    }
    for (auto& [name, row] : rows_) {
      const auto n = static_cast<std::int64_t>(by_device.size());
      row.measured = row.measured / n, row.predicted = row.predicted / n, row.calls /= n;
    }
    if (are_stated()) read_stated();
    if (by_device.size() < devices)
      found_.unseen.push_back(fmt::format(
          "{} of {} pipeline ranks are in the recording: the others' layers take what theirs take",
          by_device.size(), devices));
  }

  std::vector<PlannedUnit> units_of(std::uint32_t device) const {
    return planned_units(workload_, program_, device, base_);
  }
  // Profilers of a framework state kind, size and group of what is exchanged.
  bool are_stated() const { return !trace_.collectives.empty(); }
  static bool is_message(const PlannedUnit& unit) { return unit.part == StepPart::Communication; }

  // Returns the plan's groups that are as the recorded one, or, where the plan has none, a group on
  // its own.
  GroupShape shape_of(const ExchangeTiming& t) const {
    const std::int64_t per_node = devices_per_node(workload_.scenario.cluster);
    GroupShape like{.ranks = t.ranks,
                    .per_node = t.per_node > 0 ? t.per_node : std::min(t.ranks, per_node)};
    for (const GroupShape& shape : workload_.groups)
      if (shape.ranks == t.ranks && (t.per_node == 0 || shape.per_node == t.per_node)) return shape;
    like.stride =
        like.per_node < like.ranks ? std::max<std::int64_t>(1, per_node / like.per_node) : 1;
    return like;
  }

  void read_stated() {
    const Cluster& cluster = workload_.scenario.cluster;
    const bool local = is_local_core(device());
    RecordedExchanges stated = recorded_exchanges(
        trace_, devices_per_node(cluster),
        [this](const RecordedCollective& c) { return contention_.apart(span_of(c)); });
    std::set<std::pair<CollectiveKind, std::int64_t>> waiting;
    for (RecordedExchange& one : stated.list) {
      ExchangeTiming& t = one.timing;
      const Duration predicted =
          base_.collective(*t.collective, t.bytes, shape_of(t), cluster).time;
      TracedWork& row = row_of(collective_words(*t.collective, t.ranks), StepPart::Communication);
      row.measured += seconds(to_seconds(t.time) * one.calls);
      row.predicted += seconds(to_seconds(predicted) * one.calls);
      row.calls += std::max<std::int64_t>(1, std::llround(one.calls)), row.by_shape = true;
      if (one.waits) waiting.emplace(*t.collective, t.ranks);
      if (local) t.per_node = 0;  // processes of one machine, as those that `calibrate` measures
      found_.calibration.exchanges.push_back(t);
    }
    for (const auto& [kind, ranks] : waiting)
      found_.notes.push_back(
          fmt::format("{}: its time includes waiting for ranks that are not in the recording",
                      collective_words(kind, ranks)));
    for (std::string& sentence : stated.unseen) found_.unseen.push_back(std::move(sentence));
    name_unseen_collectives();
  }

  // Names the plan's collectives that have no price of a recorded one.
  void name_unseen_collectives() {
    std::map<std::string, Duration> missing;
    for (std::int32_t d = 0; d < program_.devices; ++d)
      for (const PlannedUnit& unit : units_of(static_cast<std::uint32_t>(d))) {
        if (!is_message(unit)) continue;
        const bool seen =
            std::any_of(found_.calibration.exchanges.begin(), found_.calibration.exchanges.end(),
                        [&](const ExchangeTiming& t) { return prices(t, unit); });
        if (!seen)
          missing[fmt::format("{} {}", collective_words(unit.collective, unit.ranks),
                              unit.across ? "across nodes" : "within a node")] += unit.predicted;
      }
    for (const auto& [words, time] : missing)
      found_.unseen.push_back(fmt::format("{}: the recording has nothing of it, of {} predicted",
                                          words, readable(time / program_.devices)));
  }
  static bool prices(const ExchangeTiming& t, const PlannedUnit& unit) {
    return t.collective == unit.collective &&
           (t.per_node == 0 || (t.per_node < t.ranks) == unit.across);
  }

  void match_device(const std::vector<PlannedUnit>& planned,
                    const std::vector<const RecordedStepUnits*>& steps) {
    std::vector<TimesByKey> times;
    for (const RecordedStepUnits* step : steps) {
      TimesByKey& one = times.emplace_back();
      for (const RecordedUnit& unit : step->units)
        if (unit.part != StepPart::Communication || !are_stated())
          one[{unit.part, std::string(unit.key)}].push_back(apart(step->process, unit));
    }
    std::set<Key> recorded;
    for (const TimesByKey& one : times)
      for (const auto& [key, list] : one) recorded.insert(key);
    // A recording that names no kernels in a part of the step, only that it was busy with it, has
    // all work of that part under one key.
    std::set<StepPart> named;
    for (const Key& key : recorded)
      if (key.second != kOtherWork) named.insert(key.first);
    // The plan's units by the key under which the recording has them.
    std::map<Key, std::vector<PlannedUnit>> targets;
    std::map<Key, Duration> missing;
    for (const PlannedUnit& unit : planned) {
      const Key op{unit.part, unit.op}, family{unit.part, unit.family};
      if (recorded.count(op) > 0)
        targets[op].push_back(unit);
      else if (recorded.count(family) > 0)
        targets[family].push_back(unit);
      else if (const Key whole{unit.part, std::string(kOtherWork)};
               recorded.count(whole) > 0 && named.count(unit.part) == 0)
        targets[whole].push_back(unit), whole_ = true;
      else
        missing[op] += unit.predicted;
    }
    const auto leftover = spread_others(times, targets);
    for (const auto& [key, units] : targets) match_key(key, units, times, leftover);
    for (const auto& [key, time] : missing)
      if (time > Duration{})
        found_.unseen.push_back(fmt::format("{}: the recording has nothing of it, of {} predicted",
                                            words_of(key), readable(time)));
    for (const Key& key : recorded)
      if (targets.count(key) == 0 && key.second != kOtherWork) {
        std::vector<std::int64_t> sums;
        for (TimesByKey& one : times) sums.push_back(sum_of(one[key]).count());
        const Duration time = median_of(sums);
        if (time > Duration{})
          found_.unseen.push_back(
              fmt::format("the plan has no {}, on which the run spent {} a step", words_of(key),
                          readable(time)));
        if (key.first != StepPart::Communication) strange_ += time;
      }
    read_gaps(planned, steps);
  }

  // Operators and kernels of no known name are taken for element-wise: they go to the element-wise
  // work that the plan has in the same part of the step. Returns by how much that work takes longer
  // for it.
  std::map<StepPart, double> spread_others(std::vector<TimesByKey>& times,
                                           const std::map<Key, std::vector<PlannedUnit>>& targets) {
    std::map<StepPart, double> longer;
    for (const StepPart part : {StepPart::Forward, StepPart::Backward}) {
      longer[part] = 1;
      const Key other{part, std::string(kOtherWork)};
      if (targets.count(other) > 0) continue;  // these are all element-wise work that there is
      std::vector<std::int64_t> others, known;
      for (TimesByKey& one : times) {
        others.push_back(sum_of(one[other]).count());
        Duration sum{};
        for (const auto& [key, units] : targets)
          if (key.first == part && is_elementwise(units)) sum += sum_of(one[key]);
        known.push_back(sum.count());
      }
      const Duration more = median_of(others), sum = median_of(known);
      if (sum > Duration{})
        longer[part] = 1 + to_seconds(more) / to_seconds(sum);
      else
        strange_ += more;
    }
    return longer;
  }

  Duration apart(std::uint32_t process, const RecordedUnit& unit) const {
    return contention_.apart({process, unit.start.count(), (unit.start + unit.time).count(),
                              unit.part == StepPart::Communication ? kCommunicates : unit.key});
  }

  static bool is_elementwise(const std::vector<PlannedUnit>& units) {
    return units.front().family == to_string(KernelFamily::Elementwise);
  }

  void match_key(const Key& key, const std::vector<PlannedUnit>& units,
                 const std::vector<TimesByKey>& times, const std::map<StepPart, double>& longer) {
    const double more =
        key.second != kOtherWork && is_elementwise(units) && longer.count(key.first) > 0
            ? longer.at(key.first)
            : 1;
    const auto of = [&key](const TimesByKey& one) -> const std::vector<Duration>& {
      static const std::vector<Duration> none;
      const auto found = one.find(key);
      return found == one.end() ? none : found->second;
    };
    std::vector<std::int64_t> sums;
    for (const TimesByKey& one : times) sums.push_back(sum_of(of(one)).count());
    const Duration measured = seconds(to_seconds(median_of(sums)) * more);
    Duration predicted{};
    for (const PlannedUnit& unit : units) predicted += unit.predicted;
    if (measured <= Duration{} || predicted <= Duration{}) return;

    const std::vector<PlannedUnit> pairs = gradients_joined(units);
    const auto fits = [&](const std::vector<PlannedUnit>& list) {
      return 2 * std::count_if(
                     times.begin(), times.end(),
                     [&](const TimesByKey& one) { return of(one).size() == list.size(); }) >
             static_cast<std::ptrdiff_t>(times.size());
    };
    const std::vector<PlannedUnit>* followed = fits(units)   ? &units
                                               : fits(pairs) ? &pairs
                                                             : nullptr;
    if (followed != nullptr) {
      for (const TimesByKey& one : times) {
        const std::vector<Duration>& own = of(one);
        if (own.size() != followed->size()) continue;
        for (std::size_t i = 0; i < own.size(); ++i)
          take((*followed)[i], seconds(to_seconds(own[i]) * more));
      }
    } else {
      const double factor = to_seconds(measured) / to_seconds(predicted);
      for (const PlannedUnit& unit : units)
        take(unit, seconds(to_seconds(unit.predicted) * factor));
    }
    TracedWork& row =
        key.first == StepPart::Communication
            ? row_of(collective_words(units.front().collective, units.front().ranks), key.first)
            : row_of(key.second, key.first);
    row.measured += measured, row.predicted += predicted;
    row.calls += static_cast<std::int64_t>(units.size());
    row.by_shape = followed != nullptr;
  }

  void take(const PlannedUnit& unit, Duration time) {
    if (unit.part == StepPart::Communication)
      return exchange(unit.collective, unit.ranks, unit.bytes, time);
    add_together(kernels_, unit.works, time, base_, device());
  }

  // Spans that Trainyard wrote are as long as their phase, which is longer than its kernels by what
  // the host takes to issue them, and by the slowest of the replicas. Returns the time from which
  // the prices of the recording make the same phase: they take the host's part from the recording,
  // and add the slowest replica's part as the base does, but not to updates.
  Duration priced_time(const Task& task, Duration took) const {
    if (task.kind != TaskKind::Compute || task.phase == Phase::Update || is_local_core(device()))
      return took;
    const Duration lengthened = base_.phase(PhaseLoad{1, 0, 0}, false, workload_.scenario.cluster);
    return seconds(to_seconds(took) / to_seconds(lengthened));
  }

  // Gaps between operators on a host are what starting each takes. A device waits between kernels
  // for the host that issues them, and where stages wait for each other this cannot be told apart.
  void read_gaps(const std::vector<PlannedUnit>& planned,
                 const std::vector<const RecordedStepUnits*>& steps) {
    double kernels = 0;
    for (const PlannedUnit& unit : planned)
      for (const WorkCount& work : unit.works)
        if (work.work.kernel >= 0) kernels += work.count;
    std::vector<std::int64_t> gaps;
    for (const RecordedStepUnits* step : steps) gaps.push_back(step->gaps.count());
    const double gap = to_seconds(median_of(gaps)) + to_seconds(strange_);
    if (kernels <= 0) return;
    Calibration& c = found_.calibration;
    if (is_local_core(device())) {
      c.overhead = seconds(gap / kernels);
    } else if (whole_) {
      c.issue = Duration{1};  // parts of the step as a whole include what the host takes
    } else if (program_.devices > 1) {
      found_.unseen.emplace_back(
          "what the host takes to issue a kernel: stages wait for each other, which looks the "
          "same");
    } else {
      const double busy = to_seconds(found_.step) - gap;
      const double host = std::pow(
          std::max(0.0, std::pow(to_seconds(found_.step), 4) - std::pow(std::max(0.0, busy), 4)),
          0.25);
      c.issue = seconds(host / kernels);
    }
  }

  void hold_back(const std::vector<std::int64_t>& lengths) {
    if (lengths.size() < 3) return;
    std::vector<double> off;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      std::vector<std::int64_t> others = lengths;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      const auto middle = static_cast<double>(quantile(std::move(others), 0.5));
      if (middle > 0) off.push_back(std::abs(static_cast<double>(lengths[i]) / middle - 1));
    }
    std::sort(off.begin(), off.end());
    if (off.empty()) return;
    found_.calibration.residual_median = off[off.size() / 2];
    found_.calibration.residual_worst = off.back();
  }

  void read_reserve() {
    if (auto reserve = recorded_reserve(trace_, memory_)) {
      found_.calibration.reserve = reserve->factor;
      if (!reserve->note.empty()) found_.notes.push_back(std::move(reserve->note));
    } else if (!is_local_core(device())) {
      found_.unseen.emplace_back(
          "what the allocator reserves beyond tensors: the recording has no counters of memory");
    }
  }

  void name_unseen_contention() {
    constexpr const char* kRepeats =
        "of one size ran three times beside it and three times apart from it";
    if (found_.calibration.exposed.empty() || is_local_core(device())) return;
    if (!contention_.of_computation())
      found_.unseen.push_back(
          "how much slower computation is beside communication: " +
          (trace_.sizes.empty() && !followed_
               ? std::string("the recording does not state the sizes of kernels (of PyTorch's "
                             "profiler record_shapes=True, of nsys the report cuda_gpu_trace), "
                             "which tell the same work alone and beside it")
               : fmt::format("no kernel {}", kRepeats)));
    else if (!contention_.of_communication())
      found_.unseen.push_back(fmt::format(
          "how much slower communication is beside computation: no collective {}, so that it is "
          "taken to lose what computation loses",
          kRepeats));
  }

  TracePrices finish() {
    Calibration& c = found_.calibration;
    if (kernels_.empty())
      throw Error(Error::Kind::InvalidInput,
                  "expected the recording of a run of this plan, found no span that is work of it",
                  {trace_.source});
    const Scenario& scenario = workload_.scenario;
    c.machine =
        fmt::format("{}, recorded in {} of {}", trace_.device.empty() ? device().id : trace_.device,
                    trace_.source, scenario.model.name);
    if (!is_local_core(device())) c.device = device().id;
    for (const auto& [key, times] : kernels_) c.kernels.push_back(timing_of(times));
    for (const auto& [of, times] : exchanges_)
      c.exchanges.push_back({std::get<0>(of), std::get<1>(of), Bytes{std::get<2>(of)},
                             std::max(Duration{1}, median_of(times))});
    // Copies are priced as without the recording.
    constexpr Bytes kLong{std::int64_t{1} << 30};
    const Duration start = base_.transfer(Bytes{1}, scenario.cluster, 0);
    const Duration whole = base_.transfer(kLong, scenario.cluster, 0);
    c.copy = {
        start,
        {static_cast<double>(kLong.value) / std::max(1e-9, to_seconds(whole) - to_seconds(start))}};
    c.reduce = c.copy.rate;
    read_reserve();
    found_.overlaps = recorded_overlaps(trace_);
    for (const RecordedOverlap& overlap : found_.overlaps) c.exposed.push_back(overlap.of);
    c.contention = contention_.measured();
    name_unseen_contention();
    constexpr double kStrange = 100;  // times what is predicted; the slowest libraries stay below
                                      // it
    Duration recorded{}, predicted{};
    for (const auto& [name, row] : rows_) recorded += row.measured, predicted += row.predicted;
    if (const double times = to_seconds(recorded) / to_seconds(predicted);
        times > kStrange || times * kStrange < 1)
      found_.unseen.insert(found_.unseen.begin(),
                           fmt::format("the recorded work took {:.3g} times what is predicted: is "
                                       "this the model, cluster and plan that was recorded?",
                                       times));
    if (c.exchanges.empty() && scenario.cluster.count > 1)
      found_.unseen.emplace_back("links: no collective was recorded");
    for (const std::string& sentence : found_.unseen) c.notes.push_back(sentence);
    for (const std::string& sentence : found_.notes) c.notes.push_back(sentence);
    for (auto& [name, row] : rows_) found_.works.push_back(row);
    std::stable_sort(
        found_.works.begin(), found_.works.end(),
        [](const TracedWork& a, const TracedWork& b) { return a.measured > b.measured; });
    return std::move(found_);
  }

  static std::string collective_words(CollectiveKind kind, std::int64_t ranks) {
    return fmt::format("{} of {}", to_string(kind), ranks);
  }
  static std::string words_of(const Key& key) {
    if (key.first == StepPart::Communication || key.first == StepPart::Update) return key.second;
    return (key.second == kOtherWork ? "" : key.second + " ") + to_string(key.first);
  }
  TracedWork& row_of(const std::string& work, StepPart part) {
    TracedWork& row = rows_[words_of({part, work})];
    row.work = words_of({part, work});
    return row;
  }
  void exchange(CollectiveKind kind, std::int64_t ranks, Bytes bytes, Duration took) {
    exchanges_[{kind, ranks, bytes.value}].push_back(took.count());
  }
  const Device& device() const { return workload_.scenario.cluster.device; }

  const RecordedTrace& trace_;
  const Workload& workload_;
  const CostModel& base_;
  const MemorySnapshot* const memory_;
  Program program_;
  KernelTable kernels_;
  std::map<std::tuple<CollectiveKind, std::int64_t, std::int64_t>, std::vector<std::int64_t>>
      exchanges_;
  std::map<std::string, TracedWork> rows_;
  RecordedContention contention_;
  bool followed_ = false;  // whether its spans are the program's instructions
  bool whole_ = false;     // whether a part of the step is priced as a whole
  Duration strange_{};     // a step's time of kernels that the plan has no work for
  TracePrices found_;
};

}  // namespace

TracePrices prices_of_trace(const RecordedTrace& trace, const Workload& workload,
                            const CostModel& base, const MemorySnapshot* memory) {
  return TraceReader(trace, workload, base, memory).read();
}

}  // namespace trainyard
