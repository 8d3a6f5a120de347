// The built program, run with a line as a person types it.
#pragma once

#include "tests/app/run_program.h"

namespace trainyard {

inline Ran trainyard(const std::string& line, const TemporaryFolder& folder) {
  return run_program(TRAINYARD_PROGRAM, split_words(line), folder.path());
}

}  // namespace trainyard
