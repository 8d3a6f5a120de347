// Tests the output of `schedule` for each schedule: its grid as papers print it, its bubbles, its
// memory.
#include "app/workspace/schedules/schedule_study.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/methods/catalogue.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using std::chrono::microseconds;

ScheduleStudy study_of(const std::string& name, int devices, int microbatches) {
  ScheduleRequest request;
  request.name = name;
  request.devices = devices;
  request.microbatches = microbatches;
  return study(request);
}

std::vector<double> live(const ScheduleStudy& s) {
  std::vector<double> list;
  for (const DeviceStudy& d : s.devices) list.push_back(d.live);
  return list;
}

TEST(ScheduleStudy, EveryScheduleOfTheCatalogueHasOne) {
  for (const Method& method : testing::non_empty(methods())) {
    if (method.axis != MethodAxis::Schedule) continue;
    for (int microbatches : {4, 8, 12}) {
      const ScheduleStudy found = study_of(std::string(method.name), 4, microbatches);
      EXPECT_GE(found.makespan, found.ideal - 1e-12) << method.name;
      EXPECT_GT(found.ideal, 0) << method.name;
      EXPECT_GE(found.bubble_fraction, -1e-12) << method.name;
      EXPECT_EQ(found.devices.size(), 4u) << method.name;
      EXPECT_EQ(found.asynchronous, has_updates(found.order)) << method.name;
      EXPECT_FALSE(grid(found).empty()) << method.name;
      for (const DeviceStudy& d : testing::non_empty(found.devices))
        EXPECT_GT(d.live, 0) << method.name;
    }
  }
}

// A known error in the literature: with F = B of one slot each, both schedules need (m + p - 1) * 2
// = 78 slots, not 71. The gain of 1F1B is memory.
TEST(ScheduleStudy, OneFOneBIsNoQuickerThanGPipe) {
  for (const char* name : {"gpipe", "1f1b"}) {
    ScheduleRequest request;
    request.name = name;
    request.devices = 8;
    request.microbatches = 32;
    request.backward_input = request.backward_weight = microseconds(500);
    EXPECT_EQ(study(request).makespan, 0.078) << name;
  }
  EXPECT_EQ(live(study_of("gpipe", 8, 32)), std::vector<double>(8, 32));
  EXPECT_EQ(live(study_of("1f1b", 8, 32)), (std::vector<double>{8, 7, 6, 5, 4, 3, 2, 1}));
}

TEST(ScheduleStudy, AZeroBubbleIsOneOfTheSpan) {
  const ScheduleStudy h2 = study_of("zb-h2", 4, 8);
  EXPECT_NEAR(h2.makespan - h2.ideal, 0.003, 1e-12);  // (p-1) F
  EXPECT_NEAR(h2.bubble_fraction, 3.0 / 27, 1e-12);
  for (const DeviceStudy& d : testing::non_empty(h2.devices)) {
    EXPECT_EQ(d.bubble_fraction, 0);
    EXPECT_NEAR(d.span, 0.024, 1e-12);
    EXPECT_EQ(d.live, 7);
  }
  const ScheduleStudy h1 = study_of("zb-h1", 4, 8);
  EXPECT_EQ(h1.makespan, h2.makespan);
  EXPECT_NEAR(h1.devices.front().bubble_fraction, 3.0 / 27, 1e-12);
  EXPECT_EQ(h1.devices.back().bubble_fraction, 0);
  const ScheduleStudy v = study_of("zb-v", 4, 8);
  EXPECT_NEAR(v.makespan - v.ideal, 0.0015, 1e-12);
  for (const DeviceStudy& d : testing::non_empty(v.devices)) EXPECT_EQ(d.bubble_fraction, 0);
}

TEST(ScheduleStudy, ChunksFollowTheSchedule) {
  EXPECT_EQ(study_of("1f1b", 4, 8).request.virtual_stages, 1);
  EXPECT_EQ(study_of("interleaved", 4, 8).request.virtual_stages, 2);
  EXPECT_EQ(study_of("v-min", 4, 8).request.virtual_stages, 2);
  EXPECT_EQ(live(study_of("1f1b", 6, 24)).front(), 6);
  EXPECT_EQ(live(study_of("v-half", 6, 24)), std::vector<double>(6, 4));
  EXPECT_EQ(live(study_of("v-min", 6, 24)), std::vector<double>(6, 3));
}

TEST(ScheduleStudy, GridsAreThoseOfThePapers) {
  EXPECT_EQ(grid(study_of("zb-h1", 3, 3)),
            "d0   F0 F1 F2 .  .  I0 W0 I1 W1 I2 W2\n"
            "d1   .  F0 F1 .  I0 F2 I1 W0 I2 W1 W2\n"
            "d2   .  .  F0 I0 F1 I1 F2 I2 W0 W1 W2\n");
  EXPECT_EQ(grid(study_of("chimera", 2, 2)),
            "d0   F0'0 F1'1 B1'1----- B0'0-----\n"
            "d1   F1'1 F0'0 B0'0----- B1'1-----\n");
  EXPECT_EQ(grid(study_of("zb-v", 2, 3)).substr(0, 40), "d0   F0'0 F1'0 F2'0 F0'1 I0'1 W0'1 F1'1 ");
}

// With updates within the order, what counts is the pace of a middle step, and how old the weights
// are.
TEST(ScheduleStudy, AnAsynchronousOrderIsMeasuredAtItsPace) {
  ScheduleRequest request;
  request.devices = 2;
  request.microbatches = 1;
  const ScheduleStudy found = study(
      request,
      parse_order("d0/compute  0F0 0F1 0B0 0U0@1 0F2@1 0B1 0U1@2 0F3@2 0B2@1 0U2@3 0B3@2 0U3@4\n"
                  "d1/compute  1F0 1B0 1U0@1 1F1@1 1B1@1 1U1@2 1F2@2 1B2@2 1U2@3 1F3@3 1B3@3 "
                  "1U3@4\n"));
  EXPECT_TRUE(found.asynchronous);
  EXPECT_EQ(found.request.steps, 4);
  EXPECT_EQ(found.step, 2);
  EXPECT_EQ(found.makespan, 0.003);
  EXPECT_EQ(found.ideal, 0.003);
  EXPECT_EQ(found.devices[1].bubble_fraction, 0);
  EXPECT_EQ(found.devices[1].span, 0.003);
  EXPECT_EQ(found.facts[0].forward_delay, 1);
  EXPECT_EQ(found.facts[0].versions, 2);
  EXPECT_EQ(found.facts[1].forward_delay, 0);
  EXPECT_EQ(live(found), (std::vector<double>{2, 1}));
}

// Nothing waits for updates: at its pace no device ever idles, whatever a step consists of.
TEST(ScheduleStudy, AsynchronousPipelinesHaveNoBubble) {
  for (const char* name : {"pipedream", "pipedream-2bw", "pipemare", "pipelined-backprop"})
    for (int p : {2, 4, 8})
      for (int m : {8, 16}) {
        const ScheduleStudy found = study_of(name, p, m);
        EXPECT_EQ(found.makespan, m * 0.003) << name << " " << p << " " << m;
        EXPECT_EQ(found.ideal, found.makespan) << name << " " << p << " " << m;
        EXPECT_EQ(found.bubble_fraction, 0) << name << " " << p << " " << m;
        for (const DeviceStudy& d : testing::non_empty(found.devices))
          EXPECT_EQ(d.bubble_fraction, 0) << name << " " << p << " " << m;
      }
}

// K waves in flight keep K of N devices busy.
TEST(ScheduleStudy, WavesKeepTheirShareOfThePipelineBusy) {
  for (std::int64_t waves : {1, 2, 3, 4}) {
    ScheduleRequest request;
    request.name = "tick-tock";
    request.devices = 4;
    request.microbatches = 12;
    request.params.set("waves", waves);
    const ScheduleStudy found = study(request);
    EXPECT_NEAR(1 - found.bubble_fraction, static_cast<double>(waves) / 4, 1e-12) << waves;
    EXPECT_NEAR(found.makespan, 0.036 * 4 / static_cast<double>(waves), 1e-12) << waves;
  }
}

// Two waves, half a cycle apart, share one device: a steady step has two microbatches. If one wave
// fills the device, nothing is gained.
TEST(ScheduleStudy, WavesGainWhatOneLeavesFree) {
  struct Row {
    double forward, backward, gain;
  };
  // F = 1, B = 2: the step takes the sum of u t that the device is asked for, and at least one
  // cycle.
  for (const Row& row :
       {Row{0.4, 0.6, 6 / 3.2}, Row{0.5, 0.5, 2.0}, Row{0.6, 0.8, 6 / 4.4}, Row{1.0, 1.0, 1.0}}) {
    ScheduleRequest request;
    request.name = "tick-tock";
    request.devices = 1, request.microbatches = 2;
    request.forward_fill = row.forward, request.backward_fill = row.backward;
    EXPECT_NEAR(study(request).over_one_wave, row.gain, 0.01) << row.forward;
  }
  ScheduleRequest plain;
  EXPECT_EQ(study(plain).over_one_wave, 0);
}

// K waves of model parallelism keep K of N devices at work.
TEST(ScheduleStudy, WavesOfModelParallelismGainTheirNumber) {
  for (const int waves : {2, 4, 8}) {
    ScheduleRequest request;
    request.name = "tick-tock";
    request.devices = 8, request.microbatches = 8;
    request.params.set("waves", std::int64_t{waves});
    EXPECT_NEAR(study(request).over_one_wave, waves, 0.05 * waves) << waves;
  }
}

// Two lanes of one device that each fill half of it run beside each other.
TEST(ScheduleStudy, LanesOfADeviceShareIt) {
  ScheduleRequest request;
  request.devices = 1;
  request.microbatches = 2;
  const Order two = parse_order("d0/wave 0  0F0 0B0\nd0/wave 1  0F1/1 0B1/1\n");
  EXPECT_EQ(study(request, two).makespan, 0.006);
  request.forward_fill = request.backward_fill = 0.5;
  const ScheduleStudy beside = study(request, two);
  EXPECT_EQ(beside.makespan, 0.003);
  EXPECT_EQ(beside.ideal, 0.003);
  EXPECT_EQ(beside.devices[0].live, 2);
  EXPECT_EQ(grid(beside), "d0/wave 0 F0'0 B0'0-----\nd0/wave 1 F1'1 B1'1-----\n");
}

// If times have little in common, boxes have the resolution of half a pass.
TEST(ScheduleStudy, AGridStaysReadable) {
  ScheduleRequest request;
  request.name = "zb-h1";
  request.devices = 2;
  request.microbatches = 2;
  request.forward = microseconds(1003);
  request.backward_input = microseconds(1511);
  EXPECT_EQ(grid(study(request)),
            "d0   F0--- F1--- .  .  .  I0------ W0--- I1------ W1---\n"
            "d1   .  .  F0--- I0------ F1--- I1------ W0--- W1--- .\n");
}

TEST(ScheduleStudy, AskedForWhatItIsNotItSaysWhy) {
  ScheduleRequest request;
  request.name = "zb-v";
  request.steps = 3;
  try {
    study(request);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "zb-v begins and ends a step with nothing in flight; expected one step, found 3");
    EXPECT_EQ(error.place().text, "steps");
  }
}

}  // namespace
}  // namespace trainyard
