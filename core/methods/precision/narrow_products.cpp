#include "core/methods/precision/narrow_products.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/methods/catalogue.h"
#include "core/methods/layers/saved_tensors.h"
#include "core/methods/precision/precision_check.h"
#include "core/model/ops.h"
#include "core/model/trained_parts.h"
#include "core/plan/layer_ranges.h"

namespace trainyard {
namespace {

constexpr std::string_view kNarrowProductsName = "narrow products";
class Rewriter {
 public:
  Rewriter(Body& body, const Layout& layout, const Model& model, const NarrowProducts& how)
      : body_(body),
        layout_(layout),
        model_(model),
        graph_(model.blocks[static_cast<std::size_t>(body.block)].graph),
        how_(how),
        wide_(bytes_of(layout.precision.activation)),
        copies_(how.vectors || how.format == DType::Flex16 ? 1 : 2) {}

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
  std::int64_t elements_of(TensorId id) const {
    return local_elements(graph_[id].shape, layout_.binding);
  }

  Bytes input_bytes(std::int64_t elements) const {
    return how_.vectors ? how_.vectors->activation_bytes(elements)
                        : narrow_bytes(how_.format, elements);
  }
  Bytes weight_bytes(std::int64_t elements) const {
    return how_.vectors ? how_.vectors->weight_bytes(elements)
                        : narrow_bytes(how_.format, elements);
  }
  // These add elements that are cast for this product alone, and the copies written of them.
  void ask(Work& cast, std::int64_t elements, std::int64_t copies) const {
    cast.read += Bytes{elements * wide_};
    cast.written += input_bytes(elements * copies);
  }
  void ask_weights(Work& cast, std::int64_t elements, std::int64_t copies) const {
    cast.read += Bytes{elements * wide_};
    cast.written += weight_bytes(elements * copies);
  }

  // A forward multiplies x by the weights, an input gradient multiplies the output's gradient by
  // the weights, and a weight gradient multiplies x by the output's gradient.
  Work cast_before(const BodyOp& op) {
    const Work& p = op.work;
    std::int64_t first = p.m * p.k * p.count, second = p.k * p.n * p.count;
    // The windows of a convolution repeat elements, which are cast once.
    if (graph_[op.node].op == &convolution()) {
      const Node& node = graph_[op.node];
      const std::int64_t x = elements_of(node.inputs[0]), out = elements_of(node.outputs[0]);
      first = op.pass == Pass::BackwardInput ? out : x;
      second = op.pass == Pass::BackwardWeight ? out : elements_of(node.inputs[1]);
    }
    const auto read_first_here = [&] { return cast_inputs_.insert(x_of(op)).second; };
    Work cast;
    switch (op.pass) {
      case Pass::Forward:
        if (read_first_here()) ask(cast, first, how_.kept ? copies_ : 1);
        if (casts_weights_where_used()) ask_weights(cast, second, 1);
        break;
      case Pass::BackwardInput:
        came_back_ = op.node;
        if (!how_.vectors) ask(cast, first, copies_);
        if (casts_weights_where_used()) ask_weights(cast, second, 1);
        break;
      case Pass::BackwardWeight:
        if (came_back_ != op.node && !how_.vectors) ask(cast, second, 1);
        if (!how_.kept && read_first_here()) ask(cast, first, 1);
        break;
    }
    return cast;
  }

  // Has a product read what was cast in place of bf16.
  void read_narrow(BodyOp& op) const {
    Work& p = op.work;
    if (how_.vectors && op.pass != Pass::Forward) {
      const bool weight = op.pass == Pass::BackwardInput;
      const std::int64_t codes = p.k * (weight ? p.n : p.m) * p.count;
      p.read += (weight ? weight_bytes(codes) : input_bytes(codes)) - Bytes{codes * wide_};
      return;
    }
    p.math = how_.format;
    p.read = how_.vectors ? input_bytes(p.m * p.k * p.count) + weight_bytes(p.k * p.n * p.count)
                          : narrow_bytes(how_.format, p.read.value / wide_);
  }

  std::vector<BodyOp> with_casts(std::vector<BodyOp> ops) {
    std::vector<BodyOp> all;
    for (BodyOp& op : ops) {
      if (!op.communication && op.work.kind == WorkKind::Product &&
          multiplies_narrow(graph_[op.node], how_.format)) {
        if (const Work work = cast_before(op); work.read.value > 0) {
          BodyOp cast;
          cast.name = "cast " + op.name;
          cast.pass_name = kNarrowProductsName;
          cast.node = op.node;
          cast.pass = op.pass;
          cast.work = work;
          all.push_back(std::move(cast));
        }
        read_narrow(op);
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
          (multiplies_narrow(node, how_.format) ? products : others).insert(saved.tensor);
    for (SavedTensor& saved : body_.saved) {
      if (!saved.tensor.valid() || !products.contains(saved.tensor)) continue;
      const Bytes copy = input_bytes(saved.bytes.value / wide_);
      saved.narrow = !others.contains(saved.tensor);
      saved.bytes = saved.narrow ? copy : saved.bytes + copy;
    }
  }

  void count_weights(NarrowWeights& to) const {
    const std::vector<bool> narrow = narrow_weights(model_, body_.block, how_.format),
                            frozen = frozen_parameters(graph_);
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      if (!narrow[i]) continue;
      const Shape& shape = graph_.tensors[i].shape;
      const bool expert = std::any_of(shape.begin(), shape.end(),
                                      [](const Dim& d) { return d.axis == Axis::Experts; });
      const std::int64_t elements = local_elements(shape, layout_.binding);
      if (frozen[i]) {
        (expert ? to.frozen_expert : to.frozen_dense) += elements;
        continue;
      }
      (expert ? to.expert : to.dense) += elements;
      // The scales of the other tiles of a tensor, 4 bytes for 16,384 elements, are left out.
      if (serves_both()) ++(expert ? to.expert_tensors : to.dense_tensors);
    }
  }

  // Returns whether the products of both directions read one code.
  bool serves_both() const {
    return how_.format == DType::F8 || how_.format == DType::Flex16 || how_.tiles;
  }

  void store() {
    NarrowWeights& to = body_.narrow;
    to.kept_alone = how_.weights;
    to.apart = how_.weights || (gathered() && how_.gather);
    if (gathered() && !to.apart) return;
    count_weights(to);
    const DType format = to.apart && how_.tiles ? DType::F8 : how_.format;
    constexpr std::int64_t kMany = 1 << 20;
    const Bytes many = how_.vectors ? weight_bytes(kMany) : narrow_bytes(format, kMany);
    const double copy = static_cast<double>(many.value) / kMany;
    // Narrow copies that live as long as the weights are of both kinds. A shard has one, from which
    // the other follows where the weights are whole.
    const std::int64_t copies = gathered() ? 1 : copies_;
    to.kept = static_cast<double>(how_.weights ? 0 : wide_) +
              (gathered() && !how_.weights ? 0 : copy * static_cast<double>(copies));
    to.gathered = to.apart && serves_both() ? copy : static_cast<double>(wide_);
    if (how_.weights && serves_both()) return;  // the update writes codes
    // The weights that change are cast once per step: replicated weights after they are gathered,
    // shards before.
    const std::int64_t cast = share(Bytes{to.dense}, layout_.weight_shards).value +
                              share(Bytes{to.expert}, layout_.expert_weight_shards).value;
    for (BodyOp& op : body_.update) ask_weights(op.work, cast, copies);
  }

  Body& body_;
  const Layout& layout_;
  const Model& model_;
  const Graph& graph_;
  const NarrowProducts& how_;
  // Bytes of an element before the cast, and how often a tensor is cast: once for each product that
  // reads it. The one scale of integers serves all, in either order, and backward reads vectors
  // along the dimension that forward sums over.
  const std::int64_t wide_, copies_;
  std::set<TensorId> cast_inputs_;
  NodeId came_back_;
};

void compute_wide(std::vector<BodyOp>& ops, DType wide) {
  for (BodyOp& op : ops)
    if (!op.communication && narrow(op.work.math)) op.work.math = wide;
}

}  // namespace

// A cast that runs again during backward bears the name of the recomputation as its pass.
bool is_cast(const BodyOp& op) {
  return op.pass_name == kNarrowProductsName ||
         (op.recomputed && !op.communication && op.name.starts_with("cast "));
}

bool multiplies_narrow(const Body& body) {
  return std::any_of(body.forward.begin(), body.forward.end(),
                     [](const BodyOp& op) { return !op.communication && narrow(op.work.math); });
}

bool multiplies_narrow(const Node& node, DType format) {
  return node.op == &matmul() || node.op == &routed_matmul() ||
         (format == DType::Flex16 && node.op == &convolution());
}

std::vector<bool> narrow_weights(const Model& model, int block, DType format) {
  const Block& own = model.blocks[static_cast<std::size_t>(block)];
  const Graph& graph = own.graph;
  std::vector<bool> narrow(graph.tensors.size()), wide(graph.tensors.size());
  for (const Node& node : graph.nodes)
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      (i == 1 && multiplies_narrow(node, format) ? narrow : wide)[node.inputs[i].value] = true;
  std::set<std::string> shared;
  for (const Block& other : model.blocks)
    for (const Tensor& t : other.graph.tensors) shared.insert(t.tied_to);
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    const Tensor& t = graph.tensors[i];
    narrow[i] = narrow[i] && !wide[i] && t.kind == TensorKind::Parameter && t.tied_to.empty() &&
                !shared.contains(own.name + "/" + t.name);
  }
  return narrow;
}

void check_narrow_weights(const Scenario& scenario, std::string_view method,
                          std::string_view setting, bool kept, Diagnostics& found) {
  const std::string key = std::string(method) + "." + std::string(setting),
                    place = "plan#/choices/" + std::string(method) + "/" + std::string(setting);
  const Method& schedule = schedule_of(scenario.plan);
  if (schedule.settles)
    found.push_back(
        {Diagnostic::Severity::Error,
         "the scale of a weight that is kept or gathered in 8 bits is agreed at the end "
         "of a step, and " +
             std::string(schedule.name) + " updates while microbatches are under way",
         {place},
         "schedule=1f1b"});
  const Choice* const offload = find_choice(scenario.plan, "offload");
  const std::string host = offload == nullptr ? "none" : offload->params.text("host");
  if (kept && (host == "optimizer" || host == "both"))
    found.push_back({Diagnostic::Severity::Error,
                     "offload=" + host +
                         " has the host send weights in bf16, and weights kept in 8 bits have no "
                         "place for them on the device",
                     {place},
                     key + "=bf16"});
}

Bytes narrow_bytes(DType format, std::int64_t elements) {
  const std::int64_t bits_of_32 = format == DType::F4        ? 144
                                  : format == DType::F8Block ? 264
                                  : format == DType::Flex16  ? 512
                                                             : 256;
  return Bytes{elements / 256 * bits_of_32 + (elements % 256 * bits_of_32 + 255) / 256};
}

Bytes kept_operand_bytes(const Plan& plan, DType format, std::int64_t elements) {
  const std::optional<VectorFormat> vectors = vector_format(plan);
  return vectors ? vectors->activation_bytes(elements) : narrow_bytes(format, elements);
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
  const bool integers = format == DType::Flex16;
  const DType wide = integers ? DType::F32 : DType::BF16;
  layout.precision = {wide, wide, gradient_format(gradient), format, !integers};
}

void rewrite_narrow(Body& body, const Layout& layout, const Scenario& scenario,
                    const NarrowProducts& how) {
  compute_wide(body.forward, layout.precision.activation);
  compute_wide(body.backward, layout.precision.activation);
  const Block& block = scenario.model.blocks[static_cast<std::size_t>(body.block)];
  const bool narrow = block.layer || how.format == DType::Flex16;
  if (narrow && !how.wide) Rewriter(body, layout, scenario.model, how).run();
}

}  // namespace trainyard
