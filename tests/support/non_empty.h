// A loop over nothing checks nothing: a test that asserts inside a loop loops over
// non_empty(range).
#pragma once

#include <gtest/gtest.h>

#include <iterator>
#include <utility>

namespace trainyard::testing {

/// The range itself; the test fails where it has no element. A range that is a temporary is moved
/// into the result, so that a loop may be written over a call.
template <class Range>
Range non_empty(Range&& range) {
  EXPECT_FALSE(std::begin(range) == std::end(range)) << "the loop has nothing to check";
  return std::forward<Range>(range);
}

}  // namespace trainyard::testing
