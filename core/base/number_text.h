// A number as text, the same in every locale.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace trainyard {

/// What the whole text says; nothing where it is no number, is followed by anything, or is out of
/// the type's range. Floating-point types also take "inf" and "nan".
template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

}  // namespace trainyard
