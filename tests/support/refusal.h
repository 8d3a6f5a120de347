// What a reader or a check says of wrong input.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/base/error.h"

namespace trainyard::testing {

/// The sentence with which `act` refuses its input; "accepted" if it does not.
template <class Act>
std::string refusal(const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::InvalidInput) << error.what();
    return describe(error);
  }
  return "accepted";
}

}  // namespace trainyard::testing
