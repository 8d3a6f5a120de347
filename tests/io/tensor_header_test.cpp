#include "core/io/models/tensor_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "core/io/bytes/files.h"
#include "core/io/models/gguf_header.h"
#include "core/io/models/load_model.h"
#include "core/io/models/safetensors_header.h"
#include "tests/support/refusal.h"
#include "tests/support/source_dir.h"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

// A folder for one test, removed with the object.
struct Shelf {
  fs::path folder;
  Shelf() {
    std::string name = (fs::temp_directory_path() / "tensors.XXXXXX").string();
    folder = ::mkdtemp(name.data());
  }
  ~Shelf() { fs::remove_all(folder); }
  std::string put(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return (folder / name).string();
  }
};

std::string eight_bytes(std::uint64_t value) {
  std::string bytes(8, '\0');
  for (char& byte : bytes) byte = static_cast<char>(value & 0xFF), value >>= 8;
  return bytes;
}

std::string with_length(const std::string& json) { return eight_bytes(json.size()) + json; }

std::string corpus(const std::string& name) {
  return read_file(std::string(TRAINYARD_SOURCE_DIR) + "/tests/fuzz/corpus/" + name);
}

std::string header_refusal(const std::string& bytes, std::int64_t file_bytes) {
  return testing::refusal([&] { parse_safetensors_header(bytes, file_bytes, "f.safetensors"); });
}

// Two layers of width 128 by hand: table 64 x 128, 2 x (2 x 128^2 + 2 x 64 x 128 + 3 x 128 x 256 +
// 2 x 128), a norm; the head is the table.
constexpr std::int64_t kSmall =
    64 * 128 + 2 * (2 * 128 * 128 + 2 * 64 * 128 + 3 * 128 * 256 + 256) + 128;

TEST(TensorHeader, SafetensorsAreALlama) {
  const TensorHeader header =
      parse_safetensors_header(corpus("safetensors_header/llama"), 10'000'000, "f.safetensors");
  EXPECT_EQ(elements(header), kSmall);
  const ImportedModel imported = model_from_header(header, "small", "f.safetensors");
  EXPECT_EQ(parameters(imported.model), kSmall);
  EXPECT_EQ(layer_count(imported.model), 2);
  EXPECT_EQ(imported.report.fields, 20);
  EXPECT_TRUE(imported.report.unknown.empty());
  // Heads and sequence are not in such a header.
  EXPECT_EQ(imported.model.assumed.size(), 2u);
}

TEST(TensorHeader, GgufSaysHeadsAndSequenceItself) {
  const TensorHeader header = parse_gguf_header(corpus("gguf_header/llama"), 10'000'000, "f.gguf");
  EXPECT_EQ(header.facts.at("general.architecture"), "llama");
  EXPECT_EQ(header.tensors.front().shape, (std::vector<std::int64_t>{64, 128}));
  const ImportedModel imported = model_from_header(header, "small", "f.gguf");
  EXPECT_EQ(parameters(imported.model), kSmall);
  EXPECT_EQ(imported.model.sequence, 512);
  EXPECT_TRUE(imported.model.assumed.empty());
}

// The file contains only the header, because no weight is ever read.
TEST(TensorHeader, AFileIsReadWithoutItsWeights) {
  const Shelf shelf;
  const std::string path = shelf.put("net.safetensors", corpus("safetensors_header/llama"));
  fs::resize_file(path, 10'000'000);
  EXPECT_EQ(parameters(load_model(path)), kSmall);
  EXPECT_EQ(load_model(path).name, "net");
}

TEST(TensorHeader, ShardsAreOneModel) {
  const Shelf shelf;
  const std::string one =
      R"({"wte.weight": {"dtype": "F32", "shape": [10, 64], "data_offsets": [0, 2560]},
          "h.0.mlp.c_fc.weight": {"dtype": "F32", "shape": [64, 256], "data_offsets": [2560, 68096]}})";
  const std::string two =
      R"({"wpe.weight": {"dtype": "F32", "shape": [8, 64], "data_offsets": [0, 2048]}})";
  shelf.put("a.safetensors", with_length(one) + std::string(68096, '\0'));
  shelf.put("b.safetensors", with_length(two) + std::string(2048, '\0'));
  const std::string index = shelf.put("model.safetensors.index.json",
                                      R"({"metadata": {"total_size": 70144}, "weight_map": {
      "wte.weight": "a.safetensors", "h.0.mlp.c_fc.weight": "a.safetensors",
      "wpe.weight": "b.safetensors"}})");
  const Model model = load_model(shelf.folder.string());
  EXPECT_EQ(model.family, "gpt2");
  EXPECT_EQ(model.sequence, 8);
  EXPECT_EQ(parameters(model), parameters(load_model(index)));
  // The shards here lack most of a layer, and that is said.
  EXPECT_NE(model.assumed.back().find("the header holds 17536 parameters"), std::string::npos);
}

TEST(TensorHeader, OnePartOfSeveralIsNoModel) {
  const Shelf shelf;
  const auto refusal = [&](const std::string& name) {
    try {
      load_model(shelf.put(name, corpus("safetensors_header/llama")));
      return std::string("accepted");
    } catch (const Error& error) {
      return describe(error);
    }
  };
  const std::string folder = shelf.folder.string() + "/", part = "model-00002-of-00003.safetensors";
  EXPECT_EQ(refusal(part), folder + part +
                               ": expected a whole model, found part 2 of 3; it takes the index or "
                               "the config.json beside it");
  const std::string index = shelf.put("model.safetensors.index.json", "{}");
  EXPECT_EQ(refusal(part),
            folder + part + ": expected a whole model, found part 2 of 3; try " + index);
  EXPECT_NE(refusal("net-00001-of-00002.gguf").find("found part 1 of 2"), std::string::npos);
  // A whole model in one part is not a shard, nor is a file whose name only looks like one.
  for (const char* whole :
       {"m-00001-of-00001.safetensors", "one-of-many.safetensors", "model-1-of-3.safetensors"})
    EXPECT_EQ(refusal(whole).find("whole model"), std::string::npos) << whole;
}

TEST(TensorHeader, BrokenSafetensorsAreSentences) {
  EXPECT_NE(header_refusal("abc", 3).find("8 bytes of length"), std::string::npos);
  EXPECT_NE(header_refusal(eight_bytes(1000), 20).find("within the file's 20 bytes"),
            std::string::npos);
  EXPECT_NE(header_refusal(eight_bytes(std::uint64_t{1} << 60), 20).find("within the file"),
            std::string::npos);
  const auto tensor = [](const char* text) {
    return header_refusal(with_length(std::string("{\"x\": ") + text + "}"), 1000);
  };
  EXPECT_EQ(tensor(R"({"dtype": "F32", "shape": [2], "data_offsets": [0, 8]})"), "accepted");
  EXPECT_NE(tensor(R"({"dtype": "F32", "shape": [2], "data_offsets": [0, 9]})").find("8 bytes"),
            std::string::npos);
  EXPECT_NE(tensor(R"({"dtype": "F3", "shape": [2], "data_offsets": [0, 8]})").find("did you mean"),
            std::string::npos);
  EXPECT_NE(tensor(R"({"dtype": "F32", "shape": [2], "data_offsets": [0, 5000]})").find("#/x"),
            std::string::npos);
  EXPECT_NE(tensor(R"({"dtype": "F32", "shape": [4294967296, 4294967296], "data_offsets": [0, 8]})")
                .find("no more elements"),
            std::string::npos);
}

TEST(TensorHeader, GgufCutAnywhereIsASentence) {
  const std::string whole = corpus("gguf_header/llama");
  for (std::size_t length = 0; length < whole.size(); length += 7) {
    try {
      parse_gguf_header(std::string_view(whole).substr(0, length), 10'000'000, "f.gguf");
      ADD_FAILURE() << length;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::InvalidInput);
    }
  }
}

TEST(TensorHeader, NamesOfNoKnownArchitectureAreRefusedWithTheirCount) {
  TensorHeader header;
  header.tensors = {{"tower.w", "F32", {3, 5}}};
  try {
    model_from_header(header, "x", "x.safetensors");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(
        describe(error),
        "x.safetensors: expected tensors named as Llama, Mistral, Qwen, Mixtral or GPT-2 have "
        "them, found 1 with 15 elements, as \"tower.w\"");
  }
}

}  // namespace
}  // namespace trainyard
