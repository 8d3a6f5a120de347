#include "core/io/json/quantity.h"

#include <fmt/format.h>

namespace trainyard {

double quantity(const JsonCursor& at, const QuantityRange& of) {
  const double value = at.number();
  if (!(value >= of.low && value <= of.high))
    at.refuse(
        fmt::format("expected {} from {:g} to {:g}, found {:g}", of.what, of.low, of.high, value));
  return value;
}

}  // namespace trainyard
