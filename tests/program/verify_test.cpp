#include <gtest/gtest.h>

#include "tests/support/programs.h"

namespace trainyard {
namespace {

using testing::pipeline;

std::string problems(const Program& program) {
  std::string all;
  for (const Diagnostic& d : verify(program)) all += d.place.text + ": " + d.message + "\n";
  return all;
}

InstructionId first_of(const Program& program, TaskKind kind) {
  for (std::uint32_t i = 0; i < program.instructions.size(); ++i)
    if (program.task(InstructionId{i}).kind == kind) return {i};
  return {};
}

TEST(Verify, AcceptsAPipeline) {
  EXPECT_EQ(problems(pipeline({.devices = 1, .microbatches = 1})), "");
  EXPECT_EQ(problems(pipeline({.devices = 4, .microbatches = 8})), "");
  EXPECT_EQ(problems(Program{}), "");
}

TEST(Verify, SendsHaveTheirReceives) {
  Program program = pipeline();
  const InstructionId send = first_of(program, TaskKind::Send),
                      peer = program.instructions[send.value].peer;
  program.instructions[send.value].peer = {};
  EXPECT_EQ(problems(program),
            "program stage 0 F0 send activations: this send has no receive\n"
            "program stage 1 F0 receive activations: its peer stage 0 F0 send activations is not "
            "its counterpart\n");
  program.instructions[send.value].peer = peer;
  program.tasks[program.instructions[peer.value].task.value].bytes = {9};
  EXPECT_EQ(verify(program).size(), 3u);  // one for each microbatch
  EXPECT_EQ(verify(program)[0].message,
            "it sends 8 bytes, and stage 1 F0 receive activations receives 9");
}

TEST(Verify, OnlyTransfersHavePeers) {
  Program program = pipeline({.devices = 1});
  program.instructions[0].peer = {1};
  EXPECT_EQ(problems(program),
            "program stage 0 F0: only a send, a receive or a collective between the copies of a "
            "stage has a peer\n");
}

TEST(Verify, NamesACircleOfWaits) {
  Program program = pipeline({.devices = 1, .microbatches = 2});
  // compute: F0 F1 B0 B1 U0, reduce: R. Let F0 wait for the reduction, which waits for B1.
  program.instructions[0].first_after = static_cast<std::uint32_t>(program.after.size());
  program.instructions[0].afters = 1;
  program.after.push_back(first_of(program, TaskKind::Collective));
  EXPECT_EQ(problems(program),
            "program streams: instructions wait for each other: stage 0 F0 waits for stage 0 "
            "reduce gradients, which waits for stage 0 B1, which comes after stage 0 F0\n");
}

TEST(Verify, ASendWaitsUntilItsReceiveIsReached) {
  Program program = pipeline({.devices = 2, .microbatches = 2});
  // Swap the two receives of device 1: the first send meets a receive that stands behind another.
  for (Stream& stream : program.streams)
    if (stream.device.value == 1 && stream.name == "receive forward") {
      Instruction &a = program.instructions[stream.first],
                  &b = program.instructions[stream.first + 1];
      std::swap(a.microbatch, b.microbatch);
      std::swap(a.peer, b.peer);
      program.instructions[a.peer.value].peer = {stream.first};
      program.instructions[b.peer.value].peer = {stream.first + 1};
    }
  EXPECT_EQ(problems(program),
            "program streams: instructions wait for each other: stage 0 F0 send activations waits "
            "for stage 1 F0 receive activations, which comes after stage 1 F1 receive activations, "
            "which waits for stage 0 F1 send activations, which comes after stage 0 F0 send "
            "activations\n");
}

TEST(Verify, BuffersAreReleasedAsOftenAsAllocated) {
  Program program = pipeline({.devices = 1, .microbatches = 3});
  program.tasks[1].effects -= 1;  // backward no longer releases the activations
  EXPECT_EQ(problems(program),
            "program buffer 1 \"activations\" of stage 0: 3 of its 3 allocations are never "
            "released\n");
  program = pipeline({.devices = 1, .microbatches = 3});
  program.tasks[0].first_effect += 1, program.tasks[0].effects -= 1;
  EXPECT_EQ(problems(program),
            "program buffer 1 \"activations\" of stage 0: it is released 3 times and allocated 0 "
            "times\n");
}

TEST(Verify, IndicesLieInTheirTables) {
  const auto broken = [](auto change) {
    Program program = pipeline();
    change(program);
    const Diagnostics found = verify(program);
    return found.empty() ? std::string("accepted") : found[0].message;
  };
  EXPECT_EQ(broken([](Program& p) { p.instructions[3].task = {99}; }),
            "task 99 lies outside the 16 there are");
  EXPECT_EQ(broken([](Program& p) { p.instructions[3].peer = {999}; }),
            "peer 999 lies outside the 28 instructions there are");
  EXPECT_EQ(broken([](Program& p) { p.instructions[0].first_after = 0xFFFFFFFF; }),
            "what it waits for [4294967295, 4294967295) lie outside the 16 there are");
  EXPECT_EQ(broken([](Program& p) { p.after[0] = {}; }),
            "instruction 4294967295 lies outside the 28 there are");
  EXPECT_EQ(broken([](Program& p) { p.tasks[0].effects = 0xFFFFFFFF; }),
            "effects [0, 4294967295) lie outside the 12 there are");
  EXPECT_EQ(broken([](Program& p) { p.tasks[0].stage = {}; }),
            "expected a stage below 2, found 4294967295");
  EXPECT_EQ(broken([](Program& p) { p.tasks[0].name = {77}; }),
            "name 77 lies outside the 12 there are");
  EXPECT_EQ(broken([](Program& p) { p.streams[0].count -= 1; }),
            "expected its first instruction at 6, found 7");
  EXPECT_EQ(broken([](Program& p) { p.streams.pop_back(); }),
            "they hold 27 instructions, and there are 28");
  EXPECT_EQ(broken([](Program& p) { p.effects[0].buffer = {0}; }),
            "buffer 0 is alive during the whole run and cannot be allocated or released");
  EXPECT_EQ(broken([](Program& p) { p.devices = 0; }),
            "expected at least one device, stage, replica and shard rank, found 0, 2, 1, 1");
}

TEST(Describe, SaysStagePhaseAndMicrobatch) {
  Program program = pipeline({.devices = 1, .microbatches = 2});
  EXPECT_EQ(describe(program, {1}), "stage 0 F1");
  program.instructions[1].wave = 1, program.instructions[1].weights = 4;
  program.tasks[0].layer = 5;
  EXPECT_EQ(describe(program, {1}), "stage 0 F1/1@4 layer 5 forward");
  EXPECT_EQ(describe(program, first_of(program, TaskKind::Collective)), "stage 0 reduce gradients");
}

}  // namespace
}  // namespace trainyard
