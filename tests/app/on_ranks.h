// Starts the program on several processes, which needs mpirun.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/app/trainyard.h"

namespace trainyard {

inline bool has_mpirun() {
  const TemporaryFolder folder;
  return run_program("/usr/bin/env", {"mpirun", "--version"}, folder.path()).exit == 0;
}

inline Ran on_ranks(int count, const std::string& line, const TemporaryFolder& folder,
                    const std::vector<std::string>& launcher_words = {}) {
  std::vector<std::string> words = {"mpirun", "--oversubscribe",    "--bind-to", "none",
                                    "-n",     std::to_string(count)};
  if (geteuid() == 0) words.emplace_back("--allow-run-as-root");
  // Leaks of Open MPI are in plug-ins that are unloaded before leaks are counted, and so have no
  // name for leaks.txt. Our own leaks show in a single process too.
  for (const char* word : {"-x", "ASAN_OPTIONS=detect_leaks=0"}) words.emplace_back(word);
  words.insert(words.end(), launcher_words.begin(), launcher_words.end());
  words.emplace_back(TRAINYARD_PROGRAM);
  for (const std::string& word : split_words(line)) words.push_back(word);
  return run_program("/usr/bin/env", words, folder.path());
}

class OnRanks : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_mpirun()) GTEST_SKIP() << "no mpirun here: it is part of openmpi-bin";
  }
  TemporaryFolder folder;
};

}  // namespace trainyard
