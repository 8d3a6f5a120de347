// A trained model as a program for a microcontroller: weights of a checkpoint, calibrated on
// samples that were trained on, in whole numbers of 8 bits, and what that costs in answers on
// samples that were not.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/exporters/exported.h"
#include "core/lowering/lower.h"
#include "core/microcontroller/chips.h"
#include "core/microcontroller/integer_network.h"
#include "core/quality/judged_answers.h"

namespace trainyard {

/// As in `export --to`.
inline constexpr std::string_view kMicrocontrollerFormat = "microcontroller";

struct MicrocontrollerQuestion {
  std::string start_from = {};  // a checkpoint; empty = the weights with which training begins
  std::string data = {};        // of data_sources(); empty = what the model's family is trained on
  std::int64_t calibration = 500;  // samples for training that ranges of tensors are found on, in
                                   // whole batches of 100
  std::int64_t samples = 1000;     // for evaluation, that both models answer; 0 = all
  std::uint64_t seed = 1;          // of weights with which training begins, and of made-up data
  std::stop_token stop = {};
};

struct MicrocontrollerAnswer {
  IntegerNetwork network;
  std::string data, start_from;  // as in the question, the data in words
  std::int64_t multiplications = 0, calibration = 0;
  JudgedAnswers answers;   // the first model is in 4-byte floats on this machine, the second the
                           // network by run_network()
  bool has_norms = false;  // their means and variances are those of the calibration
  ChipNeed need = {};      // with input and output, without code and stack
};

/// Blocks. Batch norms get the mean and variance of all calibration samples (Wu and Johnson,
/// "Rethinking Batch in BatchNorm", 2021), because a checkpoint has none. A tensor's range is from
/// the smallest to the largest of its numbers on these. Throws as check_for_microcontroller() and
/// whole_start_weights() do, Error{InvalidInput} for data that do not fit the model and for a model
/// that does not classify, and Error{Cancelled} when stopped.
MicrocontrollerAnswer microcontroller_network(const Workload&, const MicrocontrollerQuestion&);

/// Returns what a person is told of it, line by line: "flash", "RAM", accuracy, and which chips it
/// fits on; of one chip whether it fits.
std::vector<std::string> microcontroller_lines(const MicrocontrollerAnswer&, const Chip*);

/// Returns where each tensor of the arena lies, a line each: "at 0, 256 B: of input fc, held over
/// layers 1 to 2".
std::vector<std::string> arena_lines(const IntegerNetwork&);

/// The C program and its header, with what microcontroller_lines() says as notes.
Exported microcontroller_program(const MicrocontrollerAnswer&, const Chip*);

}  // namespace trainyard
