// Makes a synthetic trace in the form of PyTorch's profiler: operators of the host, launches,
// kernels of two streams with their links, step markers and memory. Equal seeds give equal bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "core/base/random.h"

namespace trainyard {

struct KinetoOptions {
  int steps = 3;
  int layers = 4;  // forward and backward, with some kernels each
  std::uint64_t seed = 1;
  int rank = 0, ranks = 8;
};

/// Calls put(text) with the pieces of the trace in order.
template <class Put>
void write_kineto_trace(const KinetoOptions& options, const Put& put) {
  const Random random(options.seed);
  std::uint64_t drawn = 0;
  char line[1024];
  const auto emit = [&](const char* form, auto... values) {
    if constexpr (sizeof...(values) == 0) {
      put(std::string_view(form));
    } else {
      const int size = std::snprintf(line, sizeof line, form, values...);
      put(std::string_view(line, static_cast<std::size_t>(size)));
    }
  };
  emit(
      "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\"id\": 0, \"name\": \"NVIDIA "
      "H100 80GB HBM3\", \"totalGlobalMem\": 84942979072}\n  ],\n  \"distributedInfo\": "
      "{\"backend\": \"nccl\", \"rank\": %d, \"world_size\": %d},\n  \"displayTimeUnit\": "
      "\"ms\",\n  \"traceEvents\": [\n",
      options.rank, options.ranks);
  emit(
      "  {\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 4242, \"tid\": 0, \"args\": "
      "{\"name\": \"python\"}},\n  {\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 0, "
      "\"tid\": 0, \"args\": {\"name\": \"GPU 0\"}},\n");
  const double epoch = 1.7e15;                  // microseconds, as machine clocks count
  std::int64_t host = 0, stream = 0, comm = 0;  // ns
  std::int64_t correlation = 0;
  const auto at = [&](std::int64_t ns) {
    static thread_local char digits[40];
    std::snprintf(digits, sizeof digits, "%lld.%03lld",
                  static_cast<long long>(epoch) + static_cast<long long>(ns / 1000),
                  static_cast<long long>(ns % 1000));
    return static_cast<const char*>(digits);
  };
  const auto length = [&](std::int64_t low, std::int64_t high) {
    return random.between(drawn++, low, high);
  };
  const auto us = [](std::int64_t ns) { return static_cast<double>(ns) / 1000; };
  const auto kernel = [&](const char* op, const char* name, int thread, bool reduces,
                          std::int64_t takes) {
    ++correlation;
    const std::int64_t begun = host, launched = host + 2'000;
    emit(
        "  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", \"pid\": 4242, \"tid\": %d, "
        "\"ts\": %s, \"dur\": %.3f, \"args\": {\"External id\": %lld, \"Sequence number\": 7, "
        "\"Input Dims\": [[4096, 4096], [4096, 11008]]}},\n",
        op, thread, at(begun), us(9'000), static_cast<long long>(correlation));
    emit(
        "  {\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": "
        "4242, \"tid\": %d, \"ts\": %s, \"dur\": %.3f, \"args\": {\"External id\": %lld, "
        "\"correlation\": %lld}},\n",
        thread, at(launched), us(5'000), static_cast<long long>(correlation),
        static_cast<long long>(correlation));
    std::int64_t& free_from = reduces ? comm : stream;
    free_from = std::max(free_from, launched + 6'000);
    emit(
        "  {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", \"pid\": 0, \"tid\": %d, "
        "\"ts\": %s, \"dur\": %.3f, \"args\": {\"External id\": %lld, \"correlation\": %lld, "
        "\"stream\": %d, \"grid\": [132, 1, 1], \"block\": [384, 1, 1]}},\n",
        name, reduces ? 16 : 7, at(free_from), us(takes), static_cast<long long>(correlation),
        static_cast<long long>(correlation), reduces ? 16 : 7);
    free_from += takes;
    host += 10'000;
  };
  for (int step = 0; step < options.steps; ++step) {
    host = std::max({host, stream, comm}) + 20'000;
    const std::int64_t begun = host;
    for (int layer = 0; layer < options.layers; ++layer)
      for (const char* name : {"sm90_xmma_gemm_bf16bf16", "flash_fwd_kernel", "elementwise_kernel"})
        kernel("aten::mm", name, 4242, false, length(20'000, 90'000));
    for (int layer = 0; layer < options.layers; ++layer) {
      for (const char* name : {"sm90_xmma_gemm_bf16bf16", "flash_bwd_kernel", "elementwise_kernel"})
        kernel("autograd::engine::evaluate_function: MmBackward0", name, 4299, false,
               length(40'000, 180'000));
      kernel("record_param_comms", "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", 4299, true,
             length(60'000, 120'000));
    }
    const std::int64_t update = host;
    kernel("aten::_foreach_add_", "multi_tensor_apply_kernel", 4242, false, 50'000);
    emit(
        "  {\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"Optimizer.step#AdamW.step\", "
        "\"pid\": 4242, \"tid\": 4242, \"ts\": %s, \"dur\": %.3f},\n",
        at(update - 1'000), us(host - update + 2'000));
    emit(
        "  {\"ph\": \"i\", \"s\": \"t\", \"name\": \"[memory]\", \"pid\": 4242, \"tid\": 4242, "
        "\"ts\": %s, \"args\": {\"Device Type\": 1, \"Device Id\": 0, \"Total Allocated\": %lld, "
        "\"Total Reserved\": %lld}},\n",
        at(host), static_cast<long long>(length(1'000'000, 9'000'000)), 10'000'000LL);
    const std::int64_t ended = std::max({host, stream, comm});
    emit(
        "  {\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": \"ProfilerStep#%d\", "
        "\"pid\": 0, \"tid\": 7, \"ts\": %s, \"dur\": %.3f},\n",
        step + 5, at(begun), us(ended - begun));
  }
  emit(
      "  {\"ph\": \"f\", \"id\": 1, \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\", "
      "\"pid\": 0, \"tid\": 7, \"ts\": %s}\n  ],\n  \"traceName\": \"made up\"\n}\n",
      at(host));
}

inline std::string kineto_trace(const KinetoOptions& options = {}) {
  std::string text;
  write_kineto_trace(options, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace trainyard
