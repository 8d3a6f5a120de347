// Writes the memory snapshot that a run of a plan would have left had something gone wrong in it:
//   story_snapshot FILE MODEL CLUSTER "tp=2 pp=4" [change=recompute=none] [lost=0.3] [leak=0.08]
//                  [steps=5] [rank=0] [megabytes=2000]
// change: what really ran; lost: of what is reserved, in no block; leak: of the peak, kept after
// each step; megabytes: as many steps as the file then has at least.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "app/workspace/scenario/run_once.h"
#include "app/workspace/scenario/setting_words.h"
#include "app/workspace/scenario/workspace.h"
#include "core/base/error.h"
#include "tests/support/snapshot_pickle.h"

namespace trainyard {
namespace {

int write_snapshot(int count, char** words) {
  Scenario scenario = open({words[2], words[3], "", {}});
  apply_words(scenario.plan, words[4]);
  SnapshotFault fault;
  std::uint32_t rank = 0;
  double megabytes = 0;
  for (int i = 5; i < count; ++i) {
    const std::string word = words[i];
    const std::string key = word.substr(0, word.find('=')), value = word.substr(key.size() + 1);
    if (key == "change")
      apply_words(scenario.plan, value);
    else if (key == "lost")
      fault.lost = std::atof(value.c_str());
    else if (key == "leak")
      fault.leak = std::atof(value.c_str());
    else if (key == "steps")
      fault.steps = std::atoi(value.c_str());
    else if (key == "rank")
      rank = static_cast<std::uint32_t>(std::atoi(value.c_str()));
    else if (key == "megabytes")
      megabytes = std::atof(value.c_str());
    else
      throw Error(Error::Kind::InvalidInput,
                  "expected change, lost, leak, steps, rank or megabytes, found \"" + key + "\"",
                  {"story_snapshot"});
  }
  const auto ran = run_once(scenario, {});
  std::string pickle = snapshot_pickle(*ran, DeviceId{rank}, fault);
  if (megabytes * 1e6 > static_cast<double>(pickle.size())) {
    const auto once = static_cast<double>(pickle.size());
    fault.steps *= 2;
    const double each =
        static_cast<double>(snapshot_pickle(*ran, DeviceId{rank}, fault).size()) - once;
    fault.steps =
        fault.steps / 2 * (1 + static_cast<int>(std::ceil((megabytes * 1e6 - once) / each)));
    pickle = snapshot_pickle(*ran, DeviceId{rank}, fault);
  }
  std::ofstream(words[1], std::ios::binary) << pickle;
  std::printf("%zu bytes, %d steps\n", pickle.size(), fault.steps);
  return 0;
}

}  // namespace
}  // namespace trainyard

int main(int count, char** words) {
  if (count < 5) {
    std::fprintf(
        stderr, "story_snapshot FILE MODEL CLUSTER \"SETTINGS\" [change=..] [lost=..] [leak=..]\n");
    return 2;
  }
  try {
    return trainyard::write_snapshot(count, words);
  } catch (const trainyard::Error& error) {
    std::fprintf(stderr, "%s\n", describe(error).c_str());
    return 2;
  }
}
