#include "core/io/models/onnx_import.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/io/bytes/files.h"
#include "core/io/documents/model_json.h"
#include "core/io/models/load_model.h"
#include "tests/support/non_empty.h"
#include "tests/support/source_dir.h"

namespace trainyard {
namespace {

std::string small_net() {
  return std::string(TRAINYARD_SOURCE_DIR) + "/tests/fuzz/corpus/onnx_import/net.onnx";
}

// Two convolutions, a norm and a product by hand; its running mean and variance are not trained.
constexpr std::int64_t kTrained = (4 * 3 * 9 + 4) + (4 + 4) + 4 * 4 * 9 + (10 * 1024 + 10);

TEST(OnnxImport, AGraphIsCutIntoBlocksAndCountedExactly) {
  const ImportedModel imported = load_model_with_report(small_net());
  const Model& model = imported.model;
  EXPECT_EQ(model.name, "net");
  EXPECT_EQ(parameters(model), kTrained);
  EXPECT_EQ(imported.report.fields, 10);
  EXPECT_EQ(imported.report.unknown, std::vector<std::string>{"Mystery"});
  // The residual's two branches stay together; everything else may be cut.
  EXPECT_GT(layer_count(model), 4);
  for (const Block& block : testing::non_empty(model.blocks))
    for (const Node& node : testing::non_empty(block.graph.nodes))
      if (node.name == "sum") {
        EXPECT_GT(block.graph.nodes.size(), 1u);
      }
  EXPECT_EQ(write_model(read_model(write_model(model), "again")), write_model(model));
}

TEST(OnnxImport, SaysWhatIsPricedAsSomethingElseAndWhatIsNotTrained) {
  const Model model = load_model(small_net());
  std::string said;
  for (const std::string& sentence : model.assumed) said += sentence + "\n";
  EXPECT_NE(said.find("HardSwish is priced as relu"), std::string::npos) << said;
  EXPECT_NE(said.find("the file holds " + std::to_string(kTrained + 8)), std::string::npos) << said;
  EXPECT_NE(said.find("the loss is cross entropy"), std::string::npos) << said;
}

TEST(OnnxImport, BytesCutAnywhereAreAModelOrASentence) {
  const std::string whole = read_file(small_net());
  for (std::size_t length = 0; length < whole.size(); length += 11) {
    try {
      import_onnx(std::string_view(whole).substr(0, length), "cut.onnx");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::InvalidInput) << length;
      EXPECT_EQ(describe(error).find("cut.onnx"), 0u) << describe(error);
    }
  }
}

}  // namespace
}  // namespace trainyard
