// Tests runs whose optimizer state is on NVMe: they train to the bits of a run whose hosts keep it,
// in the time that their programs state and with the bytes that their plans state. Buffers that
// hold nothing read as NaN, so that a layer whose state was not read shows in the loss.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "backends/cpu/memory/nvme_file.h"
#include "core/lowering/host_memory.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;

Training nvme_training(std::int64_t steps, double clip) {
  Training t;
  t.rate = 0.05;
  t.steps = steps;
  t.clip = clip;
  return t;
}

struct NvmePlan {
  int devices;
  Settings settings;
};
const NvmePlan kNvmePlans[] = {
    {1, {"schedule=gpipe"}},
    {2, {"pp=2", "schedule=interleaved", "virtual-stages=2"}},
    {4, {"pp=2", "dp=2", "schedule=gpipe", "zero=1"}},
    {4, {"pp=2", "dp=2", "schedule=gpipe", "zero=3"}},
    {4, {"pp=2", "tp=2", "schedule=gpipe", "seq=4"}},
    {4, {"pp=4", "schedule=zb-h1"}},
    {4, {"pp=4", "schedule=1f1b", "recompute=full"}},
};
constexpr std::string_view kNvmePrecisions[] = {
    "precision=fp32",    "precision=bf16",       "precision=fp16", "precision=bf16-nearest",
    "precision=bf16-sr", "precision=bf16-kahan", "precision=fp8"};

Scenario nvme_scenario(const Model& model, const NvmePlan& plan, const Settings& more) {
  Settings all = plan.settings;
  all.insert(all.end(),
             {"global-batch=16", "micro-batch=1", "optimizer=adamw", "offload=optimizer"});
  all.insert(all.end(), more.begin(), more.end());
  Scenario s = testing::scenario(model, plan.devices, all, "cpu");
  s.cluster.nvme_read = {{2e9}, "given"}, s.cluster.nvme_write = {{1e9}, "given"};
  return s;
}

std::string nvme_words(const Scenario& s) {
  std::string text = s.model.name;
  for (const char* key : {"pp", "tp", "zero", "schedule", "precision", "offload"})
    text += " " + std::string(key) + "=" + setting(s.plan, key);
  return text;
}

void expect_same_training(const CpuRun& run, const CpuRun& other) {
  EXPECT_EQ(run.run.losses, other.run.losses);
  ASSERT_EQ(run.parameters.size(), other.parameters.size());
  for (std::size_t i = 0; i < run.parameters.size(); ++i)
    EXPECT_EQ(run.parameters[i].values, other.parameters[i].values) << run.parameters[i].name;
}

// The most of any device is what the plan states, of host memory and of NVMe.
void expect_planned_bytes(const CpuRun& run) {
  const std::optional<HostMemory> told = host_memory(run.workload);
  Bytes host{}, nvme{};
  for (const DeviceMemory& m : run.run.memory)
    host = std::max(host, m.host), nvme = std::max(nvme, m.nvme);
  EXPECT_EQ(nvme.value, told->nvme_device.value);
  EXPECT_EQ(host.value, told->device.value);
}

TEST(CpuNvme, ChangesNoBitAndHoldsThePlannedBytes) {
  const Model model = testing::tiny_transformer({.layers = 8});
  double clip = 0;
  for (const NvmePlan& plan : testing::non_empty(kNvmePlans))
    for (std::string_view precision : {kNvmePrecisions[0], kNvmePrecisions[1]}) {
      const Scenario host = nvme_scenario(model, plan, {precision}),
                     there = nvme_scenario(model, plan, {precision, "offload-tier=nvme"});
      SCOPED_TRACE(nvme_words(there));
      const Training training = nvme_training(3, clip = 1 - clip);
      const CpuRun run = testing::train_on_cpu(there, training);
      expect_same_training(run, testing::train_on_cpu(host, training));
      expect_planned_bytes(run);
    }
}

TEST(CpuNvme, ChangesNoBitInAnyPrecisionOrModel) {
  const NvmePlan plan = {4, {"pp=2", "dp=2", "schedule=gpipe", "zero=1"}};
  const Model tiny = testing::tiny_transformer({.layers = 4});
  for (std::string_view precision : kNvmePrecisions) {
    const Scenario there = nvme_scenario(tiny, plan, {precision, "offload-tier=nvme"});
    SCOPED_TRACE(nvme_words(there));
    const CpuRun run = testing::train_on_cpu(there, nvme_training(3, 1));
    expect_same_training(
        run, testing::train_on_cpu(nvme_scenario(tiny, plan, {precision}), nvme_training(3, 1)));
    expect_planned_bytes(run);
  }
  for (const Model& model :
       {testing::tiny_transformer({.layers = 4, .tied = true}), testing::tiny_mlp(8),
        testing::tiny_convnet(8),
        testing::tiny_transformer({.layers = 4, .family = "llama", .experts = 4})}) {
    const Scenario there = nvme_scenario(model, plan, {"precision=fp32", "offload-tier=nvme"});
    SCOPED_TRACE(nvme_words(there));
    const CpuRun run = testing::train_on_cpu(there, nvme_training(3, 0));
    expect_same_training(run, testing::train_on_cpu(nvme_scenario(model, plan, {"precision=fp32"}),
                                                    nvme_training(3, 0)));
    expect_planned_bytes(run);
  }
}

TEST(CpuNvme, ChangesNoBitByTheWallClock) {
  const Model model = testing::tiny_transformer({.layers = 4});
  const Scenario there =
      nvme_scenario(model, {2, {"pp=2"}}, {"precision=bf16", "offload-tier=nvme"});
  const CpuRun virtually = testing::train_on_cpu(there, nvme_training(3, 1));
  for (const int threads : {1, 3}) {
    CpuOptions wall;
    wall.mode = RunMode::WallClock;
    wall.threads = threads;
    expect_same_training(testing::train_on_cpu(there, nvme_training(3, 1), wall), virtually);
  }
}

// Kernels all take equally long, so that the run's virtual time is the simulator's to the
// nanosecond, with drives that are fast or slow.
TEST(CpuNvme, TakesTheTimeOfTheSimulator) {
  for (const NvmePlan& plan : testing::non_empty(kNvmePlans))
    for (const double rate : {1e6, 1e9, 1e13}) {
      Scenario s = nvme_scenario(testing::tiny_transformer({.layers = 8}), plan,
                                 {"precision=fp32", "offload-tier=nvme"});
      s.cluster.nvme_read.value = {rate}, s.cluster.nvme_write.value = {rate / 2};
      SCOPED_TRACE(nvme_words(s) + " at " + std::to_string(rate));
      const Workload workload = prepare(s);
      const Program program = lower(workload, {.grain = Grain::Op});
      TaskPrices prices = price(program, workload.scenario.plan.mesh, workload.scenario.cluster,
                                *roofline_cost_model());
      constexpr Duration kKernel = std::chrono::microseconds(10);
      for (std::size_t t = 0; t < program.tasks.size(); ++t)
        if (program.tasks[t].kind == TaskKind::Compute)
          prices.time[t] = kKernel, prices.fill[t] = 1;
      const Training training = nvme_training(2, 0);
      const testing::SampleNumbers numbers;
      Duration clock{};
      CpuOptions options;
      options.processor_time = [&] { return clock += kKernel; };
      options.poison = true;
      const BackendRun run =
          CpuBackend({workload, program, prices, &training, &numbers}, options).run();
      // Ranks that divide a sequence sum partial gradients before updates, of which programs say
      // nothing.
      const bool divided = setting(s.plan, "seq") == "4";
      EXPECT_TRUE(divided || run.timeline.spans == simulate(program, prices).spans);
    }
}

TEST(CpuNvme, ARunGoesOnFromItsCheckpoint) {
  const std::string path = ::testing::TempDir() + "cpu_nvme.checkpoint";
  for (std::string_view precision : {"precision=fp32", "precision=bf16"}) {
    std::filesystem::remove(path);
    const Scenario s = nvme_scenario(testing::tiny_transformer({.layers = 4}),
                                     {2, {"pp=2", "schedule=interleaved", "virtual-stages=2"}},
                                     {precision, "offload-tier=nvme"});
    const CpuRun whole = testing::train_on_cpu(s, nvme_training(4, 1));
    CpuOptions options;
    options.checkpoint = path;
    testing::train_on_cpu(s, nvme_training(2, 1), options);
    options.resume = true;
    expect_same_training(testing::train_on_cpu(s, nvme_training(4, 1), options), whole);
  }
}

TEST(CpuNvme, RulesThatReadStateTwiceAreRefused) {
  for (const char* rule : {"lars", "lamb"}) {
    Scenario s = nvme_scenario(testing::tiny_mlp(4), {1, {"schedule=gpipe"}},
                               {"precision=fp32", "offload-tier=nvme"});
    s.plan.optimizer = rule;
    const Workload w = prepare(s);
    const Program p = lower(w, {.grain = Grain::Op});
    const Training training;
    const Diagnostics found = CpuBackend::check({w, p, TaskPrices{}, &training});
    ASSERT_TRUE(has_errors(found));
    EXPECT_EQ(found.back().message, std::string("a local run reads optimizer state from NVMe once "
                                                "in an update, and ") +
                                        rule + " needs it for its norms before");
  }
}

std::string nvme_file_refusal(Bytes bytes) {
  try {
    const NvmeFile file("the NVMe of d0", bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(NvmeFile, KeepsWhatIsWritten) {
  NvmeFile file("the NVMe of d0", Bytes{1 << 16});
  std::vector<std::byte> numbers(1 << 16), found(numbers.size());
  file.read(Bytes{}, found);
  EXPECT_EQ(found, numbers);  // all 0 at first
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::byte>(i * i >> 3);
  file.write(Bytes{}, std::span(numbers).first(1000));
  file.write(Bytes{1000}, std::span(numbers).subspan(1000));
  file.read(Bytes{}, found);
  EXPECT_EQ(found, numbers);
  EXPECT_THROW(file.read(Bytes{1}, found), Error);
}

// Sets TMPDIR and puts it back.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& path) {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    setenv("TMPDIR", path.c_str(), 1);
  }
  ~TemporaryFolder() {
    before_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before_.c_str(), 1);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

 private:
  std::string before_;
};

TEST(NvmeFile, SaysWhyItCannotBe) {
  constexpr std::string_view kEnds =
      "; TMPDIR may name another folder, and offload-tier=host "
      "needs no file";
  {
    const TemporaryFolder nowhere("/no/such/folder");
    EXPECT_EQ(nvme_file_refusal(1_MiB),
              "a file of 1.00 MiB for the NVMe of d0 cannot be made in /no/such/folder: No such "
              "file or directory" +
                  std::string(kEnds));
  }
  const std::string folder = ::testing::TempDir() + "nvme_file";
  std::filesystem::create_directories(folder);
  const TemporaryFolder here(folder);
  const std::string full = nvme_file_refusal(Bytes{std::int64_t{1} << 60});
  EXPECT_TRUE(full.find(" cannot have its room in " + folder + ": ") != std::string::npos) << full;
  EXPECT_TRUE(full.ends_with(kEnds)) << full;
  EXPECT_TRUE(std::filesystem::is_empty(folder));  // the file has no name to leave behind
}

}  // namespace
}  // namespace trainyard
