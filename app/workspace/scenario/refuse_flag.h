#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.h"

namespace trainyard {

/// Throws Error{InvalidInput} whose place is the flag; pass the flag without its dashes.
[[noreturn]] inline void refuse_flag(std::string_view flag, const std::string& message) {
  throw Error(Error::Kind::InvalidInput, message, {"--" + std::string(flag)});
}

/// Runs f. An Error that leaves f without a place gets this one: the words that were typed.
template <class F>
decltype(auto) with_place(std::string_view place, F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (const Error& error) {
    if (!error.place().text.empty()) throw;
    throw Error(error.kind(), error.what(), {std::string(place)});
  }
}

}  // namespace trainyard
