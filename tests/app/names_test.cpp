// Names that readers know from settings and from papers lead to what the program has of them.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "app/cli/verb.h"
#include "core/training/training.h"
#include "tests/app/trainyard.h"

namespace trainyard {
namespace {

TEST(Names, OfSettingsAndOfPapersLeadToWhatIsHere) {
  const TemporaryFolder folder;
  const std::pair<std::string, std::string> names[] = {
      {"optimizer", "\n  adamw-8bit "},
      {"adamw-8bit", "--set optimizer=adamw-8bit\n"},
      {"adafactor", "optimizer=adafactor\n"},
      {"muon", "--set optimizer=muon\n"},
      {"vDNN", "--set offload-layers=all"},
      {"boveda", "compression=0.7"},
      {"randbet", "--train bit-errors=0.01"},
      {"bit-errors", "run --train bit-errors=VALUE"},
      {"tt-rec", "--set tt-rank=16"},
      {"swalp", "is not built"},
      {"flows", "--network flows"},
      {"panama", "--slots and --trees"},
      {"incast", "--incast 48"},
      {"cpr", "--train cpr=plain"},
      {"flips", "--train flip-bits="}};
  for (const auto& [name, line] : names) {
    const Ran methods = trainyard("methods " + name, folder),
              help = trainyard("help " + name, folder);
    EXPECT_EQ(methods.exit, kDone) << methods.err;
    EXPECT_NE(methods.out.find(line), std::string::npos) << name << ": " << methods.out;
    EXPECT_EQ(help.out, methods.out) << name;
  }
  const std::string settings = trainyard("run --train help", folder).out;
  for (const TrainingKey& key : training_keys()) {
    EXPECT_NE(settings.find("\n  " + std::string(key.key) + " "), std::string::npos) << key.key;
    EXPECT_NE(settings.find(key.doc), std::string::npos) << key.key;
  }
  EXPECT_TRUE(trainyard("help train", folder).out.ends_with(settings));
}

}  // namespace
}  // namespace trainyard
