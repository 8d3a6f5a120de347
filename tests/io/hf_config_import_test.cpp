// Hugging Face configs: exact parameter counts of the shipped files, and the sentences that wrong
// ones earn.
#include "core/io/models/hf_config_import.h"

#include <gtest/gtest.h>

#include <set>

#include "core/base/error.h"
#include "core/io/bytes/files.h"
#include "core/io/json/json.h"
#include "core/io/models/load_model.h"
#include "core/model/zoo/zoo.h"
#include "tests/io/published_configs.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"
#include "tests/support/source_dir.h"

namespace trainyard {
namespace {

std::string asset(const std::string& name) {
  return std::string(TRAINYARD_SOURCE_DIR) + "/assets/models/" + name + "/config.json";
}

struct Published {
  const char* name;
  std::int64_t parameters, active;
};

// Counts as published (model cards, checkpoints), to the last one.
constexpr Published kPublished[] = {
    {"llama-1-7b", 6738415616, 6738415616},     {"llama-2-7b", 6738415616, 6738415616},
    {"llama-2-70b", 68976648192, 68976648192},  {"llama-3-8b", 8030261248, 8030261248},
    {"llama-3-70b", 70553706496, 70553706496},  {"llama-3.1-405b", 405853388800, 405853388800},
    {"llama-3.2-1b", 1235814400, 1235814400},   {"mistral-7b", 7241732096, 7241732096},
    {"mixtral-8x7b", 46702792704, 12879925248}, {"mixtral-8x22b", 140630071296, 39161468928},
    {"qwen2-0.5b", 494032768, 494032768},       {"qwen2-7b", 7615616512, 7615616512},
    {"qwen2-72b", 72706203648, 72706203648},    {"qwen3-8b", 8190735360, 8190735360},
    {"gemma-2b", 2506172416, 2506172416},       {"gemma-7b", 8537680896, 8537680896},
    {"gemma-2-2b", 2614341888, 2614341888},     {"phi-2", 2779683840, 2779683840},
    {"phi-3-mini", 3821079552, 3821079552},     {"gpt2", 124439808, 124439808},
    {"gpt2-xl", 1557611200, 1557611200},        {"pythia-6.9b", 6857302016, 6857302016},
    {"gpt-neox-20b", 20554567680, 20554567680}, {"opt-125m", 125239296, 125239296},
    {"opt-350m", 331196416, 331196416},         {"opt-6.7b", 6658473984, 6658473984},
    {"bloom-560m", 559214592, 559214592},       {"bloom-176b", 176247271424, 176247271424},
    {"bert-base", 109482240, 109482240},        {"bert-large", 335141888, 335141888},
    {"t5-base", 222903552, 222903552},          {"t5-3b", 2851598336, 2851598336},
    {"t5-v1.1-base", 247577856, 247577856},     {"vit-b16", 86567656, 86567656},
    {"vit-l16", 304326632, 304326632},          {"deepseek-v3", 671026419200, 37552297472},
    {"qwen3-30b-a3b", 30532122624, 3353032704}, {"kimi-k2", 1026408232448, 32861500928},
    {"gpt-oss-20b", 20914757184, 4187440704},
};

TEST(HfImport, ShippedConfigsHaveTheirPublishedCounts) {
  for (const Published& row : kPublished) {
    const ImportedModel imported = load_model_with_report(asset(row.name));
    EXPECT_EQ(parameters(imported.model), row.parameters) << row.name;
    EXPECT_EQ(active_parameters(imported.model), row.active) << row.name;
    EXPECT_EQ(imported.model.name, row.name);
    EXPECT_TRUE(imported.report.unknown.empty()) << row.name << ": " << imported.report.sentence();
  }
}

TEST(HfImport, ConfigsAndZooBuildTheSameModel) {
  for (const Published& row : kPublished) {
    const ZooEntry* entry = find_in_zoo(row.name);
    if (!entry) continue;
    const Model a = load_model(asset(row.name)), b = zoo_model(row.name);
    ASSERT_EQ(a.blocks.size(), b.blocks.size()) << row.name;
    for (std::size_t i = 0; i < a.blocks.size(); ++i) {
      EXPECT_EQ(a.blocks[i].count, b.blocks[i].count) << row.name;
      EXPECT_EQ(parameters(a.blocks[i]), parameters(b.blocks[i]))
          << row.name << " " << a.blocks[i].name;
    }
  }
}

TEST(HfImport, EveryFamilyIsCovered) {
  std::set<std::string> shipped;
  for (const Published& row : kPublished)
    shipped.insert(*parse_json(read_file(asset(row.name)), row.name).find("model_type")->text());
  for (const testing::PublishedConfig& row : testing::kPublishedConfigs) shipped.insert(row.type);
  // These have no published exact count, or share a reader with another type.
  shipped.insert({"nemotron", "ministral", "ministral3", "granitemoeshared", "bamba"});
  // These are in hf_vision_test.cpp, with their towers.
  shipped.insert({"qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"});
  for (const std::string& type : testing::non_empty(hf_model_types()))
    EXPECT_TRUE(shipped.count(type)) << type;
}

TEST(HfImport, DenseLayersBeforeExpertsAreRead) {
  const auto count = [](const std::string& more) {
    return parameters(import_hf_config(
        R"({"model_type": "qwen3_moe", "intermediate_size": 6144)" + more + "}", "c.json"));
  };
  const std::int64_t routed = 3 * 2048 * 768 * 128 + 2048 * 128, dense = 3 * 2048 * 6144;
  EXPECT_EQ(count("") - count(R"(, "mlp_only_layers": [1, 0])"), 2 * (routed - dense));
}

TEST(HfImport, AnArchitectureOfItsOwnIsNoMisspelling) {
  for (const std::string& type : testing::non_empty(hf_model_types()))
    for (const char* more : {"_linear", "_xl", "-mtp"}) {
      const std::string name = type + more;
      try {
        import_hf_config(R"({"model_type": ")" + name + "\"}", "c.json");
        ADD_FAILURE() << "accepted: " << name;
      } catch (const Error& error) {
        const std::string said = describe(error);
        EXPECT_EQ(said.find("did you mean"), std::string::npos) << said;
        EXPECT_NE(said.find("an architecture of its own"), std::string::npos) << said;
      }
    }
}

TEST(HfImport, BertHeadsFollowTheArchitecture) {
  const auto count = [](const std::string& architecture) {
    return parameters(import_hf_config(
        R"({"model_type": "bert", "architectures": [")" + architecture + "\"]}", "c.json"));
  };
  EXPECT_EQ(count("BertModel"), 109482240);
  EXPECT_EQ(count("BertForMaskedLM"), 109514298);
  EXPECT_EQ(count("BertForPreTraining"), 110106428);
}

TEST(HfImport, WhatIsLeftOutIsAssumedAndSaid) {
  const Model model =
      import_hf_config(R"({"model_type": "llama", "num_attention_heads": 16})", "tiny.json");
  EXPECT_EQ(model.name, "tiny");
  const std::set<std::string> said(model.assumed.begin(), model.assumed.end());
  EXPECT_TRUE(said.count("hidden_size is not given: 4096, the default of llama"));
  EXPECT_TRUE(said.count("num_key_value_heads is not given: as many as attention heads"));
  EXPECT_TRUE(said.count("tie_word_embeddings is not given: false, the default of llama"));
}

TEST(HfImport, LanguageModelsInsideOthersAreFound) {
  const ImportedModel imported = import_hf_config_with_report(
      R"({"model_type": "wonder", "vision_config": {}, "text_config": {"model_type": "llama", "hidden_size": 1024,
          "num_attention_heads": 8, "wonder": 1}})",
      "m/config.json");
  EXPECT_EQ(imported.model.family, "llama");
  EXPECT_EQ(imported.model.name, "m");
  EXPECT_EQ(imported.report.sentence(), "3 of 4 fields recognised; not known: wonder");
  EXPECT_EQ(imported.model.assumed[imported.model.assumed.size() - 2],
            "3 of 4 fields recognised; not known: wonder, which change nothing here");
  EXPECT_EQ(imported.model.assumed.back(),
            "only the language part of a larger model is read: its vision tower is left out");
}

struct Wrong {
  const char* config;
  const char* sentence;
};

TEST(HfImport, WrongConfigsEarnTheirSentence) {
  constexpr Wrong kWrong[] = {
      {"[]", "c.json#: expected a Hugging Face config (an object), found a list of 0"},
      {"{}", "c.json#: expected a Hugging Face config with the key \"model_type\", found none"},
      {R"({"model_type": "lama"})",
       "c.json#/model_type: expected a model_type that we can read (LIST), found \"lama\"; did you "
       "mean \"llama\"?"},
      {R"({"model_type": 7})", "c.json#/model_type: expected text, found 7"},
      {R"({"model_type": "llama", "hidden_size": 0})",
       "c.json#/hidden_size: expected a whole number from 1 to 268435456, found 0"},
      {R"({"model_type": "llama", "hidden_size": -4096})",
       "c.json#/hidden_size: expected a whole number from 1 to 268435456, found -4096"},
      {R"({"model_type": "llama", "hidden_size": 99999999999999999999})",
       "c.json#/hidden_size: expected a whole number from 1 to 268435456, found 1e+20"},
      {R"({"model_type": "llama", "hidden_size": 4096.0})",
       "c.json#/hidden_size: expected a whole number from 1 to 268435456, found 4096.0"},
      {R"({"model_type": "llama", "hidden_size": true})",
       "c.json#/hidden_size: expected a whole number from 1 to 268435456, found true"},
      {R"({"model_type": "llama", "hidden_size": "4096"})",
       "c.json#/hidden_size: expected a whole number from 1 to 268435456, found the text \"4096\""},
      {R"({"model_type": "llama", "num_attention_heads": 7})",
       "c.json#/num_attention_heads: expected attention heads that divide the hidden size 4096, "
       "found 7"},
      {R"({"model_type": "llama", "num_key_value_heads": 5})",
       "c.json#/num_key_value_heads: expected key/value heads that divide the 32 attention heads, "
       "found 5"},
      {R"({"model_type": "llama", "tie_word_embeddings": "no"})",
       "c.json#/tie_word_embeddings: expected true or false, found the text \"no\""},
      {R"({"model_type": "llama", "hidden_act": "sillu"})",
       "c.json#/hidden_act: expected one of gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, "
       "quick_gelu, gelu_python, "
       "gelu_accurate, silu, swish, relu, found \"sillu\"; did you mean \"silu\"?"},
      {R"({"model_type": "llama", "num_hidden_layers": 1000000000})",
       "c.json#/num_hidden_layers: expected a whole number from 1 to 100000, found 1000000000"},
      {R"({"model_type": "gpt2", "attn_pdrop": 1.5})",
       "c.json#/attn_pdrop: expected a dropout rate from 0 to less than 1, found 1.5"},
      {R"({"model_type": "mixtral", "num_experts_per_tok": 9})",
       "c.json#/num_experts_per_tok: expected a whole number from 1 to 8, found 9"},
      {R"({"model_type": "qwen3_moe", "mlp_only_layers": [0, 3]})",
       "c.json#/mlp_only_layers: expected dense layers only at the front (0 to 1), found layer 3"},
      {R"({"model_type": "qwen3_moe", "decoder_sparse_step": 2})",
       "c.json#/decoder_sparse_step: expected experts in every layer (1), found 2"},
      {R"({"model_type": "vit", "patch_size": 15})",
       "c.json#/patch_size: expected a patch that divides the image of 224, found 15"},
      {R"({"model_type": "deepseek_v3", "moe_layer_freq": 2})",
       "c.json#/moe_layer_freq: expected experts in every layer (1), found 2"},
      {R"({"model_type": "llama", "hidden_size": 268435456, "intermediate_size": 268435456, "num_hidden_layers": 100000})",
       "c.json#: expected sizes whose parameters can be counted in 64 bits, found more"},
      {R"({"model_type": "x", "text_config": {"model_type": "llama", "vocab_size": null, "hidden_size": "a"}})",
       "c.json#/text_config/hidden_size: expected a whole number from 1 to 268435456, found the "
       "text \"a\""},
  };
  std::string list;
  for (const std::string& type : hf_model_types()) list += (list.empty() ? "" : ", ") + type;
  for (const Wrong& wrong : kWrong) {
    std::string sentence = wrong.sentence;
    if (const std::size_t at = sentence.find("LIST"); at != std::string::npos)
      sentence.replace(at, 4, list);
    try {
      import_hf_config(wrong.config, "c.json");
      ADD_FAILURE() << "accepted: " << wrong.config;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::InvalidInput);
      EXPECT_EQ(describe(error), sentence);
    }
  }
}

TEST(LoadModel, ByNameFileOrFolder) {
  EXPECT_EQ(load_model("llama3-70b").name, "llama-3-70b");
  const std::string config = asset("gpt2");
  EXPECT_EQ(load_model(config).name, "gpt2");
  EXPECT_EQ(load_model(config.substr(0, config.rfind('/'))).name, "gpt2");
  const auto refusal = [](const std::string& text) {
    return testing::refusal([&] { load_model(text); });
  };
  EXPECT_EQ(refusal("lama-3-70b"),
            "expected the name of a model in the zoo, found \"lama-3-70b\"; did you mean "
            "\"llama-3-70b\"?");
  EXPECT_NE(refusal(""), "accepted");
  EXPECT_EQ(refusal("no/such.json"), "no/such.json: expected a file, found nothing there");
  EXPECT_EQ(refusal(std::string(TRAINYARD_SOURCE_DIR) + "/assets"),
            std::string(TRAINYARD_SOURCE_DIR) +
                "/assets: expected a folder with a config.json, found none in it");
  EXPECT_NE(refusal("net.onnx").find("nothing there"), std::string::npos);
}

}  // namespace
}  // namespace trainyard
