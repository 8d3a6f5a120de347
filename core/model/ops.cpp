#include "core/model/ops.h"

#include <array>
#include <vector>

#include "core/base/error.h"
#include "core/base/nearest.h"

namespace trainyard {

std::span<const Op* const> ops() {
  static const std::array list = {
      &matmul(),       &attention(),     &embedding(),   &layer_norm(),   &rms_norm(),
      &rotary(),       &add(),           &multiply(),    &scale(),        &gelu(),
      &relu(),         &tanh_op(),       &gated_silu(),  &gated_gelu(),   &dropout(),
      &softmax_loss(), &squared_error(), &convolution(), &batch_norm(),   &pooling(),
      &router(),       &routed_matmul(), &dispatch(),    &combine(),      &split_qkv(),
      &concat_heads(), &flatten(),       &first_token(), &patch_tokens(), &dot_interaction(),
  };
  return list;
}

const Op& op(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Op* candidate : ops()) {
    if (candidate->name == name) return *candidate;
    names.push_back(candidate->name);
  }
  throw Error(Error::Kind::InvalidInput, "expected the name of an op, found \"" +
                                             std::string(name) + "\"" + did_you_mean(name, names));
}

}  // namespace trainyard
