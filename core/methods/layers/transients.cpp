#include "core/methods/layers/transients.h"

#include <algorithm>
#include <tuple>

#include "core/methods/layers/context_region.h"
#include "core/methods/layers/tensor_region.h"
#include "core/model/trained_parts.h"

namespace trainyard {
namespace {

bool is_weight(const BodyOp& op) { return op.pass == Pass::BackwardWeight; }
// Context ranks pass the keys and values of an attention to each other before it reads them.
bool passes_keys(const BodyOp& op) {
  return op.communication && is_context(op.group) && op.collective == CollectiveKind::AllGather;
}
bool takes_data(const BodyOp& op) { return !op.communication || op.tensor.valid(); }

// Layer holds what forward and backward both need to know of a layer.
struct Layer {
  const Graph& graph;
  const Body& body;
  const Layout& layout;
  std::vector<NodeId> producer;     // by tensor; invalid: the tensor comes from outside
  std::vector<bool> view;           // by node
  std::vector<bool> kept, rebuilt;  // by tensor

  Layer(const Graph& g, const Body& b, const Layout& l)
      : graph(g),
        body(b),
        layout(l),
        producer(g.tensors.size()),
        view(g.nodes.size(), true),
        kept(g.tensors.size()),
        rebuilt(g.tensors.size()) {
    for (std::uint32_t n = 0; n < g.nodes.size(); ++n)
      for (TensorId out : g.nodes[n].outputs) producer[out.value] = NodeId{n};
    for (const BodyOp& op : b.forward)
      if (!op.communication) view[op.node.value] = false;
    for (const SavedTensor& s : b.saved)
      if (s.tensor.valid()) (s.recomputed ? rebuilt : kept)[s.tensor.value] = true;
  }

  bool crosses(TensorId id) const { return id == graph.input || id == graph.side_input; }
  Bytes bytes(TensorId id, Transient::Form form) const {
    Binding binding = layout.binding;
    if (form == Transient::Form::Whole) binding.sequence_parallel = false;
    return local_bytes(graph[id], binding, layout.precision) *
           copies_in_region(graph, id, layout.binding);
  }
  Transient transient(TensorId id, bool gradient, bool backward, Transient::Form form,
                      std::uint32_t from, std::uint32_t to) const {
    return {id, gradient, backward, form, false, from, to, bytes(id, form)};
  }
};

// Forward finds which ops make and read each tensor, for the forward or for the part of it that
// runs again during backward.
class Forward {
 public:
  Forward(const Layer& layer, const std::vector<BodyOp>& ops, bool again)
      : l_(layer), again_(again), lives_(l_.graph.tensors.size()) {
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
      if (ops[i].recomputed != again) continue;
      ops[i].communication ? exchange(ops[i], i) : compute(l_.graph[ops[i].node], i);
      last_ = i;
    }
    if (again) rebuild_views(ops);
    for (std::size_t n = l_.graph.nodes.size(); n-- > 0;)
      if (l_.view[n]) materialise(l_.graph.nodes[n]);
    entry_ = first_op(ops);
    if (!again && entry_ != kNoOp)
      for (TensorId id : {l_.graph.input, l_.graph.side_input})
        if (id.valid()) life(id).made = entry_, read(id, entry_);
  }

  /// Returns the op at which the tensor exists for the first time.
  std::uint32_t made(TensorId id) const {
    const Life& life = lives_[id.value];
    return life.made != kNoOp ? life.made : life.first;
  }

  void list(std::vector<Transient>& into) const {
    for (std::uint32_t t = 0; t < lives_.size(); ++t) {
      const TensorId id{t};
      const TensorKind kind = l_.graph[id].kind;
      if (kind == TensorKind::Parameter || kind == TensorKind::Statistic || l_.kept[t] ||
          (again_ && l_.rebuilt[t]) || made(id) == kNoOp)
        continue;
      const bool handed_on = !again_ && (id == l_.graph.output || id == l_.graph.side_input);
      const std::uint32_t to = handed_on                 ? last_
                               : lives_[t].last == kNoOp ? made(id)
                                                         : std::max(made(id), lives_[t].last);
      into.push_back(l_.transient(id, false, again_, Transient::Form::Local, made(id), to));
    }
    for (const Whole& w : wholes_)
      into.push_back(l_.transient(w.tensor, false, again_, Transient::Form::Whole, w.from, w.to));
  }

 private:
  struct Life {
    std::uint32_t made = kNoOp, first = kNoOp, last = kNoOp;  // first and last op that read it
    std::size_t whole = static_cast<std::size_t>(-1);         // index of its gathered form
  };
  struct Whole {
    TensorId tensor;
    std::uint32_t from, to;
  };
  Life& life(TensorId id) { return lives_[id.value]; }

  void read(TensorId id, std::uint32_t at) {
    Life& life = this->life(id);
    life.first = std::min(life.first, at);
    life.last = life.last == kNoOp ? at : std::max(life.last, at);
  }

  void compute(const Node& node, std::uint32_t at) {
    for (TensorId in : node.inputs) {
      if (takes_whole(node, in) && life(in).whole < wholes_.size())
        wholes_[life(in).whole].to = at;
      else
        read(in, at);
    }
    for (TensorId out : node.outputs) life(out).made = at;
  }

  void exchange(const BodyOp& op, std::uint32_t at) {
    if (passes_keys(op))
      for (std::size_t i : {1u, 2u}) read(l_.graph[op.node].inputs[i], at);
    if (!op.tensor.valid() || op.of_gradient) return;
    if (op.collective == CollectiveKind::ReduceScatter) {
      wholes_.push_back({op.tensor, made(op.tensor), at});
      life(op.tensor).made = at;
      return;
    }
    read(op.tensor, at);
    if (op.collective != CollectiveKind::AllGather) return;
    life(op.tensor).whole = wholes_.size();
    wholes_.push_back({op.tensor, at, at});
  }

  // A view that no op of the repeated forward reads is written where backward first reads it.
  void rebuild_views(const std::vector<BodyOp>& ops) {
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
      const bool reads =
          !ops[i].communication || passes_keys(ops[i]) || averages_means(l_.graph, ops[i]);
      if (ops[i].recomputed || !reads) continue;
      for (TensorId in : l_.graph[ops[i].node].inputs)
        if (const NodeId from = l_.producer[in.value];
            l_.rebuilt[in.value] && from.valid() && l_.view[from.value])
          life(in).first = std::min(life(in).first, i);
    }
  }

  void materialise(const Node& view) {
    std::uint32_t at = kNoOp;
    for (TensorId out : view.outputs) {
      if (again_ && l_.kept[out.value]) continue;
      at = std::min(at, life(out).first);
      if (!again_ && out == l_.graph.output) at = std::min(at, last_);
    }
    if (at == kNoOp) return;
    for (TensorId out : view.outputs) life(out).made = at;
    for (TensorId in : view.inputs) read(in, at);
  }

  const Layer& l_;
  bool again_;
  std::uint32_t entry_ = kNoOp, last_ = kNoOp;
  std::vector<Life> lives_;
  std::vector<Whole> wholes_;
};

// Backward finds which ops write, add to and read each gradient.
class Backward {
 public:
  explicit Backward(const Layer& layer)
      : l_(layer),
        ops_(layer.body.backward),
        lives_(l_.graph.tensors.size()),
        nodes_(l_.view.size()),
        exchanged_(l_.view.size(), kNoOp) {
    for (std::uint32_t i = 0; i < ops_.size(); ++i) note(ops_[i], i);
    const std::uint32_t entry = first_op(ops_);
    if (entry == kNoOp) return;
    for (TensorId id : {l_.graph.output, l_.graph.side_input})
      if (id.valid() && wanted(id)) write(id, entry);
    for (std::uint32_t n = static_cast<std::uint32_t>(nodes_.size()); n-- > 0;)
      l_.view[n] ? pass_through(l_.graph.nodes[n]) : run(n);
    gather_again();
  }

  void list(std::vector<Transient>& into) const {
    if (l_.body.unreduced.value > 0) list_late(into);
    for (std::uint32_t t = 0; t < lives_.size(); ++t) {
      const Life& life = lives_[t];
      if (life.from == kNoOp) continue;
      const TensorId id{t};
      const std::uint32_t to =
          l_.crosses(id) && last_input_ != kNoOp ? std::max(life.to, last_input_) : life.to;
      into.push_back(l_.transient(id, true, true, Transient::Form::Local, life.from, to));
      into.back().carried = life.for_weight && !is_weight(ops_[life.from]);
    }
    into.insert(into.end(), wholes_.begin(), wholes_.end());
  }

 private:
  struct Life {
    std::uint32_t from = kNoOp, to = 0;
    bool for_weight = false;                       // a weight pass reads it
    std::uint32_t gather = kNoOp, reduce = kNoOp;  // the collectives on the gradient
    bool reduced_to_parts = false;
    std::size_t partial = static_cast<std::size_t>(-1);  // index of its unreduced form
  };
  struct Ops {
    std::uint32_t input = kNoOp, weight = kNoOp;
  };

  void list_late(std::vector<Transient>& into) const {
    for (std::uint32_t i = 0; i < ops_.size(); ++i)
      for (const TensorId id : made_in_input_pass(l_.body, l_.graph, ops_[i])) {
        std::uint32_t to = i;
        while (to < ops_.size() && (ops_[to].communication || !is_weight(ops_[to]))) ++to;
        if (to == ops_.size()) continue;
        into.push_back(l_.transient(id, true, true, Transient::Form::Local, i, to));
        into.back().bytes =
            gradient_bytes(local_elements(l_.graph[id].shape, l_.layout.binding), l_.layout);
        into.back().carried = true;
      }
  }

  bool wanted(TensorId id) const {
    return l_.graph[id].kind == TensorKind::Activation &&
           (l_.body.wanted.empty() || l_.body.wanted[id.value]) &&
           (l_.producer[id.value].valid() || l_.crosses(id));
  }

  void note(const BodyOp& op, std::uint32_t at) {
    if (!is_weight(op)) last_input_ = at;
    if (op.recomputed) return;
    if (!op.communication) {
      (is_weight(op) ? nodes_[op.node.value].weight : nodes_[op.node.value].input) = at;
    } else if (is_context(op.group)) {
      // Gradients of inputs stay where attention makes them; that of its output is read first here.
      if (op.of_gradient && l_.producer[op.tensor.value] == op.node) exchanged_[op.node.value] = at;
    } else if (averages_means(l_.graph, op)) {
      exchanged_[op.node.value] = at;
    } else if (op.tensor.valid() && op.of_gradient) {
      Life& life = lives_[op.tensor.value];
      (op.collective == CollectiveKind::AllGather ? life.gather : life.reduce) = at;
      life.reduced_to_parts |= op.collective == CollectiveKind::ReduceScatter;
    }
  }

  void write(TensorId id, std::uint32_t at) {
    Life& life = lives_[id.value];
    life.from = std::min(life.from, at);
    life.to = std::max(life.to, at);
  }
  void read(TensorId id, std::uint32_t at) {
    Life& life = lives_[id.value];
    if (at == kNoOp || life.from == kNoOp) return;
    life.to = std::max(life.to, at);
    life.for_weight = life.for_weight || is_weight(ops_[at]);
  }

  // Returns the first op that reads the gradient of the tensor.
  std::uint32_t needed(TensorId id) const {
    const NodeId from = l_.producer[id.value];
    if (!from.valid()) return l_.crosses(id) ? last_input_ : kNoOp;
    if (lives_[id.value].gather != kNoOp) return lives_[id.value].gather;
    if (exchanged_[from.value] != kNoOp) return exchanged_[from.value];
    if (!l_.view[from.value]) return std::min(nodes_[from.value].input, nodes_[from.value].weight);
    return needed(l_.graph[from].inputs[0]);
  }

  void pass_through(const Node& view) {
    const TensorId in = view.inputs[0];
    const bool any = std::any_of(view.outputs.begin(), view.outputs.end(),
                                 [&](TensorId out) { return lives_[out.value].from != kNoOp; });
    const std::uint32_t at = any && wanted(in) ? needed(in) : kNoOp;
    if (at == kNoOp) return;
    for (TensorId out : view.outputs) read(out, at);
    write(in, at);
  }

  // Returns whether the result of the column-cut products is a tensor of its own until it is
  // reduced: parts of the gradient also come from other ops or from the layer after, or only a
  // shard of the sum stays.
  bool apart(TensorId id) const {
    const Life& life = lives_[id.value];
    if (life.reduce == kNoOp) return false;
    if (life.reduced_to_parts || id == l_.graph.side_input) return true;
    return std::any_of(l_.graph.nodes.begin(), l_.graph.nodes.end(), [&](const Node& node) {
      const auto n = static_cast<std::size_t>(&node - l_.graph.nodes.data());
      return std::find(node.inputs.begin(), node.inputs.end(), id) != node.inputs.end() &&
             (l_.view[n] || nodes_[n].input != kNoOp) && !enters_region(node, id);
    });
  }

  void run(std::uint32_t n) {
    const Node& node = l_.graph.nodes[n];
    const auto [input, weight] = nodes_[n];
    if (input != kNoOp)
      for (TensorId in : node.inputs) {
        if (!wanted(in)) continue;
        Life& life = lives_[in.value];
        if (!enters_region(node, in) || life.reduce == kNoOp) {
          write(in, input);
        } else if (apart(in)) {
          if (life.partial >= wholes_.size()) {
            life.partial = wholes_.size();
            wholes_.push_back(
                l_.transient(in, true, true, Transient::Form::Whole, input, life.reduce));
          }
          write(in, life.reduce);
        } else {
          write(in, input);
          write(in, life.reduce);
        }
      }
    for (TensorId out : node.outputs) {
      const Life& life = lives_[out.value];
      if (life.from == kNoOp) continue;
      if (life.gather == kNoOp || input == weight) {
        read(out, input);
        read(out, weight);
        continue;
      }
      const std::uint32_t to = weight == kNoOp  ? input
                               : input == kNoOp ? weight
                                                : std::max(input, weight);
      wholes_.push_back(l_.transient(out, true, true, Transient::Form::Whole, life.gather, to));
      wholes_.back().carried = weight != kNoOp && !is_weight(ops_[life.gather]);
      read(out, life.gather);
    }
  }

  // Tensors that enter the tensor region are gathered again: for the weight gradients of products,
  // and for all gradients of a scan.
  void gather_again() {
    for (std::uint32_t i = 0; i < ops_.size(); ++i) {
      const BodyOp& gather = ops_[i];
      if (gather.recomputed || !gather.tensor.valid() || gather.of_gradient ||
          gather.collective != CollectiveKind::AllGather)
        continue;
      std::uint32_t to = i;
      for (std::size_t n = 0; n < nodes_.size(); ++n) {
        const Node& node = l_.graph.nodes[n];
        const std::optional<Pass> reads = reads_entered_again(node);
        if (!reads || !enters_region(node, gather.tensor)) continue;
        const std::uint32_t reader =
            *reads == Pass::BackwardWeight ? nodes_[n].weight : nodes_[n].input;
        if (reader != kNoOp) to = std::max(to, reader);
      }
      wholes_.push_back(l_.transient(gather.tensor, false, true, Transient::Form::Whole, i, to));
    }
  }

  const Layer& l_;
  const std::vector<BodyOp>& ops_;
  std::vector<Life> lives_;
  std::vector<Ops> nodes_;
  std::vector<std::uint32_t> exchanged_;  // by node: the op that reads its output's gradient first
  std::uint32_t last_input_ = kNoOp;      // last op of the input pass
  std::vector<Transient> wholes_;
};

template <class Is>
std::uint32_t last(const std::vector<BodyOp>& ops, Is is) {
  for (auto i = static_cast<std::uint32_t>(ops.size()); i-- > 0;)
    if (!ops[i].communication && !ops[i].recomputed && is(ops[i])) return i;
  return kNoOp;
}

// Returns the last op that needs the tensor; where its user has no op in the pass, the last op of
// the pass.
std::uint32_t freed(const Body& body, const SavedTensor& s, bool split) {
  const bool until_weight = split && s.for_weight;
  const NodeId user = until_weight ? s.last_weight_user : s.last_user;
  const auto in_pass = [&](const BodyOp& op) { return !split || is_weight(op) == until_weight; };
  const std::uint32_t by_user =
      last(body.backward, [&](const BodyOp& op) { return in_pass(op) && op.node == user; });
  return by_user != kNoOp ? by_user : last(body.backward, in_pass);
}

std::uint32_t made(const Body& body, const SavedTensor& s, const Forward& first,
                   const Forward& again) {
  const std::vector<BodyOp>& ops = s.recomputed ? body.backward : body.forward;
  if (s.tensor.valid()) {
    const std::uint32_t at = (s.recomputed ? again : first).made(s.tensor);
    return at != kNoOp ? at : first_op(ops);
  }
  for (std::uint32_t i = 0; i < ops.size(); ++i)
    if (!ops[i].communication && ops[i].recomputed == s.recomputed && ops[i].node == s.producer)
      return i;
  return kNoOp;
}

// Operators of a stage run beside each other, so that none of them may reuse what another needs:
// all that one of them makes is there from the stage's start, and all that one reads to its end.
void hold_through_stages(Body& body) {
  const auto start = [](const std::vector<BodyOp>& ops, std::uint32_t& at) {
    const auto same = [&](std::uint32_t other) { return ops[other].place.stage; };
    while (at != kNoOp && at > 0 && same(at) != 0 && same(at - 1) == same(at)) --at;
  };
  const auto end = [](const std::vector<BodyOp>& ops, std::uint32_t& at) {
    const auto same = [&](std::uint32_t other) { return ops[other].place.stage; };
    while (at != kNoOp && at + 1 < ops.size() && same(at) != 0 && same(at + 1) == same(at)) ++at;
  };
  for (Transient& t : body.transients) {
    const std::vector<BodyOp>& ops = t.backward ? body.backward : body.forward;
    start(ops, t.from), end(ops, t.to);
  }
  for (SavedTensor& s : body.saved) {
    start(s.recomputed ? body.backward : body.forward, s.from);
    end(body.backward, s.to), end(body.backward, s.split_to);
  }
}

}  // namespace

std::uint32_t first_op(const std::vector<BodyOp>& ops) {
  const auto first = [&](auto is) {
    const auto found = std::find_if(ops.begin(), ops.end(),
                                    [&](const BodyOp& op) { return takes_data(op) && is(op); });
    return found == ops.end() ? kNoOp : static_cast<std::uint32_t>(found - ops.begin());
  };
  // Stages may run a weight gradient first. They are of a backward in one part alone.
  const bool staged =
      std::any_of(ops.begin(), ops.end(), [](const BodyOp& op) { return op.place.stage != 0; });
  const std::uint32_t input = first([&](const BodyOp& op) { return staged || !is_weight(op); });
  return input != kNoOp ? input : first(is_weight);
}

void find_lifetimes(Body& body, const Graph& graph, const Layout& layout) {
  const Layer layer(graph, body, layout);
  const Forward first(layer, body.forward, false), again(layer, body.backward, true);
  body.transients.clear();
  first.list(body.transients);
  again.list(body.transients);
  Backward(layer).list(body.transients);
  std::sort(body.transients.begin(), body.transients.end(),
            [](const Transient& a, const Transient& b) {
              const auto key = [](const Transient& t) {
                return std::tuple(t.backward, t.from, t.tensor.value, t.gradient, t.form);
              };
              return key(a) < key(b);
            });
  for (SavedTensor& s : body.saved) {
    s.from = made(body, s, first, again);
    s.to = freed(body, s, false);
    s.split_to = freed(body, s, true);
  }
  hold_through_stages(body);
  body.held = transient_bytes(body, graph);
}

std::vector<TensorId> made_in_input_pass(const Body& body, const Graph& graph, const BodyOp& op) {
  std::vector<TensorId> made;
  if (op.communication || op.recomputed || op.pass != Pass::BackwardInput ||
      is_frozen(graph[op.node]) ||
      std::any_of(body.backward.begin(), body.backward.end(), [&](const BodyOp& other) {
        return other.node == op.node && other.pass == Pass::BackwardWeight;
      }))
    return made;
  for (const TensorId in : graph[op.node].inputs)
    if (graph[in].kind == TensorKind::Parameter) made.push_back(in);
  return made;
}

}  // namespace trainyard
