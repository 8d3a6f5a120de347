// Implements what context ranks do together that exchange heads for tokens: some of them around an
// attention (Ulysses), all of them around a recurrence. A tensor of a rank's own tokens and all
// heads, [tokens, batch, heads], turns in place into one of the tokens of all these ranks, in their
// order, and a part of the heads; or back.
//
//   rank 0  t0 t3 | h0 h1 h2 h3            rank 0  t0 t1 t2 t3 | h0 h1
//   rank 1  t1 t2 | h0 h1 h2 h3    ◀──▶    rank 1  t0 t1 t2 t3 | h2 h3
//
// Ranks whose heads share a group get copies of it, and give back a gradient each, which are added
// up.
#include <algorithm>
#include <cstring>
#include <memory>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/execution/exchange/reduction.h"
#include "backends/cpu/kernels/turned_heads.h"
#include "core/methods/layers/context_region.h"
#include "core/model/ops.h"

namespace trainyard {
namespace {

// HeadExchange is how the bytes of one tensor lie before and after, on each of `ranks`, so many of
// which have a copy of the same heads.
struct HeadExchange {
  std::int64_t ranks, tokens, batch;  // tokens: a rank's own
  bool in_order;                      // as a SequencePart
  std::size_t copies;
  std::size_t row, part;  // bytes of all heads, and of a rank's, of one token of one sample

  HeadExchange(const TensorView& own, std::size_t members, bool all_in_order, std::int64_t same)
      : ranks(static_cast<std::int64_t>(members)),
        tokens(own.size[0]),
        batch(own.size[1]),
        in_order(all_in_order),
        copies(static_cast<std::size_t>(same)),
        row(static_cast<std::size_t>(own.bytes().value / (tokens * batch))),
        part(row * copies / members) {}

  std::size_t message() const { return static_cast<std::size_t>(tokens * batch) * part; }
  // Copies between one rank's message and where it lies in a tensor of own tokens and all heads:
  // the heads of `rank` of each token.
  template <class Copy>
  void each_of_heads(std::size_t rank, Copy&& copy) const {
    for (std::size_t i = 0; i < static_cast<std::size_t>(tokens * batch); ++i)
      copy(i * part, i * row + rank / copies * part, part);
  }
  // Copies between one rank's message and where it lies in a tensor of all tokens and some heads:
  // the tokens of `rank`.
  template <class Copy>
  void each_of_tokens(std::size_t rank, Copy&& copy) const {
    const std::size_t token = static_cast<std::size_t>(batch) * part;
    SequencePart{static_cast<int>(rank), static_cast<int>(ranks), in_order}.each_stretch(
        tokens, 0, tokens, [&](std::int64_t first, std::int64_t count, std::int64_t position) {
          copy(static_cast<std::size_t>(first) * token, static_cast<std::size_t>(position) * token,
               static_cast<std::size_t>(count) * token);
        });
  }
  template <class Copy>
  void each(bool by_heads, std::size_t rank, Copy&& copy) const {
    by_heads ? each_of_heads(rank, copy) : each_of_tokens(rank, copy);
  }
};

}  // namespace

TravelPtr CpuExecution::exchange_heads(const At& a, std::span<const int> members) {
  const std::size_t l = plan_.layer_of(a.task.layer), ranks = members.size();
  const Operand& operand = op_of(a).from;
  // The node reads some heads of all tokens, so that its inputs turn to these, and its output turns
  // to all heads of some tokens. That of attention is made apart.
  const bool is_output = node_of(a).outputs[0] == a.task.tensor,
             to_heads = is_output == a.task.of_gradient,
             makes_output = is_output && !a.task.of_gradient && node_of(a).op == &attention();
  const Company company = company_of(a, members);
  std::vector<std::byte*> own(ranks, nullptr);
  std::vector<LayerFlight*> flights(ranks, nullptr);
  TensorView view;
  for (std::size_t r = 0; r < ranks; ++r) {
    if (!company.here(r)) continue;
    DeviceState& device = state(a.device.device(), members[r]);
    Flight& f = device.flight(a.place, a.microbatch);
    view = device.view(a.place, l, f, operand);
    own[r] = static_cast<std::byte*>(view.data);
    flights[r] = &f.layers[l];
  }
  if (!view.there()) {
    if (a.task.of_gradient) return nullptr;  // nobody wants it
    refuse("heads are exchanged for tokens, and they are not there");
  }
  const LayerLayout& layout =
      plan_.layouts[static_cast<std::size_t>(plan_.places[a.place].layers[l].layout)];
  const HeadExchange exchange(view, ranks, layout.body->tensor_heads,
                              copies_in_region(*layout.graph, a.task.tensor, layout.body->binding));
  // Every message is written before the first arrives, because tensors turn in place.
  const auto packed = std::make_shared<std::vector<std::vector<std::byte>>>(ranks * ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    if (flights[r] == nullptr) continue;
    const std::byte* const from = makes_output ? flights[r]->output_of_heads.data() : own[r];
    if (from == nullptr) refuse("an output is exchanged before attention has made it");
    for (std::size_t to = 0; to < ranks; ++to) {
      std::vector<std::byte>& message = (*packed)[r * ranks + to];
      message.resize(exchange.message());
      exchange.each(to_heads, to, [&](std::size_t into, std::size_t at, std::size_t bytes) {
        std::memcpy(message.data() + into, from + at, bytes);
      });
    }
  }
  return deal(
      company,
      [&](std::size_t r, std::size_t to) {
        return std::span<const std::byte>((*packed)[r * ranks + to]);
      },
      [&](std::size_t, std::size_t) { return exchange.message(); },
      [=](const Dealt& dealt) -> TravelPtr {
        for (std::size_t r = 0; r < ranks; ++r) {
          if (flights[r] == nullptr) continue;
          const std::size_t same = to_heads ? 1 : exchange.copies;
          std::vector<std::byte> sum(same > 1 ? exchange.message() : 0);
          for (std::size_t other = 0; other < ranks; other += same) {
            const std::byte* const message = same > 1 ? sum.data() : dealt(other, r).data();
            if (same > 1) {
              std::vector<const void*> parts;
              for (std::size_t copy = other; copy < other + same; ++copy)
                parts.push_back(dealt(copy, r).data());
              void* const out = sum.data();
              sum_into(parts, {&out, 1}, view.type,
                       static_cast<std::int64_t>(sum.size()) / bytes_of(view.type));
            }
            exchange.each(!to_heads, other,
                          [&](std::size_t from, std::size_t at, std::size_t bytes) {
                            std::memcpy(own[r] + at, message + from, bytes);
                          });
          }
          if (makes_output) flights[r]->output_of_heads = {};
        }
        static_cast<void>(packed);  // in which the messages of this process lie
        return nullptr;
      });
}

// Attention sees some heads of the tokens of all ranks that have exchanged them. Its output has
// memory of its own until it is exchanged too: where attention runs again for its softmax alone, it
// must not overwrite what later ops have kept.
void CpuExecution::turn_to_heads(const SequenceRanks& sequence, LayerFlight& layer,
                                 KernelCall& call, const Attended& tensors) const {
  if (sequence.ulysses == 1) return;
  call.tensor_rank = call.tensor_rank * sequence.ulysses + sequence.heads_rank();
  call.sequence = sequence.ring_part();
  for (const std::span<TensorView> list : {tensors.inputs, tensors.gradients})
    for (std::size_t i = 0; i < std::min<std::size_t>(3, list.size()); ++i)
      list[i] = turned_to_heads(list[i], sequence.ulysses);
  for (const std::span<TensorView> list : {tensors.outputs, tensors.output_gradients})
    for (TensorView& view : list) view = turned_to_heads(view, sequence.ulysses);
  if (!tensors.output_gradients.empty()) return;
  TensorView& output = tensors.outputs[0];
  layer.output_of_heads.resize(static_cast<std::size_t>(output.bytes().value));
  output.data = layer.output_of_heads.data();
}

}  // namespace trainyard
