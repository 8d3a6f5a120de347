#include "core/methods/precision/tensor_state.h"

#include <algorithm>
#include <vector>

#include "core/methods/precision/narrow_products.h"
#include "core/methods/precision/tensor_formats.h"
#include "core/model/ops.h"
#include "core/model/reference.h"
#include "core/model/trained_parts.h"

namespace trainyard {
namespace {

constexpr std::int64_t kFactor = 4, kAnchor = 4, kFullGradient = 4, kGrid = 4, kWord = 4,
                       kWordBits = 32;  // bytes, and bits of a word

Bytes offset_bytes(std::int64_t elements, int bits) {
  return Bytes{kWord * ((elements * bits + kWordBits - 1) / kWordBits)};
}

bool is_parameter(const Graph& graph, TensorId id) {
  return graph[id].kind == TensorKind::Parameter;
}

bool is_loss(const Op* op) { return op == &softmax_loss() || op == &squared_error(); }

// The last node of a graph with a loss that reads a matrix; null where the graph has no loss.
const Node* head_of(const Graph& graph) {
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(),
                   [](const Node& node) { return is_loss(node.op); }))
    return nullptr;
  const auto reads_matrix = [&](const Node& node) {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId in) {
      return is_parameter(graph, in) && graph[in].shape.size() > 1;
    });
  };
  const auto last = std::find_if(graph.nodes.rbegin(), graph.nodes.rend(), reads_matrix);
  return last == graph.nodes.rend() ? nullptr : &*last;
}

bool is_table_or_head(const Graph& graph, TensorId parameter) {
  if (!graph[parameter].tied_to.empty()) return true;
  const Node* const head = head_of(graph);
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return (node.op == &embedding() || &node == head) &&
           std::find(node.inputs.begin(), node.inputs.end(), parameter) != node.inputs.end();
  });
}

int slot_bytes_of(const Layout& layout) {
  const Precision& p = layout.precision;
  return p.parameter == DType::BF16 && !p.master_weights ? 2 : 4;
}

// A trained parameter of a layer that has state of its own there.
struct Trained {
  MatrixShape shape;
  std::int64_t elements = 0;
  bool routed = false, narrow = false;
};

std::vector<Trained> trained_in(const Model& model, const Body& body, const Layout& layout) {
  const Graph& graph = model.blocks[static_cast<std::size_t>(body.block)].graph;
  const std::vector<bool> frozen = frozen_parameters(graph);
  std::vector<bool> narrow(graph.tensors.size());
  if (body.narrow.apart) narrow = narrow_weights(model, body.block);
  std::vector<Trained> found;
  for (std::uint32_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    const bool own = tensor.tied_to.empty() || layout.tied_copies;
    if (tensor.kind != TensorKind::Parameter || frozen[t] || !own) continue;
    const bool routed = std::any_of(tensor.shape.begin(), tensor.shape.end(),
                                    [](const Dim& d) { return d.axis == Axis::Experts; });
    found.push_back({matrix_shape(graph, {t}, body.binding),
                     local_elements(tensor.shape, body.binding), routed, narrow[t]});
  }
  return found;
}

// The state that a plan keeps by tensor.
class KeptByTensor {
 public:
  explicit KeptByTensor(const Plan& plan)
      : optimizer_(plan.optimizer),
        offset_bits_(halp_of(plan).bits),
        scaled_(scaled_formats(tensor_formats(plan))) {}

  Bytes bytes(const MatrixShape& shape, std::int64_t first, std::int64_t elements,
              int slot_bytes) const {
    Bytes sum = tensor_state_bytes(optimizer_, shape, first, elements, slot_bytes, offset_bits_);
    for (const DType format : scaled_) sum += scaled_bytes(format, first, elements);
    return sum;
  }

 private:
  std::string_view optimizer_;
  int offset_bits_;
  std::vector<DType> scaled_;
};

// Ranks that divide state take equal ranges of a layer's parameters of one kind, which lie one
// behind the other.
Bytes most_of_kind(const KeptByTensor& kept, const std::vector<Trained>& all, bool routed,
                   bool narrow, std::int64_t shards, const Layout& layout) {
  std::vector<const Trained*> kind;
  std::int64_t elements = 0;
  for (const Trained& one : all)
    if (one.routed == routed && one.narrow == narrow)
      kind.push_back(&one), elements += one.elements;
  const std::int64_t share = optimizer_share(elements, shards, layout);
  Bytes most{};
  for (std::int64_t from = 0; from < elements; from += share) {
    Bytes sum{};
    std::int64_t offset = 0;
    for (const Trained* one : kind) {
      const std::int64_t begin = std::max(from, offset),
                         end = std::min(from + share, offset + one->elements);
      if (begin < end)
        sum += kept.bytes(one->shape, begin - offset, end - begin, slot_bytes_of(layout));
      offset += one->elements;
    }
    most = std::max(most, sum);
  }
  return most;
}

// X [m, k] Y [k, n] in 4-byte floats, of so many matrices.
BodyOp product_op(const char* name, std::int64_t count, std::int64_t m, std::int64_t n,
                  std::int64_t k) {
  Work work;
  work.kind = WorkKind::Product;
  work.math = DType::F32;
  work.m = m, work.n = n, work.k = k, work.count = count;
  work.flops = {2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
                static_cast<double>(count)};
  work.read = Bytes{4 * count * (m * k + k * n)};
  work.written = Bytes{4 * count * m * n};
  BodyOp op;
  op.name = name;
  op.pass_name = "update_weights";
  op.work = work;
  return op;
}

}  // namespace

MatrixShape matrix_shape(const Graph& graph, TensorId parameter, const Binding& binding) {
  const Tensor& tensor = graph[parameter];
  std::vector<std::int64_t> sizes = local_shape(tensor, binding);
  MatrixShape made;
  if (sizes.size() > 2 && tensor.shape.front().axis == Axis::Experts) {
    made.matrices = sizes.front();
    sizes.erase(sizes.begin());
  }
  if (sizes.size() < 2) return {};
  made.rows = sizes.front(), made.columns = 1;
  for (std::size_t d = 1; d < sizes.size(); ++d) made.columns *= sizes[d];
  made.hidden = !is_table_or_head(graph, parameter);
  return made;
}

bool keeps_tensor_state(std::string_view optimizer) {
  return optimizer == kAdamw8bit || optimizer == kAdafactor || optimizer == kMuon ||
         optimizer == kHalp;
}

bool keeps_tensor_state(const Plan& plan) {
  return keeps_tensor_state(plan.optimizer) || tensor_formats(plan).has_scaled_state();
}

Bytes tensor_state_bytes(std::string_view optimizer, const MatrixShape& shape, std::int64_t first,
                         std::int64_t elements, int slot_bytes, int offset_bits) {
  if (elements == 0) return {};
  if (optimizer == kHalp)
    return Bytes{elements * (kAnchor + kFullGradient) + kGrid} +
           offset_bytes(elements, offset_bits);
  if (optimizer == kAdamw8bit) return scaled_bytes(DType::I8, first, elements) * 2;
  if (optimizer == kAdafactor)
    return Bytes{kFactor *
                 (shape.rows > 0 ? shape.matrices * (shape.rows + shape.columns) : elements)};
  if (optimizer == kMuon) return Bytes{shape.hidden ? 0 : elements * slot_bytes};
  return {};
}

Bytes tensor_state_bytes(const Plan& plan, const MatrixShape& shape, std::int64_t first,
                         std::int64_t elements, int slot_bytes) {
  return KeptByTensor(plan).bytes(shape, first, elements, slot_bytes);
}

Bytes tensor_state_bytes(const Plan& plan, const Model& model, const Body& body,
                         const Layout& layout) {
  if (!keeps_tensor_state(plan) || layout.host_optimizer) return {};
  const KeptByTensor kept(plan);
  const std::vector<Trained> all = trained_in(model, body, layout);
  Bytes sum{};
  for (const bool narrow : {false, true}) {
    sum += most_of_kind(kept, all, false, narrow, layout.optimizer_shards, layout);
    sum += most_of_kind(kept, all, true, narrow, layout.expert_optimizer_shards, layout);
  }
  return sum;
}

StateBytes state_bytes(const Plan& plan, const Model& model, const Body& body,
                       const Layout& layout) {
  StateBytes state = state_bytes(body, layout);
  state.optimizer += tensor_state_bytes(plan, model, body, layout);
  return state;
}

// X is [r, c] with r <= c, as a taller matrix is turned. A step is A = X X', B = b A + c A A,
// X <- a X + B X.
void add_matrix_updates(Body& body, const Model& model, const Layout& layout, const Plan& plan) {
  if (body.update.empty()) return;
  if (trains_by_halp(plan))
    for (const Trained& one : trained_in(model, body, layout)) {
      const Bytes offsets = offset_bytes(one.elements, halp_of(plan).bits);
      body.update.front().work.read += offsets;
      body.update.front().work.written += offsets;
    }
  if (plan.optimizer != kMuon) return;
  std::int64_t by_adamw = 0;
  for (const Trained& one : trained_in(model, body, layout)) {
    const MatrixShape& shape = one.shape;
    if (!shape.hidden) {
      by_adamw += one.elements;
      continue;
    }
    const std::int64_t r = std::min(shape.rows, shape.columns),
                       c = std::max(shape.rows, shape.columns);
    for (int step = 0; step < kNewtonSchulzSteps; ++step) {
      body.update.push_back(product_op("X X'", shape.matrices, r, r, c));
      body.update.push_back(product_op("A A", shape.matrices, r, r, r));
      body.update.push_back(product_op("B X", shape.matrices, r, c, r));
    }
  }
  Work& update = body.update.front().work;
  update.read += Bytes{by_adamw * slot_bytes_of(layout)};
  update.written += Bytes{by_adamw * slot_bytes_of(layout)};
}

}  // namespace trainyard
