// A TraceBuilder collects the events of a trace in any order and lays them out as the rows of a
// RecordedTrace: nested spans by depth, and launched kernels by the pass that launched them.
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

/// A TraceSpan is one complete event as a trace states it, with its time by the trace's own clock,
/// within 2^61 ns.
struct TraceSpan {
  std::int64_t start = 0, end = 0;  // ns, start <= end
  std::uint32_t name = 0;
  std::uint32_t correlation = kNoCorrelation;  // shared by a launch and the kernel that it launched
  RecordedKind kind = RecordedKind::Host;
  bool launches = false;                       // this is the host's side of the correlation
  std::uint32_t operator_id = kNoCorrelation;  // shared by an operator, its launches and kernels
  std::uint32_t sizes = kSizesNotStated;       // number of a text, as a name
};

/// Returns the text with "?" in place of bytes that are not UTF-8 and of control characters.
std::string clean_text(std::string_view);
/// Returns what the name of a device's kernel says of its kind; Forward where it says nothing.
RecordedKind kind_of_kernel(std::string_view name);

/// Returns the sizes of a kernel by what it was launched with: "grid [128,1,1] block [256,1,1]".
std::string grid_words(std::string_view grid, std::string_view block);

class TraceBuilder {
 public:
  TraceBuilder() = default;
  /// Keeps only what the range of the options asks for, if they have one.
  explicit TraceBuilder(const TraceImportOptions& options) : range_(options.range) {}
  /// Returns a builder that keeps nothing; only extent() may be called on it.
  static TraceBuilder of_extent();

  /// Returns the number of the text, equal for equal texts. Bytes that are not UTF-8 become "?".
  std::uint32_t name(std::string_view);
  const std::string& text(std::uint32_t name) const { return trace_.names[name]; }

  /// Look up processes and threads by the ids in the trace. annotations: spans laid over a stream
  /// by name, which are kept separate from it.
  std::uint32_t process(std::string_view id);
  std::uint32_t thread(std::string_view process_id, std::string_view id, bool annotations = false);
  RecordedProcess& process_at(std::uint32_t i) { return trace_.processes[i]; }
  void name_thread(std::uint32_t thread, std::string_view name);
  void name_process(std::uint32_t process, std::string_view name);
  void sort_process(std::uint32_t process, std::int64_t index) { orders_[process] = index; }
  void sort_thread(std::uint32_t thread, std::int64_t index) { threads_[thread].order = index; }
  void on_device(std::uint32_t thread) { trace_.threads[thread].device = true; }

  void add(std::uint32_t thread, const TraceSpan&);
  /// Returns the number of the group, equal for equal groups.
  std::uint32_t group(const RecordedGroup&);
  /// Adds what is stated of a kernel of communication, with its times by the trace's own clock.
  void add(const RecordedCollective&);
  /// These are for a begin and an end that are separate events. end() returns false where nothing
  /// was begun.
  void begin(std::uint32_t thread, const TraceSpan&);
  bool end(std::uint32_t thread, std::int64_t at);
  void count(std::uint32_t process, std::string_view counter, bool bytes, std::int64_t at,
             double value);

  /// Returns whether such a defect is known already (or no more kinds are distinguished), and
  /// counts it then.
  bool repeats(const std::string& expected, const std::string& found);
  /// Collects a defect together with those of the same sentence.
  void defect(TraceDefect);
  std::uint64_t events = 0;
  std::string device;
  std::int64_t ranks = 0;
  int rank = -1;
  std::optional<std::int64_t> epoch;

  /// Returns what the added events cover, for a builder made by of_extent(); text is the bytes from
  /// which they were read.
  TraceExtent extent(Bytes text) const { return measure_->extent(events, text); }
  /// Returns the trace; the builder is empty afterwards. Throws Error{Cancelled} when stopped.
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
    std::uint32_t operator_id;
    bool operator<(const Launch& other) const { return correlation < other.correlation; }
  };
  void see(std::int64_t from, std::int64_t to);
  bool is_kept(std::int64_t from, std::int64_t to) const;
  void leave_out(std::uint32_t thread, const TraceSpan&);
  void close_open();
  void leave_out_far(const std::stop_token&);
  void tell_kernels(const std::stop_token&);
  std::uint32_t sizes_of(const TraceSpan& kernel, const Launch* launch) const;
  void lay_out(std::uint32_t thread, const std::stop_token&);
  std::vector<std::uint32_t> order_of_threads() const;
  bool lies_within(const RecordedStep&) const;
  void find_steps();
  void place_collectives();
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
  std::vector<std::optional<Sample>> before_;  // last sample of each counter before the range
  std::vector<std::optional<std::int64_t>> steps_of_names_;
  std::optional<TraceRange> range_;
  // These are kept for spans outside the range too, because the launches that tell a kernel's pass
  // may be before it.
  std::vector<Launch> launches_;
  std::vector<std::tuple<std::uint32_t, std::int64_t, std::int64_t>> updates_;
  std::unordered_map<std::uint32_t, std::uint32_t> sizes_of_operators_;
  bool states_sizes_ = false;  // whether any kernel has sizes
  // Marks of steps that are not kept, because a step that is may end where the next one begins.
  std::vector<std::pair<std::uint32_t, TraceSpan>> marks_left_out_;  // by thread
  std::optional<TraceMeasure> measure_;  // empty: everything that is added is kept
  std::string key_;
  std::uint32_t last_thread_ = 0;
  std::int64_t first_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace trainyard
