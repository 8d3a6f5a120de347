#include "backends/cpu/execution/numbers/number_windows.h"

#include "backends/cpu/execution/cpu_execution.h"

namespace trainyard {

ByNumberClass<NumberWindow> number_windows(const Workload& w) {
  const Precision& p = w.layout.precision;
  if (const auto narrow = narrow_scaling(w)) {
    if (narrow->vectors)
      return {window_of_integers(narrow->vectors->weights), window_of(p.gradient),
              window_of_integers(narrow->vectors->activations)};
    if (narrow->scale == NarrowScaling::Scale::OfIntegers) {
      const NumberWindow all = window_of_integers(16);
      return {all, all, all};
    }
    return {window_of(narrow->element), window_of(narrow->gradient), window_of(narrow->element)};
  }
  const auto read = [&](DType kept) { return window_of(kept == DType::F32 ? p.math : kept); };
  return {read(p.parameter), read(p.activation), read(p.activation)};
}

}  // namespace trainyard
