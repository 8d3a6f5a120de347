// Tests export --to microcontroller from a training to a C program.
#include <gtest/gtest.h>

#include "app/cli/verb.h"
#include "tests/app/trainyard.h"

namespace trainyard {
namespace {

constexpr const char* kExport =
    "export --to microcontroller --data random --samples 100 --calibration-samples 100 --model ";

TEST(MicrocontrollerVerb, WritesATrainedModelAndSaysWhatItNeeds) {
  const TemporaryFolder folder;
  ASSERT_EQ(trainyard("run --model mlp-small --data random --steps 5 --quiet --no-record"
                      " --checkpoint a.ckpt --set global-batch=16 --set micro-batch=16"
                      " --set precision=fp32",
                      folder)
                .exit,
            kDone);
  const std::string line =
      std::string(kExport) + "mlp-small --start-from a.ckpt --chip nrf52840 --out program.c";
  const Ran ran = trainyard(line, folder);
  EXPECT_EQ(ran.exit, kDone) << ran.err;
  EXPECT_NE(ran.out.find("weights       of a.ckpt\n"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("verdict       fits on nRF52840 (Cortex-M4, 64 MHz): flash "),
            std::string::npos)
      << ran.out;
  const std::string source = file_text(folder.path() / "program.c"),
                    header = file_text(folder.path() / "mlp_small.h");
  EXPECT_NE(source.find("#include \"mlp_small.h\""), std::string::npos);
  EXPECT_NE(header.find("#define MLP_SMALL_ARENA_BYTES 512"), std::string::npos);
  // Equal questions have equal bytes.
  EXPECT_EQ(trainyard(line, folder).exit, kDone);
  EXPECT_EQ(file_text(folder.path() / "program.c"), source);
}

TEST(MicrocontrollerVerb, EndsWith3WhereTheChipIsTooSmall) {
  const TemporaryFolder folder;
  const Ran ran =
      trainyard(std::string(kExport) + "cnn:image=8,blocks=1 --chip stm32f746 --out cnn.c", folder);
  EXPECT_EQ(ran.exit, kNotMet) << ran.err;
  EXPECT_NE(ran.out.find("does not fit on STM32F746"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find(" too much"), std::string::npos) << ran.out;
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "cnn_image_8_blocks_1.h"));
}

TEST(MicrocontrollerVerb, WithoutAFileTheProgramIsOneText) {
  const TemporaryFolder folder;
  const Ran ran = trainyard(std::string(kExport) + "mlp-small", folder);
  EXPECT_EQ(ran.exit, kDone) << ran.err;
  EXPECT_EQ(ran.out.find("/* Written by Trainyard."), 0U);
  EXPECT_NE(ran.out.find("int mlp_small_run(const int8_t *input"), std::string::npos);
  EXPECT_NE(ran.err.find("nothing is trained"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace trainyard
