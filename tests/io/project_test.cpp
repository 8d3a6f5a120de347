#include "core/io/documents/project.h"

#include <gtest/gtest.h>

#include "core/cluster/cluster.h"
#include "core/io/documents/cluster_json.h"
#include "core/io/documents/model_json.h"
#include "core/io/json/inline_document.h"
#include "core/model/zoo/presets.h"

namespace trainyard {
namespace {

Project with_own_documents() {
  Project project;
  project.model = inline_document(model_to_json(preset_model("cnn:classes=7")));
  project.cluster = inline_document(to_json(parse_cluster("h100-sxm:16,memory=60GiB")));
  project.plans = {{"A", "", {"tp=2"}}};
  return project;
}

TEST(Project, KeepsItsOwnModelAndCluster) {
  const Project project = with_own_documents();
  const std::string text = project_document(project);
  EXPECT_NE(text.find("\"schema\": \"trainyard/project@2\""), std::string::npos);
  EXPECT_NE(text.find("\"schema\": \"trainyard/model@1\""), std::string::npos);
  EXPECT_EQ(parse_project(text, "p"), project);
  EXPECT_EQ(project_document(parse_project(text, "p")), text);
}

TEST(Project, OfTheFirstVersionStillLoads) {
  const Project project = parse_project(
      R"({"schema": "trainyard/project@1", "model": "gpt2", "cluster": "h100-sxm:8",
          "plans": [{"name": "A", "settings": ["tp=2"]}], "perspective": "analyse"})",
      "old");
  EXPECT_EQ(project.model, "gpt2");
  EXPECT_EQ(project.plans.size(), 1u);
  EXPECT_EQ(project.perspective, "analyse");
}

TEST(Project, ABrokenDocumentOfItsOwnIsRefusedWithItsPlace) {
  std::string text = project_document(with_own_documents());
  const std::size_t at = text.find("convolution");
  text.replace(at, 11, "convolutoin");
  try {
    parse_project(text, "p.trainyard");
    FAIL() << "accepted";
  } catch (const Error& error) {
    const std::string said = describe(error);
    EXPECT_EQ(said.find("p.trainyard#/model"), 0u) << said;
    EXPECT_NE(said.find("did you mean \"convolution\""), std::string::npos) << said;
  }
}

TEST(InlineDocument, HasTheTitleItGivesItself) {
  EXPECT_EQ(word_title(with_own_documents().model), "cnn:classes=7");
  EXPECT_EQ(word_title("gpt2"), "gpt2");
  EXPECT_EQ(word_title("/models/llama/"), "llama");
  EXPECT_EQ(word_title("{broken"), "a document that cannot be read");
  EXPECT_FALSE(is_inline_document("gpt2"));
}

}  // namespace
}  // namespace trainyard
