// The model_types that are known and cannot be built, with what they lack here.
#include "core/io/models/hf_readers.h"

namespace trainyard {
namespace {

constexpr HfRefused kRefused[] = {
    {"deepseek_v32", "the lightning indexer, which chooses the keys of each query", "deepseek_v3"},
    {"deepseek_v4", "attention to compressed keys", "deepseek_v3"},
    {"falcon_h1", "attention and a state space side by side in one layer", "bamba"},
    {"falcon_mamba", "norms without weights inside the scan of Mamba", "mamba"},
    {"gemma3n_text", "embeddings of each layer and several streams that take turns", "gemma3_text"},
    {"kimi_linear", "the delta rule with a decay for each channel", "qwen3_next"},
    {"lfm2", "gated convolutions as layers", "llama"},
    {"minimax", "lightning attention", "minimax_m2"},
    {"minimax_m1", "lightning attention", "minimax_m2"},
    {"minimax_text_01", "lightning attention", "minimax_m2"},
    {"mllama_text_model", "layers that attend to an image", "llama"},
    {"nemotron-nas", "layers of which each leaves out or joins other parts", "llama"},
    {"olmo", "layer norms without weights", "olmo2"},
    {"recurrent_gemma", "the recurrence of Griffin", "gemma2"},
    {"rwkv", "the recurrence of RWKV", "mamba2"},
    {"whisper", "an encoder of sound", "t5"},
    {"zamba2", "attention layers that share their weights", "bamba"},
};

}  // namespace

std::span<const HfRefused> hf_refused() { return kRefused; }

}  // namespace trainyard
