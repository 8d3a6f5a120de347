#include "core/io/hf_config_keys.h"

#include <algorithm>
#include <array>

namespace trainyard {
namespace {

constexpr std::array kKeys = std::to_array<std::string_view>({
    // sizes and structure
    "hidden_size", "n_embd", "n_embed", "d_model", "num_attention_heads", "n_head", "num_heads", "num_key_value_heads",
    "num_hidden_layers", "n_layer", "num_layers", "num_decoder_layers", "intermediate_size", "n_inner", "ffn_dim", "d_ff",
    "d_kv", "head_dim", "vocab_size", "type_vocab_size", "max_position_embeddings", "n_positions", "n_ctx", "seq_length",
    "word_embed_proj_dim", "sliding_window", "use_sliding_window", "max_window_layers", "layer_types", "image_size",
    "patch_size", "num_channels", "encoder_stride", "pooler_output_size", "pooler_act", "id2label", "label2id", "num_labels",
    // norms, biases, activations, positions
    "hidden_act", "hidden_activation", "activation_function", "feed_forward_proj", "dense_act_fn", "is_gated_act",
    "rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "layer_norm_elementwise_affine", "do_layer_norm_before",
    "_remove_final_layer_norm", "apply_residual_connection_post_layernorm", "attention_bias", "mlp_bias", "qkv_bias",
    "enable_bias", "qk_layernorm", "attn_logit_softcapping", "final_logit_softcapping", "query_pre_attn_scalar",
    "rope_theta", "rope_scaling", "rope_parameters", "rope_interleave", "rotary_pct", "rotary_emb_base",
    "partial_rotary_factor", "original_max_position_embeddings", "position_embedding_type",
    "relative_attention_num_buckets", "relative_attention_max_distance", "use_parallel_residual", "tie_word_embeddings",
    "scale_attn_weights", "scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn", "attention_softmax_in_fp32",
    "masked_softmax_fusion", "skip_bias_add", "skip_bias_add_qkv", "bias_dropout_fusion", "embd_layer_norm", "embed_dim",
    // dropout
    "resid_pdrop", "attn_pdrop", "embd_pdrop", "hidden_dropout", "hidden_dropout_prob", "attention_dropout",
    "attention_probs_dropout_prob", "dropout", "dropout_rate", "classifier_dropout", "activation_dropout", "layerdrop",
    "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type", "summary_use_proj",
    // experts and latent attention
    "num_local_experts", "num_experts_per_tok", "router_aux_loss_coef", "output_router_logits", "router_jitter_noise",
    "n_routed_experts", "n_shared_experts", "moe_intermediate_size", "first_k_dense_replace", "moe_layer_freq", "n_group",
    "topk_group", "topk_method", "norm_topk_prob", "scoring_func", "routed_scaling_factor", "aux_loss_alpha", "seq_aux",
    "ep_size", "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "qk_head_dim", "v_head_dim",
    "num_nextn_predict_layers",
    // training, generation and the library's own
    "model_type", "architectures", "torch_dtype", "dtype", "transformers_version", "_name_or_path", "_attn_implementation",
    "use_cache", "cache_implementation", "bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id",
    "decoder_start_token_id", "unk_token_id", "bos_token", "eos_token", "initializer_range", "initializer_factor",
    "pretraining_tp", "slow_but_exact", "gradient_checkpointing", "is_encoder_decoder", "is_decoder", "task_specific_params",
    "output_past", "n_special", "predict_special_tokens", "auto_map", "quantization_config", "offset_alibi", "prefix",
    "return_dict", "attention_dropout_prob", "directionality", "output_attentions", "output_hidden_states", "init_std",
    "use_bfloat16", "torchscript", "num_beams", "finetuning_task", "problem_type", "unk_index",
});

}  // namespace

bool is_known_hf_key(std::string_view key) { return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end(); }

}  // namespace trainyard
