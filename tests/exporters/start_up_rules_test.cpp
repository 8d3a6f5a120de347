// Implements what Megatron-LM and torchtitan check at start-up, on the written arguments and words
// and not on the plan: every exported plan must pass all of it. Based on Megatron Core 0.20
// (argument validation, TransformerConfig, process groups, Transformer Engine's choice of a
// kernel), torchtitan 0.2.2 and the schedules of PyTorch.
#include <fmt/format.h>

#include <random>
#include <set>

#include "core/exporters/deepspeed.h"
#include "core/exporters/megatron_lm.h"
#include "core/exporters/torchtitan.h"
#include "tests/support/cases.h"
#include "tests/support/exported_plans.h"

namespace trainyard {
namespace {

using testing::arguments_of;
using testing::number;
using testing::toml_words;

using Choices = std::vector<std::pair<std::string, std::vector<std::string>>>;
constexpr int kDrawn = 500, kLeaving = 150, kMost = 20'000, kFollowed = 1500;

// Collects the sentences of rules that a written file breaks.
class StartRules {
 public:
  void hold(bool holds, std::string_view rule) {
    if (!holds) broken_ += fmt::format("{}\n", rule);
  }
  const std::string& broken() const { return broken_; }

 private:
  std::string broken_;
};

// The stages of a layout such as "Ett|t*4|ttL", and its layers.
std::pair<std::int64_t, std::int64_t> stages_and_layers(const std::string& layout) {
  std::int64_t stages = 1, layers = 0;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    stages += layout[i] == '|' ? 1 : 0;
    if (layout[i] != 't') continue;
    layers += i + 1 < layout.size() && layout[i + 1] == '*' ? std::stoll(layout.substr(i + 2)) : 1;
  }
  return {stages, layers};
}

class MegatronStart {
 public:
  explicit MegatronStart(const std::string& script)
      : a_(arguments_of(script)),
        one_queue_(script.find("export CUDA_DEVICE_MAX_CONNECTIONS=1") != std::string::npos),
        world_(number(a_, "--nnodes") * number(a_, "--nproc-per-node")),
        tp_(number(a_, "--tensor-model-parallel-size")),
        pp_(number(a_, "--pipeline-model-parallel-size")),
        cp_(number(a_, "--context-parallel-size")),
        ep_(number(a_, "--expert-model-parallel-size")),
        etp_(number(a_, "--expert-tensor-parallel-size", tp_)) {}

  std::string broken(bool blackwell) {
    groups();
    sizes();
    stages();
    batch();
    experts();
    attention();
    formats();
    sharding(blackwell);
    recomputation();
    return r_.broken();
  }

 private:
  bool has(const std::string& flag) const { return a_.count(flag) > 0; }
  std::string text(const std::string& flag, const std::string& otherwise = {}) const {
    return has(flag) ? a_.at(flag) : otherwise;
  }
  bool sequence_parallel() const { return has("--sequence-parallel") && tp_ > 1; }

  void groups() {
    r_.hold(world_ % (tp_ * pp_ * cp_) == 0, "world size % (tp x pp x cp)");
    r_.hold(world_ % (etp_ * ep_ * pp_) == 0, "world size % (etp x ep x pp)");
    dp_ = world_ / (tp_ * pp_ * cp_);
    const std::int64_t expert_data = world_ / (etp_ * ep_ * pp_),
                       instances = number(a_, "--num-distributed-optimizer-instances");
    r_.hold(!has("--use-tp-pp-dp-mapping") || pp_ == 1 || expert_data == dp_,
            "without pp last, attention and experts need the same data parallel size");
    r_.hold(dp_ * cp_ % instances == 0, "data parallel size % optimizer instances");
    r_.hold(expert_data % instances == 0, "expert data parallel size % optimizer instances");
  }

  void sizes() {
    const std::int64_t heads = number(a_, "--num-attention-heads"),
                       groups = number(a_, "--num-query-groups", heads);
    r_.hold(heads % tp_ == 0, "attention heads % tp");
    r_.hold(groups % tp_ == 0 || tp_ % groups == 0,
            "query groups must be multiple or divisor of tp");
    r_.hold(has("--kv-channels") || number(a_, "--hidden-size") % heads == 0, "hidden % heads");
    r_.hold(number(a_, "--ffn-hidden-size") % tp_ == 0, "ffn hidden size % tp");
    r_.hold(number(a_, "--moe-ffn-hidden-size", etp_) % etp_ == 0, "expert ffn hidden size % etp");
    r_.hold(!has("--multi-latent-attention") || !has("--group-query-attention"),
            "latent attention excludes grouped queries");
    r_.hold(has("--vocab-size") && has("--mock-data"), "a tokenizer and one source of data");
  }

  void stages() {
    const std::int64_t layers = number(a_, "--num-layers"),
                       chunks = number(a_, "--num-virtual-stages-per-pipeline-rank");
    std::int64_t interleaved = chunks;
    if (has("--pipeline-model-parallel-layout")) {
      const auto [stages, named] = stages_and_layers(text("--pipeline-model-parallel-layout"));
      r_.hold(!has("--num-virtual-stages-per-pipeline-rank"), "a layout or virtual stages");
      r_.hold(stages % pp_ == 0 && named == layers, "stages of the layout % pp, and all layers");
      interleaved = stages / pp_;
    } else {
      r_.hold(layers % pp_ == 0, "layers % pp");
      r_.hold(layers / pp_ % chunks == 0, "layers of a pipeline rank % virtual stages");
    }
    if (interleaved == 1) return;
    const std::int64_t microbatches =
        number(a_, "--global-batch-size") / (number(a_, "--micro-batch-size") * dp_);
    r_.hold(pp_ > 1, "interleaving needs pp > 1");
    r_.hold(microbatches >= pp_ && microbatches % pp_ == 0, "interleaved microbatches % pp");
  }

  void batch() {
    const std::int64_t sequence = number(a_, "--seq-length");
    r_.hold(number(a_, "--global-batch-size") % (number(a_, "--micro-batch-size") * dp_) == 0,
            "global batch % (micro batch x dp)");
    r_.hold(cp_ == 1 || sequence % (2 * cp_) == 0, "sequence % (2 x cp)");
    r_.hold(!sequence_parallel() || sequence / cp_ % tp_ == 0, "part of the sequence % tp");
    r_.hold(sequence <= number(a_, "--max-position-embeddings"), "positions >= sequence");
    r_.hold(!has("--tp-comm-overlap") || sequence_parallel(), "tp overlap needs sequence parallel");
    r_.hold(std::stod(text("--min-lr")) <= std::stod(text("--lr")), "min lr <= lr");
  }

  void experts() {
    const std::string dispatcher = text("--moe-token-dispatcher-type", "allgather");
    r_.hold(ep_ == 1 || has("--num-experts"), "ep needs experts");
    r_.hold(!has("--moe-enable-deepep") || dispatcher == "flex", "DeepEP needs flex");
    r_.hold(dispatcher != "flex" || etp_ * ep_ > 1, "flex needs tp x ep > 1");
    if (!has("--num-experts")) return;
    const bool sigmoid = text("--moe-router-score-function", "softmax") == "sigmoid";
    r_.hold(number(a_, "--num-experts") % ep_ == 0, "experts % ep");
    r_.hold(tp_ == 1 || sequence_parallel(), "experts beside tp need sequence parallel");
    r_.hold(has("--disable-bias-linear") || etp_ == 1, "biases of experts need etp = 1");
    r_.hold(!has("--moe-router-enable-expert-bias") || sigmoid, "expert bias needs sigmoid");
    r_.hold(number(a_, "--moe-router-topk", 2) > 1 || sigmoid || has("--moe-router-pre-softmax"),
            "one expert a token needs softmax first");
    r_.hold(ep_ == 1 || !has("--fp16"), "no expert parallel in fp16");
  }

  void attention() {
    const std::string backend = text("--attention-backend", "auto");
    r_.hold(cp_ == 1 || backend != "unfused", "unfused attention has no context parallel");
    const std::string type = text("--cp-comm-type", "p2p");
    r_.hold(cp_ == 1 || !has("--window-size") || type == "a2a", "sliding windows do not go round");
    const std::int64_t inner = number(a_, "--hierarchical-context-parallel-sizes");
    r_.hold((type == "a2a+p2p") == has("--hierarchical-context-parallel-sizes"),
            "a hierarchy has sizes");
    r_.hold(cp_ % inner == 0, "the inner degree divides cp");
    const std::int64_t exchanged = type == "a2a"       ? cp_
                                   : type == "a2a+p2p" ? inner
                                                       : 1,
                       heads = number(a_, "--num-attention-heads"),
                       groups = number(a_, "--num-query-groups", heads);
    r_.hold(heads / tp_ % exchanged == 0 && (exchanged == 1 || groups / tp_ % exchanged == 0),
            "heads of a tensor rank % ranks that exchange them");
    r_.hold(has("--fp16") || has("--bf16") || backend == "unfused" || backend == "auto",
            "fused attention takes fp16 and bf16");
  }

  void formats() {
    const bool adam = text("--optimizer") == "adam", aware = has("--use-precision-aware-optimizer");
    r_.hold(!has("--fp16") || !has("--bf16"), "fp16 or bf16");
    r_.hold(!has("--fp8-format") || !has("--fp4-format"), "fp8 or fp4");
    r_.hold(!has("--fp8-param-gather") || has("--use-distributed-optimizer"),
            "fp8 weights need a distributed optimizer");
    r_.hold(!has("--optimizer-cpu-offload") || (aware && !has("--fp8-param-gather")),
            "an optimizer on the host is precision aware, its weights not fp8");
    r_.hold(!aware || adam, "only adam is precision aware");
    r_.hold(text("--main-grads-dtype", "fp32") == "fp32" ||
                (aware && !has("--accumulate-allreduce-grads-in-fp32")),
            "narrow main gradients need a precision aware optimizer");
  }

  void sharding(bool blackwell) {
    const bool fsdp = has("--use-megatron-fsdp");
    const std::string optimizer = text("--optimizer");
    r_.hold(!has("--overlap-param-gather") ||
                (has("--use-distributed-optimizer") && has("--overlap-grad-reduce")),
            "param gather overlap needs a distributed optimizer and grad reduce overlap");
    r_.hold(!fsdp || optimizer == "adam" || optimizer == "sgd", "FSDP has adam and sgd");
    r_.hold((text("--ckpt-format") == "fsdp_dtensor") == fsdp, "FSDP and fsdp_dtensor");
    r_.hold(!fsdp || !one_queue_, "FSDP needs several queues");
    r_.hold(fsdp || blackwell || (tp_ == 1 && cp_ == 1) || one_queue_, "tp and cp need one queue");
    r_.hold(!has("--num-distributed-optimizer-instances") || has("--use-distributed-optimizer"),
            "instances of what");
  }

  void recomputation() {
    const std::string granularity = text("--recompute-granularity");
    const std::int64_t layers = number(a_, "--recompute-num-layers", 0);
    if (granularity == "full")
      r_.hold(has("--recompute-method") && layers >= 1 && layers <= number(a_, "--num-layers"),
              "full recomputation needs a method and layers");
    else
      r_.hold(!has("--recompute-method") && layers == 0, "no method without full recomputation");
  }

  std::map<std::string, std::string> a_;
  bool one_queue_;
  std::int64_t world_, tp_, pp_, cp_, ep_, etp_, dp_ = 1;
  StartRules r_;
};

// The flavors that torchtitan ships, with their key and value heads and layers.
struct Shipped {
  std::string_view flavor;
  std::int64_t kv_heads, layers;
};
constexpr Shipped kShipped[] = {{"llama3 8B", 8, 32},
                                {"llama3 70B", 8, 80},
                                {"llama3 405B", 8, 126},
                                {"qwen3 8B", 8, 36},
                                {"deepseek_v3 671B", 128, 61}};

class TorchtitanStart {
 public:
  explicit TorchtitanStart(const std::string& text)
      : w_(toml_words(text)), world_(after(text, "--nnodes ") * after(text, "--nproc-per-node ")) {}

  std::string broken() {
    mesh();
    batch();
    model();
    if (pp_ > 1) pipeline();
    words();
    return r_.broken();
  }

 private:
  static std::int64_t after(const std::string& text, const std::string& flag) {
    return std::stoll(text.substr(text.find(flag) + flag.size()));
  }
  std::int64_t count(const std::string& key, std::int64_t otherwise) const {
    return w_.count(key) > 0 ? std::stoll(w_.at(key)) : otherwise;
  }
  std::string word(const std::string& key, const std::string& otherwise = {}) const {
    if (w_.count(key) == 0) return otherwise;
    const std::string& value = w_.at(key);
    return value.front() == '"' ? value.substr(1, value.size() - 2) : value;
  }
  bool experts() const { return word("model.name") == "deepseek_v3"; }
  bool compiles() const { return word("compile.enable", "false") == "true"; }

  void mesh() {
    r_.hold(replicas_ * shards_ * cp_ * tp_ * pp_ == world_, "degrees make the world");
    const std::int64_t etp = count("parallelism.expert_tensor_parallel_degree", 1);
    r_.hold(ep_ == 1 || etp == 1 || etp == tp_, "etp is 1 or tp");
    r_.hold(ep_ == 1 || shards_ * cp_ * tp_ % (etp * ep_) == 0, "dp_shard x cp x tp % (etp x ep)");
    const bool fsdp = shards_ * cp_ > 1 || (experts() && ep_ > 1);
    r_.hold(fsdp || replicas_ == 1 || replicas_ == world_, "DDP has one dimension");
  }

  void batch() {
    const std::int64_t local = count("training.local_batch_size", 8);
    r_.hold(count("training.global_batch_size", -1) % (local * replicas_ * shards_) == 0,
            "global batch % (local batch x data parallel degree)");
    r_.hold(count("training.seq_len", 2048) % (tp_ * 2 * cp_) == 0, "sequence % (tp x 2 cp)");
  }

  void model() {
    const std::string flavor = word("model.name") + " " + word("model.flavor");
    const Shipped* shipped = std::find_if(std::begin(kShipped), std::end(kShipped),
                                          [&](const Shipped& s) { return s.flavor == flavor; });
    r_.hold(shipped != std::end(kShipped), "a flavor that it ships");
    if (shipped == std::end(kShipped)) return;
    layers_ = shipped->layers;
    r_.hold(shipped->kv_heads % tp_ == 0, "heads of keys and values % tp");
    r_.hold(pp_ == 1 || word("model.name") != "qwen3", "qwen3 does not support pipelining");
    r_.hold(cp_ == 1 || !experts(), "context parallel has no FlexAttention");
  }

  void pipeline() {
    const std::string& parts = w_.at("parallelism.module_fqns_per_model_part");
    const std::string schedule = word("parallelism.pipeline_parallel_schedule");
    std::int64_t stages = -1, layers = 0;  // the list itself has a bracket too
    for (std::size_t i = 0; i < parts.size(); ++i) {
      stages += parts[i] == '[' ? 1 : 0;
      layers += parts.compare(i, 7, "layers.") == 0 ? 1 : 0;
    }
    const std::int64_t local = count("training.local_batch_size", 8),
                       micro = count("parallelism.pipeline_parallel_microbatch_size", 1),
                       found = local / micro, rounds = std::max<std::int64_t>(1, found / pp_),
                       chunks = stages / pp_;
    r_.hold(layers == layers_, "every layer once");
    r_.hold(local % micro == 0, "local batch % microbatch");
    r_.hold(stages % pp_ == 0, "stages % pp");
    if (schedule == "1F1B" || schedule == "GPipe")
      r_.hold(chunks == 1 && found >= stages, "one stage a rank, as many microbatches as stages");
    else if (schedule == "Interleaved1F1B")
      r_.hold(chunks >= 2 && found % rounds == 0, "two stages a rank, microbatches % rounds");
    else if (schedule == "ZBVZeroBubble")
      r_.hold(chunks == 2, "two stages a rank");
    else if (schedule == "DualPipeV")
      r_.hold(chunks == 2 && found >= stages && (ep_ == 1 || mode() == "none"),
              "two stages a rank, as many microbatches as stages, no recomputation beside ep");
    else
      r_.hold(false, "a schedule of its own");
  }

  std::string mode() const { return word("activation_checkpoint.mode", "none"); }

  void words() {
    const auto one_of = [&](const std::string& key, const std::set<std::string>& allowed) {
      r_.hold(w_.count(key) == 0 || allowed.count(word(key)) == 1, key);
    };
    one_of("training.mixed_precision_param", {"bfloat16", "float32"});
    one_of("training.mixed_precision_reduce", {"float32"});
    one_of("activation_checkpoint.mode", {"none", "selective", "full"});
    one_of("parallelism.fsdp_reshard_after_forward", {"default", "always", "never"});
    one_of("quantize.linear.float8.recipe_name", {"tensorwise", "rowwise", "rowwise_with_gw_hp"});
    one_of("optimizer.name", {"Adam", "AdamW"});
    r_.hold(word("parallelism.enable_async_tensor_parallel", "false") == "false" || compiles(),
            "async tp needs compile");
    r_.hold(w_.count("quantize.linear.float8.recipe_name") == 0 ||
                word("quantize.linear.float8.enable_fsdp_float8_all_gather", "false") == "false",
            "a recipe or float8 all-gather");
    r_.hold(w_.count("quantize.linear.mx.recipe_name") == 0 || tp_ == 1 || !compiles(),
            "mxfp8 beside tp is not compiled");
  }

  std::map<std::string, std::string> w_;
  std::int64_t world_, replicas_ = count("parallelism.data_parallel_replicate_degree", 1),
                       shards_ = count("parallelism.data_parallel_shard_degree", 1),
                       tp_ = count("parallelism.tensor_parallel_degree", 1),
                       pp_ = count("parallelism.pipeline_parallel_degree", 1),
                       cp_ = count("parallelism.context_parallel_degree", 1),
                       ep_ = count("parallelism.expert_parallel_degree", 1), layers_ = 0;
  StartRules r_;
};

const std::string& one_of(std::mt19937& draw, const std::vector<std::string>& values) {
  return values[draw() % values.size()];
}

const Choices kPlans = {
    {"tp", {"1", "2", "4", "8"}},
    {"cp", {"1", "1", "2", "4"}},
    {"context-parallel.kind", {"ring", "ring", "ulysses", "hybrid"}},
    {"pp", {"1", "2", "4"}},
    {"ep", {"1", "2", "4", "8"}},
    {"etp", {"tp", "1"}},
    {"virtual-stages", {"1", "1", "2"}},
    {"zero", {"0", "1", "2", "3", "3"}},
    {"hybrid", {"0", "2", "4", "8"}},
    {"micro-batch", {"1", "2"}},
    {"global-batch", {"32", "64", "96", "128"}},
    {"seq", {"1024", "2048", "4096"}},
    {"rank-order", {"tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp", "dp-tp-cp-ep-pp"}},
    {"overlap", {"on", "off"}},
    {"tensor-overlap", {"framework", "off", "backward", "on"}},
    {"sequence-parallel", {"on", "on", "off"}},
    {"recompute", {"none", "selective", "full", "op", "blocks=2"}},
    {"offload", {"none", "none", "optimizer"}},
    {"precision", {"bf16", "bf16", "fp8", "mxfp8", "fp16", "fp32", "nvfp4"}},
    {"gradient-dtype", {"fp32", "bf16"}},
    {"fp8.keeps", {"fp8", "bf16"}},
    {"fp8.scaling", {"tensor", "row", "block"}},
    {"fp8.weights", {"bf16", "fp8"}},
    {"fp8.gather-fp8", {"false", "true"}},
    {"flash-attention", {"on", "on", "off"}},
    {"attention", {"flash-2", "cudnn", "triton"}},
    {"optimizer", {"adam", "adamw", "sgd", "lion"}},
    {"schedule", {"1f1b", "gpipe", "interleaved", "zb-v", "dualpipe-v", "zb-h1"}},
    {"reshard-after-forward", {"framework", "on", "off"}},
    {"copies", {"framework", "rank", "expert"}},
    {"framework", {"typical", "megatron-core", "torchtitan", "deepspeed"}}};

// Draws a legal scenario. Half of the plan's settings stay at their defaults, since otherwise
// nearly every plan would be refused for one reason or another.
Scenario drawn(std::mt19937& draw, const std::vector<std::string>& models, std::string& words) {
  static const std::vector<std::string> kClusters = {"h100-sxm:16", "h100-sxm:64", "b200-hgx:32"};
  for (;;) {
    const std::string &model = one_of(draw, models), &cluster = one_of(draw, kClusters);
    Scenario s{zoo_model(model), parse_cluster(cluster), {}};
    words = fmt::format("--model {} --cluster {}", model, cluster);
    for (const auto& [key, values] : kPlans) {
      const std::string setting = fmt::format("{}={}", key, one_of(draw, values));
      if (draw() % 2 == 0) continue;
      try {
        apply_setting(s.plan, setting);
        words += " --set " + setting;
      } catch (const Error&) {
        continue;  // of a method that is not chosen
      }
    }
    try {
      if (!has_errors(check(s))) return prepare(s).scenario;
    } catch (const Error&) {
      continue;  // no such peak on the device
    }
  }
}

template <class Write, class Broken>
void leave_only_what_starts(const std::vector<std::string>& models, Write write, Broken broken) {
  std::mt19937 draw(20260822);
  int drawn_plans = 0, leaving = 0;
  for (; drawn_plans < kMost && (drawn_plans < kDrawn || leaving < kLeaving); ++drawn_plans) {
    std::string words, text;
    const Scenario s = drawn(draw, models, words);
    try {
      text = write(s).text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::Unsupported) << words;
      continue;
    }
    EXPECT_EQ(broken(text, s), "") << words;
    ++leaving;
  }
  EXPECT_GE(leaving, kLeaving) << drawn_plans << " plans";
}

TEST(StartUpRules, MegatronStartsWhatLeaves) {
  leave_only_what_starts({"llama-3-8b", "gpt2", "mixtral-8x7b", "qwen3-8b", "mistral-7b",
                          "deepseek-v3", "gemma-2b", "qwen2-0.5b", "llama-3.2-1b"},
                         megatron_lm, [](const std::string& text, const Scenario& s) {
                           return MegatronStart(text).broken(supports(s.cluster.device, DType::F4));
                         });
}

TEST(StartUpRules, TorchtitanStartsWhatLeaves) {
  leave_only_what_starts(
      {"llama-3-8b", "llama-3-8b", "llama-3-70b", "qwen3-8b", "deepseek-v3"}, torchtitan,
      [](const std::string& text, const Scenario&) { return TorchtitanStart(text).broken(); });
}

// The words after "; try " in the first error of a plan; "" if there is none.
template <class Write>
std::string first_fix(Write write, const Scenario& s, bool& accepted) {
  accepted = false;
  std::string sentence;
  for (const Diagnostic& d : check(s))
    if (d.severity == Diagnostic::Severity::Error) return d.fix;
  try {
    write(prepare(s).scenario);
    accepted = true;
    return {};
  } catch (const Error& error) {
    sentence = error.what();
  }
  sentence = sentence.substr(0, sentence.find('\n'));
  const std::size_t found = sentence.rfind("; try ");
  return found == std::string::npos ? "" : sentence.substr(found + 6);
}

// Following one proposed fix after another never leads back to a plan that was refused.
template <class Write>
void fixes_lead_on(const std::vector<std::string>& models, Write write) {
  std::mt19937 draw(20260822);
  int mended = 0;
  const int followed = static_cast<int>(testing::cases(kFollowed, kFollowed / 5));
  for (int i = 0; i < followed; ++i) {
    std::string words;
    Scenario s = drawn(draw, models, words);
    std::set<std::string> seen;
    bool accepted = false;
    int fixes = 0;
    for (;;) {
      const std::string fix = first_fix(write, s, accepted);
      if (fix.empty()) break;
      words += " then " + fix;
      EXPECT_TRUE(seen.insert(fix).second) << words;
      if (seen.size() < static_cast<std::size_t>(++fixes)) break;
      try {
        std::istringstream settings(fix);
        for (std::string setting; settings >> setting;) apply_setting(s.plan, setting);
      } catch (const Error&) {
        break;  // a fix in words
      }
    }
    mended += accepted && !seen.empty() ? 1 : 0;
  }
  EXPECT_GE(mended, followed / 10);
}

TEST(StartUpRules, FixesLeadOn) {
  fixes_lead_on({"llama-3-8b", "mixtral-8x7b", "gpt2", "mistral-7b"}, megatron_lm);
  fixes_lead_on({"llama-3-8b", "qwen3-8b", "deepseek-v3"}, torchtitan);
  fixes_lead_on({"llama-3-8b", "mixtral-8x7b", "gpt2"}, deepspeed);
}

}  // namespace
}  // namespace trainyard
