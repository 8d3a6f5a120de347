// A PickleValue is one value of a pickle: a number directly, and anything longer as an index into
// the Pickle that holds it.
#pragma once

#include <cstdint>

namespace trainyard {

struct PickleValue {
  enum class Kind : std::uint8_t {
    None,
    Bool,
    Integer,
    Real,
    Text,    // number: index into Pickle::texts
    List,    // number: index into Pickle::containers
    Tuple,   // the same
    Dict,    // the same; its items are key, value, key, value
    Folded,  // number: the value that the fold function returned
  };
  Kind kind = Kind::None;
  union {
    std::int64_t integer = 0;
    double real;
    std::uint64_t number;
  };
};

}  // namespace trainyard
