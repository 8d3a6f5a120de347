// Writes a trace as PyTorch's profiler does of a rank whose kernels of NCCL state what they do.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace trainyard::testing {

class CollectiveTrace {
 public:
  explicit CollectiveTrace(int rank) : rank_(rank) {}

  /// Times are in microseconds. `ranks` is a list, as "[0, 1]".
  void collective(const std::string& word, std::int64_t elements, const std::string& dtype,
                  int size, const std::string& ranks, std::int64_t from, std::int64_t us) {
    kernel(
        "ncclDevKernel_Any", 20, from, us,
        fmt::format(
            R"("Collective name": "{}", "In msg nelems": {}, "Out msg nelems": 1, "Group size": {}, "dtype": "{}", "In split size": "[]", "Process Group Name": "{}", "Process Group Description": "default_pg", "Process Group Ranks": "{}")",
            word, elements, size, dtype, size, ranks));
  }
  void kernel(const std::string& name, int stream, std::int64_t from, std::int64_t us,
              const std::string& args) {
    event("kernel", name, 0, stream, from, us, args);
  }
  void step(int number, std::int64_t from, std::int64_t us) {
    const std::string name = fmt::format("ProfilerStep#{}", number);
    event("gpu_user_annotation", name, 0, 7, from, us, "");
    event("user_annotation", name, 42, 1, from, us, "");
  }
  std::string text() const {
    return fmt::format(
        R"({{"deviceProperties": [{{"id": 0, "name": "NVIDIA H100 80GB HBM3"}}],
"distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": 8}}, "baseTimeNanoseconds": 0,
"traceEvents": [{}]}})",
        rank_, events_);
  }

 private:
  void event(const std::string& category, const std::string& name, int process, int thread,
             std::int64_t from, std::int64_t us, const std::string& args) {
    events_ += fmt::format(
        R"({}{{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{{}}}}})",
        events_.empty() ? "" : ",\n", category, name, process, thread, from, us, args);
  }

  int rank_;
  std::string events_;
};

}  // namespace trainyard::testing
