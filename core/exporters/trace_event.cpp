#include "core/exporters/trace_event.h"

#include <fmt/format.h>

#include <array>
#include <cassert>
#include <iterator>
#include <ostream>
#include <sstream>

#include "core/exporters/trace_text.h"
#include "core/timeline/metrics.h"

namespace trainyard {
namespace {

class TraceWriter {
 public:
  TraceWriter(std::ostream& out, const Timeline& timeline, const Program& program)
      : out_(out), t_(timeline), p_(program) {
    assert(t_.spans.size() == p_.instructions.size() && "the timeline is of this program");
    for (const Task& task : p_.tasks) tasks_.push_back({quoted_head(task), rest_of(task)});
  }

  void write(std::span<const std::string> places) {
    put("{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"backend\":{},\"clock\":\"{}\"}},"
        "\"traceEvents\":[",
        trace_string(t_.backend),
        t_.clock == Timeline::Clock::Simulated ? "simulated" : "measured");
    for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(p_.devices); ++d) {
      name_process(d, d < places.size() ? places[d] : std::string());
      write_memory({d});
    }
    for (std::uint32_t s = 0; s < p_.streams.size(); ++s) {
      name_thread(s);
      write_slices(s);
    }
    write_flows();
    put("\n]}}\n");
    flush(0);
  }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> form, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), form, std::forward<Args>(args)...);
  }

  /// Begins an event on a new line.
  void event() {
    buffer_ += first_ ? "\n" : ",\n";
    first_ = false;
    flush(std::size_t{1} << 20);
  }

  void flush(std::size_t limit) {
    if (buffer_.size() < limit) return;
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

  void metadata(std::string_view what, std::uint32_t pid, std::uint32_t tid,
                const std::string& args) {
    event();
    put("{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"args\":{{{}}}}}", what, pid, tid,
        args);
  }

  void name_process(std::uint32_t device, const std::string& place) {
    std::string stages;
    for (int s = 0; s < p_.stages; ++s)
      if (device_of(p_, {static_cast<std::uint32_t>(s)}).value == device)
        stages += (stages.empty() ? "" : ", ") + std::to_string(s);
    const bool several = stages.find(',') != std::string::npos;
    std::string name = (several ? "stages " : "stage ") + stages;
    if (!place.empty()) name += " | " + place;
    if (p_.replicas > 1) name += fmt::format(" | one of {} that do the same", p_.replicas);
    metadata("process_name", device, 0, "\"name\":" + trace_string(name));
    metadata("process_sort_index", device, 0, fmt::format("\"sort_index\":{}", device));
  }

  // Threads are numbered through the whole program, so that streams with equal names on two devices
  // differ.
  void name_thread(std::uint32_t s) {
    const std::uint32_t device = p_.streams[s].device.value;
    metadata("thread_name", device, s + 1, "\"name\":" + trace_string(p_.streams[s].name));
    metadata("thread_sort_index", device, s + 1, fmt::format("\"sort_index\":{}", s + 1));
  }

  /// Returns the beginning of an event up to the microbatch: "\"name\":\"forward ".
  std::string quoted_head(const Task& task) const {
    std::string name = "\"name\":" + trace_string(p_.name(task.name));
    name.back() = ' ';
    return name;
  }

  /// Returns what all instructions of a task share between the name and the microbatch among the
  /// arguments.
  std::string rest_of(const Task& task) const {
    std::string text = fmt::format("\",\"cat\":\"{}\",\"args\":{{\"stage\":{},\"phase\":\"{}\"",
                                   to_string(task.kind), task.stage.value, letter(task.phase));
    if (task.layer >= 0) text += fmt::format(",\"layer\":{}", task.layer);
    if (task.kind == TaskKind::Collective)
      text += fmt::format(",\"collective\":\"{}\",\"group\":\"{}\",\"repeats\":{}",
                          to_string(task.collective), to_string(task.group), task.repeats);
    if (task.kind != TaskKind::Compute) text += fmt::format(",\"bytes\":{}", task.bytes.value);
    if (task.pass.valid()) text += ",\"made by\":" + trace_string(p_.name(task.pass));
    return text + ",\"microbatch\":";
  }

  void write_slices(std::uint32_t s) {
    const Stream& stream = p_.streams[s];
    const std::string head =
        fmt::format("{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":", stream.device.value, s + 1);
    for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i) {
      const Instruction& in = p_.instructions[i];
      const Shared& task = tasks_[in.task.value];
      event();
      buffer_ += head;
      put("{},\"dur\":{},", trace_microseconds(t_.spans[i].start),
          trace_microseconds(t_.spans[i].length()));
      buffer_ += task.name;
      put("{}", in.microbatch);
      buffer_ += task.rest;
      put("{}", in.microbatch);
      if (in.wave != 0) put(",\"wave\":{}", in.wave);
      if (in.weights != 0) put(",\"weights\":{}", in.weights);
      buffer_ += "}}";
    }
  }

  void write_memory(DeviceId device) {
    const MemoryWave wave = memory_wave(t_, p_, device);
    std::array<bool, kCategories> used{};
    for (const MemoryWave::Sample& sample : wave.samples)
      for (std::size_t c = 0; c < used.size(); ++c) used[c] = used[c] || sample.bytes[c].value != 0;
    for (const MemoryWave::Sample& sample : wave.samples) {
      event();
      put("{{\"ph\":\"C\",\"name\":\"memory (bytes)\",\"pid\":{},\"ts\":{},\"args\":{{",
          device.value, trace_microseconds(sample.at));
      bool first = true;
      for (std::size_t c = 0; c < used.size(); ++c) {
        if (!used[c]) continue;
        put("{}\"{}\":{}", first ? "" : ",", to_string(static_cast<Category>(c)),
            sample.bytes[c].value);
        first = false;
      }
      buffer_ += "}}";
    }
  }

  // An arrow begins and ends at the starts of its two slices, because these instants are inside the
  // slices.
  void write_flows() {
    for (std::uint32_t s = 0; s < p_.streams.size(); ++s) {
      const Stream& stream = p_.streams[s];
      for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i) {
        const TaskKind kind = p_.task(InstructionId{i}).kind;
        if (kind != TaskKind::Send && kind != TaskKind::Receive) continue;
        event();
        put("{{\"ph\":\"{}\",\"cat\":\"transfer\",\"name\":\"transfer\",\"id\":{},\"pid\":{},"
            "\"tid\":{},\"ts\":{}{}}}",
            kind == TaskKind::Send ? 's' : 'f',
            kind == TaskKind::Send ? i : p_.instructions[i].peer.value, stream.device.value, s + 1,
            trace_microseconds(t_.spans[i].start), kind == TaskKind::Send ? "" : ",\"bp\":\"e\"");
      }
    }
  }

  struct Shared {
    std::string name, rest;
  };

  std::ostream& out_;
  const Timeline& t_;
  const Program& p_;
  std::vector<Shared> tasks_;  // by task id
  std::string buffer_;
  bool first_ = true;
};

}  // namespace

void write_trace_event(std::ostream& out, const Timeline& timeline, const Program& program,
                       std::span<const std::string> places) {
  TraceWriter(out, timeline, program).write(places);
}

void write_trace_event(std::ostream& out, const Experiment& e) {
  const Scenario& scenario = e.workload.scenario;
  const std::int64_t node = devices_per_node(scenario.cluster);
  std::vector<std::string> places;
  for (int d = 0; d < e.program.devices; ++d) {
    const std::int64_t rank = representative(scenario.plan.mesh, d);
    places.push_back(fmt::format("node {} gpu {}", rank / node, rank % node));
  }
  write_trace_event(out, e.timeline, e.program, places);
}

std::string trace_event(const Experiment& e) {
  std::ostringstream out;
  write_trace_event(out, e);
  return std::move(out).str();
}

}  // namespace trainyard
