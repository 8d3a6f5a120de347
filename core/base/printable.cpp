#include "core/base/printable.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/utf8.h"

namespace trainyard {
namespace {

bool is_shown(char c) { return (c >= 0x20 && c < 0x7F) || c == '\n' || c == '\t'; }

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const auto plain = static_cast<std::size_t>(
        std::find_if_not(text.begin(), text.end(), is_shown) - text.begin());
    shown += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const std::size_t length = utf8_length(text);
    if (byte(0) == 0x7F)
      shown += "\\u007f";
    else if (length < 2)
      shown += fmt::format("\\x{:02x}", byte(0));
    else if (byte(0) == 0xC2 && byte(1) < 0xA0)  // U+0080 to U+009F
      shown += fmt::format("\\u00{:02x}", byte(1));
    else
      shown += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return shown;
}

}  // namespace trainyard
