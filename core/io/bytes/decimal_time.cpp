#include "core/io/bytes/decimal_time.h"

#include <charconv>
#include <cmath>

namespace trainyard {

std::optional<std::int64_t> nanoseconds_of(std::string_view text, std::int64_t unit) {
  const bool minus = !text.empty() && text.front() == '-';
  if (minus) text.remove_prefix(1);
  std::int64_t whole = 0;
  std::size_t i = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    if (whole > kFarthestTime / unit / 10) return {};
    whole = whole * 10 + (text[i] - '0');
  }
  if (i == 0) return {};
  std::int64_t ns = whole * unit;
  if (i < text.size() && text[i] == '.') {
    std::int64_t place = unit;
    bool rounded = false;
    for (++i; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
      if (place == 1 && !rounded && text[i] >= '5') ++ns;
      rounded = place == 1;
      place = place == 1 ? 1 : place / 10;
      if (!rounded) ns += place * (text[i] - '0');
    }
  }
  if (i < text.size()) {  // the number has an exponent
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    value *= static_cast<double>(unit);
    if (!(value < static_cast<double>(kFarthestTime))) return {};
    ns = std::llround(value);
  }
  if (ns > kFarthestTime) return {};
  return minus ? -ns : ns;
}

}  // namespace trainyard
