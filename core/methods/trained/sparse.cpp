// Sparse training keeps the weights of products and convolutions as the blocks that are not zero,
// with the pattern that says where they are, and so do their gradients and the state of the
// optimizer: no dense copy of them is ever held. The pattern begins as drawn from the seed. Every
// so many steps it moves: of each weight the blocks of the smallest size are dropped, and as many
// are grown at places that were zero and are drawn from the seed. They begin at zero, without
// optimizer state.
//
//   step            1 ........ every ........ 2 every
//   stored blocks   ■■■■■■■■   ■■■■■■▫▫       ■■▫■■■■▫     ▫ dropped here, grown elsewhere
//
// Across weights (sparse-regrowth=across), the smallest blocks of all weights are dropped, and
// weights that keep more of theirs grow more, so that blocks move to the layers that need them and
// their number in the whole model stays. Arenas are laid out before a run: each weight has room for
// `capacity` times the blocks that it begins with, which is what it takes in values, pattern,
// gradients and optimizer state, and what a layer cannot take falls to the others. FLOPs are priced
// at the blocks that each weight begins with. Devices trade no blocks with others.
//
// The share that is dropped falls to zero over the run as half a cosine, so that what is grown has
// time to learn. All replicas hold equal weights and draw from one seed, and so move alike.
// Products are priced at what is stored of their weights: two FLOPs a stored weight and row, and
// the bytes of values and pattern (core/cost/sparse_product.h). Convolutions decode theirs and are
// dense but for their memory (core/model/ops/sparse_convolution.cpp).
//
// Mocanu et al., "Scalable training of artificial neural networks with adaptive sparse connectivity
// inspired by network science", Nature Communications 2018 (what moves); Evci et al., "Rigging the
// Lottery: Making All Tickets Winners", ICML 2020 (the cosine); Mostafa and Wang, "Parameter
// Efficient Training of Deep Convolutional Neural Networks by Dynamic Sparse Reparameterization",
// ICML 2019.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "core/base/units_text.h"
#include "core/methods/catalogue.h"
#include "core/model/sparse_pattern.h"
#include "core/model/sparse_weights.h"

namespace trainyard {
namespace {

constexpr std::string_view kSparsePlace = "plan#/choices/sparse";

// Precisions by the bytes of a weight as products read it, and of each number of its pattern.
constexpr std::string_view kFourBytes[] = {"fp32", "tf32"},
                           kTwoBytes[] = {"fp16", "bf16", "bf16-kahan", "bf16-nearest", "bf16-sr"};

template <std::size_t n>
bool is_one_of(const std::string_view (&list)[n], std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

std::string_view precision_of(const Plan& plan) {
  return chosen_on(plan, MethodAxis::Precision)->method;
}

std::int64_t bytes_of_weight(const Plan& plan) {
  return is_one_of(kFourBytes, precision_of(plan)) ? 4 : 2;
}

// Weights that keep their number of blocks, or their places, need room for no more.
double capacity_of(const Params& params) {
  const bool trade = params.text("regrowth") == "across" && params.integer("every") > 0;
  return trade ? params.number("capacity") : 1;
}

void refuse_beside(const Plan& plan, const Params& params, Diagnostics& found) {
  const auto refuse = [&](std::string sentence, std::string fix) {
    found.push_back({Diagnostic::Severity::Error,
                     std::move(sentence),
                     {std::string(kSparsePlace)},
                     std::move(fix)});
  };
  const Mesh& mesh = plan.mesh;
  for (const auto& [axis, degree] : {std::pair{"tp", mesh.tp}, {"cp", mesh.cp}, {"ep", mesh.ep}})
    if (degree > 1)
      refuse("sparse weights are whole on every rank that holds their stage, found " +
                 std::string(axis) + "=" + std::to_string(degree),
             std::string(axis) + "=1");
  if (params.text("regrowth") == "across")
    for (const auto& [setting, chunks] :
         {std::pair{"pp", mesh.pp}, {"virtual-stages", plan.virtual_stages}})
      if (chunks > 1)
        refuse("sparse weights that trade blocks are all in one stage, found " +
                   std::string(setting) + "=" + std::to_string(chunks),
               "sparse-regrowth=within");
  if (const Choice* zero = find_choice(plan, "zero");
      zero != nullptr && zero->params.integer("stage") > 0)
    refuse("a replica moves stored weights with all of their state, and zero=" +
               std::to_string(zero->params.integer("stage")) + " leaves it a part",
           "zero=0");
  if (const Choice* offload = find_choice(plan, "offload");
      offload != nullptr &&
      (offload->params.text("host") == "optimizer" || offload->params.text("host") == "both"))
    refuse("a device moves stored weights with their state, and offload=" +
               offload->params.text("host") + " has the host keep that",
           "offload=none");
  if (const std::string_view precision = precision_of(plan);
      !is_one_of(kFourBytes, precision) && !is_one_of(kTwoBytes, precision))
    refuse("sparse weights are trained in formats of 4 or 2 bytes a weight, found precision=" +
               std::string(precision),
           "precision=bf16");
  if (const Method& schedule = schedule_of(plan); schedule.settles != nullptr)
    refuse("the pattern of sparse weights moves between steps, and " + std::string(schedule.name) +
               " updates while microbatches are under way",
           "schedule=1f1b");
  for (const auto& [method, fix] : {std::pair{"lora", "lora=off"},
                                    {"frozen", "frozen=none"},
                                    {"compression", "compression=none"},
                                    {"adasum", "reduce=mean"},
                                    {"sync", "sync=bsp"}})
    if (find_choice(plan, method) != nullptr)
      refuse(
          "sparse weights are trained all together by replicas that add up whole gradients in "
          "every step, found " +
              std::string(method) + " beside them",
          fix);
}

// Says where matrices would take fewer bytes than values with indices, and at what sparsity coarse
// blocks take as many as single weights.
void weigh(const Scenario& scenario, const Params& params, Diagnostics& found) {
  const std::int64_t block = params.integer("block"), each = bytes_of_weight(scenario.plan);
  constexpr std::int64_t kCoarse = 16;
  std::int64_t sparse = 0, dense = 0, digits = 1, coarse_digits = 1;
  double density = 1;  // up to which the sparse form of all weights is the smaller one
  for (const Block& one : scenario.model.blocks)
    for (const Node& node : one.graph.nodes)
      if (const auto weight = sparse_weight_of(one.graph, node)) {
        const SparseShape& shape = weight->shape;
        sparse += one.count * sparse_bytes(shape, each).value;
        dense += one.count * shape.rows * shape.columns * each;
        density = std::min(density, dense_density(shape.columns, block, shape.digits));
        digits = std::max(digits, shape.digits);
        if (each == 2)
          coarse_digits = std::max(coarse_digits, digits_in_16_bits(shape.columns / kCoarse));
      }
  const Place place{std::string(kSparsePlace) + "/sparsity"};
  const auto share = [](double of) { return fmt::format("{:.3f}", of); };
  if (sparse > dense)
    found.push_back(
        {Diagnostic::Severity::Warning,
         fmt::format("sparse weights take {} with their indices, and matrices {}",
                     to_text(Bytes{sparse}), to_text(Bytes{dense})),
         place,
         density > 0 ? "sparsity=" + share(1 - density / capacity_of(params)) : "sparsity=off"});
  const double same =
      equal_bytes_density(1 - params.number("sparsity"), block, kCoarse, digits, coarse_digits);
  if (block < kCoarse && same < 1)
    found.push_back({Diagnostic::Severity::Note,
                     fmt::format("blocks of {} share an index, and take as many bytes at a "
                                 "sparsity of {} as blocks of {} at {}",
                                 kCoarse, share(1 - same), block, share(params.number("sparsity"))),
                     place, ""});
}

// Warns where most weights stay dense, so that sparsity frees little.
void warn_of_dense_weights(const Model& model, Diagnostics& found) {
  constexpr double kMost = 0.5;
  double all = 0, dense = 0, largest = 0;
  std::string name;
  for (const Block& block : model.blocks)
    for (std::uint32_t t = 0; t < block.graph.tensors.size(); ++t) {
      const Tensor& tensor = block.graph.tensors[t];
      if (tensor.kind != TensorKind::Parameter || !tensor.tied_to.empty()) continue;
      if (const auto sparse = sparse_weight_of(block.graph, TensorId{t})) {
        const SparseShape& shape = sparse->shape;
        if (sparse->values == TensorId{t})
          all += static_cast<double>(shape.rows * shape.columns) * block.count;
        continue;
      }
      const double elements =
          static_cast<double>(local_elements(tensor.shape, Binding{})) * block.count;
      all += elements, dense += elements;
      if (elements > largest) largest = elements, name = block.name + "/" + tensor.name;
    }
  if (dense > kMost * all)
    found.push_back({Diagnostic::Severity::Warning,
                     fmt::format("{:.3g} % of the weights stay dense, {:.3g} % of all in {}",
                                 100 * dense / all, 100 * largest / all, name),
                     {std::string(kSparsePlace) + "/sparsity"},
                     ""});
}

Diagnostics check_sparse(const Scenario& scenario, const Params& params) {
  Diagnostics found;
  refuse_beside(scenario.plan, params, found);
  weigh(scenario, params, found);
  warn_of_dense_weights(scenario.model, found);
  return found;
}

Model derive_sparse(Model model, const Plan& plan, const Params& params) {
  return with_sparse_weights(std::move(model),
                             {1 - params.number("sparsity"), params.integer("block"),
                              bytes_of_weight(plan) == 2, capacity_of(params)},
                             {std::string(kSparsePlace) + "/block"});
}

// A move reads and writes values, pattern and state once; each step has its share of it.
void move_pattern(Body& body, const Layout& layout, const Scenario& scenario,
                  const Params& params) {
  const std::int64_t every = params.integer("every");
  if (every == 0) return;
  const Graph& graph = scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
  std::int64_t values = 0, numbers = 0;
  for (const Node& node : graph.nodes)
    if (const auto weight = sparse_weight_of(graph, node)) {
      values += weight->shape.room();
      numbers += weight->shape.pattern_elements();
    }
  if (values == 0) return;
  BodyOp op;
  op.name = "move the sparse pattern";
  op.pass_name = "sparse";
  op.work.kind = WorkKind::Optimizer;
  op.work.read = op.work.written =
      Bytes{((values + numbers) * bytes_of(layout.precision.parameter) +
             values * layout.optimizer_bytes) /
            every};
  body.update.push_back(std::move(op));
}

}  // namespace

Method sparse() {
  return {
      .name = "sparse",
      .axis = MethodAxis::Memory,
      .summary =
          "Stores and trains a share of the weights of products and convolutions, whose places "
          "move as they learn.",
      .paper = {"Scalable training of artificial neural networks with adaptive sparse connectivity "
                "inspired by network science",
                "Mocanu et al.", "Nature Communications", 2018},
      .card = {.gains =
                   "weights, gradients and optimizer state of products and convolutions at their "
                   "density, and an index for each block: 4 bytes, in 16 bits 2 up to 256 blocks a "
                   "row; products of as many FLOPs as are stored; gradients of that size to reduce",
               .costs =
                   "products at about 0.29 of the rate of dense ones in 4 bytes, so that dense "
                   "ones are faster up to high sparsity; convolutions as long as dense ones, each "
                   "with its weight decoded while it runs; some accuracy, which a wider model "
                   "gives back",
               .legal_when =
                   "data and pipeline parallel, weights in 4 or 2 bytes, schedules that update "
                   "once a step; regrowth across weights in one stage; norms, biases, tables, "
                   "convolutions in groups and routed experts "
                   "stay dense"},
      .file = "core/methods/trained/sparse.cpp",
      .params = {{.name = "sparsity",
                  .fallback = 0.9,
                  .doc = "share of the weights of products and convolutions that are not stored; "
                         "0 stores all of them in sparse form",
                  .low = 0,
                  .high = 0.9999},
                 {.name = "block",
                  .fallback = std::int64_t{1},
                  .doc = "neighbours along a row, or of a filter, that are stored together and "
                         "share an index",
                  .low = 1,
                  .high = 1024},
                 {.name = "every",
                  .fallback = std::int64_t{100},
                  .doc = "steps from one move of the pattern to the next; 0 = it stays",
                  .low = 0,
                  .high = 1e9},
                 {.name = "drop",
                  .fallback = 0.3,
                  .doc = "share of the stored blocks that the first move drops and grows elsewhere",
                  .low = 0,
                  .high = 1},
                 {.name = "regrowth",
                  .fallback = std::string("within"),
                  .doc = "within: each weight grows as many blocks as it drops; across: the "
                         "smallest of all weights are dropped, and each grows in proportion to "
                         "what it keeps",
                  .values = {"within", "across"}},
                 {.name = "capacity",
                  .fallback = 1.5,
                  .doc = "with regrowth across weights, the most blocks that each may come to "
                         "store over those that it begins with; memory is taken for all of them",
                  .low = 1,
                  .high = 1e4}},
      .check = check_sparse,
      .derive = derive_sparse,
      .rewrite = move_pattern,
  };
}

}  // namespace trainyard
