#include "core/timeline/merged_trace.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"

namespace trainyard {
namespace {

std::string_view file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// Returns 3 for "trace_rank-3.json".
int rank_in(std::string_view name) {
  constexpr std::string_view kWord = "rank";
  for (std::size_t at = name.rfind(kWord); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : name.rfind(kWord, at - 1)) {
    std::string_view rest = name.substr(at + kWord.size());
    if (!rest.empty() && std::string_view("_-=.").find(rest[0]) != std::string_view::npos)
      rest.remove_prefix(1);
    int rank = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), rank);
    if (error == std::errc() && end != rest.data() && rank >= 0 && rank < 1 << 24) return rank;
  }
  return -1;
}

struct Rank {
  RecordedTrace trace;
  std::int64_t shift = 0;  // added to its times to reach the common clock
  int rank = -1;           // unknown
  bool several = false;    // the trace has several ranks
};

Rank rank_of(RecordedTrace trace) {
  std::set<int> ranks;
  for (const RecordedProcess& process : trace.processes) ranks.insert(process.rank);
  ranks.erase(-1);
  Rank made;
  made.several = ranks.size() > 1;
  if (ranks.size() == 1)
    made.rank = *ranks.begin();
  else if (ranks.empty())
    made.rank = rank_in(file_name(trace.source));
  made.trace = std::move(trace);
  return made;
}

void refuse_twins(const std::vector<Rank>& list) {
  for (std::size_t i = 1; i < list.size(); ++i)
    if (list[i].rank >= 0 && list[i].rank == list[i - 1].rank)
      throw Error(Error::Kind::InvalidInput,
                  "expected one file a rank, found two of rank " + std::to_string(list[i].rank) +
                      ": " + list[i - 1].trace.source + " and " + list[i].trace.source,
                  {list[i].trace.source});
}

// Returns the first step that all traces mark, with its start in each.
std::optional<std::pair<std::int64_t, std::vector<std::int64_t>>> common_step(
    const std::vector<TraceClock>& clocks) {
  std::map<std::int64_t, std::map<std::size_t, std::int64_t>> starts;
  for (std::size_t i = 0; i < clocks.size(); ++i)
    for (const auto& [number, start] : clocks[i].steps) {
      const auto [known, fresh] = starts[number].emplace(i, start);
      known->second = std::min(known->second, start);
    }
  for (const auto& [number, of] : starts) {
    if (of.size() != clocks.size()) continue;
    std::vector<std::int64_t> each;
    for (const auto& [i, start] : of) each.push_back(start);
    return std::pair(number, std::move(each));
  }
  return {};
}

TraceClock clock_of(const RecordedTrace& trace) {
  TraceClock clock;
  if (trace.epoch) clock.begin = *trace.epoch + trace.base;
  for (const RecordedStep& step : trace.steps)
    clock.steps.emplace_back(step.number, step.from.count());
  return clock;
}

class Merger {
 public:
  void add(Rank each, std::size_t of) {
    RecordedTrace& t = each.trace;
    const std::int64_t shift = each.shift;
    const auto first_thread = static_cast<std::uint32_t>(made_.threads.size());
    const std::vector<std::uint32_t> processes = take_processes(each);
    for (RecordedThread thread : t.threads) {
      thread.process = processes[thread.process];
      made_.threads.push_back(std::move(thread));
    }
    std::vector<std::uint32_t> names;
    for (std::string& name : t.names) names.push_back(take_name(std::move(name)));
    const std::uint64_t first = made_.start.size();
    for (RecordedRow row : t.rows) {
      row.thread += first_thread;
      row.first += first;
      made_.rows.push_back(row);
    }
    for (std::size_t i = 0; i < t.start.size(); ++i) {
      made_.start.push_back(t.start[i] + shift);
      made_.end.push_back(t.end[i] + shift);
      made_.name.push_back(names[t.name[i]]);
    }
    made_.category.insert(made_.category.end(), t.category.begin(), t.category.end());
    if (!t.sizes.empty()) made_.sizes.resize(static_cast<std::size_t>(first), kSizesNotStated);
    for (const std::uint32_t sizes : t.sizes)
      made_.sizes.push_back(sizes == kSizesNotStated ? sizes : names[sizes]);
    if (!made_.sizes.empty()) made_.sizes.resize(made_.start.size(), kSizesNotStated);
    for (RecordedCounter& counter : t.counters) {
      counter.process = processes[counter.process];
      for (std::int64_t& at : counter.at) at += shift;
      made_.counters.push_back(std::move(counter));
    }
    for (RecordedStep step : t.steps) {
      step.process = processes[step.process];
      step.from += Duration{shift};
      step.to += Duration{shift};
      made_.steps.push_back(step);
    }
    std::vector<std::uint32_t> groups;
    for (RecordedGroup& group : t.groups) groups.push_back(take_group(std::move(group)));
    for (RecordedCollective one : t.collectives) {
      one.process = processes[one.process], one.group = groups[one.group];
      one.name = names[one.name];
      one.from += Duration{shift}, one.to += Duration{shift};
      made_.collectives.push_back(one);
    }
    if (shift == 0) made_.base = t.base, made_.epoch = t.epoch;
    take_rest(t, of);
  }

  RecordedTrace finish(std::string note) {
    std::stable_sort(made_.steps.begin(), made_.steps.end(),
                     [](const RecordedStep& a, const RecordedStep& b) {
                       return std::pair(a.process, a.from) < std::pair(b.process, b.from);
                     });
    std::stable_sort(made_.collectives.begin(), made_.collectives.end(),
                     [](const RecordedCollective& a, const RecordedCollective& b) {
                       return std::pair(a.process, a.from) < std::pair(b.process, b.from);
                     });
    made_.notes.push_back(std::move(note));
    return std::move(made_);
  }

 private:
  // There is one process per rank, whatever the trace calls its parts.
  std::vector<std::uint32_t> take_processes(const Rank& each) {
    const auto first = static_cast<std::uint32_t>(made_.processes.size());
    std::vector<std::uint32_t> numbers(each.trace.processes.size(), first);
    std::set<std::uint32_t> devices;  // streams with one number on several devices are distinct
    for (const RecordedThread& thread : each.trace.threads)
      if (thread.device) devices.insert(thread.process);
    if (!each.several && devices.size() < 2) {
      made_.processes.push_back({each.rank < 0 ? std::string(file_name(each.trace.source))
                                               : "rank " + std::to_string(each.rank),
                                 each.rank});
      return numbers;
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = first + static_cast<std::uint32_t>(i);
      made_.processes.push_back(each.trace.processes[i]);
      if (each.several) continue;
      made_.processes.back().name.insert(0, each.rank < 0
                                                ? std::string(file_name(each.trace.source)) + ", "
                                                : "rank " + std::to_string(each.rank) + ", ");
    }
    return numbers;
  }

  std::uint32_t take_name(std::string name) {
    const auto number = static_cast<std::uint32_t>(made_.names.size());
    const auto [found, fresh] = names_.emplace(std::move(name), number);
    if (fresh) made_.names.push_back(found->first);
    return found->second;
  }

  // Groups of one name and the same ranks are one group, seen by several of its ranks.
  std::uint32_t take_group(RecordedGroup group) {
    const auto found = std::find(made_.groups.begin(), made_.groups.end(), group);
    if (found != made_.groups.end())
      return static_cast<std::uint32_t>(found - made_.groups.begin());
    made_.groups.push_back(std::move(group));
    return static_cast<std::uint32_t>(made_.groups.size() - 1);
  }

  void take_rest(RecordedTrace& t, std::size_t of) {
    if (made_.source.empty())
      made_.source = of > 1 ? t.source + " and " + std::to_string(of - 1) + " more" : t.source;
    if (made_.device.empty()) made_.device = t.device;
    made_.ranks = std::max({made_.ranks, t.ranks, static_cast<std::int64_t>(of)});
    made_.events += t.events;
    for (TraceDefect& defect : t.defects) {
      defect.found += " in " + std::string(file_name(t.source));
      made_.defects.push_back(std::move(defect));
    }
    for (std::string& note : t.notes) made_.notes.push_back(std::move(note));
  }

  RecordedTrace made_;
  std::unordered_map<std::string, std::uint32_t> names_;
};

}  // namespace

AlignedClocks aligned_clocks(const std::vector<TraceClock>& clocks) {
  std::vector<std::int64_t> begins;
  for (const TraceClock& each : clocks)
    if (each.begin) begins.push_back(*each.begin);
  if (begins.size() == clocks.size()) {
    const auto [low, high] = std::minmax_element(begins.begin(), begins.end());
    const std::int64_t first = *low;
    if (*high - first < kFarthestRecorded.count() / 2) {
      for (std::int64_t& begin : begins) begin -= first;
      return {std::move(begins),
              "the clocks of the ranks are aligned by their baseTimeNanoseconds"};
    }
  }
  if (auto step = common_step(clocks)) {
    auto& [number, starts] = *step;
    const std::int64_t last = *std::max_element(starts.begin(), starts.end());
    for (std::int64_t& start : starts) start = last - start;
    return {std::move(starts), "the clocks of the ranks are aligned by the start of step " +
                                   std::to_string(number) +
                                   ", because not all files say a baseTimeNanoseconds"};
  }
  return {std::vector<std::int64_t>(clocks.size()),
          "the clocks of the ranks are not aligned, because not all files say a "
          "baseTimeNanoseconds and no step is marked in all: each begins at 0"};
}

RecordedTrace merged_trace(std::vector<RecordedTrace> traces) {
  std::vector<TraceClock> clocks;
  for (const RecordedTrace& trace : traces) clocks.push_back(clock_of(trace));
  return merged_trace(std::move(traces), aligned_clocks(clocks));
}

RecordedTrace merged_trace(std::vector<RecordedTrace> traces, const AlignedClocks& clocks) {
  std::vector<Rank> list;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    list.push_back(rank_of(std::move(traces[i])));
    list.back().shift = clocks.shifts[i];
  }
  traces.clear();
  const auto place = [](const Rank& each) {
    return each.rank < 0 ? std::numeric_limits<int>::max() : each.rank;
  };
  std::stable_sort(list.begin(), list.end(),
                   [&](const Rank& a, const Rank& b) { return place(a) < place(b); });
  refuse_twins(list);
  Merger merger;
  for (Rank& each : list) merger.add(std::move(each), list.size());
  RecordedTrace merged = merger.finish(clocks.note);
  check(merged);  // clocks that are far apart may have moved a time out of range
  return merged;
}

}  // namespace trainyard
