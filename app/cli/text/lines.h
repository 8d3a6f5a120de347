// A text that grows line by line.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <utility>

namespace trainyard {

using Out = std::string;

template <class... Args>
void line(Out& out, fmt::format_string<Args...> text, Args&&... args) {
  fmt::format_to(std::back_inserter(out), text, std::forward<Args>(args)...);
  out += '\n';
}

}  // namespace trainyard
