#include "core/methods/layers/layer_operators.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/methods/layers/transients.h"
#include "core/model/ops.h"

namespace trainyard {
namespace {

using ReadsGradient = bool (*)(const Graph&, const Node&, std::size_t);

enum class TouchedPart : std::uint8_t { Value, Gradient, Fact, Routing, View, ViewGradient };
using Touched = std::pair<TouchedPart, std::uint32_t>;  // by tensor, by node, or the only one

bool routes(const Op* op) {
  return op == &router() || op == &dispatch() || op == &routed_matmul() || op == &combine();
}

class Dependences {
 public:
  Dependences(const Graph& graph, const Body& body, ReadsGradient reads_gradient)
      : graph_(graph), body_(body), reads_gradient_(reads_gradient) {
    std::vector<bool> computes(graph.nodes.size());
    for (const BodyOp& op : body.forward)
      if (!op.communication) computes[op.node.value] = true;
    for (std::uint32_t t = 0; t < graph.tensors.size(); ++t) viewed_.push_back(t);
    seen_by_view_.resize(graph.tensors.size());
    for (std::size_t n = 0; n < graph.nodes.size(); ++n)
      if (const Node& node = graph.nodes[n]; !computes[n] && !node.inputs.empty())
        for (const TensorId out : node.outputs) {
          viewed_[out.value] = viewed_[node.inputs[0].value];
          seen_by_view_[node.inputs[0].value] = true;
        }
  }

  OperatorGraph of(const std::vector<BodyOp>& ops) {
    for (const BodyOp& op : ops) {
      now_ = static_cast<int>(made_.operators.size());
      made_.operators.push_back({words_of(op), {}});
      op.communication ? wait_for_all() : compute(op);
    }
    for (Operator& one : made_.operators) {
      std::sort(one.after.begin(), one.after.end());
      one.after.erase(std::unique(one.after.begin(), one.after.end()), one.after.end());
    }
    return std::move(made_);
  }

 private:
  struct Use {
    int writer = -1;
    std::vector<int> readers;  // since then
  };

  static std::string words_of(const BodyOp& op) {
    return op.communication                  ? op.name
           : op.recomputed                   ? op.name + " again"
           : op.pass == Pass::BackwardInput  ? op.name + " input gradient"
           : op.pass == Pass::BackwardWeight ? op.name + " weight gradient"
                                             : op.name;
  }

  void after(int earlier) {
    if (earlier >= 0 && earlier != now_) made_.operators.back().after.push_back(earlier);
  }
  void wait_for_all() {
    for (int earlier = 0; earlier < now_; ++earlier) after(earlier);
    barrier_ = now_;
  }
  // Values and gradients are touched in 4-byte floats.
  void touch(Touched place, bool written) {
    if (place.first != TouchedPart::Value && place.first != TouchedPart::Gradient) return;
    const int tensor = tensors_.try_emplace(place, static_cast<int>(tensors_.size())).first->second;
    std::vector<OperatorTouch>& touches = made_.operators.back().touches;
    const auto same = std::find_if(touches.begin(), touches.end(),
                                   [&](const auto& other) { return other.tensor == tensor; });
    if (same != touches.end()) {
      same->written |= written;
      return;
    }
    const Tensor& touched = graph_.tensors[place.second];
    touches.push_back({tensor, 4 * local_elements(touched.shape, body_.binding), written});
  }
  void read(Touched place) {
    touch(place, false);
    Use& use = uses_[place];
    after(use.writer);
    use.readers.push_back(now_);
  }
  void write(Touched place) {
    touch(place, true);
    Use& use = uses_[place];
    after(use.writer);
    for (const int reader : use.readers) after(reader);
    use = {now_, {}};
  }
  // The first that reads a view makes it.
  void read_view(Touched view) { uses_.contains(view) ? read(view) : write(view); }
  Touched of(TouchedPart held, TensorId id) const { return {held, viewed_[id.value]}; }
  Touched fact_of(const BodyOp& op) const { return {TouchedPart::Fact, op.node.value}; }

  void compute(const BodyOp& op) {
    after(barrier_);
    const Node& node = graph_[op.node];
    const bool forward = op.pass == Pass::Forward || op.recomputed;
    for (const TensorId in : node.inputs) {
      read(of(TouchedPart::Value, in));
      if (forward && viewed_[in.value] != in.value) read_view({TouchedPart::View, in.value});
    }
    if (forward) {
      for (const TensorId out : node.outputs) write(of(TouchedPart::Value, out));
      write(fact_of(op));
    } else {
      backward(op, node);
    }
    if (routes(node.op)) write({TouchedPart::Routing, 0});
  }

  void backward(const BodyOp& op, const Node& node) {
    read(fact_of(op));
    for (const TensorId out : node.outputs) {
      read(of(TouchedPart::Value, out));
      read(of(TouchedPart::Gradient, out));
      if (seen_by_view_[out.value]) read_view({TouchedPart::ViewGradient, out.value});
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId in = node.inputs[i];
      const bool parameter = graph_[in].kind == TensorKind::Parameter;
      if (op.pass == Pass::BackwardInput ? !parameter
                                         : parameter || reads_gradient_(graph_, node, i))
        write(of(TouchedPart::Gradient, in));
    }
    if (op.pass == Pass::BackwardInput)
      for (const TensorId made : made_in_input_pass(body_, graph_, op))
        write(of(TouchedPart::Gradient, made));
  }

  const Graph& graph_;
  const Body& body_;
  const ReadsGradient reads_gradient_;
  std::vector<std::uint32_t> viewed_;  // by tensor: itself, or the tensor of which it is a view
  std::vector<bool> seen_by_view_;     // by tensor: whether views read it
  std::map<Touched, Use> uses_;
  std::map<Touched, int> tensors_;  // numbers of what is touched
  OperatorGraph made_;
  int now_ = 0, barrier_ = -1;
};

}  // namespace

OperatorGraph layer_operators(const Graph& graph, const Body& body, const std::vector<BodyOp>& ops,
                              ReadsGradient reads_gradient) {
  return Dependences(graph, body, reads_gradient).of(ops);
}

}  // namespace trainyard
