// A number with the range it is believed to lie in, and why.
#pragma once

#include <string>

namespace trainyard {

template <class T>
struct Banded {
  T value{}, low{}, high{};  // low <= value <= high
  std::string basis;         // one sentence: where the range comes from
};

}  // namespace trainyard
