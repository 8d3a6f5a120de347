// Tests frozen parts of a model: their state, and where backward ends.
#include <gtest/gtest.h>

#include "core/io/documents/model_json.h"
#include "core/model/trained_parts.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::scenario;

const Body& block_body(const Workload& w, std::string_view block) {
  for (const Body& body : w.bodies)
    if (w.scenario.model.blocks[static_cast<std::size_t>(body.block)].name == block) return body;
  throw Error(Error::Kind::Internal, std::string(block));
}

testing::Words backward_passes(const Body& body) {
  testing::Words found;
  for (const BodyOp& op : body.backward)
    if (!op.communication)
      found.push_back(op.name + (op.pass == Pass::BackwardWeight ? " weights" : " input"));
  return found;
}

TEST(Frozen, BelowAllThatIsTrainedThereIsNoBackward) {
  const Model model = testing::tiny_transformer();
  const std::string first = model.blocks.front().name, head = model.blocks.back().name;
  const Workload w = prepare(scenario(model, 1, {"frozen=all-but-head", "recompute=full"}));
  for (const std::string& block : {first, model.blocks[1].name}) {
    const Body& body = block_body(w, block);
    EXPECT_TRUE(body.backward.empty()) << block;
    EXPECT_TRUE(body.saved.empty()) << block;
    EXPECT_TRUE(body.update.empty()) << block;
    EXPECT_EQ(state_bytes(body, w.layout).gradients.value, 0) << block;
    EXPECT_EQ(state_bytes(body, w.layout).optimizer.value, 0) << block;
    EXPECT_GT(state_bytes(body, w.layout).weights.value, 0) << block;
  }
  // The head's norm learns, and what it reads needs no gradient.
  EXPECT_EQ(backward_passes(block_body(w, head)),
            (testing::Words{"loss input", "lm_head input", "lm_head weights", "ln_f weights"}));
}

TEST(Frozen, GradientsPassThroughFrozenLayers) {
  const Model model = testing::tiny_transformer();
  const Workload plain = prepare(scenario(model, 1, {})),
                 w = prepare(scenario(model, 1, {"frozen=layers"}));
  testing::Words wanted;
  for (const std::string& pass : backward_passes(block_body(plain, model.blocks[1].name)))
    if (pass.ends_with(" input")) wanted.push_back(pass);
  EXPECT_EQ(backward_passes(block_body(w, model.blocks[1].name)), wanted);
  EXPECT_EQ(backward_passes(block_body(w, model.blocks[0].name)),
            backward_passes(block_body(plain, model.blocks[0].name)));
  EXPECT_TRUE(block_body(w, model.blocks[1].name).reduce.empty());
}

// A model's file may freeze nodes too, and a plan leaves those as they are.
TEST(Frozen, AModelsFileFreezesNodes) {
  Model model = testing::tiny_transformer();
  for (Node& node : model.blocks[1].graph.nodes)
    if (node.op->name == "matmul") node.attributes["frozen"] = 1;
  model = read_model(write_model(model), "model");
  const Workload w = prepare(scenario(model, 1, {}));
  const Body& body = block_body(w, model.blocks[1].name);
  for (const BodyOp& op : testing::non_empty(body.backward))
    if (op.pass == Pass::BackwardWeight) {
      EXPECT_TRUE(op.name.starts_with("ln_")) << op.name;
    }
  EXPECT_GT(body.parameters.frozen_dense, body.parameters.dense);
  EXPECT_GT(body.parameters.dense, 0);
  EXPECT_EQ(write_model(as_given(w.scenario.model)), write_model(model));
}

}  // namespace
}  // namespace trainyard
