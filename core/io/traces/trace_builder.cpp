#include "core/io/traces/trace_builder.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/base/utf8.h"

namespace trainyard {
namespace {

constexpr std::uint32_t kDeepest = 96;    // most rows of one thread
constexpr std::size_t kDefectKinds = 50;  // kinds of defects that are distinguished; more are
                                          // counted with the last
constexpr const char* kUpdates = "Optimizer.step";
constexpr std::uint64_t kStopEvery = 0xFFFF;  // comparisons between two checks of the stop token

void stop_if(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Error(Error::Kind::Cancelled, "the import was cancelled");
}

// Sorts by start, and an enclosing span before the enclosed ones; checks the stop token now and
// then.
void sort_spans(std::vector<TraceSpan>& spans, const std::stop_token& stop) {
  std::uint64_t looked = 0;
  const auto before = [&](const TraceSpan& a, const TraceSpan& b) {
    if ((++looked & kStopEvery) == 0) stop_if(stop);
    if (a.start != b.start) return a.start < b.start;
    return a.end != b.end ? a.end > b.end : a.name < b.name;
  };
  if (!std::is_sorted(spans.begin(), spans.end(), before))
    std::sort(spans.begin(), spans.end(), before);
}

std::optional<std::int64_t> number_after(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + words.size());
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return {};
  return value;
}

// Orders numbers before words and numbers by value: "2" comes before "10".
bool natural_less(const std::string& a, const std::string& b) {
  const auto digits = [](const std::string& t) {
    return !t.empty() &&
           std::all_of(t.begin(), t.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  const bool na = digits(a), nb = digits(b);
  if (na != nb) return na;
  if (na && a.size() != b.size()) return a.size() < b.size();
  return a < b;
}

bool holds_words(std::string_view text, std::string_view words) {
  return text.find(words) != std::string_view::npos;
}

}  // namespace

std::string clean_text(std::string_view text) {
  if (is_utf8(text) && std::none_of(text.begin(), text.end(),
                                    [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
    return std::string(text);
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0 || static_cast<unsigned char>(text.front()) < 0x20)
      out += '?';
    else
      out += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return out;
}

RecordedKind kind_of_kernel(std::string_view name) {
  if (name.starts_with("nccl") || name.starts_with("rccl") || holds_words(name, "ncclDevKernel") ||
      holds_words(name, "ncclKernel"))
    return RecordedKind::Communication;
  if (name.starts_with("Memcpy") || name.starts_with("Memset")) return RecordedKind::Transfer;
  if (holds_words(name, "multi_tensor_apply") || holds_words(name, "FusedAdam"))
    return RecordedKind::Optimizer;
  return RecordedKind::Forward;
}

std::string grid_words(std::string_view grid, std::string_view block) {
  std::string words = "grid " + std::string(grid);
  if (!block.empty()) words += " block " + std::string(block);
  return words;
}

std::uint32_t TraceBuilder::name(std::string_view text) {
  key_.assign(text);
  if (const auto found = names_.find(key_); found != names_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(trace_.names.size());
  trace_.names.push_back(clean_text(text));
  steps_of_names_.push_back(step_number(trace_.names.back()));
  names_.emplace(key_, number);
  return number;
}

std::uint32_t TraceBuilder::process(std::string_view id) {
  if (const auto found = process_numbers_.find(id); found != process_numbers_.end())
    return found->second;
  const auto number = static_cast<std::uint32_t>(trace_.processes.size());
  trace_.processes.push_back({});
  orders_.push_back(std::numeric_limits<std::int64_t>::max());
  process_ids_.push_back(clean_text(id));
  process_numbers_.emplace(std::string(id), number);
  return number;
}

std::uint32_t TraceBuilder::thread(std::string_view process_id, std::string_view id,
                                   bool annotations) {
  key_.assign(process_id);
  key_ += '\0';
  key_ += id;
  if (annotations) key_ += '\1';
  // Consecutive events mostly belong to one thread.
  if (last_thread_ < thread_ids_.size() && thread_ids_[last_thread_] == key_) return last_thread_;
  if (const auto found = thread_numbers_.find(key_); found != thread_numbers_.end())
    return last_thread_ = found->second;
  const auto number = static_cast<std::uint32_t>(threads_.size());
  thread_numbers_.emplace(key_, number);
  thread_ids_.push_back(key_);
  threads_.emplace_back().annotations = annotations;
  trace_.threads.push_back({process(process_id), "", false});
  return last_thread_ = number;
}

void TraceBuilder::name_thread(std::uint32_t thread, std::string_view name) {
  trace_.threads[thread].name = clean_text(name);
}

void TraceBuilder::name_process(std::uint32_t process, std::string_view name) {
  RecordedProcess& named = trace_.processes[process];
  named.name = clean_text(name);
  if (const auto number = number_after(name, "rank "); number && *number >= 0 && *number < 1 << 24)
    named.rank = static_cast<int>(*number);
}

void TraceBuilder::see(std::int64_t from, std::int64_t to) {
  first_ = std::min(first_, from);
  last_ = std::max(last_, to);
}

bool TraceBuilder::is_kept(std::int64_t from, std::int64_t to) const {
  if (!range_) return true;
  const std::int64_t first = range_->base + range_->from.count();
  const std::int64_t last = range_->base + range_->to.count();
  return from < last && (to > first || (from == to && from == first));
}

void TraceBuilder::leave_out(std::uint32_t thread, const TraceSpan& span) {
  if (span.launches) launches_.push_back({span.correlation, thread, span.start, span.operator_id});
  if (text(span.name).starts_with(kUpdates)) updates_.emplace_back(thread, span.start, span.end);
  if (steps_of_names_[span.name]) marks_left_out_.emplace_back(thread, span);
}

void TraceBuilder::add(std::uint32_t thread, const TraceSpan& span) {
  if (measure_) {
    measure_->span(span.start, span.end);
    if (const auto& step = steps_of_names_[span.name])
      measure_->step(*step, threads_[thread].annotations, span.start, span.end);
    return;
  }
  Thread& t = threads_[thread];
  if (!t.backward && !span.launches && span.kind == RecordedKind::Host)
    t.backward = text(span.name).starts_with("autograd::engine::");
  if (span.sizes != kSizesNotStated && span.operator_id != kNoCorrelation &&
      !trace_.threads[thread].device)
    sizes_of_operators_[span.operator_id] = span.sizes;
  if (!is_kept(span.start, span.end)) return leave_out(thread, span);
  see(span.start, span.end);
  t.spans.push_back(span);
}

std::uint32_t TraceBuilder::group(const RecordedGroup& group) {
  const auto found = std::find(trace_.groups.begin(), trace_.groups.end(), group);
  if (found != trace_.groups.end())
    return static_cast<std::uint32_t>(found - trace_.groups.begin());
  trace_.groups.push_back(group);
  return static_cast<std::uint32_t>(trace_.groups.size() - 1);
}

void TraceBuilder::add(const RecordedCollective& one) {
  if (!measure_ && is_kept(one.from.count(), one.to.count())) trace_.collectives.push_back(one);
}

void TraceBuilder::begin(std::uint32_t thread, const TraceSpan& span) {
  if (measure_) measure_->time(span.start, span.start);
  threads_[thread].open.push_back(span);
}

bool TraceBuilder::end(std::uint32_t thread, std::int64_t at) {
  std::vector<TraceSpan>& open = threads_[thread].open;
  if (open.empty()) return false;
  TraceSpan span = open.back();
  open.pop_back();
  span.end = std::max(span.start, at);
  add(thread, span);
  return true;
}

void TraceBuilder::count(std::uint32_t process, std::string_view counter, bool bytes,
                         std::int64_t at, double value) {
  if (!std::isfinite(value)) return;
  const auto key = std::pair(process, clean_text(counter));
  auto found = counter_numbers_.find(key);
  if (found == counter_numbers_.end()) {
    found = counter_numbers_.emplace(key, static_cast<std::uint32_t>(trace_.counters.size())).first;
    trace_.counters.push_back({process, key.second, bytes, {}, {}});
    samples_.emplace_back();
    before_.emplace_back();
  }
  if (measure_) return measure_->time(at, at);
  if (!is_kept(at, at)) {
    std::optional<Sample>& before = before_[found->second];
    const bool earlier = at < range_->base + range_->from.count();
    if (earlier && (!before || before->at <= at)) before = Sample{at, value};
    return;
  }
  see(at, at);
  samples_[found->second].push_back({at, value});
}

bool TraceBuilder::repeats(const std::string& expected, const std::string& found) {
  for (TraceDefect& known : trace_.defects)
    if (known.expected == expected && known.found == found) return ++known.count, true;
  if (trace_.defects.size() < kDefectKinds) return false;
  ++trace_.defects.back().count;
  return true;
}

void TraceBuilder::defect(TraceDefect defect) {
  if (!repeats(defect.expected, defect.found)) trace_.defects.push_back(std::move(defect));
}

// A clock that restarted, or a time of 0 among times since 1970, must not hide the rest, so times
// that are years away from the median are left out.
void TraceBuilder::leave_out_far(const std::stop_token& stop) {
  constexpr std::int64_t kReach = kFarthestRecorded.count() / 2;
  if (first_ > last_ || last_ - first_ <= kFarthestRecorded.count()) return;
  std::vector<std::int64_t> starts;
  for (const Thread& t : threads_)
    for (const TraceSpan& span : t.spans) starts.push_back(span.start);
  if (starts.empty())
    for (const auto& samples : samples_)
      for (const Sample& sample : samples) starts.push_back(sample.at);
  const auto middle = starts.begin() + static_cast<std::ptrdiff_t>(starts.size() / 2);
  std::nth_element(starts.begin(), middle, starts.end());
  const std::int64_t low = *middle - kReach, high = *middle + kReach;
  first_ = std::numeric_limits<std::int64_t>::max();
  last_ = std::numeric_limits<std::int64_t>::min();
  std::uint64_t out = 0;
  for (Thread& t : threads_) {
    stop_if(stop);
    out +=
        std::erase_if(t.spans, [&](const TraceSpan& s) { return s.start < low || s.end > high; });
    for (const TraceSpan& span : t.spans) see(span.start, span.end);
  }
  for (auto& samples : samples_) {
    out += std::erase_if(samples, [&](const Sample& s) { return s.at < low || s.at > high; });
    for (const Sample& sample : samples) see(sample.at, sample.at);
  }
  if (first_ > last_) first_ = last_ = 0;
  trace_.defects.push_back({"times within 417 days", "times that are farther apart", 0, 0, out,
                            "what is far from the middle is left out"});
}

// A span that was begun and never ended lasts to the end of the trace.
void TraceBuilder::close_open() {
  std::uint64_t unended = 0;
  if (range_) last_ = std::max(last_, range_->base + range_->whole.count());
  for (const Thread& t : threads_)
    for (const TraceSpan& span : t.open) see(span.start, span.start);
  for (std::uint32_t t = 0; t < threads_.size(); ++t)
    while (!threads_[t].open.empty()) {
      ++unended;
      end(t, last_);
    }
  if (unended > 0)
    trace_.defects.push_back(
        {"an end of every event that begins", "none", 0, 0, unended, "they last to the end"});
}

// A kernel has the sizes of the operator that launched it, where the profiler was asked for them,
// and else its grid.
std::uint32_t TraceBuilder::sizes_of(const TraceSpan& kernel, const Launch* launch) const {
  for (const std::uint32_t id :
       {kernel.operator_id, launch != nullptr ? launch->operator_id : kNoCorrelation})
    if (const auto found = sizes_of_operators_.find(id);
        id != kNoCorrelation && found != sizes_of_operators_.end())
      return found->second;
  return kernel.sizes;
}

// Kernels get the kind of the pass that launched them: autograd's own thread runs the backward
// pass, and an optimizer marks its step.
void TraceBuilder::tell_kernels(const std::stop_token& stop) {
  std::vector<Launch> launches = std::move(launches_);
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> updates(threads_.size());
  for (const auto& [thread, from, to] : updates_) updates[thread].emplace_back(from, to);
  std::vector<bool> updates_by_name(trace_.names.size());
  for (std::size_t n = 0; n < trace_.names.size(); ++n)
    updates_by_name[n] = trace_.names[n].starts_with(kUpdates);
  bool several = false;
  for (std::uint32_t t = 0; t < threads_.size(); ++t) {
    stop_if(stop);
    several = several || threads_[t].backward;
    for (const TraceSpan& span : threads_[t].spans) {
      if (span.launches) launches.push_back({span.correlation, t, span.start, span.operator_id});
      if (updates_by_name[span.name]) updates[t].emplace_back(span.start, span.end);
    }
    std::sort(updates[t].begin(), updates[t].end());
    several = several || !updates[t].empty();
  }
  if (!several && sizes_of_operators_.empty()) launches.clear();
  std::stable_sort(launches.begin(), launches.end());
  stop_if(stop);
  const auto kind_of = [&](const Launch& launch) {
    const auto& list = updates[launch.thread];
    auto after = std::upper_bound(list.begin(), list.end(),
                                  std::pair(launch.at, std::numeric_limits<std::int64_t>::max()));
    if (after != list.begin() && std::prev(after)->second > launch.at)
      return RecordedKind::Optimizer;
    return threads_[launch.thread].backward ? RecordedKind::Backward : RecordedKind::Forward;
  };
  const auto launch_of = [&](const TraceSpan& span) -> const Launch* {
    if (span.correlation == kNoCorrelation) return nullptr;
    const auto found = std::lower_bound(launches.begin(), launches.end(),
                                        Launch{span.correlation, 0, 0, kNoCorrelation});
    return found != launches.end() && found->correlation == span.correlation ? &*found : nullptr;
  };
  for (std::uint32_t t = 0; t < threads_.size(); ++t) {
    stop_if(stop);
    const bool on_device = trace_.threads[t].device;
    for (TraceSpan& span : threads_[t].spans) {
      if (span.kind == RecordedKind::Host) {
        span.sizes = kSizesNotStated;
        continue;
      }
      const Launch* const launch = launch_of(span);
      span.sizes = on_device ? sizes_of(span, launch) : kSizesNotStated;
      states_sizes_ |= span.sizes != kSizesNotStated;
      if (several && launch != nullptr && span.kind == RecordedKind::Forward)
        span.kind = kind_of(*launch);
    }
  }
}

// Each span goes to the first row of its thread that is free when it starts: nested spans at their
// depth, and spans that overlap without nesting below.
void TraceBuilder::lay_out(std::uint32_t thread, const std::stop_token& stop) {
  std::vector<TraceSpan> spans = std::move(threads_[thread].spans);
  threads_[thread].spans = {};
  sort_spans(spans, stop);
  std::vector<std::int64_t> free_from;
  std::vector<std::uint8_t> depths(spans.size());
  std::vector<std::uint32_t> counts;
  std::uint64_t left_out = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    std::uint32_t depth = 0;
    while (depth < free_from.size() && free_from[depth] > spans[i].start) ++depth;
    if (depth == kDeepest) {
      ++left_out;
      depths[i] = kDeepest;
      continue;
    }
    if (depth == free_from.size()) {
      free_from.push_back(0);
      counts.push_back(0);
    }
    free_from[depth] = spans[i].end;
    depths[i] = static_cast<std::uint8_t>(depth);
    ++counts[depth];
  }
  if (left_out > 0)
    trace_.defects.push_back({"at most " + std::to_string(kDeepest) + " spans at once in a thread",
                              "more", 0, 0, left_out, "the deepest are left out"});
  std::vector<std::uint64_t> next;
  for (std::uint32_t depth = 0; depth < counts.size(); ++depth) {
    const std::uint64_t first =
        next.empty() ? trace_.start.size() : next.back() + counts[depth - 1];
    next.push_back(first);
    trace_.rows.push_back({thread, depth, first, counts[depth]});
  }
  const std::size_t whole =
      trace_.start.size() + std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  trace_.start.resize(whole);
  trace_.end.resize(whole);
  trace_.name.resize(whole);
  trace_.category.resize(whole);
  if (states_sizes_) trace_.sizes.resize(whole, kSizesNotStated);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (depths[i] == kDeepest) continue;
    const std::uint64_t at = next[depths[i]]++;
    trace_.start[at] = spans[i].start - first_;
    trace_.end[at] = spans[i].end - first_;
    trace_.name[at] = spans[i].name;
    trace_.category[at] = static_cast<std::uint8_t>(spans[i].kind);
    if (states_sizes_) trace_.sizes[at] = spans[i].sizes;
  }
}

// Orders processes with streams first, then as the trace sorts them; within a process streams come
// first.
std::vector<std::uint32_t> TraceBuilder::order_of_threads() const {
  std::vector<bool> has_stream(trace_.processes.size());
  for (const RecordedThread& t : trace_.threads)
    if (t.device) has_stream[t.process] = true;
  std::vector<std::uint32_t> order(threads_.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto less = [&](std::uint32_t a, std::uint32_t b) {
    const RecordedThread &ta = trace_.threads[a], &tb = trace_.threads[b];
    const std::uint32_t pa = ta.process, pb = tb.process;
    if (pa != pb) {
      if (has_stream[pa] != has_stream[pb]) return static_cast<bool>(has_stream[pa]);
      if (orders_[pa] != orders_[pb]) return orders_[pa] < orders_[pb];
      if (process_ids_[pa] != process_ids_[pb])
        return natural_less(process_ids_[pa], process_ids_[pb]);
      return pa < pb;
    }
    if (ta.device != tb.device) return ta.device;
    if (threads_[a].order != threads_[b].order) return threads_[a].order < threads_[b].order;
    const std::string& ia = thread_ids_[a];
    const std::string& ib = thread_ids_[b];
    const std::string na = ia.substr(ia.find('\0') + 1), nb = ib.substr(ib.find('\0') + 1);
    return na != nb ? natural_less(na, nb) : a < b;
  };
  std::stable_sort(order.begin(), order.end(), less);
  return order;
}

// A step of which only a part was kept is left out, because its shares would be wrong.
bool TraceBuilder::lies_within(const RecordedStep& step) const {
  return !range_ || (step.from >= range_->from && step.to <= range_->to);
}

void TraceBuilder::find_steps() {
  if (std::none_of(steps_of_names_.begin(), steps_of_names_.end(),
                   [](const auto& number) { return number.has_value(); }))
    return;
  struct Marks {
    MarkedSteps of_streams, of_host;
  };
  std::map<std::uint32_t, Marks> marks;  // by process
  const auto mark = [&](std::uint32_t thread, std::uint32_t name, std::int64_t from,
                        std::int64_t to) {
    const auto& number = steps_of_names_[name];
    if (!number) return;
    Marks& of = marks[trace_.threads[thread].process];
    auto& steps = threads_[thread].annotations ? of.of_streams : of.of_host;
    const auto [found, fresh] = steps.emplace(*number, std::pair(from, to));
    if (fresh) return;
    found->second.first = std::min(found->second.first, from);
    found->second.second = std::max(found->second.second, to);
  };
  for (const RecordedRow& row : trace_.rows)
    for (std::uint64_t i = row.first; i < row.first + row.count; ++i)
      mark(row.thread, trace_.name[i], trace_.start[i], trace_.end[i]);
  for (const auto& [thread, span] : marks_left_out_)
    mark(thread, span.name, span.start - first_, span.end - first_);
  // Kineto writes a device as a process of its own, so its host is another one.
  MarkedSteps host;
  int hosts = 0;
  bool streams = false;
  for (const auto& [process, of] : marks) {
    if (!of.of_host.empty()) host = of.of_host, ++hosts;
    streams |= !of.of_streams.empty();
  }
  for (auto& [process, of] : marks) {
    if (streams && of.of_streams.empty()) continue;
    if (of.of_host.empty() && hosts == 1) of.of_host = host;
    for (const auto& [number, bounds] : whole_steps(std::move(of.of_streams), of.of_host)) {
      const RecordedStep step{process, number, Instant{bounds.first}, Instant{bounds.second}};
      if (lies_within(step)) trace_.steps.push_back(step);
    }
  }
  std::stable_sort(trace_.steps.begin(), trace_.steps.end(),
                   [](const RecordedStep& a, const RecordedStep& b) {
                     return std::pair(a.process, a.from) < std::pair(b.process, b.from);
                   });
}

// Collectives are on the clock of the recording, and those that are far from the rest are left out
// as their spans were.
void TraceBuilder::place_collectives() {
  std::vector<RecordedCollective>& list = trace_.collectives;
  for (RecordedCollective& one : list) one.from -= Duration{first_}, one.to -= Duration{first_};
  const std::int64_t reach = last_ - first_;
  std::erase_if(list, [&](const RecordedCollective& one) {
    return !range_ && (one.from.count() < 0 || one.to.count() > reach);
  });
  std::stable_sort(list.begin(), list.end(),
                   [](const RecordedCollective& a, const RecordedCollective& b) {
                     return std::pair(a.process, a.from) < std::pair(b.process, b.from);
                   });
}

// Of several samples at one instant the last counts.
void TraceBuilder::gather_counters() {
  for (std::size_t c = 0; c < samples_.size(); ++c) {
    std::vector<Sample>& samples = samples_[c];
    std::stable_sort(samples.begin(), samples.end(),
                     [](const Sample& a, const Sample& b) { return a.at < b.at; });
    RecordedCounter& counter = trace_.counters[c];
    if (before_[c]) {  // the value at the beginning of the range
      counter.at.push_back(range_->from.count());
      counter.value.push_back(before_[c]->value);
    }
    for (const Sample& sample : samples) {
      const std::int64_t at = sample.at - first_;
      if (!counter.at.empty() && counter.at.back() == at) {
        counter.value.back() = sample.value;
        continue;
      }
      counter.at.push_back(at);
      counter.value.push_back(sample.value);
    }
    samples = {};
  }
}

void TraceBuilder::name_what_has_none() {
  for (std::size_t p = 0; p < trace_.processes.size(); ++p) {
    RecordedProcess& process = trace_.processes[p];
    if (process.rank < 0) process.rank = rank;
    if (process.name.empty()) process.name = "process " + process_ids_[p];
  }
  for (std::size_t t = 0; t < trace_.threads.size(); ++t) {
    RecordedThread& thread = trace_.threads[t];
    std::string id = thread_ids_[t].substr(thread_ids_[t].find('\0') + 1);
    if (!id.empty() && id.back() == '\1') id.pop_back();
    if (thread.name.empty()) thread.name = (thread.device ? "stream " : "thread ") + clean_text(id);
    if (threads_[t].annotations) thread.name += " marks";
  }
}

TraceBuilder TraceBuilder::of_extent() {
  TraceBuilder made;
  made.measure_.emplace();
  return made;
}

RecordedTrace TraceBuilder::finish(const std::string& source, const std::stop_token& stop) {
  close_open();
  leave_out_far(stop);
  if (first_ > last_) first_ = last_ = 0;
  if (range_) {
    first_ = range_->base;
    trace_.part = RecordedPart{range_->from, range_->to, range_->whole};
  }
  trace_.source = source;
  trace_.base = first_;
  trace_.events = events;
  trace_.device = clean_text(device);
  trace_.ranks = ranks;
  trace_.epoch = epoch;
  tell_kernels(stop);
  std::size_t spans = 0;
  for (const Thread& t : threads_) spans += t.spans.size();
  trace_.start.reserve(spans);
  trace_.end.reserve(spans);
  trace_.name.reserve(spans);
  trace_.category.reserve(spans);
  for (const std::uint32_t thread : order_of_threads()) {
    stop_if(stop);
    lay_out(thread, stop);
  }
  find_steps();
  place_collectives();
  gather_counters();
  name_what_has_none();
  RecordedTrace done = std::move(trace_);
  *this = {};
  return done;
}

}  // namespace trainyard
