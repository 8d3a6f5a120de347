#include "core/methods/parallel/operator_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "core/base/nearest.h"
#include "core/cluster/local_device.h"
#include "core/methods/catalogue.h"
#include "core/methods/layers/layer_operators.h"
#include "core/methods/layers/saved_tensors.h"
#include "core/methods/layers/weight_pass.h"
#include "core/plan/shared_statistics.h"
#include "core/program/order.h"

namespace trainyard {
namespace {

constexpr int kMostOps = 100'000;
constexpr std::uint32_t kStagesOfALayer = 1 << 16;  // numbers of stages of one forward or backward
constexpr int kMostCores = 1024;

using Ops = std::vector<int>;
using Cores = std::vector<Ops>;

class Reader {
 public:
  Reader(std::string_view text, const Place& place) : rest_(text), place_(place) {}

  std::vector<StagedOps> read() {
    std::vector<StagedOps> all;
    do {
      StagedOps& pass = all.emplace_back();
      pass.block = number();
      pass.backward = direction();
      seen_.clear();
      do {
        Cores& stage = pass.stages.emplace_back();
        do {
          Ops& core = stage.emplace_back();
          do ops(core);
          while (take(','));
        } while (take('|'));
      } while (take(';'));
      for (std::size_t i = 0; i + 1 < all.size(); ++i)
        if (all[i].block == pass.block && all[i].backward == pass.backward)
          refuse_text("each forward and backward once");
    } while (take('/'));
    if (!rest_.empty()) refuse_text("ranges of ops joined by , | ; or /");
    return all;
  }

 private:
  [[noreturn]] void refuse_text(const std::string& expected) const {
    throw Error(
        Error::Kind::InvalidInput,
        fmt::format("expected {} in stages such as 0.forward:0-2;3,4|5;6, found {}", expected,
                    rest_.empty() ? "its end" : fmt::format("\"{}\"", rest_.substr(0, 40))),
        place_);
  }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  int number() {
    int value = 0;
    const auto [end, failure] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (failure != std::errc() || value < 0 || value >= kMostOps)
      refuse_text(fmt::format("a whole number from 0 to {}", kMostOps - 1));
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  bool direction() {
    for (const bool backward : {false, true}) {
      const std::string_view word = backward ? ".backward:" : ".forward:";
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return backward;
    }
    refuse_text(".forward: or .backward: behind the number of a kind of layer");
  }
  void ops(Ops& into) {
    const int first = number(), last = take('-') ? number() : first;
    if (last < first) refuse_text("a range whose end is not before its start");
    for (int op = first; op <= last; ++op) {
      if (static_cast<std::size_t>(op) >= seen_.size())
        seen_.resize(static_cast<std::size_t>(op) + 1);
      if (seen_[static_cast<std::size_t>(op)])
        refuse_text(fmt::format("each op once (op {} stands twice)", op));
      seen_[static_cast<std::size_t>(op)] = true;
      into.push_back(op);
    }
  }

  std::string_view rest_;
  const Place& place_;
  std::vector<bool> seen_;
};

std::string ranges(const Ops& ops) {
  std::string text;
  for (std::size_t i = 0, end = 0; i < ops.size(); i = end) {
    for (end = i + 1; end < ops.size() && ops[end] == ops[end - 1] + 1;) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", ops[i]);
    if (end > i + 1) text += fmt::format("-{}", ops[end - 1]);
  }
  return text;
}

const Choice* staged(const Plan& plan) {
  const Choice* const chosen = find_choice(plan, kOperatorStages);
  if (chosen == nullptr || !chosen->params.has(kStagesOfOps)) return nullptr;
  const std::string& text = chosen->params.text(kStagesOfOps);
  return text == kNoOperatorStages || text == kConcurrentOperators ? nullptr : chosen;
}

// Returns why text states no stages, or nothing.
std::string refusal(std::string_view text) {
  if (text == kNoOperatorStages || text == kConcurrentOperators) return "";
  try {
    parse_operator_stages(text, {});
  } catch (const Error& e) {
    const std::vector<std::string_view> words = {kNoOperatorStages, kConcurrentOperators};
    return std::string(e.what()) + "; the words are off and concurrent" +
           (text.find('.') == std::string_view::npos ? did_you_mean(text.substr(0, 80), words)
                                                     : "");
  }
  return "";
}

// Kept tensors are freed by the last op that needs them, which is another one in another order.
void find_last_users(Body& body, const Graph& graph, const Layout& layout) {
  std::vector<std::ptrdiff_t> last(graph.nodes.size(), -1);  // op of each node
  for (std::size_t i = 0; i < body.backward.size(); ++i)
    if (body.backward[i].node.valid())
      last[body.backward[i].node.value] = static_cast<std::ptrdiff_t>(i);
  const auto later = [&](NodeId& user, std::uint32_t node) {
    if (!user.valid() || last[user.value] < last[node]) user = NodeId{node};
  };
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n)
    for (const Saved& saved : saved_for_backward(
             {graph, graph.nodes[n], body.binding, layout.precision, layout.flash_attention},
             body.wanted))
      for (SavedTensor& kept : body.saved) {
        if (!saved.tensor.valid() || kept.tensor != saved.tensor) continue;
        later(kept.last_user, n);
        if (saved.for_weight) later(kept.last_weight_user, n);
      }
}

void rewrite_operators(Body& body, const Layout& layout, const Scenario& scenario,
                       const Params& params) {
  if (staged(scenario.plan) == nullptr) return;
  const Place place{"plan#/choices/operator-stages"};
  const Graph& graph = scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
  for (const StagedOps& one : parse_operator_stages(params.text(kStagesOfOps), place))
    if (one.block == body.block) stage_operators(body, graph, layout, one);
}

bool splits_in_parts(const Plan& plan) {
  if (plan.order.empty()) return schedule_of(plan).splits_backward;
  const Order order = parse_order(plan.order);
  return std::any_of(order.lanes.begin(), order.lanes.end(), [](const Lane& lane) {
    return std::any_of(lane.actions.begin(), lane.actions.end(),
                       [](const Action& a) { return a.phase == Phase::BackwardWeight; });
  });
}

Diagnostics check_operator_stages(const Scenario& s, const Params& params) {
  Diagnostics found;
  const Place place{"plan#/choices/operator-stages"};
  const auto refuse = [&](std::string sentence, std::string fix) {
    found.push_back({Diagnostic::Severity::Error, std::move(sentence), place, std::move(fix)});
  };
  const std::string& text = params.text(kStagesOfOps);
  if (text == kConcurrentOperators) {
    refuse(
        "expected stages of operators, found concurrent, which stands for those of least time "
        "where a model and a cluster are opened with --set operator-stages=concurrent",
        "operator-stages=off");
    return found;
  }
  if (text == kNoOperatorStages) return found;
  const Plan& plan = s.plan;
  if (!is_local_core(s.cluster.device))
    refuse(fmt::format("operators run beside each other on the cores of this machine, found {}; "
                       "how kernels share the units of another device is not modelled",
                       s.cluster.device.id),
           "operator-stages=off");
  for (const auto& [axis, degree] : {std::pair{"tp", plan.mesh.tp}, std::pair{"cp", plan.mesh.cp},
                                     std::pair{"ep", plan.mesh.ep}})
    if (degree > 1)
      refuse(fmt::format("stages are of operators of whole layers, and {}={} has ranks exchange "
                         "parts of tensors between them",
                         axis, degree),
             fmt::format("{}=1", axis));
  if (shares_statistics(plan))
    refuse(
        "stages are of operators of whole layers, and batch-norm=replicas has replicas exchange "
        "statistics between them",
        "batch-norm=replica");
  if (const Choice* const zero = find_choice(plan, "zero");
      zero != nullptr && zero->params.integer("stage") >= 2)
    refuse(fmt::format("stages are of operators whose weights and gradients stay on the device, "
                       "and zero={} gathers or scatters them layer by layer",
                       zero->params.integer("stage")),
           "zero=1");
  if (const Choice* const recompute = find_choice(plan, "recompute");
      recompute != nullptr && recompute->params.text("policy") != "none")
    refuse(
        "stages are of a backward that computes nothing again, so that each layer of a kind has "
        "the same operators, found recompute=" +
            recompute->params.text("policy"),
        "recompute=none");
  if (const Choice* const offload = find_choice(plan, "offload"); offload != nullptr)
    refuse("stages are of operators whose tensors stay on the device, found offload=" +
               offload->params.text("host"),
           "offload=none");
  if (const Choice* const precision = chosen_on(plan, MethodAxis::Precision);
      precision != nullptr &&
      (precision->params.has("bf16-layers") || precision->method == "flex16"))  // narrow products
    refuse(fmt::format("operators beside each other would share the scales of narrow products, "
                       "found precision={}",
                       precision->method),
           "precision=bf16");
  if (splits_in_parts(plan))
    refuse(fmt::format("stages run weight gradients beside input gradients, and {} runs them in "
                       "actions of their own",
                       plan.order.empty() ? schedule_of(plan).name : "the plan's order"),
           plan.order.empty() ? "schedule=1f1b" : "order=own");
  return found;
}

}  // namespace

std::vector<StagedOps> parse_operator_stages(std::string_view text, const Place& place) {
  return Reader(text, place).read();
}

std::string to_text(const std::vector<StagedOps>& all) {
  std::string text;
  for (const StagedOps& pass : all) {
    text += fmt::format("{}{}.{}:", text.empty() ? "" : "/", pass.block,
                        pass.backward ? "backward" : "forward");
    for (std::size_t s = 0; s < pass.stages.size(); ++s)
      for (std::size_t core = 0; core < pass.stages[s].size(); ++core)
        text += (core > 0 ? "|" : s > 0 ? ";" : "") + ranges(pass.stages[s][core]);
  }
  return text;
}

int cores_of_device(const Plan& plan) {
  const Choice* const chosen = staged(plan);
  if (chosen == nullptr) return 1;
  std::size_t most = 1;
  for (const StagedOps& pass : parse_operator_stages(chosen->params.text(kStagesOfOps), {}))
    for (const Cores& stage : pass.stages) most = std::max(most, stage.size());
  return static_cast<int>(most);
}

void stage_operators(Body& body, const Graph& graph, const Layout& layout,
                     const StagedOps& staged) {
  std::vector<BodyOp>& ops = staged.backward ? body.backward : body.forward;
  const auto refuse_stages = [&](const std::string& sentence) {
    throw Error(Error::Kind::InvalidInput,
                fmt::format("the stages of the {} of layers of kind {} {}; operator-stages="
                            "concurrent finds stages that do",
                            staged.backward ? "backward" : "forward", staged.block, sentence),
                {"plan#/choices/operator-stages"});
  };
  struct Placed {
    std::size_t at = 0, stage = 0, core = 0;
  };
  std::vector<Placed> placed(ops.size());
  std::vector<int> order;
  for (std::size_t s = 0; s < staged.stages.size(); ++s)
    for (std::size_t core = 0; core < staged.stages[s].size(); ++core)
      for (const int op : staged.stages[s][core]) {
        if (static_cast<std::size_t>(op) < ops.size())
          placed[static_cast<std::size_t>(op)] = {order.size(), s, core};
        order.push_back(op);
      }
  const auto beyond = std::find_if(order.begin(), order.end(), [&](int op) {
    return static_cast<std::size_t>(op) >= ops.size();
  });
  if (beyond != order.end() || order.size() != ops.size())
    refuse_stages(fmt::format("have to list each of their {} ops once, found {}", ops.size(),
                              beyond != order.end() ? fmt::format("op {}", *beyond)
                                                    : fmt::format("{} ops", order.size())));
  const OperatorGraph waits = layer_operators(graph, body, ops, weight_pass_reads_gradient);
  for (std::size_t i = 0; i < ops.size(); ++i)
    for (const int other : waits.operators[i].after) {
      const Placed &one = placed[i], &before = placed[static_cast<std::size_t>(other)];
      if (before.at > one.at || (before.stage == one.stage && before.core != one.core))
        refuse_stages(fmt::format("have to run op {} ({}) before op {} ({}), which waits for it",
                                  other, waits.operators[static_cast<std::size_t>(other)].name, i,
                                  waits.operators[i].name));
    }
  if (std::none_of(staged.stages.begin(), staged.stages.end(),
                   [](const Cores& stage) { return stage.size() > 1; }))
    return;  // nothing runs beside anything, so that the layer's own order stays
  std::vector<BodyOp> sorted;
  for (const int op : order) {
    BodyOp& next = sorted.emplace_back(std::move(ops[static_cast<std::size_t>(op)]));
    const Placed& at = placed[static_cast<std::size_t>(op)];
    if (staged.stages[at.stage].size() < 2) continue;
    next.place.stage =
        1 + static_cast<std::uint32_t>(at.stage) +
        kStagesOfALayer * (2 * static_cast<std::uint32_t>(body.block) + (staged.backward ? 1 : 0));
    next.place.core = static_cast<std::uint16_t>(at.core);
  }
  ops = std::move(sorted);
  if (staged.backward) find_last_users(body, graph, layout);
}

Method operator_stages() {
  return {
      .name = kOperatorStages,
      .axis = MethodAxis::Sharding,
      .summary = "Independent operators of a layer run beside each other on the cores of a device.",
      .paper = {"IOS: Inter-Operator Scheduler for CNN Acceleration", "Ding et al.", "MLSys", 2021},
      .card = {.gains = "a stage takes as long as its longest core instead of as all operators "
                        "together, and the numbers are the same bit for bit",
               .costs = "further cores for each device, and memory that one operator can no longer "
                        "take over from another in its stage",
               .legal_when = "devices are cores of this machine; tp, cp and ep are 1, zero at most "
                             "1, nothing is recomputed or offloaded, and backward is in one part"},
      .file = "core/methods/parallel/operator_stages.cpp",
      .params = {{.name = kStagesOfOps,
                  .fallback = std::string(kNoOperatorStages),
                  .doc = "off, concurrent (those of least time, found where a model and a cluster "
                         "are opened), or the stages of each kind of layer, as in "
                         "0.forward:0-2;3,4|5;6",
                  .refusal = refusal},
                 {.name = kCoresOfDevice,
                  .fallback = std::int64_t{2},
                  .doc = "cores of each device for which concurrent finds stages",
                  .low = 2,
                  .high = kMostCores}},
      .check = check_operator_stages,
      .rewrite = rewrite_operators,
  };
}

}  // namespace trainyard
