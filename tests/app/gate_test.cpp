// Tests the verb gate from a training to an export that it blocks.
#include <gtest/gtest.h>

#include "app/cli/verb.h"
#include "app/cli/verbs/json_schemas.h"
#include "core/io/json/json.h"
#include "tests/app/trainyard.h"
#include "tests/support/conforms.h"

namespace trainyard {
namespace {

constexpr const char* kOfGate = " --model mlp-small --data random --samples 200";

TEST(GateVerb, JudgesACheckpointAndBlocksAnExport) {
  const TemporaryFolder folder;
  // At ten times this rate the network ends with one answer to all samples on some processors, and
  // pruning changes no answer of that.
  const std::string plan =
      " --set global-batch=16 --set micro-batch=16 --set precision=fp32 --train rate=0.001";
  ASSERT_EQ(trainyard("run --model mlp-small --data random --steps 20 --quiet --no-record"
                      " --checkpoint dense.ckpt" +
                          plan,
                      folder)
                .exit,
            kDone);
  const std::string gate = std::string("gate dense.ckpt dense.ckpt sparsity=0.9,bits=4") + kOfGate;
  const Ran text =
      trainyard(gate + " --limit flips=1%,excess-error=none --svg gate.svg --quiet", folder);
  EXPECT_EQ(text.exit, kNotMet) << text.err;
  EXPECT_NE(text.out.find("dense.ckpt passes."), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("sparsity=0.9,bits=4 is beyond a limit on clean"), std::string::npos)
      << text.out;
  EXPECT_NE(file_text(folder.path() / "gate.svg").find("right"), std::string::npos);
  const Ran json =
      trainyard(gate + " --limit flips=1%,excess-error=none --json --out gate.json", folder);
  EXPECT_EQ(json.exit, kNotMet);
  conforms(parse_json(file_text(folder.path() / "gate.json"), "gate"),
           parse_json(json_schema("gate"), "schema"), "gate");
  const std::string out = "export --to slurm --model mlp-small --cluster h100-sxm:8 --gate ";
  const Ran blocked = trainyard(out + "gate.json --out job.sbatch", folder);
  EXPECT_EQ(blocked.exit, kWrongInput);
  EXPECT_NE(blocked.err.find("gate.json: the gate of quality lets nothing out: "
                             "sparsity=0.9,bits=4 on clean: other answers are"),
            std::string::npos)
      << blocked.err;
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "job.sbatch"));
  // One model is as good as itself.
  EXPECT_EQ(trainyard(std::string("gate dense.ckpt dense.ckpt --limit instability=0,flips=0") +
                          kOfGate + " --json --out same.json",
                      folder)
                .exit,
            kDone);
  EXPECT_EQ(trainyard(out + "same.json --out job.sbatch", folder).exit, kDone);
  const Ran other =
      trainyard("export --to slurm --model gpt-tiny --cluster h100-sxm:8 --gate same.json", folder);
  EXPECT_NE(other.err.find("expected a gate of gpt-tiny, found one of mlp-small"),
            std::string::npos)
      << other.err;
}

TEST(GateVerb, ListsTheNoiseOfVectorsAndDrawsIt) {
  const TemporaryFolder folder;
  const std::string gate = std::string("gate initial bits=4,group=16,scale-bits=4 --vectors 4") +
                           kOfGate + " --limit excess-error=none";
  const Ran text = trainyard(gate + " --svg vectors.svg --quiet", folder);
  EXPECT_EQ(text.exit, kDone) << text.err;
  EXPECT_NE(text.out.find("  a channel  "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("bits=4,group=16,scale-bits=4 have a signal of"), std::string::npos);
  EXPECT_NE(file_text(folder.path() / "vectors.svg").find("scales of 4 bits"), std::string::npos);
  EXPECT_EQ(trainyard(gate + " --json --out gate.json", folder).exit, kDone);
  const std::string json = file_text(folder.path() / "gate.json");
  conforms(parse_json(json, "gate"), parse_json(json_schema("gate"), "schema"), "gate");
  EXPECT_NE(json.find("\"scale_bits\""), std::string::npos);
}

TEST(GateVerb, ACheckpointOfAnotherModelIsRefused) {
  const TemporaryFolder folder;
  ASSERT_EQ(trainyard("run --model dlrm-tiny --data random --steps 1 --quiet --no-record"
                      " --checkpoint other.ckpt",
                      folder)
                .exit,
            kDone);
  const Ran ran = trainyard(std::string("gate other.ckpt bits=4") + kOfGate, folder);
  EXPECT_EQ(ran.exit, kWrongInput) << ran.out;
  EXPECT_NE(ran.err.find("other.ckpt"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace trainyard
