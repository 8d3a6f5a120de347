// This file reads and writes the CSV in which torch.distributed.pipelining dumps and loads a
// schedule: one row per rank and one cell per step, with cells such as "0F0" as in our own text. F
// is a forward, I the backward for inputs, W the backward for weights and B both; an empty cell is
// a step without work.
#pragma once

#include <string>
#include <string_view>

#include "core/program/order.h"

namespace trainyard {

struct PipelineCsv {
  Order order;           // one lane "compute" per rank
  int stages = 1;        // one more than the highest stage
  int microbatches = 1;  // one more than the highest microbatch
  int left_out = 0;    // number of sends, receives, (un)sharding and reductions, which follow from
                       // the order
  int in_turn = 0;     // "overlapped" actions that are no forward and backward of two microbatches
                       // or stages, and run one after the other
  bool older = false;  // the letters of PyTorch 2.5: "B" with a "W" is the backward for inputs,
                       // "BW" is both
};

/// Throws Error{InvalidInput} with row, cell, expected and found. Whether the order is valid must
/// be checked by check().
PipelineCsv parse_pipeline_csv(std::string_view, const std::string& source);
/// Returns whether a text is such a CSV rather than an order in our own form.
bool looks_like_pipeline_csv(std::string_view);

/// Writes computation only, as `_load_csv(file, format="compute_only")` reads it. Cells are steps
/// of equal length, no action is in an earlier step than its input, and a pair has one step. The
/// order must be one that check() accepts. Throws Error{Unsupported} for what a row per rank cannot
/// express: updates, several lanes on a device, a stage on two devices, lanes that begin later,
/// precedences of its own.
std::string pipeline_csv(const Order&);

}  // namespace trainyard
