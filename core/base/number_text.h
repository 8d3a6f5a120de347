// This file reads numbers from text in the same way in every locale.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace trainyard {

/// Returns the number that the whole text states. The result is empty when the text is no number,
/// has anything after the number, or is out of the type's range. Floating-point types also accept
/// "inf" and "nan".
template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

}  // namespace trainyard
