// A Banded value is a number with the range in which it is believed to lie and the reason for that
// range.
#pragma once

#include <string>

namespace trainyard {

template <class T>
struct Banded {
  T value{}, low{}, high{};  // low <= value <= high
  std::string basis;         // one sentence: where the range comes from
};

}  // namespace trainyard
