// The CSV in which torch.distributed.pipelining dumps and loads a schedule: one row a rank, one
// cell a step, "0F0" in a cell as in our own text. F, I, W and B are a forward, the backward for
// inputs, the backward for weights and both; an empty cell is a step without work.
#pragma once

#include <string>
#include <string_view>

#include "core/program/order.h"

namespace trainyard {

struct PipelineCsv {
  Order order;           // a lane "compute" a rank
  int stages = 1;        // one more than the highest there is
  int microbatches = 1;  // the same
  int left_out = 0;      // sends, receives, (un)sharding and reductions: they follow from the order
  int overlapped = 0;    // pairs that run side by side there, and one after the other here
  bool older = false;    // letters of PyTorch 2.5: "B" beside "W" is for inputs, "BW" is both
};

/// Throws Error{InvalidInput} with row, cell, expected and found. Whether the order holds is for
/// check() to say.
PipelineCsv parse_pipeline_csv(std::string_view, const std::string& source);
/// Whether a text is such a CSV rather than an order in our own words.
bool looks_like_pipeline_csv(std::string_view);

/// Computation alone, as `_load_csv(file, format="compute_only")` reads it; cells are steps of
/// equal length, so that a rank never receives later than it works. The order is one that check()
/// accepts. Throws Error{Unsupported} when a row a rank cannot say it: updates, several lanes on a
/// device, a stage on two devices, lanes that begin later, precedences of its own.
std::string pipeline_csv(const Order&);

}  // namespace trainyard
