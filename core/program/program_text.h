// The text form of a program, for people, tests and bug reports: one entry per line, fields as
// key=value, defaults left out. "trainyard simulate" writes it with --program-out and simulates it
// with
// --program.
//
//   program devices=2 stages=2 microbatches=4
//   buffer name="activations" stage=0 category=activations bytes=1024
//     part name="layers q_proj" bytes=512
//   task phase=F name="forward" pass="emit_compute" stage=0
//     work kind=product math=bf16 flops=1e+12 read=64 written=64
//     effect buffer=0
//   stream device=0 name="compute" compute
//     do task=0 microbatch=3 after=7,9  # stage 0 F3
//
// Tables come first, then streams with their instructions; parts belong to the buffer above them,
// works and effects to the task, instructions to the stream. Indices count from 0 in order.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/program/program.h"

namespace trainyard {

/// The program must be one that verify() accepts.
std::string to_text(const Program&);
/// The exact inverse: the program read has the digest of the one written. Indentation, blank lines
/// and anything after a "#" are ignored. Throws Error{InvalidInput} with line, column, expected and
/// found; verify() decides whether the program is consistent.
Program parse_program(std::string_view, const Place& = {"program"});
/// Reads a program that makes sense too. Throws Error{InvalidInput} with all that verify() finds
/// wrong, each with the line of the task, buffer or instruction that it is about.
Program parse_valid_program(std::string_view, const Place& = {"program"});

}  // namespace trainyard
