// Runs the built program with a command line as a user types it.
#pragma once

#include "tests/app/run_program.h"

namespace trainyard {

inline Ran trainyard(const std::string& line, const TemporaryFolder& folder) {
  return run_program(TRAINYARD_PROGRAM, split_words(line), folder.path());
}

}  // namespace trainyard
