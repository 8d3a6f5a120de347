#include <unistd.h>

#include <iostream>

#include "app/cli/verb.h"
#include "visualizers/memory/kept_memory.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  // A training that is repeated frees and asks for its tensors each time, and a third of its time
  // went to pages that were handed out and zeroed again.
  trainyard::keep_freed_memory();
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  const int code = trainyard::run_cli(
      arguments, {std::cout, std::cerr, isatty(STDERR_FILENO) != 0 ? &std::cerr : nullptr});
  std::cout.flush();
  if (std::cout.good()) return code;
  std::cerr << "trainyard: standard output could not be written\n";
  return code == trainyard::kDone ? trainyard::kFailed : code;
}
