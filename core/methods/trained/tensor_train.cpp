// TT-Rec keeps large embedding tables as tensor trains: a row is two small products of slices of
// three cores, which are all that is stored, trained and reduced.
//
//   ids ── i1, i2, i3 ──▶ G1[i1] [q1, r] · G2[i2] [r, q2 r] · G3[i3] [r, q3] ──▶ row [q1 q2 q3]
//
// Rows that share a digit share a slice, so that rare rows move with frequent ones. A cache makes
// the most frequent rows of each microbatch once: in forward before their look-ups, in backward
// from the sum of their gradients. Cached rows are not trained apart and live no longer than the
// microbatch, so that training is that without a cache: forward bit for bit, and gradients up to
// the order in which they are added, by 1e-5 of the largest of them.
//
// Yin et al., "TT-Rec: Tensor Train Compression for Deep Learning Recommendation Models", MLSys
// 2021 (arXiv 2101.11714).
#include "core/methods/catalogue.h"
#include "core/model/trained_parts.h"
#include "core/model/trained_tables.h"

namespace trainyard {
namespace {

constexpr std::string_view kTrainPlace = "plan#/choices/tensor-train";

Model train_as_cores(Model model, const Plan&, const Params& params) {
  return with_table_trains(
      std::move(model),
      {params.integer("rank"), params.integer("tables"), params.integer("cache"),
       params.number("zipf"),
       params.text("start") == "published" ? TrainStart::Published : TrainStart::Normalised},
      {std::string(kTrainPlace) + "/tables"});
}

Diagnostics check_tensor_train(const Scenario& scenario, const Params&) {
  for (const Block& block : scenario.model.blocks)
    for (const Node& node : block.graph.nodes) {
      if (!is_table_train(node)) continue;
      if (is_frozen(node))
        return {{Diagnostic::Severity::Error,
                 "cores begin as random numbers, and the plan freezes those of " + node.name,
                 {std::string(kTrainPlace)},
                 "tt-rank=off"}};
      if (scenario.plan.mesh.tp > 1 && node.split == TensorSplit::Vocab)
        return {{Diagnostic::Severity::Error,
                 "cores are whole on every device, and tp=" +
                     std::to_string(scenario.plan.mesh.tp) + " divides the rows of " + node.name,
                 {std::string(kTrainPlace)},
                 "tp=1"}};
    }
  return {};
}

}  // namespace

Method tensor_train_tables() {
  return {
      .name = "tensor-train",
      .axis = MethodAxis::Memory,
      .summary = "Keeps embedding tables as products of three small cores, which are trained.",
      .paper = {"TT-Rec: Tensor Train Compression for Deep Learning Recommendation Models",
                "Yin et al.", "MLSys", 2021},
      .card = {.gains = "weights, gradients and optimizer state of a table shrink 100 to 700 times "
                        "at a rank of 32, and so does what replicas reduce of it",
               .costs = "two small products a look-up, thrice that in backward; rare rows share "
                        "slices with frequent ones, so that ids should be sorted by frequency",
               .legal_when = "models with a table that no other block shares; tp=1 where tensor "
                             "ranks would divide it"},
      .file = "core/methods/trained/tensor_train.cpp",
      .params = {{.name = "rank",
                  .fallback = std::int64_t{16},
                  .doc = "r: of the two matrices between the cores",
                  .low = 1,
                  .high = 4096},
                 {.name = "tables",
                  .fallback = std::int64_t{1000},
                  .doc = "least rows of a table that is trained as cores",
                  .low = 1,
                  .high = 1e12},
                 {.name = "cache",
                  .fallback = std::int64_t{0},
                  .doc = "rows of each table that a microbatch makes once for all of their "
                         "look-ups, the most frequent ones; 0 = every look-up makes its own",
                  .low = 0,
                  .high = 1e9},
                 {.name = "zipf",
                  .fallback = 1.0,
                  .doc = "exponent of Zipf's law by which the price of a cache takes rows to be "
                         "looked up; 1 is that of the artificial clicks",
                  .low = 0.01,
                  .high = 10},
                 {.name = "start",
                  .fallback = std::string("normalised"),
                  .doc = "normalised: rows begin with the variance of a table's; published: with "
                         "the paper's scale of cores, which makes it 187 times that at rank 1 and "
                         "200,000 times at rank 32",
                  .values = {"normalised", "published"}}},
      .check = check_tensor_train,
      .derive = train_as_cores,
  };
}

}  // namespace trainyard
