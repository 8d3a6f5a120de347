#include "core/program/program_text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/model/ops.h"
#include "tests/support/programs.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

using testing::pipeline;

std::string program_refusal(std::string_view text) {
  return testing::refusal([&] { parse_program(text); });
}

TEST(ProgramText, TablesThenStreams) {
  EXPECT_EQ(
      to_text(pipeline({.devices = 1, .microbatches = 1})),
      "program\n"
      "buffer name=\"weights\" stage=0 device=0 category=weights persistent bytes=1000\n"
      "buffer name=\"activations\" stage=0 device=0 category=activations bytes=100\n"
      "buffer name=\"workspace\" stage=0 device=0 bytes=10\n"
      "task name=\"forward\" pass=\"test\" stage=0 group=pipeline\n"
      "  effect buffer=1\n"
      "  effect buffer=2\n"
      "  effect buffer=2 release at_end\n"
      "task phase=B name=\"backward\" pass=\"test\" stage=0 group=pipeline\n"
      "  effect buffer=2\n"
      "  effect buffer=2 release at_end\n"
      "  effect buffer=1 release at_end\n"
      "task phase=U name=\"optimizer\" pass=\"test\" stage=0 group=pipeline\n"
      "task kind=collective phase=B name=\"reduce gradients\" pass=\"test\" stage=0 bytes=64\n"
      "task kind=send name=\"send activations\" pass=\"test\" stage=0 group=pipeline bytes=8\n"
      "task kind=receive name=\"receive activations\" pass=\"test\" stage=0 group=pipeline "
      "bytes=8\n"
      "task kind=send phase=B name=\"send gradients\" pass=\"test\" stage=0 group=pipeline "
      "bytes=8\n"
      "task kind=receive phase=B name=\"receive gradients\" pass=\"test\" stage=0 group=pipeline "
      "bytes=8\n"
      "stream device=0 name=\"compute\" compute\n"
      "  do task=0  # stage 0 F0\n"
      "  do task=1  # stage 0 B0\n"
      "  do task=2 after=3  # stage 0 U0\n"
      "stream device=0 name=\"reduce\"\n"
      "  do task=3 after=1  # stage 0 reduce gradients\n");
}

TEST(ProgramText, DefaultsCommentsAndIndentationMayBeLeftOut) {
  const Program program = parse_program(
      "# a hand-written one\nprogram\n\ttask name=\"a # b\" stage=0 # the only one\r\n"
      "\nstream device=0 name=\"x\"\ndo task=0 microbatch=2");
  EXPECT_EQ(program.instructions[0].microbatch, 2);
  EXPECT_EQ(program.name(program.tasks[0].name), "a # b");
  EXPECT_TRUE(verify(program).empty());
}

TEST(ProgramText, RefusalsSayLineColumnExpectedAndFound) {
  EXPECT_EQ(program_refusal(""),
            "program: expected \"program\" in the first line, found an empty text");
  EXPECT_EQ(program_refusal("\ntask"),
            "program:2:1: expected \"program\" in the first line, found \"task\"");
  EXPECT_EQ(program_refusal("program\nprogram"),
            "program:2:1: expected one program, found \"program\"");
  EXPECT_EQ(program_refusal("program\n  do task=1"),
            "program:2:3: expected a stream before its instructions, found \"do\"");
  EXPECT_EQ(program_refusal("program\n  part"),
            "program:2:3: expected a buffer before its parts, found \"part\"");
  EXPECT_EQ(program_refusal("program\neffect"),
            "program:2:1: expected a task before its works and effects, found \"effect\"");
  EXPECT_EQ(program_refusal("program\nloop"),
            "program:2:1: expected buffer, part, task, work, effect, stream or do, found \"loop\"");
  EXPECT_EQ(program_refusal("program device=2"),
            "program:1:9: expected a key of program, found \"device\"; did you mean \"devices\"?");
  EXPECT_EQ(program_refusal("program devices=2 devices=3"),
            "program:1:19: expected each key once, found \"devices\"");
  EXPECT_EQ(program_refusal("program devices=two"),
            "program:1:17: expected a whole number in 32 bits, found \"two\"");
  EXPECT_EQ(program_refusal("program devices="),
            "program:1:17: expected a whole number in 32 bits, found nothing");
  EXPECT_EQ(program_refusal("program\ntask stage=-1"),
            "program:2:12: expected a whole number from 0 to 4294967295, found \"-1\"");
  EXPECT_EQ(program_refusal("program\ntask name=forward"),
            "program:2:11: expected text in quotes, found \"forward\"");
  EXPECT_EQ(program_refusal("program\ntask name=\"forward"),
            "program:2:11: expected a closing quote, found \"\"forward\"");
  EXPECT_EQ(program_refusal("program\ntask name=\"\\xg0\""),
            "program:2:12: expected two hexadecimal digits after \\x, found \"g0\"");
  EXPECT_EQ(program_refusal("program\ntask kind=sending"),
            "program:2:11: expected one of compute, collective, send, receive, host-copy, "
            "host-update, nvme-read, nvme-write, found \"sending\"");
  EXPECT_EQ(program_refusal("program\nbuffer persistent=yes"),
            "program:2:19: expected no value: the key alone says yes, found \"yes\"");
  EXPECT_EQ(program_refusal("program\nstream delay=5"),
            "program:2:14: expected nanoseconds, as in 1500ns, found \"5\"");
  EXPECT_EQ(program_refusal("program\nstream\ndo after=1,,2"),
            "program:3:12: expected a whole number from 0 to 4294967295, found nothing");
  EXPECT_EQ(program_refusal("program\ntask\nwork flops=inf"),
            "program:3:12: expected a number, found \"inf\"");
  EXPECT_EQ(program_refusal("program =3"), "program:1:9: expected a word, found \"=\"");
}

TEST(ProgramText, KernelsAreNamed) {
  Program program = pipeline({.devices = 1, .microbatches = 1});
  WorkCount work;
  work.work.kernel = *find_kernel("matmul forward");
  program.works.push_back(work);
  program.tasks[0].first_work = 0, program.tasks[0].works = 1;
  EXPECT_NE(to_text(program).find("  work kernel=\"matmul forward\"\n"), std::string::npos)
      << to_text(program);
  EXPECT_EQ(program_refusal("program\ntask\nwork kernel=\"matmul foward\""),
            "program:3:13: expected an op and its pass, as \"matmul forward\", found \"matmul "
            "foward\"; did you mean \"matmul forward\"?");
}

TEST(ProgramText, WhatMakesNoSenseIsSaidWithItsLine) {
  const auto wrong = [](std::string_view text) {
    try {
      parse_valid_program(text, {"p.txt"});
    } catch (const Error& e) {
      return std::string(describe(e));
    }
    return std::string("accepted");
  };
  EXPECT_EQ(wrong("program\n\ntask stage=0\nstream device=0 name=\"x\"\n  do task=7"),
            "p.txt:5: instruction 0: task 7 lies outside the 1 there are");
  EXPECT_EQ(wrong("program\ntask stage=0\ntask stage=4"),
            "p.txt:3: task 1: expected a stage below 1, found 4");
  EXPECT_EQ(
      wrong("program\ntask stage=0\n  work fill=0"),
      "p.txt:2: task 0: expected works that fill more than 0 and at most 1 of a device, found "
      "0");
  EXPECT_EQ(wrong("program\nbuffer stage=0 bytes=-1"), "p.txt:2: buffer 0: -1 bytes are negative");
  EXPECT_EQ(
      wrong("program\nbuffers"),
      "p.txt:2:1: expected buffer, part, task, work, effect, stream or do, found \"buffers\"");
}

TEST(ProgramText, AnyProgramReadsBackToItsDigest) {
  EXPECT_TRUE(rc::check([] {
    Program program =
        pipeline({.devices = *rc::gen::inRange(1, 5), .microbatches = *rc::gen::inRange(1, 6)});
    program.replicas = *rc::gen::inRange(1, 1000);
    Task& task = program.tasks[*rc::gen::inRange<std::size_t>(0, program.tasks.size())];
    task.name = program.names.intern(*rc::gen::arbitrary<std::string>());
    task.layer = *rc::gen::inRange(-1, 100);
    task.node = {*rc::gen::inRange<std::uint32_t>(0, 9)};
    task.group = static_cast<Group>(*rc::gen::inRange(0, 8));
    task.collective = static_cast<CollectiveKind>(*rc::gen::inRange(0, 5));
    task.first_work = static_cast<std::uint32_t>(program.works.size());
    for (int n = *rc::gen::inRange(0, 4); n > 0; --n, ++task.works) {
      WorkCount w;
      w.work.flops.value = static_cast<double>(*rc::gen::inRange<std::int64_t>(0, 1LL << 60)) / 3;
      w.work.kind = static_cast<WorkKind>(*rc::gen::inRange(0, 6));
      w.work.math = static_cast<DType>(*rc::gen::inRange(0, 10));
      w.work.fill = 1.0 / *rc::gen::inRange(1, 100);
      w.pass = static_cast<Pass>(*rc::gen::inRange(0, 3));
      w.recomputed = *rc::gen::arbitrary<bool>();
      program.works.push_back(w);
    }
    program.buffers[0].first_part = static_cast<std::uint32_t>(program.parts.size());
    program.parts.push_back({program.names.intern("part"), Bytes{*rc::gen::inRange(0, 99)}});
    program.buffers[0].parts = 1;
    program.streams[0].delay = Duration(*rc::gen::inRange(0, 99));
    program.streams[0].name = *rc::gen::arbitrary<std::string>();
    program.instructions[0].wave = *rc::gen::arbitrary<std::int16_t>();
    RC_ASSERT(verify(program).empty());
    const std::string text = to_text(program);
    const Program again = parse_program(text);
    RC_ASSERT(digest(again) == digest(program));
    RC_ASSERT(to_text(again) == text);
    RC_ASSERT(verify(again).empty());
  }));
}

}  // namespace
}  // namespace trainyard
