#include "app/workspace/comparison/snapshot_diagnosis.h"

#include <gtest/gtest.h>

#include "app/workspace/comparison/snapshot_document.h"
#include "app/workspace/scenario/run_once.h"
#include "app/workspace/scenario/setting_words.h"
#include "app/workspace/scenario/workspace.h"
#include "core/base/error.h"
#include "core/io/snapshots/memory_snapshot_import.h"
#include "tests/support/non_empty.h"
#include "tests/support/snapshot_pickle.h"

namespace trainyard {
namespace {

struct Planned {
  const char* model;
  const char* cluster;
  std::vector<std::string> settings;
};

const std::vector<Planned>& plans() {
  static const std::vector<Planned> list = {
      {"gpt2-xl",
       "a100-sxm-80:8",
       {"dp=8", "zero=1", "gradient-dtype=bf16", "recompute=full", "micro-batch=2",
        "global-batch=128", "seq=1024"}},
      {"llama-3-8b",
       "h100-sxm:8",
       {"tp=2", "pp=4", "gradient-dtype=bf16", "recompute=full", "micro-batch=1", "global-batch=32",
        "seq=4096"}},
      {"llama-2-7b",
       "h100-sxm:16",
       {"pp=4", "dp=4", "zero=1", "gradient-dtype=bf16", "recompute=full", "micro-batch=2",
        "global-batch=128", "seq=2048"}},
      {"mistral-7b",
       "h100-sxm:16",
       {"tp=2", "pp=2", "dp=4", "zero=1", "gradient-dtype=bf16", "recompute=full", "micro-batch=1",
        "global-batch=64", "seq=8192"}}};
  return list;
}

SnapshotDiagnosis diagnosed(const Planned& plan, const std::string& change, SnapshotFault fault,
                            std::uint32_t rank = 0) {
  const Scenario scenario = open({plan.model, plan.cluster, "", plan.settings});
  Scenario real = scenario;
  if (!change.empty()) apply_words(real.plan, change);
  const auto ran = run_once(real, {});
  const std::string pickle = snapshot_pickle(*ran, DeviceId{rank}, fault);
  return diagnose(parse_memory_snapshot(pickle, "s.pickle"), scenario,
                  {.rank = static_cast<int>(rank)});
}

struct Fault {
  const char* name;
  const char* setting;  // what really ran
  SnapshotFault fault = {};
  bool pipeline = false;  // means something with several stages only
  bool sharded = false;   // with data parallel replicas only
};

// Ten faults, each in every plan that it can befall.
TEST(SnapshotDiagnosis, NamesSeededFaults) {
  const std::vector<Fault> faults = {
      {"as planned", ""},
      {"longer sequence", "seq=2"},  // times
      {"longer sequence", "seq=1.4"},
      {"larger microbatches", "micro-batch=2"},
      {"recomputation off", "recompute=none"},
      {"gradients in fp32", "gradient-dtype=fp32"},
      {"uneven stage", "split", {}, true},
      {"optimizer state not sharded", "zero=0", {}, false, true},
      {"fragmentation", "", {.lost = 0.3}},
      {"growth from step to step", "", {.leak = 0.08, .steps = 5}},
      {"all microbatches at once", "schedule=gpipe", {}, true},
  };
  int right = 0, all = 0;
  std::string wrong;
  for (std::size_t i = 0; i < plans().size(); ++i)
    for (const Fault& fault : testing::non_empty(faults)) {
      const Planned& plan = plans()[i];
      const Scenario scenario = open({plan.model, plan.cluster, "", plan.settings});
      const Plan complete = run_once(scenario, {})->workload.scenario.plan;
      if ((fault.pipeline && complete.mesh.pp < 2) || (fault.sharded && complete.mesh.dp < 2))
        continue;
      std::string setting = fault.setting;
      if (setting == "seq=2") setting = "seq=" + std::to_string(2 * complete.batch.sequence);
      if (setting == "seq=1.4")
        setting = "seq=" + std::to_string(complete.batch.sequence * 7 / 5 / 64 * 64);
      if (setting == "micro-batch=2")
        setting = "micro-batch=" + std::to_string(2 * complete.batch.micro);
      if (setting == "split") setting = complete.mesh.pp == 2 ? "split=18,14" : "split=10,8,7,7";
      SnapshotFault how = fault.fault;
      how.seed = 100 + i;
      const SnapshotDiagnosis d = diagnosed(plan, setting, how);
      ++all;
      right += d.cause.name == fault.name ? 1 : 0;
      if (d.cause.name != fault.name)
        wrong += std::string(plan.model) + " with " + fault.name + " (" + setting +
                 "): " + d.sentence + "\n";
      EXPECT_FALSE(d.sentence.empty());
    }
  RecordProperty("right", right);
  EXPECT_GE(all, 38);
  EXPECT_EQ(right, all) << wrong;
}

TEST(SnapshotDiagnosis, MarksWhereThePlanIsLeft) {
  const SnapshotDiagnosis d = diagnosed(plans()[1], "seq=8192", {});
  ASSERT_TRUE(d.divergence);
  EXPECT_EQ(d.divergence->category, Category::Activations);
  EXPECT_EQ(d.divergence->owner, "attention (model.py:120)");
  EXPECT_GT(d.divergence->measured, d.divergence->planned);
  EXPECT_EQ(d.cause.setting, "seq=8192");
  EXPECT_NE(d.sentence.find("a sequence of 8192 instead of 4096 (seq=8192)"), std::string::npos)
      << d.sentence;
}

TEST(SnapshotDiagnosis, ALongRecordingLeavesNoMoreUnexplainedThanOneStep) {
  const SnapshotDiagnosis once = diagnosed(plans()[1], "seq=8192", {.steps = 1});
  const SnapshotDiagnosis often = diagnosed(plans()[1], "seq=8192", {.steps = 60});
  EXPECT_EQ(often.cause.setting, once.cause.setting);
  EXPECT_NEAR(often.cause.apart, once.cause.apart, 0.01);
  EXPECT_EQ(often.steps, 60 * once.steps);
}

// Columns aggregate stretches of samples; they must show the same as looking at every sample.
TEST(SnapshotDiagnosis, DrawsThePeakOfALongRecordingAtItsHeight) {
  const SnapshotModel model = snapshot_model(diagnosed(plans()[1], "seq=8192", {.steps = 60}));
  ASSERT_GT(model.measured.samples.size(), 4096u);
  const Drawing drawing = snapshot_picture(model);
  const Bytes peak = total(model.measured.samples[model.measured.peak].bytes);
  bool there = false;
  for (const std::size_t sample : model.peaks)
    there = there || total(model.measured.samples[sample].bytes) == peak;
  EXPECT_TRUE(there);
  for (std::size_t i = 0; i < model.measured.samples.size(); ++i)
    EXPECT_GE(total(model.measured.samples[model.peaks[i / 1024]].bytes),
              total(model.measured.samples[i].bytes));
  EXPECT_FALSE(drawing.marks.empty());
}

TEST(SnapshotDiagnosis, RefusesARankThatThePlanHasNot) {
  const Scenario scenario = open({"gpt2-xl", "a100-sxm-80:8", "", plans()[0].settings});
  const auto ran = run_once(scenario, {});
  const MemorySnapshot snapshot =
      parse_memory_snapshot(snapshot_pickle(*ran, DeviceId{0}), "s.pickle");
  EXPECT_THROW(diagnose(snapshot, scenario, {.rank = 7}), Error);
  EXPECT_THROW(diagnose(snapshot, scenario, {.device = 3}), Error);
}

}  // namespace
}  // namespace trainyard
