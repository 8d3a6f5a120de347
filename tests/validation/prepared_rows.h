// The rows that ship with the program, prepared once for all tests.
#pragma once

#include "core/validation/rows/row_scenario.h"
#include "core/validation/shipped.h"

namespace trainyard::testing {

inline const RowSet& shipped() {
  static const RowSet set = prepare_rows(published_rows());
  return set;
}

}  // namespace trainyard::testing
