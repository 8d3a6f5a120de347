// Tests jobs: the directives that Slurm reads, and the program that is started.
#include "core/exporters/slurm.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>

#include "core/exporters/deepspeed.h"
#include "core/exporters/megatron_lm.h"
#include "tests/support/exported_plans.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::arguments_of;
using testing::planned;
using testing::sentences;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Slurm, DirectivesComeFirstAndAreOnesItKnows) {
  const std::regex legal(
      "#SBATCH --(job-name=[A-Za-z0-9._-]+|nodes=[0-9]+|ntasks-per-node=1|gpus-per-node=[0-9]+|"
      "exclusive|mem=0|output=%x_%j\\.out)");
  Scenario s = planned("llama-3-70b", "h100-sxm:64", {"tp=8", "pp=4", "global-batch=64"});
  s.model.name = "a model; $(reboot)";
  int directives = 0;
  bool commands = false;
  for (const std::string& line : testing::non_empty(lines_of(slurm(s).text))) {
    if (line.rfind("#SBATCH", 0) == 0) {
      EXPECT_TRUE(std::regex_match(line, legal)) << line;
      EXPECT_FALSE(commands) << line;
      ++directives;
    } else if (!line.empty() && line[0] != '#') {
      commands = true;
    }
  }
  EXPECT_EQ(directives, 7);
}

TEST(Slurm, StartsATaskANodeAndAProcessADevice) {
  const std::string job =
      slurm(planned("llama-3-70b", "h100-sxm:64", {"tp=8", "pp=4", "global-batch=64"})).text;
  EXPECT_NE(job.find("\n#SBATCH --nodes=8\n"), std::string::npos);
  EXPECT_NE(job.find("\n#SBATCH --gpus-per-node=8\n"), std::string::npos);
  EXPECT_NE(job.find("\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\n"), std::string::npos);
  EXPECT_NE(job.find("\nsrun --cpu-bind=none torchrun \"${LAUNCH[@]}\" pretrain_gpt.py"),
            std::string::npos);
  const auto arguments = arguments_of(job);
  EXPECT_EQ(arguments.at("--nproc-per-node"), "8");
  EXPECT_EQ(arguments.at("--pipeline-model-parallel-size"), "4");
}

TEST(Slurm, FallsBackToDeepSpeedAndSaysWhy) {
  const Scenario s = planned("resnet-50", "h100-sxm:16", {"zero=2", "global-batch=64"});
  const Exported job = slurm(s);
  EXPECT_NE(job.text.find("<<'JSON'\n" + deepspeed(s).text + "JSON\n"), std::string::npos);
  EXPECT_NE(job.text.find("train.py --deepspeed --deepspeed_config \"$CONFIG\"\n"),
            std::string::npos);
  EXPECT_NE(sentences(job.warnings)
                .find("the job starts DeepSpeed: Megatron-LM cannot say it: pretrain_gpt.py builds "
                      "decoders of equal layers, and resnet-50 is none"),
            std::string::npos);
}

// The scripts are checked by bash and shellcheck; without shellcheck only by bash.
TEST(Slurm, ScriptsAreScripts) {
  const bool lint = std::system("command -v shellcheck >/dev/null") == 0;
  const Scenario plans[] = {
      planned("llama-3-70b", "h100-sxm:64", {"tp=8", "pp=4", "global-batch=64"}),
      planned("deepseek-v3", "h100-sxm:512",
              {"tp=8", "pp=4", "ep=16", "split=15,15,15,16", "zero=1", "global-batch=512"}),
      planned("gpt2", "h100-sxm:2", {}),
      planned("resnet-50", "h100-sxm:16", {"zero=2", "global-batch=64"})};
  const std::string path = ::testing::TempDir() + "exported.sh";
  for (const Scenario& s : testing::non_empty(plans))
    for (const auto write : {slurm, megatron_lm}) {
      if (s.model.family == "resnet" && write == megatron_lm) continue;
      std::ofstream(path) << write(s).text;
      EXPECT_EQ(std::system(fmt::format("bash -n {}", path).c_str()), 0) << s.model.name;
      EXPECT_TRUE(!lint || std::system(fmt::format("shellcheck {}", path).c_str()) == 0);
    }
  std::remove(path.c_str());
}

TEST(Slurm, RefusesWhatNeitherCanSay) {
  EXPECT_EQ(testing::refusal(slurm, planned("llama-3-8b", "h100-sxm:8",
                                            {"pp=4", "schedule=zb-h1", "global-batch=16"})),
            "plan#/choices: Megatron-LM cannot say it: its schedule follows from the degrees and "
            "is 1f1b here, and the plan runs zb-h1; try schedule=1f1b\n"
            "plan#/choices: DeepSpeed cannot say it: it runs 1F1B, and the plan zb-h1; try "
            "schedule=1f1b");
}

}  // namespace
}  // namespace trainyard
