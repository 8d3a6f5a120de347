// Tests that replicas that share the norms of LARS and LAMB train what replicas do that each find
// all of them, to the bit.
#include <gtest/gtest.h>

#include "tests/support/cpu_training.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;
using testing::tiny_mlp;
using testing::tiny_transformer;
using testing::train_on_cpu;

void expect_shared_norms(const Model& model, std::int64_t devices, Settings words, double clip) {
  std::string text = model.name;
  for (const std::string_view word : words) text += " " + std::string(word);
  SCOPED_TRACE(text);
  Training training;
  training.steps = 4, training.rate = 0.05, training.weight_decay = 0.01, training.clip = clip;
  const CpuRun replicated = train_on_cpu(model, devices, words, training);
  words.push_back("optimizer-norms=shared");
  const CpuRun shared = train_on_cpu(model, devices, words, training);
  EXPECT_EQ(shared.run.losses, replicated.run.losses);
  ASSERT_EQ(shared.parameters.size(), replicated.parameters.size());
  bool changed = false;
  for (std::size_t i = 0; i < shared.parameters.size(); ++i) {
    EXPECT_EQ(shared.parameters[i].values, replicated.parameters[i].values)
        << shared.parameters[i].name;
    changed = changed || shared.parameters[i].values != shared.initial[i].values;
  }
  EXPECT_TRUE(changed);
}

TEST(CpuNorms, SharedTheyTrainWhatReplicatedOnesDoToTheBit) {
  for (const char* optimizer : {"optimizer=lars", "optimizer=lamb"})
    for (const double clip : {0.0, 0.5}) {
      expect_shared_norms(tiny_mlp(3), 2, Settings{optimizer, "global-batch=8", "micro-batch=2"},
                          clip);
      expect_shared_norms(tiny_transformer(), 4,
                          Settings{optimizer, "global-batch=8", "micro-batch=1"}, clip);
      expect_shared_norms(
          tiny_transformer(), 4,
          Settings{optimizer, "pp=2", "global-batch=8", "micro-batch=1", "precision=bf16"}, clip);
    }
}

}  // namespace
}  // namespace trainyard
