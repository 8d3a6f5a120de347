// One value of a pickle: a number itself, anything longer by its number in the Pickle that has it.
#pragma once

#include <cstdint>

namespace trainyard {

struct PickleValue {
  enum class Kind : std::uint8_t {
    None,
    Bool,
    Integer,
    Real,
    Text,    // number: of Pickle::texts
    List,    // number: of Pickle::containers
    Tuple,   // the same
    Dict,    // the same; its items are key, value, key, value
    Folded,  // number: what the folder made of it
  };
  Kind kind = Kind::None;
  union {
    std::int64_t integer = 0;
    double real;
    std::uint64_t number;
  };
};

}  // namespace trainyard
