#include "core/training/optimizers/whole_tensor.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace trainyard {

std::vector<float> scaled_gradient(const ParameterPart& part, const StepFacts& facts) {
  const auto count = static_cast<std::size_t>(part.elements);
  std::vector<float> made(count);
  if (part.gradient_type == DType::F32) {
    std::copy_n(static_cast<const float*>(part.gradients), count, made.begin());
  } else {
    const std::span from(static_cast<const std::uint16_t*>(part.gradients), count);
    part.gradient_type == DType::BF16 ? from_bf16(from, made.data()) : from_f16(from, made.data());
  }
  const auto scale = static_cast<float>(facts.gradient_scale);
  for (float& g : made) g *= scale;
  return made;
}

void descend_along(const OptimizerRule& descent, const ParameterPart& part, const StepFacts& facts,
                   const std::vector<float>& direction, void* compensation) {
  ParameterPart along = part;
  along.gradients = direction.data();
  along.gradient_type = DType::F32;
  along.state = std::span<void* const>(&compensation, compensation != nullptr ? 1 : 0);
  StepFacts plain = facts;
  plain.gradient_scale = 1;
  descent.apply(along, plain, {});
}

}  // namespace trainyard
