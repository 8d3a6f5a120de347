#include "core/plan/framework_memory.h"

namespace trainyard {
namespace {

constexpr FrameworkMemory kNothing{};

constexpr FrameworkMemory deepspeed(std::string_view name) {
  return {.framework = name,
          .gradient_part_bytes = 6,
          .stage_tensors = 1,
          .bucket_parameters = 1'000'000'000};
}

constexpr FrameworkMemory kMemoryOfFrameworks[] = {
    deepspeed("deepspeed"),
    deepspeed("megatron-deepspeed"),
    {.framework = "fsdp", .shards_are_master = true, .gathered_layers = 1},
    {.framework = "torchtitan", .shards_are_master = true, .gathered_layers = 1},
    {.framework = "nanotron", .gradient_bytes = 2, .keeps_gathered_inputs = true},
    {.framework = "pytorch", .wide_between_layers = true},
};

}  // namespace

const FrameworkMemory& framework_memory(std::string_view framework) {
  for (const FrameworkMemory& known : kMemoryOfFrameworks)
    if (known.framework == framework) return known;
  return kNothing;
}

}  // namespace trainyard
