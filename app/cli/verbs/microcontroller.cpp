#include "app/cli/verbs/microcontroller.h"

#include <filesystem>
#include <ostream>

#include "app/cli/interrupt.h"
#include "app/workspace/scenario/microcontroller.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "core/io/bytes/file_writer.h"

namespace trainyard {
namespace {

// The source goes to the file that was named, and its header beside it, under its own name.
void write_program(const Exported& program, const Words& words, Streams& streams) {
  if (!words.has("out")) {
    streams.out << program.header << "\n" << program.text;
    return;
  }
  const std::filesystem::path source = words.text("out");
  const std::string header = (source.parent_path() / (program.name + ".h")).string();
  if (source.string() == header)
    refuse_flag("out", "expected a file for the C source, as " + program.name +
                           ".c, found the name of its header");
  write_file(header, program.header);
  write_file(source.string(), program.text);
  if (!words.has("quiet")) streams.err << "wrote " << source.string() << " and " << header << "\n";
}

}  // namespace

std::vector<Flag> microcontroller_flags() {
  return {{"start-from", "FILE",
           "microcontroller: the weights in the checkpoint of a run; without it those with which "
           "training begins"},
          {"data", "NAME", "microcontroller: as run takes it; ranges and accuracy are found on it"},
          {"calibration-samples", "N",
           "microcontroller: samples for training on which the range of each tensor is found "
           "(default 500)"},
          {"samples", "N",
           "microcontroller: samples for evaluation that are answered in 4-byte floats and in "
           "8-bit numbers (default 1000; 0 = all)"},
          {"seed", "N", "microcontroller: of the weights with which training begins (default 1)"},
          {"chip", "NAME",
           "microcontroller: stm32h743, stm32f746 or nrf52840, on whose flash and RAM the program "
           "is to fit; exit 3 where it does not"}};
}

int export_microcontroller(const Scenario& scenario, const Words& words, Streams& streams) {
  MicrocontrollerQuestion q;
  q.start_from = words.text("start-from"), q.data = words.text("data");
  q.calibration = words.integer("calibration-samples", 1, 10'000'000, q.calibration);
  q.samples = words.integer("samples", 0, 10'000'000, q.samples);
  q.seed = static_cast<std::uint64_t>(words.integer("seed", 0, INT64_MAX, 1));
  const Chip* const on = words.has("chip") ? &chip(words.text("chip")) : nullptr;
  const InterruptStop interrupt;
  q.stop = interrupt.token();
  const MicrocontrollerAnswer answer = microcontroller_network(prepare(scenario), q);
  const Exported program = microcontroller_program(answer, on);
  write_program(program, words, streams);
  // The program itself takes standard output where no file is named.
  std::ostream& told = words.has("out") ? streams.out : streams.err;
  if (words.has("out") || !words.has("quiet")) {
    for (const std::string& line : microcontroller_lines(answer, on)) told << line << "\n";
    told << "arena         by tensor\n";
    for (const std::string& line : arena_lines(answer.network)) told << line << "\n";
  }
  return on == nullptr || fits(answer.need, *on) ? kDone : kNotMet;
}

}  // namespace trainyard
