#include "core/base/digest.h"

namespace trainyard {

std::string to_hex(std::uint64_t number) {
  std::string text(16, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, number >>= 4)
    *digit = "0123456789abcdef"[number & 15u];
  return text;
}

}  // namespace trainyard
