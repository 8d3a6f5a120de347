// A SizedOp is an op alone in a graph, made from sizes with names: what a probe of single kernels
// sweeps.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/graph.h"

namespace trainyard {

struct OpSize {
  std::string_view name, doc;
  std::int64_t usual = 1;  // where no size is given
  std::int64_t least = 1, most = 65'536;
};

/// Sizes by name; those that are not there have their usual value.
using OpSizes = std::map<std::string, std::int64_t, std::less<>>;

struct SizedOp {
  std::string_view name;   // "matmul"; "depthwise" is a convolution of single channels
  std::string_view batch;  // the size that grows with the samples of a microbatch
  std::vector<OpSize> sizes;
  Graph (*graph)(const OpSizes&) = nullptr;  // of complete sizes
};

/// Every op that a probe can sweep.
std::span<const SizedOp> sized_ops();
/// Throws Error{InvalidInput} with the nearest name.
const SizedOp& sized_op(std::string_view name);
/// Throws Error{InvalidInput} for a size that the op does not have, with the nearest name, and for
/// a value outside of its range.
void expect_size(const SizedOp&, std::string_view name, std::int64_t value);

/// Returns the graph of the op alone, whose every size is whole. Throws as expect_size() does.
Graph graph_of(const SizedOp&, const OpSizes&);
/// The sizes with those that are not given at their usual values, in the op's own order.
std::vector<std::pair<std::string, std::int64_t>> complete_sizes(const SizedOp&, const OpSizes&);

}  // namespace trainyard
