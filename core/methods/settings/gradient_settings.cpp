#include "core/methods/settings/gradient_settings.h"

#include "core/methods/settings/setting_values.h"
#include "core/plan/shared_statistics.h"

namespace trainyard {
namespace {

constexpr std::string_view kMean = "mean", kUncompressed = "none", kInStep = "bsp",
                           kNorms = "optimizer-norms", kReplicated = "replicated";

void set_zero(Plan& plan, std::string_view value, const Place& place) {
  constexpr std::string_view kHybrid = "hybrid=";
  if (value.substr(0, kHybrid.size()) == kHybrid) {
    set_param(plan, "zero", "stage", "3", place);
    return set_param(plan, "zero", "shard", value.substr(kHybrid.size()), place);
  }
  if (value == "fsdp") value = "3";
  if (value == "weight-update" || value == "on") value = "1";
  if (value == "off") value = "0";
  if (value.size() != 1 || value[0] < '0' || value[0] > '3')
    refuse_value(place, "0, 1 (weight-update sharding), 2, 3 (FSDP) or hybrid=<ranks>", value);
  set_param(plan, "zero", "stage", value, place);
}

// This accepts torchtitan's words beside on and off; its default depends on the pipeline.
void set_reshard(Plan& plan, std::string_view value, const Place& place) {
  if (value == "default") value = plan.mesh.pp == 1 ? "on" : "off";
  if (value == "always" || value == "never") value = value == "always" ? "on" : "off";
  set_param(plan, "zero", "reshard", value, place);
}

}  // namespace

std::vector<Setting> gradient_settings() {
  using P = Plan;
  using V = std::string_view;
  using L = const Place;
  return {
      {"zero",
       {"zero-stage", "zero-optimization.stage", "sharding", "weight-update-sharding"},
       "training state divided over replicas: 1 is weight-update sharding, 3 is FSDP",
       {"0", "1", "2", "3"},
       set_zero,
       [](const P& p) { return read_param(p, "zero", "stage"); }},
      {"hybrid",
       {"hybrid-shard", "shard-group", "data-parallel-shard-degree", "mics-shard-size"},
       "ranks among which zero divides state; 0 = all",
       {},
       [](P& p, V v, L& l) { set_param(p, "zero", "shard", v, l); },
       [](const P& p) { return read_param(p, "zero", "shard"); }},
      {"reshard-after-forward",
       {"reshard", "fsdp-reshard-after-forward"},
       "ZeRO 3: let go of gathered weights after forward, and gather them again for backward",
       {"framework", "on", "off"},
       set_reshard,
       [](const P& p) { return read_param(p, "zero", "reshard"); }},
      {"zero-reduce",
       {},
       "ZeRO 2 and 3: gradients leave with every microbatch, or are added up for the step",
       {"framework", "microbatch", "step"},
       [](P& p, V v, L& l) { set_param(p, "zero", "reduce", v, l); },
       [](const P& p) { return read_param(p, "zero", "reduce"); }},
      {"reduce",
       {"gradient-reduction"},
       "what replicas' steps become: mean or sum of gradients; Adasum of updates by halves "
       "(adasum), over whole tensors (adasum-tree), or between nodes, which take the mean inside "
       "(adasum-hierarchical)",
       {kMean, "sum", "adasum", "adasum-tree", "adasum-hierarchical"},
       [](P& p, V v, L& l) { set_optional(p, "adasum", "reduce", v, kMean, l); },
       [](const P& p) { return read_optional(p, "adasum", "reduce", kMean); }},
      {"compression",
       {"gradient-compression"},
       "what replicas send of their gradients: all (none), the largest velocities (dgc) or "
       "gradients (topk, mstopk, hitopk between nodes); compression.ratio says how many, and the "
       "rest waits",
       {kUncompressed, "dgc", "topk", "mstopk", "hitopk"},
       [](P& p, V v, L& l) { set_optional(p, "compression", "kind", v, kUncompressed, l); },
       [](const P& p) { return read_optional(p, "compression", "kind", kUncompressed); }},
      {kNorms,
       {"norms", "parallel-norms"},
       "norms of LARS and LAMB: found by every replica, or shared: each finds those of some layers",
       {kReplicated, "shared"},
       [](P& p, V v, L& l) { set_optional(p, kNorms, "norms", v, kReplicated, l); },
       [](const P& p) { return read_optional(p, kNorms, "norms", kReplicated); }},
      {"batch-norm",
       {kBatchNormStatistics, "sync-batch-norm", "sync-bn"},
       "batch norms normalise by the samples of their own replica, or of all replicas, which "
       "exchange statistics in every norm",
       {kSamplesOfReplica, kSamplesOfReplicas},
       [](P& p, V v, L& l) {
         set_optional(p, kBatchNormStatistics, kStatisticsSamples, v, kSamplesOfReplica, l);
       },
       [](const P& p) {
         return read_optional(p, kBatchNormStatistics, kStatisticsSamples, kSamplesOfReplica);
       }},
      {"sync",
       {"synchrony"},
       "when replicas meet: in every step (bsp), or once in sync.period steps of their own, to "
       "average weights (local-sgd), to move to a centre (easgd) or to push changes to a server "
       "(downpour) or to memory that they share (hogwild)",
       {kInStep, "local-sgd", "easgd", "downpour", "hogwild"},
       [](P& p, V v, L& l) { set_optional(p, "sync", "kind", v, kInStep, l); },
       [](const P& p) { return read_optional(p, "sync", "kind", kInStep); }},
  };
}

}  // namespace trainyard
