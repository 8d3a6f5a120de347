#include "core/model/ops.h"

#include <array>
#include <vector>

#include "core/base/error.h"
#include "core/base/nearest.h"

namespace trainyard {

std::span<const Op* const> ops() {
  static const std::array list = {
      &matmul(),
      &attention(),
      &embedding(),
      &layer_norm(),
      &rms_norm(),
      &rotary(),
      &add(),
      &multiply(),
      &scale(),
      &gelu(),
      &relu(),
      &tanh_op(),
      &gated_silu(),
      &gated_gelu(),
      &dropout(),
      &softmax_loss(),
      &squared_error(),
      &convolution(),
      &batch_norm(),
      &pooling(),
      &router(),
      &routed_matmul(),
      &dispatch(),
      &combine(),
      &split_qkv(),
      &concat_heads(),
      &flatten(),
      &first_token(),
      &halo_rows(),
      &patch_tokens(),
      &dot_interaction(),
      &lstm(),
      &squared_relu(),
      &sigmoid_gate(),
      &causal_convolution(),
      &state_space(),
      &gated_delta(),
      &selective_scan(),
      &merge_patches(),
      &place_images(),
      &layer_scale(),
      &formula_op(),
      &sparse_matmul(),
      &sparse_convolution(),
      &tensor_train(),
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

namespace {

constexpr std::string_view kPasses[] = {" forward", " input gradient", " weight gradient"};
constexpr int kPassCount = 3;

}  // namespace

std::int16_t kernel_of(const Op& wanted, Pass pass) {
  int index = 0;
  for (const Op* candidate : ops()) {
    if (candidate == &wanted)
      return static_cast<std::int16_t>(kPassCount * index + static_cast<int>(pass));
    ++index;
  }
  return -1;
}

std::string kernel_name(std::int16_t kernel) {
  const auto index = static_cast<std::size_t>(kernel / kPassCount);
  if (kernel < 0 || index >= ops().size()) return "";
  return std::string(ops()[index]->name) + std::string(kPasses[kernel % kPassCount]);
}

std::optional<std::int16_t> find_kernel(std::string_view name) {
  for (std::size_t i = 0; i < kPassCount * ops().size(); ++i)
    if (kernel_name(static_cast<std::int16_t>(i)) == name) return static_cast<std::int16_t>(i);
  return std::nullopt;
}

}  // namespace trainyard
