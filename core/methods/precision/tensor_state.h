// Most optimizers keep as many bytes of every parameter. This file has the state of those that keep
// it by tensor instead, beside what they keep of every parameter:
//
//   adamw-8bit  two codes of a byte for each element, and two 4-byte scales for each block
//   adafactor   4 bytes for each row and column of a matrix, and for each element of a vector
//   muon        a second moment for each element that AdamW trains: of vectors, tables and heads
//   halp        the anchor and the full gradient, 4 bytes an element each, the step of the grid,
//               and offsets in as many bits as the plan says, in whole words of 4 bytes
//
// A plan whose formats have scales (tensor_formats.h) keeps that state of any optimizer by tensor
// too: a code for each element, and a 4-byte scale for each block.
//
// The backend lays its state out by these figures, and memory is predicted with them.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/methods/layers/body.h"
#include "core/methods/precision/scaled_blocks.h"
#include "core/plan/halp.h"
#include "core/plan/plan.h"

namespace trainyard {

inline constexpr std::string_view kAdamw8bit = "adamw-8bit", kAdafactor = "adafactor",
                                  kMuon = "muon";

/// A MatrixShape is a parameter as optimizers see it that treat matrices as such: so many matrices
/// of [rows, columns], one behind the other. The experts of a layer are a matrix each, and a kernel
/// of a convolution is one of [out, in * height * width].
struct MatrixShape {
  std::int64_t matrices = 1, rows = 0, columns = 0;  // no rows: it is a vector
  bool hidden = false;  // a matrix between two layers: neither a vector nor a table nor a head
  friend bool operator==(const MatrixShape&, const MatrixShape&) = default;
};
/// Returns the shape of a parameter of the graph on one device. A head is the last matrix before
/// the loss, a table what an embedding reads, and both what is tied to another tensor.
MatrixShape matrix_shape(const Graph&, TensorId parameter, const Binding&);

/// Returns whether the optimizer keeps any state by tensor, or the plan's does because of formats.
bool keeps_tensor_state(std::string_view optimizer);
bool keeps_tensor_state(const Plan&);

/// Returns the bytes of that state for the elements [first, first + elements) of a tensor.
/// slot_bytes: of a moment, 4 or in pure bf16 2. offset_bits: of halp. Rows and columns are of the
/// whole tensor, which adafactor, muon and halp never divide.
Bytes tensor_state_bytes(std::string_view optimizer, const MatrixShape&, std::int64_t first,
                         std::int64_t elements, int slot_bytes, int offset_bits = Halp{}.bits);

/// Returns the bytes of that state under the plan, with what formats with scales keep by tensor.
Bytes tensor_state_bytes(const Plan&, const MatrixShape&, std::int64_t first, std::int64_t elements,
                         int slot_bytes);

/// Returns the bytes of that state of one layer on the rank that has the most of it; none where
/// the host has the optimizer's state.
Bytes tensor_state_bytes(const Plan&, const Model&, const Body&, const Layout&);

/// The state of a layer with all that is kept of every parameter and by tensor.
StateBytes state_bytes(const Plan&, const Model&, const Body&, const Layout&);

/// Adds to the update of a layer what its optimizer computes of whole matrices: the products of
/// muon's Newton-Schulz steps, and the second moment that it touches of what AdamW trains; and what
/// halp touches of its offsets.
void add_matrix_updates(Body&, const Model&, const Layout&, const Plan&);

/// muon: the number of Newton-Schulz steps, each of three products.
inline constexpr int kNewtonSchulzSteps = 5;

}  // namespace trainyard
