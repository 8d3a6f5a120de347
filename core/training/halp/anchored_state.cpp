#include "core/training/halp/anchored_state.h"

#include "core/training/halp/halp.h"

namespace trainyard {

AnchoredState::AnchoredState(void* state, std::int64_t elements, int bits)
    : anchor(static_cast<float*>(state)),
      full_gradient(anchor + elements),
      step(full_gradient + elements),
      offsets(reinterpret_cast<std::uint32_t*>(step + 1),
              static_cast<std::size_t>(offset_words(elements, bits))) {}

}  // namespace trainyard
