#include "core/plan/framework_memory.h"

namespace trainyard {
namespace {

constexpr FrameworkMemory kNothing{};

constexpr FrameworkMemory kFrameworks[] = {
    {.framework = "deepspeed",
     .gradient_part_bytes = 4,
     .stage_tensors = 2,
     .bucket_parameters = 1'000'000'000},
    {.framework = "fsdp", .shards_are_master = true, .gathered_layers = 1},
    {.framework = "torchtitan", .shards_are_master = true, .gathered_layers = 1},
    {.framework = "nanotron", .gradient_bytes = 2, .keeps_gathered_inputs = true},
};

}  // namespace

const FrameworkMemory& framework_memory(std::string_view framework) {
  for (const FrameworkMemory& known : kFrameworks)
    if (known.framework == framework) return known;
  return kNothing;
}

}  // namespace trainyard
