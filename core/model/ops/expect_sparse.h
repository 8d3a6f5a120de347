// Ops with a sparse weight expect the same of it.
#pragma once

#include "core/model/ops/common.h"
#include "core/model/sparse_pattern.h"

namespace trainyard {

/// Returns the shape of the node's sparse weight. Throws Error{InvalidInput} where values and
/// pattern, its inputs 1 and 2, are none of the attribute "columns".
inline SparseShape expect_sparse_weight(const Graph& graph, const Node& node) {
  expect_inputs(node, 3, 4);
  expect_rank(graph, node, 1, 2);
  if (input(graph, node, 2).shape.size() != 2) expect_rank(graph, node, 2, 1);
  const SparseShape shape = sparse_weight_of(graph, node)->shape;
  if (shape.digits < 1 || shape.digits > kMostDigits)
    refuse(node, "expected 1 to " + std::to_string(kMostDigits) +
                     " digits of each number of the pattern, found " +
                     std::to_string(shape.digits));
  if (shape.columns < 1 || shape.block < 1 || shape.columns % shape.block != 0)
    refuse(node, "expected columns that divide into blocks of " + std::to_string(shape.block) +
                     ", found columns=" + std::to_string(shape.columns));
  if (shape.rows < 1 || shape.blocks < 1 || shape.blocks > shape.all_blocks())
    refuse(node, "expected 1 to " + std::to_string(shape.all_blocks()) + " stored blocks, found " +
                     std::to_string(shape.blocks));
  if (shape.spare < 0 || shape.spare >= shape.blocks)
    refuse(node, "expected 0 to " + std::to_string(shape.blocks - 1) +
                     " spare blocks, found spare=" + std::to_string(shape.spare));
  if (shape.row_blocks() >= kMostOfPattern)
    refuse(node, "expected fewer than " + std::to_string(kMostOfPattern) +
                     " blocks in a row, found " + std::to_string(shape.row_blocks()));
  return shape;
}

}  // namespace trainyard
