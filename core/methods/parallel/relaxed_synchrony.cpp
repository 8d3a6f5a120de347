// Replicas make several steps by their own gradients before they meet, instead of adding up the
// gradients of every step (bulk synchronous, bsp). Each has weights and optimizer state of its own.
//
//   local-sgd   after every `period` steps all replicas go on from the mean of their weights
//   easgd       a centre c remembers: after every `period` steps each replica moves to it by the
//               share a of their distance, and it moves to them by a of the sum of the distances
//   downpour    after every `period` steps a replica pushes the change of its weights to a server
//               and fetches the server's, which has the changes of replicas that came before it
//   hogwild     the same with weights in memory that the threads of one node share
//
//        x_i <- x_i - a (x_i - c),   c <- c + a sum (x_i - c),   a = elasticity / P
//
// The distance d from the centre to the mean of the replicas becomes (1 - (P + 1) a) d: it fades
// without swinging while the elasticity is at most P / (P + 1), swings about 0 until 2 P / (P + 1),
// and grows beyond, which is refused. The distances of replicas from their mean become 1 - a of
// what they were. The exchange follows the update of a step, where the paper has it before: the
// two sequences of updates and exchanges are the same, and gradients are of weights after one.
//
// Every replica has a copy of the centre and computes the same one from the sum of all weights. The
// trained model is the centre, or the mean of replicas that have not met since, or the server's.
//
// The server of downpour is on the replicas themselves: each serves a part of every layer's weights
// and remembers for all of them what they have fetched of it, 4 bytes a parameter. Replicas wait
// for nobody: they come one after the other, and each finds the weights of its turn
// (core/training/parameter_server.h). A change is P - 1 others old on average when it is added. It
// is the change that a replica's own optimizer makes, which for gradient descent is the published
// push of gradients to a server that has the optimizer. Hogwild's threads read and write weights
// while others do: of two changes that meet, one may be lost, and no two runs are the same. A plan
// replays it without that: a replica reads once in a step, and its changes are added whole.
// `trainyard hogwild` measures threads that race (backends/cpu/hogwild).
//
// Priced is an all-reduce of 4-byte weights (and of optimizer state that is averaged) in one step
// of `period`, for downpour an all-to-all there and one back: a step takes the mean over a period,
// as does the work of the exchange. It follows the update, and nothing hides it.
//
// Stich, "Local SGD Converges Fast and Communicates Little", ICLR 2019; Zhang, Choromanska and
// LeCun, "Deep learning with Elastic Averaging SGD", NeurIPS 2015; Dean et al., "Large Scale
// Distributed Deep Networks", NeurIPS 2012; Niu et al., "Hogwild!", NeurIPS 2011.
#include "core/methods/parallel/relaxed_synchrony.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/methods/catalogue.h"
#include "core/methods/parallel/adasum.h"
#include "core/methods/parallel/communication.h"
#include "core/methods/parallel/compression.h"
#include "core/methods/parallel/whole_replicas.h"

namespace trainyard {
namespace {

constexpr std::string_view kSyncWords[] = {kBsp, "local-sgd", "easgd", "downpour", "hogwild"};
constexpr std::string_view kInTurn = "in-turn", kShuffled = "shuffled", kWhole = "whole",
                           kByStaleness = "by-staleness";
constexpr std::int64_t kWeight = 4;  // bytes of a weight that is exchanged, and of the centre's

// Returns the work of an exchange, of which a step has its share.
Work meeting_work(std::int64_t n, const Synchrony& sync, const Layout& layout) {
  const std::int64_t state = exchanged_bytes(sync, layout) - kWeight,
                     centre = sync.how == Sync::Easgd ? kWeight : 0,
                     rounded =
                         layout.precision.master_weights ? bytes_of(layout.precision.parameter) : 0;
  // The mean takes a division of each number; moving to a centre and it to the mean takes six.
  std::int64_t flops = n * (1 + state / kWeight + (centre > 0 ? 6 : 0));
  Work work;
  work.kind = WorkKind::Optimizer;
  if (sync.served()) {
    // As a server it reads what was pushed and what was fetched, and writes what is fetched now;
    // as a replica it writes the weights that have come.
    flops = 2 * n;
    work.read = Bytes{3 * n * kWeight / sync.period};
    work.written = Bytes{n * (2 * kWeight + rounded) / sync.period};
    work.flops = Flops{static_cast<double>(flops) / static_cast<double>(sync.period)};
    return work;
  }
  // The sums that have come are read; where there is a centre, so are it and the weights.
  work.read = Bytes{n * (kWeight + state + (centre > 0 ? kWeight + centre : 0)) / sync.period};
  work.written = Bytes{n * (kWeight + state + centre + rounded) / sync.period};
  work.flops = Flops{static_cast<double>(flops) / static_cast<double>(sync.period)};
  return work;
}

// A program's digest has the names of its ops, so that a checkpoint goes on with no other exchange.
std::string exchange_name(const Synchrony& sync) {
  if (sync.how == Sync::Easgd)
    return fmt::format("pull weights to their centre, elasticity {}, every {} steps",
                       sync.elasticity, sync.period);
  if (sync.served())
    return fmt::format("push changes{}{}, every {} steps", sync.shuffled ? " in any order" : "",
                       sync.divides ? ", divided by staleness" : "", sync.period);
  return fmt::format("average weights{} every {} steps",
                     sync.averages_state ? " and optimizer state" : "", sync.period);
}

void rewrite_synchrony(Body& body, const Layout& layout, const Scenario& scenario, const Params&) {
  const Synchrony sync = synchrony_of(scenario.plan);
  if (!sync.relaxed()) return;
  std::erase_if(body.reduce, [](const BodyOp& op) {
    return op.group == Group::Data || op.group == Group::ExpertData;
  });
  const std::int64_t n = body.parameters.dense + body.parameters.expert;
  if (n == 0) return;
  const auto exchange = [&](CollectiveKind kind, std::string name) {
    BodyOp& op = body.gather.emplace_back(collective_op(kSync, std::move(name), NodeId{},
                                                        Pass::Forward, kind, Group::Data,
                                                        Bytes{n * exchanged_bytes(sync, layout)}));
    op.every = static_cast<int>(sync.period);
  };
  if (sync.served()) {
    exchange(CollectiveKind::AllToAll, exchange_name(sync));
    exchange(CollectiveKind::AllToAll, "fetch weights");
  } else {
    exchange(CollectiveKind::AllReduce, exchange_name(sync));
  }
  BodyOp op;
  op.name = "meet";
  op.pass_name = kSync;
  op.work = meeting_work(n, sync, layout);
  body.update.push_back(std::move(op));
}

void arrange_synchrony(Layout& layout, const Scenario& scenario, const Params&) {
  const Synchrony sync = synchrony_of(scenario.plan);
  if (sync.how == Sync::Easgd || sync.served()) layout.optimizer_bytes += kWeight;
  // The server's parts of a layer are equal, so that a replica has room for all that it serves.
  if (sync.served()) layout.optimizer_multiple = sync.replicas;
}

template <class F>
void check_own_steps(const Scenario& s, const std::string& word, F&& refuse) {
  const Plan& plan = s.plan;
  if (reduce_of(plan) != Reduce::Mean)
    refuse(fmt::format("replicas of {} each make steps of their own, and reduce={} combines those "
                       "of every step",
                       word, find_choice(plan, kAdasum)->params.text(kReduce)),
           "reduce=mean");
  if (const Choice* chosen = find_choice(plan, kCompression);
      chosen != nullptr && chosen->params.text(kCompressionKind) != kNoCompression)
    refuse(fmt::format("replicas of {} exchange weights and no gradients, found compression={}",
                       word, chosen->params.text(kCompressionKind)),
           "compression=none");
  const Method& schedule = schedule_of(plan);
  if (schedule.settles != nullptr || schedule.name == "tick-tock")
    refuse(fmt::format("{} counts the steps between exchanges of weights, and {} updates while "
                       "microbatches are under way",
                       word, schedule.name),
           "schedule=1f1b");
  const Choice& precision = *chosen_on(plan, MethodAxis::Precision);
  if (precision.method.starts_with("bf16-"))
    refuse(fmt::format("{} takes means of weights in 4 bytes, and {} keeps weights in bf16 alone",
                       word, precision.method),
           "precision=bf16");
  if (precision.params.has("weights") && precision.params.text("weights") != "bf16")
    refuse(fmt::format("{} writes weights again after an update, and {}.weights={} has agreed on "
                       "their scales before",
                       word, precision.method, precision.params.text("weights")),
           fmt::format("{}.weights=bf16", precision.method));
}

Diagnostics check_synchrony(const Scenario& s, const Params& params) {
  Diagnostics found;
  const Plan& plan = s.plan;
  const std::string& word = params.text(kSyncKind);
  const Place place{"plan#/choices/sync"};
  const auto add = [&](Diagnostic::Severity severity, std::string sentence, std::string fix) {
    found.push_back({severity, std::move(sentence), place, std::move(fix)});
  };
  const auto refuse = [&](std::string sentence, std::string fix) {
    add(Diagnostic::Severity::Error, std::move(sentence), std::move(fix));
  };
  if (word == kBsp) {
    add(Diagnostic::Severity::Warning,
        "the plan says how replicas relax their synchrony, and with sync=bsp they meet in every "
        "step: nothing changes",
        "sync=local-sgd");
    return found;
  }
  const std::int64_t replicas = ranks(plan.mesh, Group::Data);
  if (replicas == 1)
    add(Diagnostic::Severity::Warning,
        word + " lets replicas go apart, and there is one: nothing changes", "sync=bsp");
  check_whole_replicas(plan,
                       {.word = word,
                        .tensors = "has replicas of whole weights go apart",
                        .instead = "",
                        .state = "has replicas that each update all of their own weights",
                        .device = "exchanges weights between devices after an update",
                        .host = "has the host update them"},
                       place, found);
  check_own_steps(s, word, refuse);
  if ((word == "downpour" || word == "hogwild") && params.flag("state"))
    refuse(fmt::format("the server of {} has weights, and each replica its own optimizer state, "
                       "found sync.state=on",
                       word),
           "sync.state=off");
  const std::int64_t beside = group_shape(plan.mesh, Group::Data, s.cluster).per_node;
  if (word == "hogwild" && beside < replicas)
    refuse(fmt::format("hogwild has threads that share the weights in one memory, and a node has "
                       "{} of {} replicas",
                       beside, replicas),
           "sync=downpour");
  if (word != "easgd") return found;
  if (params.flag("state"))
    refuse(
        "easgd pulls weights to their centre and leaves each replica its own optimizer state, "
        "found sync.state=on",
        "sync.state=off");
  const double limit = elasticity_limit(replicas), elasticity = params.number("elasticity");
  if (replicas > 1 && elasticity >= limit)
    refuse(fmt::format("the centre of easgd and the mean of {} replicas swing ever more widely "
                       "from an elasticity of 2 P / (P + 1) = {:.4f} on, found sync.elasticity={}",
                       replicas, limit, elasticity),
           "sync.elasticity=0.9");
  return found;
}

}  // namespace

Synchrony synchrony_of(const Plan& plan) {
  Synchrony made;
  const Choice* const chosen = find_choice(plan, kSync);
  const std::int64_t replicas = ranks(plan.mesh, Group::Data);
  if (chosen == nullptr || replicas == 1) return made;
  const Params params = with_defaults(chosen->params, method(kSync).params);
  const auto* const word = std::find(std::begin(kSyncWords), std::end(kSyncWords),
                                     std::string_view(params.text(kSyncKind)));
  made.how = static_cast<Sync>(word - std::begin(kSyncWords));
  if (!made.relaxed()) return made;
  made.replicas = replicas;
  made.period = params.integer("period");
  if (made.how == Sync::Easgd) made.elasticity = params.number("elasticity");
  if (made.how == Sync::LocalSgd) made.averages_state = params.flag("state");
  if (made.served()) {
    made.shuffled = params.text("arrival") == kShuffled;
    made.divides = params.text("change") == kByStaleness;
  }
  return made;
}

double elasticity_limit(std::int64_t replicas) {
  const auto p = static_cast<double>(replicas);
  return 2 * p / (p + 1);
}

std::int64_t exchanged_bytes(const Synchrony& sync, const Layout& layout) {
  return kWeight + (sync.averages_state ? layout.optimizer_bytes : 0);
}

Bytes averaging_bytes(const Plan& plan, const Layout& layout, std::int64_t parameters) {
  const Synchrony sync = synchrony_of(plan);
  return sync.relaxed() ? Bytes{parameters * exchanged_bytes(sync, layout)} : Bytes{};
}

Method relaxed_synchrony() {
  return {
      .name = kSync,
      .axis = MethodAxis::Reduction,
      .summary =
          "Replicas make steps of their own before they average weights, move to a common centre "
          "or push changes to a server.",
      .paper = {"Deep learning with Elastic Averaging SGD", "Zhang et al.", "NeurIPS", 2015},
      .card = {.gains = "weights are exchanged in one step of `period`, where gradients are in "
                        "every one; replicas of easgd explore apart; those of downpour and "
                        "hogwild wait for nobody",
               .costs = "replicas that have gone apart learn less from a step than one large batch "
                        "does; easgd, downpour and hogwild: 4 bytes a parameter for the centre or "
                        "for the server, whose changes are P - 1 others old on average",
               .legal_when = "tp, cp and ep are 1; every replica has the whole state on its device "
                             "(zero=0) and updates once a step; easgd: elasticity below "
                             "2 P / (P + 1); hogwild: one node has all replicas"},
      .file = "core/methods/parallel/relaxed_synchrony.cpp",
      .params =
          {{.name = kSyncKind,
            .fallback = std::string(kBsp),
            .doc = "when replicas meet: in every step, which adds up gradients (bsp), or "
                   "after several steps of their own, to average weights (local-sgd), to "
                   "move to a centre (easgd), or one by one to push what has changed to a "
                   "server (downpour) or to memory that they share (hogwild)",
            .values = {std::begin(kSyncWords), std::end(kSyncWords)}},
           {.name = "period",
            .fallback = std::int64_t{10},
            .doc = "steps from one exchange of weights to the next; the simulator prices "
                   "their mean",
            .low = 1,
            .high = 1e9},
           {.name = "elasticity",
            .fallback = 0.9,
            .doc = "easgd: replicas times the share of its distance by which a replica moves "
                   "to the centre; stable below 2 P / (P + 1)",
            .low = 1e-9,
            .high = 2},
           {.name = "state",
            .fallback = false,
            .doc = "local-sgd: average the optimizer's state with the weights; off: each "
                   "replica keeps its own"},
           {.name = "arrival",
            .fallback = std::string(kInTurn),
            .doc = "downpour, hogwild: replicas come to the server in the same order in every "
                   "round, or "
                   "in one that the seed shuffles",
            .values = {kInTurn, kShuffled}},
           {.name = "change",
            .fallback = std::string(kWhole),
            .doc =
                "downpour, hogwild: the server adds a change whole, or divided by the changes that "
                "it has taken since the replica fetched its weights",
            .values = {kWhole, kByStaleness}}},
      .check = check_synchrony,
      .arrange = arrange_synchrony,
      .rewrite = rewrite_synchrony,
  };
}

}  // namespace trainyard
