#include "core/methods/precision/narrow_products.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/methods/layers/saved_tensors.h"
#include "core/methods/precision/precision_check.h"
#include "core/plan/layer_ranges.h"

namespace trainyard {
namespace {

constexpr std::string_view kNarrowProductsName = "narrow products";
constexpr std::int64_t kBf16 = 2;
// A tensor is cast once for each product that reads it.
constexpr std::int64_t kCopies = 2;

// Returns the bytes of an operand in the narrow format, given its bytes in bf16.
Bytes narrowed(DType format, Bytes bf16) { return narrow_bytes(format, bf16.value / kBf16); }

class Rewriter {
 public:
  Rewriter(Body& body, const Layout& layout, const Graph& graph, const NarrowProducts& how)
      : body_(body), layout_(layout), graph_(graph), how_(how) {}

  void run() {
    body_.forward = with_casts(std::exchange(body_.forward, {}));
    cast_inputs_.clear();
    body_.backward = with_casts(std::exchange(body_.backward, {}));
    keep();
    store();
  }

 private:
  bool gathered() const { return layout_.weight_shards > 1; }
  bool casts_weights_where_used() const { return gathered() && !how_.gather && !how_.weights; }
  TensorId x_of(const BodyOp& op) const { return graph_[op.node].inputs[0]; }

  // Adds elements that are cast for this product alone, and the copies written of them.
  void ask(Work& cast, std::int64_t elements, std::int64_t copies) const {
    cast.read += Bytes{elements * kBf16};
    cast.written += narrow_bytes(how_.format, elements * copies);
  }

  // A forward multiplies x by the weights, an input gradient multiplies the output's gradient by
  // the weights, and a weight gradient multiplies x by the output's gradient.
  Work cast_before(const BodyOp& op) {
    const Work& p = op.work;
    const std::int64_t first = p.m * p.k * p.count, second = p.k * p.n * p.count;
    const auto read_first_here = [&] { return cast_inputs_.insert(x_of(op)).second; };
    Work cast;
    switch (op.pass) {
      case Pass::Forward:
        if (read_first_here()) ask(cast, first, how_.kept ? kCopies : 1);
        if (casts_weights_where_used()) ask(cast, second, 1);
        break;
      case Pass::BackwardInput:
        came_back_ = op.node;
        ask(cast, first, kCopies);
        if (casts_weights_where_used()) ask(cast, second, 1);
        break;
      case Pass::BackwardWeight:
        if (came_back_ != op.node) ask(cast, second, 1);
        if (!how_.kept && read_first_here()) ask(cast, first, 1);
        break;
    }
    return cast;
  }

  std::vector<BodyOp> with_casts(std::vector<BodyOp> ops) {
    std::vector<BodyOp> all;
    for (BodyOp& op : ops) {
      if (!op.communication && op.work.kind == WorkKind::Product &&
          multiplies_narrow(graph_[op.node])) {
        if (const Work work = cast_before(op); work.read.value > 0) {
          BodyOp cast;
          cast.name = "cast " + op.name;
          cast.pass_name = kNarrowProductsName;
          cast.node = op.node;
          cast.pass = op.pass;
          cast.work = work;
          all.push_back(std::move(cast));
        }
        op.work.math = how_.format;
        op.work.read = narrowed(how_.format, op.work.read);
      }
      all.push_back(std::move(op));
    }
    return all;
  }

  // A tensor that only products keep is kept as the cast copy that they read; one that other ops
  // keep too is kept twice. The layer's input is also kept by the layer before.
  void keep() {
    if (!how_.kept) return;
    std::set<TensorId> products, others{graph_.input, graph_.side_input};
    for (const Node& node : graph_.nodes)
      for (const Saved& saved : saved_for_backward(
               {graph_, node, layout_.binding, layout_.precision, layout_.flash_attention},
               body_.wanted))
        if (saved.tensor.valid())
          (multiplies_narrow(node) ? products : others).insert(saved.tensor);
    for (SavedTensor& saved : body_.saved) {
      if (!saved.tensor.valid() || !products.contains(saved.tensor)) continue;
      const Bytes copy = narrowed(how_.format, saved.bytes);
      saved.narrow = !others.contains(saved.tensor);
      saved.bytes = saved.narrow ? copy : saved.bytes + copy;
    }
  }

  void store() {
    const std::int64_t parameters = body_.parameters.dense + body_.parameters.expert;
    const LocalParameters& held = body_.parameters;
    if (parameters + held.frozen_dense + held.frozen_expert == 0) return;
    const double copy = static_cast<double>(narrow_bytes(how_.format, 1024).value) / 1024;
    const std::int64_t copies = gathered() ? 1 : kCopies;
    const bool beside = !gathered();  // the narrow copies live as long as the weights
    body_.kept_weight = how_.weights ? copy * static_cast<double>(copies)
                                     : kBf16 + (beside ? copy * static_cast<double>(copies) : 0.0);
    body_.gathered_weight = how_.weights || (gathered() && how_.gather) ? copy : kBf16;
    if (how_.weights || (gathered() && !how_.gather)) return;
    // The weights that change are cast once per step: replicated weights after they are gathered,
    // shards before.
    const std::int64_t cast =
        gathered() ? share(Bytes{body_.parameters.dense}, layout_.weight_shards).value +
                         share(Bytes{body_.parameters.expert}, layout_.expert_weight_shards).value
                   : parameters;
    for (BodyOp& op : body_.update) ask(op.work, cast, copies);
  }

  Body& body_;
  const Layout& layout_;
  const Graph& graph_;
  const NarrowProducts& how_;
  std::set<TensorId> cast_inputs_;
  NodeId came_back_;
};

void compute_in_bf16(std::vector<BodyOp>& ops) {
  for (BodyOp& op : ops)
    if (!op.communication && narrow(op.work.math)) op.work.math = DType::BF16;
}

}  // namespace

// A cast that runs again during backward bears the name of the recomputation as its pass.
bool is_cast(const BodyOp& op) {
  return op.pass_name == kNarrowProductsName ||
         (op.recomputed && !op.communication && op.name.starts_with("cast "));
}

bool multiplies_narrow(const Node& node) {
  return node.op->name == "matmul" || node.op->name == "routed_matmul";
}

Bytes narrow_bytes(DType format, std::int64_t elements) {
  const std::int64_t bits_of_32 = format == DType::F4 ? 144 : format == DType::F8Block ? 264 : 256;
  return Bytes{elements / 256 * bits_of_32 + (elements % 256 * bits_of_32 + 255) / 256};
}

ParamSpec gradient_param() {
  return {.name = "gradient-dtype",
          .fallback = std::string("fp32"),
          .doc = "format in which gradients are accumulated and reduced",
          .values = {"fp32", "bf16"}};
}

ParamSpec wide_layers_param() {
  return {.name = kWideLayers,
          .fallback = std::string("none"),
          .doc =
              "layers whose products stay in bf16: none, all, or such as first:2,last:8 or "
              "0-1,30, counted from 0",
          .refusal = layer_ranges_refusal};
}

bool is_wide(const Params& params) { return params.text(kWideLayers) == "all"; }

void check_wide_layers(const Scenario& scenario, const Params& params, std::string_view method,
                       Diagnostics& found) {
  check_layer_ranges(parse_layer_ranges(params.text(kWideLayers)), layer_count(scenario.model),
                     {"plan#/choices/" + std::string(method) + "/" + std::string(kWideLayers)},
                     found);
}

std::string gradient(const Params& params) { return params.text("gradient-dtype"); }

Diagnostics check_block_scales(const Device& device, std::string_view method) {
  Diagnostics found = check_peak(device, DType::F4, method);
  for (Diagnostic& d : found)
    d.message =
        std::string(method) +
        " needs a device whose products read a scale for each block of elements; those of " +
        device.name + " do not";
  return found;
}

void arrange_narrow(Layout& layout, DType format, const std::string& gradient) {
  layout.precision = {DType::BF16, DType::BF16, gradient_format(gradient), format, true};
}

void rewrite_narrow(Body& body, const Layout& layout, const Scenario& scenario,
                    const NarrowProducts& how) {
  compute_in_bf16(body.forward);
  compute_in_bf16(body.backward);
  const Block& block = scenario.model.blocks[static_cast<std::size_t>(body.block)];
  if (block.layer && !how.wide) Rewriter(body, layout, block.graph, how).run();
}

}  // namespace trainyard
