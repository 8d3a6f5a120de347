#include "core/result/verdict.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/result/peak_parts.h"

namespace trainyard {
namespace {

using std::chrono::milliseconds;

// One device: two forwards of 10 ms, then two backwards of 20 ms; weights of 4 GiB and 3 GiB of
// activations a microbatch, of which two thirds are attention scores of two layers.
struct Small {
  Program program;
  Timeline timeline;
  std::vector<MemoryWave> waves;
  Workload workload;

  Small() {
    program.microbatches = 2;
    add_buffers();
    for (const Phase phase : {Phase::Forward, Phase::Backward}) add_task(phase);
    Stream stream;
    stream.device = DeviceId{0};
    stream.name = "compute";
    stream.compute = true;
    stream.count = 4;
    program.streams.push_back(stream);
    for (const int m : {0, 1}) run(0, m, milliseconds(10));
    for (const int m : {0, 1}) run(1, m, milliseconds(20));
    waves = {memory_wave(timeline, program, DeviceId{0})};
  }

  Verdict verdict(Bytes capacity) const {
    return judge(workload, program, timeline, waves, breakdown(timeline, program, DeviceId{0}),
                 capacity);
  }

 private:
  void add_buffers() {
    for (const char* name : {"layers.0 scores", "layers.1 scores", "layers.1 q_proj"})
      program.parts.push_back({program.names.intern(name), 1_GiB});
    Buffer weights;
    weights.name = program.names.intern("weights");
    weights.stage = StageId{0};
    weights.device = DeviceId{0};
    weights.category = Category::Weights;
    weights.persistent = true;
    weights.bytes = 4_GiB;
    Buffer saved;
    saved.name = program.names.intern("layers: saved");
    saved.stage = StageId{0};
    saved.device = DeviceId{0};
    saved.category = Category::Activations;
    saved.bytes = 3_GiB;
    saved.parts = 3;
    program.buffers = {weights, saved};
    program.effects = {{BufferId{1}, true, false}, {BufferId{1}, false, true}};
  }

  void add_task(Phase phase) {
    Task task;
    task.phase = phase;
    task.stage = StageId{0};
    task.first_effect = phase == Phase::Forward ? 0 : 1;
    task.effects = 1;
    program.tasks.push_back(task);
  }

  void run(std::uint32_t task, int microbatch, Duration time) {
    Instruction instruction;
    instruction.task = TaskId{task};
    instruction.microbatch = microbatch;
    program.instructions.push_back(instruction);
    const Instant start = timeline.spans.empty() ? Instant{0} : timeline.spans.back().end;
    timeline.spans.push_back({start, start + time});
  }
};

TEST(Verdict, SaysByHowMuchWhereWhenAndWhatMakesIt) {
  const Verdict v = Small().verdict(8_GiB);
  EXPECT_FALSE(v.fits);
  EXPECT_EQ(v.margin, -2_GiB);
  EXPECT_EQ(v.sentence,
            "Does not fit: 2.00 GiB over on stage 0 (device 0), forward of microbatch 1 at 10.0 "
            "ms: 10.0 GiB of "
            "8.00 GiB; activations of 2 microbatches make 6.00 GiB.");
}

TEST(Verdict, FitsToTheByte) {
  EXPECT_TRUE(Small().verdict(10_GiB).fits);
  EXPECT_FALSE(Small().verdict(10_GiB - 1_B).fits);
  EXPECT_EQ(Small().verdict(16_GiB).sentence.substr(0, 20), "Fits: 6.00 GiB spare");
}

TEST(Verdict, PeakSumsUpAndKnowsTensorsOfAllLayers) {
  const std::vector<PeakPart> peak = Small().verdict(8_GiB).peak_parts;
  ASSERT_EQ(peak.size(), 3U);
  EXPECT_EQ(peak[0].name, "weights");
  EXPECT_EQ(peak[1].name, "activations of 2 microbatches: layers scores");
  EXPECT_EQ(peak[1].bytes, 4_GiB);
  EXPECT_EQ(peak[2].name, "activations of 2 microbatches: layers q_proj");
  const Bytes sum =
      std::accumulate(peak.begin(), peak.end(), Bytes{},
                      [](Bytes all, const PeakPart& part) { return all + part.bytes; });
  EXPECT_EQ(sum, 10_GiB);
}

TEST(Verdict, SaysWhatLimits) {
  EXPECT_EQ(Small().verdict(8_GiB).limit,
            "Limited by compute: 100.0 % of device time is forward and backward");
}

TEST(Doing, IsWhatRunsThenOrRanLast) {
  const Small small;
  EXPECT_EQ(doing_at(small.program, small.timeline, DeviceId{0}, milliseconds(25)).phase,
            "backward of microbatch 0");
  EXPECT_EQ(doing_at(small.program, small.timeline, DeviceId{0}, milliseconds(60)).phase,
            "after backward of microbatch 1");
}

}  // namespace
}  // namespace trainyard
