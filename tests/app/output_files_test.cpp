#include <gtest/gtest.h>

#include "app/cli/verb.h"
#include "tests/app/trainyard.h"

namespace trainyard {
namespace {

TEST(OutputFiles, OneThatCannotBeWrittenIsSaidBeforeTheWork) {
  const TemporaryFolder folder;
  const std::string sentence = "none/x: cannot create a file in none: No such file or directory\n";
  for (const char* flag : {" --out none/x", " --svg none/x", " --checkpoint none/x"}) {
    const Ran ran = trainyard(
        std::string("run --model mlp-small --steps 2 --set precision=fp32 --data random") + flag,
        folder);
    EXPECT_EQ(ran.exit, kFailed) << flag;
    EXPECT_EQ(ran.err, sentence) << flag;
  }
}

// Whoever adds a flag that writes a file need not remember to say so twice.
TEST(OutputFiles, EveryFlagThatWritesOneIsCheckedWithTheWords) {
  int flags = 0;
  for (const Verb& verb : verbs())
    for (const Flag& flag : verb.flags) {
      const bool written = flag.doc.starts_with("writes ") || flag.doc.starts_with("draws ");
      if (!written || !flag.value.starts_with("FILE") || flag.doc.starts_with("writes nothing"))
        continue;
      ++flags;
      try {
        parse(verb, {"--" + std::string(flag.name), "none/x"});
        ADD_FAILURE() << verb.name << " --" << flag.name << " was taken";
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("cannot create a file in none"), std::string::npos)
            << verb.name << " --" << flag.name << ": " << error.what();
      }
    }
  EXPECT_GT(flags, 30);
}

// It is a regular file here, which must not be replaced by its name.
TEST(OutputFiles, StandardOutputIsWrittenTo) {
  const TemporaryFolder folder;
  const std::string words = "schedule 1f1b --stages 4 --microbatches 8 --quiet";
  const Ran plain = trainyard(words, folder);
  EXPECT_EQ(trainyard(words + " --out /dev/stdout", folder).out, plain.out);
}

}  // namespace
}  // namespace trainyard
