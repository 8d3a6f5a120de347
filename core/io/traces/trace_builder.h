// Gathers the events of a trace in whatever order they come and lays them out as the rows of a
// RecordedTrace: nested spans by depth, launched kernels by the pass that launched them.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/io/traces/trace_measure.h"
#include "core/timeline/recorded_trace.h"

namespace trainyard {

inline constexpr std::uint32_t kNoCorrelation = std::numeric_limits<std::uint32_t>::max();

/// One complete event as a trace gives it, its time by the trace's own clock, within 2^61 ns.
struct TraceSpan {
  std::int64_t start = 0, end = 0;  // ns, start <= end
  std::uint32_t name = 0;
  std::uint32_t correlation = kNoCorrelation;  // of a launch and the kernel that it launched
  RecordedKind kind = RecordedKind::Host;
  bool launches = false;  // this is the host's side of the correlation
};

/// The text, with "?" for what is not UTF-8 and for control characters.
std::string clean_text(std::string_view);
/// What the name of a device's kernel says of it; Forward where it says nothing.
RecordedKind kind_of_kernel(std::string_view name);

class TraceBuilder {
 public:
  TraceBuilder() = default;
  /// Keeps only what the range of the options asks for, where they have one.
  explicit TraceBuilder(const TraceImportOptions& options) : range_(options.range) {}
  /// Keeps nothing: extent() is all that is asked for then.
  static TraceBuilder of_extent();

  /// The number of the text, the same for the same text. What is not UTF-8 becomes "?".
  std::uint32_t name(std::string_view);
  const std::string& text(std::uint32_t name) const { return trace_.names[name]; }

  /// By what the trace calls them. annotations: spans laid over a stream by name, kept apart from
  /// it.
  std::uint32_t process(std::string_view id);
  std::uint32_t thread(std::string_view process_id, std::string_view id, bool annotations = false);
  RecordedProcess& process_at(std::uint32_t i) { return trace_.processes[i]; }
  void name_thread(std::uint32_t thread, std::string_view name);
  void name_process(std::uint32_t process, std::string_view name);
  void sort_process(std::uint32_t process, std::int64_t index) { orders_[process] = index; }
  void sort_thread(std::uint32_t thread, std::int64_t index) { threads_[thread].order = index; }
  void on_device(std::uint32_t thread) { trace_.threads[thread].device = true; }

  void add(std::uint32_t thread, const TraceSpan&);
  /// A begin and an end that are events of their own. False: nothing was begun.
  void begin(std::uint32_t thread, const TraceSpan&);
  bool end(std::uint32_t thread, std::int64_t at);
  void count(std::uint32_t process, std::string_view counter, bool bytes, std::int64_t at,
             double value);

  /// Whether such a defect is known (or no more can be told apart); counts it then.
  bool repeats(const std::string& expected, const std::string& found);
  /// Gathers a defect with those of the same sentence.
  void defect(TraceDefect);
  std::uint64_t events = 0;
  std::string device;
  std::int64_t ranks = 0;
  int rank = -1;
  std::optional<std::int64_t> epoch;

  /// What the events cover that were added, of of_extent()'s; text: bytes that they were read from.
  TraceExtent extent(Bytes text) const { return measure_->extent(events, text); }
  /// The trace; the builder is then empty. Throws Error{Cancelled} when stopped.
  RecordedTrace finish(const std::string& source, const std::stop_token& stop);

 private:
  struct Thread {
    std::vector<TraceSpan> spans;
    std::vector<TraceSpan> open;
    std::int64_t order = std::numeric_limits<std::int64_t>::max();
    bool backward = false;  // autograd's own thread
    bool annotations = false;
  };
  struct Sample {
    std::int64_t at;
    double value;
  };
  struct Launch {
    std::uint32_t correlation, thread;
    std::int64_t at;
    bool operator<(const Launch& other) const { return correlation < other.correlation; }
  };
  void see(std::int64_t from, std::int64_t to);
  bool is_kept(std::int64_t from, std::int64_t to) const;
  void leave_out(std::uint32_t thread, const TraceSpan&);
  void close_open();
  void leave_out_far(const std::stop_token&);
  void tell_kernels(const std::stop_token&);
  void lay_out(std::uint32_t thread, const std::stop_token&);
  std::vector<std::uint32_t> order_of_threads() const;
  bool lies_within(const RecordedStep&) const;
  void find_steps();
  void gather_counters();
  void name_what_has_none();

  RecordedTrace trace_;
  std::vector<Thread> threads_;
  std::vector<std::int64_t> orders_;
  std::vector<std::string> process_ids_, thread_ids_;
  std::unordered_map<std::string, std::uint32_t> names_, thread_numbers_;
  std::map<std::string, std::uint32_t, std::less<>> process_numbers_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> counter_numbers_;
  std::vector<std::vector<Sample>> samples_;
  std::vector<std::optional<Sample>> before_;  // the last of each counter before the range
  std::vector<std::optional<std::int64_t>> steps_of_names_;
  std::optional<TraceRange> range_;
  // Of what is left out: which pass kernels are of is told by launches that may lie before them.
  std::vector<Launch> launches_;
  std::vector<std::tuple<std::uint32_t, std::int64_t, std::int64_t>> updates_;
  std::optional<TraceMeasure> measure_;  // nothing: all is kept that is added
  std::string key_;
  std::uint32_t last_thread_ = 0;
  std::int64_t first_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace trainyard
