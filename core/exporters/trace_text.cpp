#include "core/exporters/trace_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/utf8.h"

namespace trainyard {

std::string trace_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (length == 0)
      out += "\\ufffd";
    else if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return out + "\"";
}

std::string trace_microseconds(Duration d) {
  return fmt::format("{}.{:03}", d.count() / 1000, d.count() % 1000);
}

}  // namespace trainyard
