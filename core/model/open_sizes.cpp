#include "core/model/open_sizes.h"

#include <algorithm>
#include <cmath>

#include "core/model/packed_samples.h"

namespace trainyard {

bool has_open_widths(const Binding& binding) {
  return binding.documents != nullptr && binding.documents->open.has_value();
}

Binding at_width(Binding binding, std::int64_t width) {
  binding.sequence = width;
  return binding;
}

Binding at_mean_width(const Binding& binding) {
  if (!has_open_widths(binding)) return binding;
  return at_width(binding,
                  std::max<std::int64_t>(1, std::llround(binding.documents->mean_width())));
}

double tokens_of_sample(const Binding& binding) {
  return has_open_widths(binding) ? binding.documents->mean_width()
                                  : static_cast<double>(binding.sequence);
}

Bytes at_mean_width(Bytes bytes, const Binding& binding) {
  if (!has_open_widths(binding)) return bytes;
  const double share =
      binding.documents->mean_width() / static_cast<double>(binding.documents->sequence);
  return {std::llround(static_cast<double>(bytes.value) * share)};
}

}  // namespace trainyard
