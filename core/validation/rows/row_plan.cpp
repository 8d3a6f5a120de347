// This file makes the plan with which a row was trained: its columns as settings, and for each
// blank the framework's default or the most common choice, as an assumption.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/methods/catalogue.h"
#include "core/methods/settings/resharding.h"
#include "core/plan/placement.h"
#include "core/validation/rows/row_parts.h"

namespace trainyard {
namespace {

class PlanWriter {
 public:
  PlanWriter(const MeasuredRow& row, const Model& model, const Cluster& cluster,
             std::vector<Assumption>& assumptions)
      : row_(row), model_(model), cluster_(cluster), assumptions_(assumptions) {
    plan_.name = row.id;
    plan_.software = row_software(row);
    settled_ = settle(plan_.software, cluster.device);
  }

  Plan take() {
    mesh();
    stages();
    batch();
    plan_.optimizer = mentions(row_.framework, "LAMB") ? "lamb" : "adam";
    attention();
    precision();
    sharding();
    sequence_parallel();
    recompute();
    offload();
    adapters();
    documents();
    overlap();
    return std::move(plan_);
  }

 private:
  void assume(std::string setting, std::string taken, std::string why) {
    assumptions_.push_back({std::move(setting), std::move(taken), std::move(why)});
  }
  const FrameworkProfile& framework() const { return *settled_.framework; }
  bool core() const { return framework().name == "megatron-core"; }

  void mesh() {
    Mesh& mesh = plan_.mesh;
    mesh.tp = static_cast<int>(row_.tp.value_or(1));
    mesh.pp = static_cast<int>(row_.pp.value_or(1));
    mesh.cp = static_cast<int>(row_.cp.value_or(1));
    mesh.ep = static_cast<int>(row_.ep.value_or(1));
    const std::int64_t others = std::int64_t{mesh.tp} * mesh.pp * mesh.cp, all = cluster_.count;
    if (all % others != 0)
      throw Error(Error::Kind::Unsupported, "degrees that do not divide its devices");
    mesh.dp = static_cast<int>(all / others);
    if (row_.dp && *row_.dp != *mesh.dp)
      throw Error(Error::Kind::Unsupported, "degrees that do not multiply to its devices");
    if (!row_.dp && !row_.tp && !row_.pp && all > 1)
      throw Error(Error::Kind::Unsupported, "states no parallel degrees");
    expert_tensor();
    // Experts that drop tokens take as many as is even where nothing else is said.
    if (row_.capacity_factor || mentions(row_.model_family, "tokendrop"))
      choice(plan_, "expert-parallel").params.set("capacity", row_.capacity_factor.value_or(1));
    const bool fused = row_.dispatcher == "fused" ||
                       (row_.dispatcher.empty() &&
                        (mentions(row_.notes, "HybridEP") || mentions(row_.notes, "DeepEP")));
    if (fused || !row_.dispatcher.empty())
      choice(plan_, "expert-parallel").params.set("copies", std::string(fused ? "rank" : "expert"));
  }

  // Takes the column, the words of the notes, or else the only value for which the degrees divide.
  void expert_tensor() {
    Mesh& mesh = plan_.mesh;
    if (row_.etp) {
      mesh.etp = static_cast<int>(*row_.etp);
    } else if (mentions(row_.notes, "ETP 1;")) {
      mesh.etp = 1;
    } else if (const std::int64_t data = std::int64_t{*mesh.dp} * mesh.cp;
               data % mesh.ep != 0 && data * mesh.tp % mesh.ep == 0) {
      mesh.etp = 1;
      assume("etp", "1",
             fmt::format("not stated; ep={} does not divide dp x cp = {}, so that each expert was "
                         "whole on one rank",
                         mesh.ep, data));
    }
  }

  void stages() {
    const int p = plan_.mesh.pp;
    if (p == 1) return;
    std::string schedule = schedule_word();
    plan_.virtual_stages = virtual_stages(schedule);
    if (plan_.virtual_stages > 1 && schedule == "1f1b") schedule = "interleaved";
    if (plan_.virtual_stages == 1 && schedule == "interleaved") schedule = "1f1b";
    choice(plan_, schedule);
    plan_.split.layers = split();
  }

  std::string schedule_word() {
    const std::string word = row_word(row_.schedule);
    struct Word {
      std::string_view word, schedule;
    };
    constexpr Word kSchedules[] = {{"zb-1p", "zb-h1"},
                                   {"zb-2p", "zb-h2"},
                                   {"zb-v", "zb-v"},
                                   {"zb-h1", "zb-h1"},
                                   {"zb-h2", "zb-h2"},
                                   {"gpipe", "gpipe"},
                                   {"interleaved", "interleaved"},
                                   {"chimera", "chimera"},
                                   {"v-half", "v-half"},
                                   {"v-min", "v-min"},
                                   {"dualpipe-v", "dualpipe-v"},
                                   {"dualpipe", "dualpipe"},
                                   {"1f1b", "1f1b"}};
    for (const Word& w : kSchedules)
      if (word.starts_with(w.word)) {
        if (mentions(word, "not-stated"))
          assume("schedule", std::string(w.schedule), "one of several that the source names");
        return std::string(w.schedule);
      }
    const std::string taken = row_.vpp.value_or(1) > 1 ? "interleaved" : "1f1b";
    assume("schedule", taken, "not stated; the framework's usual");
    return taken;
  }

  int virtual_stages(const std::string& schedule) {
    const Placement placement = method(schedule).placement;
    if (placement != Placement::Cyclic) return 2;
    if (row_.vpp) return static_cast<int>(*row_.vpp);
    if (schedule != "interleaved") return 1;
    const int layers = layer_count(model_), p = plan_.mesh.pp;
    const int chunks = layers % p == 0 ? layers / p : (layers + 2) / p;
    assume("virtual-stages", std::to_string(chunks), "not stated; a layer a chunk");
    return std::max(2, chunks);
  }

  // Sailor's rows list layers with embedding and head counted as layers.
  std::vector<int> stated_split() const {
    constexpr std::string_view kKey = "layers_per_stage=[";
    const std::size_t at = row_.notes.find(kKey);
    if (at == std::string::npos) return {};
    std::vector<int> layers(1, 0);
    for (std::size_t i = at + kKey.size(); i < row_.notes.size() && row_.notes[i] != ']'; ++i) {
      if (row_.notes[i] == ',') layers.push_back(0);
      if (row_.notes[i] >= '0' && row_.notes[i] <= '9' && layers.back() < 100'000)
        layers.back() = 10 * layers.back() + (row_.notes[i] - '0');
    }
    --layers.front(), --layers.back();
    return layers;
  }

  std::vector<int> split() {
    const int layers = layer_count(model_), count = plan_.mesh.pp * plan_.virtual_stages;
    std::vector<int> stated = stated_split();
    int sum = 0;
    for (const int n : stated) sum += n;
    if (sum == layers && static_cast<int>(stated.size()) == count) return stated;
    if (layers % count == 0 || framework().splits_by_cost) return {};
    std::vector<int> split(static_cast<std::size_t>(count), (layers + 2) / count);
    if ((layers + 2) % count == 0) {  // embedding and head count as a layer each
      --split.front(), --split.back();
      return split;
    }
    if (layers < count) throw Error(Error::Kind::Unsupported, "fewer layers than stages");
    // The remaining layers go to the middle stages, because the ends also have embedding and head.
    std::fill(split.begin(), split.end(), layers / count);
    const int rest = layers % count, first = (count - rest) / 2;
    for (int s = first; s < first + rest; ++s) ++split[static_cast<std::size_t>(s)];
    assume("split", "even", "layers do not divide; the ends have one layer less than the middle");
    return split;
  }

  void batch() {
    Batch& batch = plan_.batch;
    batch.sequence = row_.sequence.value_or(0);
    if (!row_.sequence) {
      // torchtitan's presets for all its Llama 3 models have this value.
      if (framework().name != "torchtitan")
        throw Error(Error::Kind::Unsupported, "states no sequence length");
      batch.sequence = 8192;
      assume("seq", "8192", "not stated; torchtitan's preset");
    }
    const std::int64_t dp = *plan_.mesh.dp;
    batch.micro = row_.micro_batch.value_or(0);
    if (batch.micro == 0) batch.micro = micro_batch_of_steps(dp);
    if (row_.metric == "layer_fwd_bwd_ms") {
      batch.global = batch.micro * dp;
    } else if (row_.global_batch) {
      batch.global = *row_.global_batch;
    } else if (row_.micro_batch && plan_.mesh.pp == 1) {
      batch.global = batch.micro * dp;
      assume("global-batch", std::to_string(batch.global), "not stated; one microbatch a step");
    } else {
      throw Error(Error::Kind::Unsupported, "states no batch");
    }
  }

  // Sources that leave it out may state how many microbatches make up a step.
  std::int64_t micro_batch_of_steps(std::int64_t dp) {
    for (const std::string_view key : {"microbatches", "grad_accum"})
      if (const auto count = stated(row_.also, key); count && *count >= 1 && row_.global_batch) {
        const auto one = static_cast<std::int64_t>(*count) * dp;
        if (one > 0 && *row_.global_batch % one == 0) return *row_.global_batch / one;
      }
    assume("micro-batch", "1", "not stated; the commonest");
    return 1;
  }

  void attention() {
    const std::string word = row_word(row_.flash_attention);
    if (word.starts_with("no")) {
      plan_.flash_attention = false;
    } else if (word.starts_with("yes") || word.starts_with("v")) {
      plan_.flash_attention = true;
    } else {
      plan_.flash_attention = framework().fused_attention;
      assume("flash-attention", plan_.flash_attention ? "on" : "off",
             fmt::format("not stated; what {} does", framework().name));
    }
    if (!plan_.flash_attention) plan_.software.attention.clear();
  }

  void precision() {
    const std::string word = row_word(row_.precision);
    if (word.empty()) return assume_precision();
    for (const std::string_view name :
         {"mxfp8", "nvfp4", "fp16", "bf16", "bf16-nearest", "tf32", "fp32"})
      if (word == name) return sixteen_bit(name);
    if (word == "fp8" || word == "fp8-subchannel") return eight_bit(word == "fp8-subchannel");
    throw Error(Error::Kind::Unsupported, "a number format that cannot be planned");
  }

  // torchao casts again in backward, and gathers 8-bit weights where a tensor has one scale.
  void eight_bit(bool blocks) {
    Params& params = choice(plan_, "fp8").params;
    const bool rows = mentions(row_.notes, "rowwise"), torch = framework().name == "torchtitan";
    params.set("scaling", std::string(blocks ? "block" : rows ? "row" : "tensor"));
    if (!torch) return;
    params.set("keeps", std::string("bf16"));
    params.set("gather-fp8", !rows && !blocks);
  }

  void assume_precision() {
    const bool old =
        (framework().name.starts_with("megatron") && !core()) || framework().name == "deepspeed";
    const std::string_view taken = old ? "fp16" : "bf16";
    assume("precision", std::string(taken), "not stated; the usual of its time");
    sixteen_bit(taken);
  }

  void sixteen_bit(std::string_view name) {
    Choice& chosen = choice(plan_, name);
    // DeepSpeed accumulates gradients in the format of computation; so does the mode that
    // llm-foundry calls PURE.
    const bool short_gradients =
        mentions(row_.framework, "deepspeed") || mentions(row_.notes, "mixed_precision=PURE");
    if ((name == "fp16" || name == "bf16") && short_gradients)
      chosen.params.set("gradient-dtype", std::string(name));
    if (name == "fp16" && !short_gradients)
      chosen.params.set("gradient-dtype", std::string("fp32"));
    // NVIDIA's published recipes for these formats reduce gradients in 16 bit.
    const bool recipe = mentions(row_.framework, "Bridge") || mentions(row_.framework, "NeMo");
    if (recipe && find_choice(plan_, name) != nullptr && takes_short_gradients(name)) {
      chosen.params.set("gradient-dtype", std::string("bf16"));
      assume("gradient-dtype", "bf16", "not stated; the framework's recipes for throughput");
    }
  }

  static bool takes_short_gradients(std::string_view name) {
    for (const ParamSpec& spec : method(name).params)
      if (spec.name == "gradient-dtype")
        return std::find(spec.values.begin(), spec.values.end(), "bf16") != spec.values.end();
    return false;
  }

  void sharding() {
    const std::string word = row_word(row_.zero);
    std::int64_t stage = 0, group = 0;
    const std::int64_t ranks = std::int64_t{*plan_.mesh.dp} * plan_.mesh.cp;
    if (word.empty()) {
      stage = core() ? 1 : framework().name == "fsdp" || framework().name == "torchtitan" ? 3 : 0;
      if (ranks > 1)
        assume("zero", std::to_string(stage),
               fmt::format("not stated; what {} does", framework().name));
    } else if (mentions(word, "(2)") || mentions(word, "gradop")) {
      stage = 2;
    } else if (mentions(word, "fsdp") || mentions(word, "hsdp") || word == "3") {
      stage = 3;
      if (mentions(word, "hsdp") || mentions(word, "in-slice")) {
        group = std::min(ranks, devices_per_node(cluster_));
        if (mentions(word, "hsdp"))
          assume("hybrid", std::to_string(group), "the shard group is not stated; a node");
      }
    } else if (word == "0" || word == "1" || word == "2") {
      stage = word[0] - '0';
    } else {
      throw Error(Error::Kind::Unsupported, "a division of state that cannot be planned");
    }
    if (ranks == 1) stage = 0;
    // InternEvo's rows state the group under the name of its setting; -1 stands for all ranks.
    if (row_.zero_group)
      group = *row_.zero_group;
    else if (const auto given = stated(row_.also, "zero1_group"); given && *given > 0)
      group = static_cast<std::int64_t>(*given);
    Choice& chosen = choice(plan_, "zero");
    chosen.params.set("stage", stage);
    if (group > 0 && stage > 0 && ranks % group == 0) chosen.params.set("shard", group);
    // A row that names FSDP under a pipeline uses PyTorch's, whatever its framework is called, and
    // so does a framework of the source's own: the other known ones do not divide gradients under a
    // pipeline.
    const bool torch = mentions(word, "fsdp") || framework().name == "typical";
    if (stage >= 2 && plan_.mesh.pp > 1 && torch && !gathers_once_a_step(plan_)) {
      chosen.params.set("reduce", std::string("step"));
      if (stage == 3) chosen.params.set("reshard", std::string("off"));
      assume("zero-reduce", "step", "not stated; what FSDP does under a pipeline");
    }
  }

  void sequence_parallel() {
    if (plan_.mesh.tp == 1) return;
    bool on = row_word(row_.sequence_parallel) == "yes";
    if (row_.sequence_parallel.empty()) {
      on = core() || framework().name == "torchtitan";
      assume("sequence-parallel", on ? "on" : "off",
             fmt::format("not stated; what {} does", framework().name));
    }
    choice(plan_, "tensor-parallel").params.set("sequence-parallel", on);
  }

  void recompute() {
    const std::string word = row_word(row_.recompute);
    Choice& chosen = choice(plan_, "recompute");
    const auto set = [&](std::string policy) { chosen.params.set("policy", std::move(policy)); };
    if (word.empty()) {
      set("none");
      assume("recompute", "none", "not stated; the commonest");
    } else if (word.starts_with("full")) {
      set("full");
    } else if (word == "none") {
      set("none");
    } else if (word == "selective-op") {
      set("op");
    } else if (word == "selective-layer" || (word == "selective" && framework().name == "fsdp")) {
      blocks(word, chosen);
    } else if (word == "selective") {
      set("selective");
    } else {
      throw Error(Error::Kind::Unsupported, "a recomputation that cannot be planned");
    }
  }

  void offload() {
    const std::string word = row_word(row_.offload);
    if (word.empty() || word == "none") return;
    if (word != "optimizer-cpu")
      throw Error(Error::Kind::Unsupported, "an offload that cannot be planned");
    choice(plan_, "offload").params.set("host", std::string("optimizer"));
  }

  // Published sources say that they adapted a model and not how: what is taken is of AutoModel's
  // benchmarks, which adapt all linear layers, and of Megatron-Bridge's, which adapt queries, keys
  // and values alone. "kv_lora" in lower case is a width of latent attention.
  void adapters() {
    if (row_.lora_rank) choice(plan_, "lora").params.set("rank", *row_.lora_rank);
    if (row_.lora_rank || row_.notes.find("LoRA") == std::string::npos) return;
    const bool automodel = mentions(row_.framework, "AutoModel");
    Params& lora = choice(plan_, "lora").params;
    lora.set("rank", std::int64_t{automodel ? 16 : 32});
    if (!automodel) lora.set("targets", std::string("q_proj,k_proj,v_proj"));
    assume("lora", automodel ? "16 of all linear layers" : "32 of queries, keys and values",
           "not stated; the framework's benchmarks");
  }

  void documents() {
    if (!row_.document_tokens) return;
    Params& packing = choice(plan_, "packing").params;
    packing.set("samples", std::string("packed"));
    packing.set("lengths", fmt::format("fixed:{}", *row_.document_tokens));
  }

  // FSDP's selective checkpointing recomputes some layers in full. The source's FLOPs with and
  // without recomputation give their share: forward is a third of model FLOPs, so it is three times
  // (hardware over model FLOPs less one).
  void blocks(const std::string& word, Choice& chosen) {
    double share = 0.5;
    const auto mfu = stated(row_.also, "mfu"), hfu = stated(row_.also, "hfu");
    if (mfu && hfu) share = std::clamp(3 * (*hfu / *mfu - 1), 0.0, 1.0);
    const int per_stage = layer_count(model_) / plan_.mesh.pp;
    const auto layers = static_cast<std::int64_t>(std::llround(share * per_stage));
    chosen.params.set("policy", std::string(layers > 0 ? "blocks" : "none"));
    chosen.params.set("blocks", layers);
    if (word != "selective-layer")
      assume("recompute", fmt::format("blocks={}", layers),
             mfu && hfu ? "as many layers as hardware beside model FLOPs say"
                        : "every second product is recomputed: half of the layers");
  }

  bool divides_sequence() const {
    const Choice* chosen = find_choice(plan_, "tensor-parallel");
    return chosen != nullptr && chosen->params.has("sequence-parallel") &&
           chosen->params.flag("sequence-parallel");
  }

  void overlap() {
    Choice& chosen = choice(plan_, "overlap");
    chosen.params.set("gradients", framework().overlaps_gradients);
    chosen.params.set("weights", framework().overlaps_weights);
    if (mentions(row_.notes, "async tp") || mentions(row_.notes, "asynctp") ||
        mentions(row_.notes, "tp, pp comm overlap on"))
      chosen.params.set("tensor", std::string("on"));
    // Only the all-reduces of backward overlap; under sequence parallel, its gathers and scatters.
    if (mentions(row_.notes, "overlapped with wgrad"))
      chosen.params.set("tensor", std::string(divides_sequence() ? "backward" : "on"));
  }

  const MeasuredRow& row_;
  const Model& model_;
  const Cluster& cluster_;
  std::vector<Assumption>& assumptions_;
  Plan plan_;
  SettledSoftware settled_;
};

}  // namespace

Plan row_plan(const MeasuredRow& row, const Model& model, const Cluster& cluster,
              std::vector<Assumption>& assumptions) {
  return PlanWriter(row, model, cluster, assumptions).take();
}

}  // namespace trainyard
