// Public configs beyond those in assets/models, in columns, with the parameters of their published
// checkpoints to the last one (Hugging Face's totals of the safetensors, or what llama.cpp prints
// of their text part).
#pragma once

#include <cstdint>
#include <string>

namespace trainyard::testing {

struct PublishedConfig {
  const char *name, *type;
  std::int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab;  // 0 = the config has no key
  bool tied;
  std::int64_t parameters;
  const char* more;  // further keys
};

// The layers of Granite 4: four of forty attend.
#define TRAINYARD_ATTENTION_5 R"("attention", "attention", "attention", "attention", "attention")"
#define TRAINYARD_ATTENTION_10 TRAINYARD_ATTENTION_5 ", " TRAINYARD_ATTENTION_5
#define TRAINYARD_ATTENTION_20 TRAINYARD_ATTENTION_10 ", " TRAINYARD_ATTENTION_10
#define TRAINYARD_ATTENTION \
  R"("layer_types": [)" TRAINYARD_ATTENTION_20 ", " TRAINYARD_ATTENTION_20 "]"
#define TRAINYARD_MAMBA_5 R"("mamba", "mamba", "mamba", "mamba", "mamba")"
#define TRAINYARD_MAMBA_4 R"("mamba", "mamba", "mamba", "mamba")"
#define TRAINYARD_TEN \
  TRAINYARD_MAMBA_5   \
  R"(, "attention", )" TRAINYARD_MAMBA_4
#define TRAINYARD_GRANITE \
  R"("layer_types": [)" TRAINYARD_TEN ", " TRAINYARD_TEN ", " TRAINYARD_TEN ", " TRAINYARD_TEN "]"

inline constexpr PublishedConfig kPublishedConfigs[] =
    {
        {"qwen1.5-moe-a2.7b", "qwen2_moe", 24, 2048, 16, 16, 0, 5632, 151936, false, 14315784192,
         R"("moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632, "num_experts": 60, "num_experts_per_tok": 4)"},
        {"qwen2-57b-a14b", "qwen2_moe", 28, 3584, 28, 4, 0, 18944, 151936, false, 57408658944,
         R"("moe_intermediate_size": 2560, "shared_expert_intermediate_size": 20480, "num_experts": 64, "num_experts_per_tok": 8)"},
        {"qwen3-0.6b", "qwen3", 28, 1024, 16, 8, 128, 3072, 151936, true, 596049920, ""},
        {"qwen3-1.7b", "qwen3", 28, 2048, 16, 8, 128, 6144, 151936, true, 1720574976, ""},
        {"qwen3-4b", "qwen3", 36, 2560, 32, 8, 128, 9728, 151936, true, 4022468096, ""},
        {"qwen3-14b", "qwen3", 40, 5120, 40, 8, 128, 17408, 151936, false, 14768307200, ""},
        {"qwen3-32b", "qwen3", 64, 5120, 64, 8, 128, 25600, 151936, false, 32762123264, ""},
        {"qwen3-235b-a22b", "qwen3_moe", 94, 4096, 64, 4, 128, 12288, 151936, false, 235093634560,
         R"("moe_intermediate_size": 1536, "num_experts": 128, "num_experts_per_tok": 8)"},
        {"qwen3-coder-480b-a35b", "qwen3_moe", 62, 6144, 96, 8, 128, 8192, 151936, false,
         480154875392,
         R"("moe_intermediate_size": 2560, "num_experts": 160, "num_experts_per_tok": 8)"},
        {"qwen2.5-3b", "qwen2", 36, 2048, 16, 2, 0, 11008, 151936, true, 3085938688, ""},
        {"qwen2.5-14b", "qwen2", 48, 5120, 40, 8, 0, 13824, 152064, false, 14770033664, ""},
        {"gpt-oss-20b", "gpt_oss", 24, 2880, 64, 8, 64, 2880, 201088, false, 20914757184,
         R"("num_local_experts": 32, "num_experts_per_tok": 4, "sliding_window": 128, "attention_bias": true)"},
        {"gpt-oss-120b", "gpt_oss", 36, 2880, 64, 8, 64, 2880, 201088, false, 116829156672,
         R"("num_local_experts": 128, "num_experts_per_tok": 4, "sliding_window": 128, "attention_bias": true)"},
        {"gemma-3-270m", "gemma3_text", 18, 640, 4, 1, 256, 2048, 262144, true, 268098176,
         R"("sliding_window": 512)"},
        {"gemma-3-1b", "gemma3_text", 26, 1152, 4, 1, 256, 6912, 262144, true, 999885952,
         R"("sliding_window": 512)"},
        {"gemma-3-4b", "gemma3_text", 34, 2560, 8, 4, 256, 10240, 262208, true, 3880263168,
         R"("sliding_window": 1024)"},
        {"gemma-3-12b", "gemma3_text", 48, 3840, 16, 8, 256, 15360, 262208, true, 11766034176,
         R"("sliding_window": 1024)"},
        {"gemma-3-27b", "gemma3_text", 62, 5376, 32, 16, 128, 21504, 262208, true, 27009346304,
         R"("sliding_window": 1024)"},
        {"gemma-2-9b", "gemma2", 42, 3584, 16, 8, 256, 14336, 256000, true, 9241705984, ""},
        {"gemma-2-27b", "gemma2", 46, 4608, 32, 16, 128, 36864, 256000, true, 27227128320, ""},
        {"glm-4-9b", "glm", 40, 4096, 32, 2, 128, 13696, 151552, false, 9399951360,
         R"("attention_bias": true)"},
        {"glm-4-9b-0414", "glm4", 40, 4096, 32, 2, 128, 13696, 151552, false, 9400279040,
         R"("attention_bias": true)"},
        {"glm-4-32b-0414", "glm4", 61, 6144, 48, 2, 128, 23040, 151552, false, 32566081536,
         R"("attention_bias": false)"},
        {"glm-4.5-air", "glm4_moe", 46, 4096, 96, 8, 128, 10944, 151552, false, 106852251264,
         R"("moe_intermediate_size": 1408, "n_routed_experts": 128, "num_experts_per_tok": 8, "n_shared_experts": 1, "first_k_dense_replace": 1, "use_qk_norm": false, "attention_bias": true, "n_group": 1, "topk_group": 1)"},
        {"glm-4.5", "glm4_moe", 92, 5120, 96, 8, 128, 12288, 151552, false, 352797829024,
         R"("moe_intermediate_size": 1536, "n_routed_experts": 160, "num_experts_per_tok": 8, "n_shared_experts": 1, "first_k_dense_replace": 3, "use_qk_norm": true, "attention_bias": true, "n_group": 1, "topk_group": 1)"},
        {"deepseek-v2", "deepseek_v2", 60, 5120, 128, 0, 0, 12288, 102400, false, 235741434880,
         R"("moe_intermediate_size": 1536, "n_routed_experts": 160, "num_experts_per_tok": 6, "n_shared_experts": 2, "first_k_dense_replace": 1, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "topk_method": "group_limited_greedy", "n_group": 8, "topk_group": 3)"},
        {"deepseek-v2-lite", "deepseek_v2", 27, 2048, 16, 0, 0, 10944, 102400, false, 15706484224,
         R"("moe_intermediate_size": 1408, "n_routed_experts": 64, "num_experts_per_tok": 6, "n_shared_experts": 2, "first_k_dense_replace": 1, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "topk_method": "greedy", "n_group": 1, "topk_group": 1)"},
        {"olmo-2-1b", "olmo2", 16, 2048, 16, 16, 0, 8192, 100352, false, 1484916736, ""},
        {"olmo-2-7b", "olmo2", 32, 4096, 32, 32, 0, 11008, 100352, false, 7298617344, ""},
        {"olmo-2-13b", "olmo2", 40, 5120, 40, 40, 0, 13824, 100352, false, 13716198400, ""},
        {"olmo-2-32b", "olmo2", 64, 5120, 40, 8, 0, 27648, 100352, false, 32234279936, ""},
        {"olmo-3-7b", "olmo3", 32, 4096, 32, 32, 0, 11008, 100278, false, 7298011136, ""},
        {"olmo-3-32b", "olmo3", 64, 5120, 40, 8, 0, 27648, 100278, false, 32233522176, ""},
        {"olmoe-1b-7b", "olmoe", 16, 2048, 16, 16, 0, 1024, 50304, false, 6919161856,
         R"("num_experts": 64, "num_experts_per_tok": 8)"},
        {"falcon-7b", "falcon", 32, 4544, 71, 0, 0, 0, 65024, true, 6921720704,
         R"("multi_query": true, "parallel_attn": true, "bias": false, "alibi": false, "new_decoder_architecture": false)"},
        {"falcon-40b", "falcon", 60, 8192, 128, 0, 0, 0, 65024, true, 41303293952,
         R"("num_kv_heads": 8, "multi_query": true, "parallel_attn": true, "bias": false, "alibi": false, "new_decoder_architecture": true)"},
        {"falcon-rw-1b", "falcon", 24, 2048, 32, 0, 0, 0, 50304, true, 1311625216,
         R"("multi_query": false, "parallel_attn": false, "bias": true, "alibi": true, "new_decoder_architecture": false)"},
        {"starcoder2-3b", "starcoder2", 30, 3072, 24, 2, 0, 12288, 49152, true, 3030371328,
         R"("use_bias": true, "sliding_window": 4096)"},
        {"starcoder2-7b", "starcoder2", 32, 4608, 36, 4, 0, 18432, 49152, true, 7173923840,
         R"("use_bias": true, "sliding_window": 4096)"},
        {"starcoder2-15b", "starcoder2", 40, 6144, 48, 4, 0, 24576, 49152, false, 15957889024,
         R"("use_bias": true, "sliding_window": 4096)"},
        {"granite-3.1-2b", "granite", 40, 2048, 32, 8, 0, 8192, 49155, true, 2533531648, ""},
        {"granite-3.1-8b", "granite", 40, 4096, 32, 8, 0, 12800, 49155, true, 8170848256, ""},
        {"granite-3.1-1b-a400m", "granitemoe", 24, 1024, 16, 8, 0, 512, 49155, true, 1334628352,
         R"("num_local_experts": 32, "num_experts_per_tok": 8)"},
        {"granite-3.1-3b-a800m", "granitemoe", 32, 1536, 24, 8, 0, 512, 49155, true, 3298793472,
         R"("num_local_experts": 40, "num_experts_per_tok": 8)"},
        {"command-r-v01", "cohere", 40, 8192, 64, 64, 0, 22528, 256000, true, 34980831232,
         R"("use_qk_norm": false)"},
        {"aya-23-8b", "cohere", 32, 4096, 32, 8, 0, 14336, 256000, true, 8028033024,
         R"("use_qk_norm": false)"},
        {"command-r-plus", "cohere", 64, 12288, 96, 8, 0, 33792, 256000, true, 103810674688,
         R"("use_qk_norm": true)"},
        {"command-r-08-2024", "cohere", 40, 8192, 64, 8, 0, 24576, 256000, true, 32296476672,
         R"("use_qk_norm": false)"},
        {"command-r7b", "cohere2", 32, 4096, 32, 8, 0, 14336, 256000, true, 8028033024,
         R"("use_qk_norm": false)"},
        {"command-a", "cohere2", 64, 12288, 96, 8, 0, 36864, 256000, true, 111057580032,
         R"("use_qk_norm": false)"},
        {"mistral-small-24b", "mistral", 40, 5120, 32, 8, 128, 32768, 131072, false, 23572403200,
         ""},
        {"mistral-nemo-12b", "mistral", 40, 5120, 32, 8, 128, 14336, 131072, false, 12247782400,
         ""},
        {"ministral-8b", "mistral", 36, 4096, 32, 8, 128, 12288, 131072, false, 8019808256, ""},
        {"mistral-large-2407", "mistral", 88, 12288, 96, 8, 128, 28672, 32768, false, 122610069504,
         ""},
        {"mistral-7b-v0.3", "mistral", 32, 4096, 32, 8, 128, 14336, 32768, false, 7248023552, ""},
        {"codestral-22b", "mistral", 56, 6144, 48, 8, 128, 16384, 32768, false, 22247282688, ""},
        {"dbrx", "dbrx", 0, 0, 0, 0, 0, 0, 100352, false, 131596523520,
         R"("d_model": 6144, "n_heads": 48, "n_layers": 40, "max_seq_len": 32768, "attn_config": {"kv_n_heads": 8, "clip_qkv": 8}, "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4})"},
        {"minimax-m2", "minimax_m2", 62, 3072, 48, 8, 128, 1536, 200064, false, 228689764864,
         R"("num_local_experts": 256, "num_experts_per_tok": 8, "use_qk_norm": true, "use_routing_bias": true)"},
        {"llama-4-scout", "llama4_text", 48, 5120, 40, 8, 128, 8192, 202048, false, 107769861120,
         R"("intermediate_size_mlp": 16384, "num_local_experts": 16, "num_experts_per_tok": 1, "interleave_moe_layer_step": 1)"},
        {"llama-4-maverick", "llama4_text", 48, 5120, 40, 8, 128, 8192, 202048, false, 400711848960,
         R"("intermediate_size_mlp": 16384, "num_local_experts": 128, "num_experts_per_tok": 1, "interleave_moe_layer_step": 2)"},
        {"smollm3-3b", "smollm3", 36, 2048, 16, 4, 0, 11008, 128256, true, 3075098624, ""},
        {"seed-oss-36b", "seed_oss", 64, 5120, 80, 8, 128, 27648, 155136, false, 36151104512, ""},
        {"smollm2-135m", "llama", 30, 576, 9, 3, 0, 1536, 49152, true, 134515008, ""},
        {"smollm2-360m", "llama", 32, 960, 15, 5, 0, 2560, 49152, true, 361821120, ""},
        {"smollm2-1.7b", "llama", 24, 2048, 32, 32, 0, 8192, 49152, true, 1711376384, ""},
        {"tinyllama-1.1b", "llama", 22, 2048, 32, 4, 0, 5632, 32000, false, 1100048384, ""},
        {"yi-6b", "llama", 32, 4096, 32, 4, 0, 11008, 64000, false, 6061035520, ""},
        {"yi-34b", "llama", 60, 7168, 56, 8, 0, 20480, 64000, false, 34388917248, ""},
        {"deepseek-llm-7b", "llama", 30, 4096, 32, 32, 0, 11008, 102400, false, 6910365696, ""},
        {"codellama-34b", "llama", 48, 8192, 64, 8, 0, 22016, 32000, false, 33743970304, ""},
        {"falcon3-7b", "llama", 28, 3072, 12, 4, 256, 23040, 131072, false, 7455550464, ""},
        {"phi-4", "phi3", 40, 5120, 40, 10, 0, 17920, 100352, false, 14659507200, ""},
        {"phi-3-medium", "phi3", 40, 5120, 40, 10, 0, 17920, 32064, false, 13960238080, ""},
        {"phi-4-mini", "phi3", 32, 3072, 24, 8, 0, 8192, 200064, true, 3836021760, ""},
        {"granite-3.3-2b", "granite", 40, 2048, 32, 8, 0, 8192, 49159, true, 2533539840, ""},
        {"granite-3.3-8b", "granite", 40, 4096, 32, 8, 0, 12800, 49159, true, 8170864640, ""},
        {"mamba-130m", "mamba", 24, 768, 0, 0, 0, 0, 50280, true, 129135360,
         R"("state_size": 16, "expand": 2, "conv_kernel": 4, "time_step_rank": 48)"},
        {"mamba-2.8b", "mamba", 64, 2560, 0, 0, 0, 0, 50280, true, 2768345600,
         R"("state_size": 16, "expand": 2, "conv_kernel": 4, "time_step_rank": 160)"},
        {"jamba-v0.1", "jamba", 32, 4096, 32, 8, 0, 14336, 65536, false, 51570323328,
         R"("num_experts": 16, "num_experts_per_tok": 2, "mamba_dt_rank": 256)"},
        {"mamba2-130m", "mamba2", 24, 768, 0, 0, 64, 0, 50288, true, 128989632,
         R"("num_heads": 24, "state_size": 128, "n_groups": 1, "expand": 2, "conv_kernel": 4)"},
        {"mamba2-370m", "mamba2", 48, 1024, 0, 0, 64, 0, 50288, true, 368346624,
         R"("num_heads": 32, "state_size": 128, "n_groups": 1, "expand": 2, "conv_kernel": 4)"},
        {"mamba2-2.7b", "mamba2", 64, 2560, 0, 0, 64, 0, 50288, true, 2702599680,
         R"("num_heads": 80, "state_size": 128, "n_groups": 1, "expand": 2, "conv_kernel": 4)"},
        {"codestral-mamba-7b", "mamba2", 64, 4096, 0, 0, 64, 0, 32768, false, 7285403648,
         R"("num_heads": 128, "state_size": 128, "n_groups": 8, "expand": 2, "conv_kernel": 4)"},
        {"nemotron-nano-9b-v2", "nemotron_h", 56, 4480, 40, 8, 128, 15680, 131072, false,
         8888227328,
         R"("mamba_num_heads": 128, "mamba_head_dim": 80, "ssm_state_size": 128, "n_groups": 8, "conv_kernel": 4, "hybrid_override_pattern": "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-")"},
        {"nemotron-3-nano-4b", "nemotron_h", 42, 3136, 40, 8, 128, 12544, 131072, false, 3973556832,
         R"("mamba_num_heads": 96, "mamba_head_dim": 80, "ssm_state_size": 128, "n_groups": 8, "conv_kernel": 4, "hybrid_override_pattern": "M-M-M-MM-M-M*-M-M*-M-M-M*-M-M-MM*-MMM-M-M-")"},
        {"nemotron-3-nano-30b-a3b", "nemotron_h", 52, 2688, 32, 2, 128, 1856, 131072, false, 31577940288, R"("mamba_num_heads": 64, "mamba_head_dim": 64, "ssm_state_size": 128, "n_groups": 8, "conv_kernel": 4, "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME", "n_routed_experts": 128, "num_experts_per_tok": 6, "moe_intermediate_size": 1856, "n_shared_experts": 1, "moe_shared_expert_intermediate_size": 3712)"},
        {"granite-4.0-h-small", "granitemoehybrid", 40, 4096, 32, 8, 0, 768, 100352, true,
         32207337984,
         R"("num_local_experts": 72, "num_experts_per_tok": 10, "shared_intermediate_size": 1536, "mamba_n_heads": 128, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1, "mamba_expand": 2, "position_embedding_type": "nope", )" TRAINYARD_GRANITE},
        {"granite-4.0-h-tiny", "granitemoehybrid", 40, 1536, 12, 4, 0, 512, 100352, true,
         6939037248,
         R"("num_local_experts": 64, "num_experts_per_tok": 6, "shared_intermediate_size": 1024, "mamba_n_heads": 48, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1, "mamba_expand": 2, "position_embedding_type": "nope", )" TRAINYARD_GRANITE},
        {"granite-4.0-h-micro", "granitemoehybrid", 40, 2048, 32, 8, 0, 8192, 100352, true,
         3191396096,
         R"("num_local_experts": 0, "num_experts_per_tok": 0, "shared_intermediate_size": 8192, "mamba_n_heads": 64, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1, "mamba_expand": 2, "position_embedding_type": "nope", )" TRAINYARD_GRANITE},
        {"granite-4.0-micro", "granitemoehybrid", 40, 2560, 40, 8, 0, 8192, 100352, true,
         3402836480,
         R"("num_local_experts": 0, "shared_intermediate_size": 8192, )" TRAINYARD_ATTENTION},
        {"qwen3-next-80b-a3b", "qwen3_next", 48, 2048, 16, 2, 256, 5120, 151936, false, 79674391296,
         R"("num_experts": 512, "num_experts_per_tok": 10, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512, "linear_num_key_heads": 16, "linear_key_head_dim": 128, "linear_num_value_heads": 32, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "full_attention_interval": 4)"},
};

#undef TRAINYARD_ATTENTION_5
#undef TRAINYARD_ATTENTION_10
#undef TRAINYARD_ATTENTION_20
#undef TRAINYARD_ATTENTION
#undef TRAINYARD_MAMBA_5
#undef TRAINYARD_MAMBA_4
#undef TRAINYARD_TEN
#undef TRAINYARD_GRANITE

/// The columns under the keys of a config.json.
inline std::string config_of(const PublishedConfig& row) {
  std::string text = std::string(R"({"model_type": ")") + row.type + "\"";
  const auto add = [&](const char* key, std::int64_t value) {
    if (value > 0) text += std::string(", \"") + key + "\": " + std::to_string(value);
  };
  add("num_hidden_layers", row.layers), add("hidden_size", row.hidden);
  add("num_attention_heads", row.heads), add("num_key_value_heads", row.kv_heads);
  add("head_dim", row.head_dim), add("intermediate_size", row.ffn), add("vocab_size", row.vocab);
  text += std::string(", \"tie_word_embeddings\": ") + (row.tied ? "true" : "false");
  if (*row.more != '\0') text += std::string(", ") + row.more;
  return text + "}";
}

}  // namespace trainyard::testing
