// Undo returns to what was, whatever was edited in which order, and what was copied before an edit
// is never changed by it: models and projects are values (B-MOD-09: no aliasing bugs under
// property test).
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "app/desktop/design/model_builder.h"
#include "app/desktop/session/document.h"
#include "core/io/documents/model_json.h"
#include "core/model/fields.h"
#include "core/model/zoo/zoo.h"
#include "tests/desktop/support.h"

namespace trainyard {
namespace {

// One random edit of the model or of the plan; those that are not possible change nothing.
void edit_anything(Document& document, ModelBuilder& builder) {
  const Model& model = builder.model();
  const int block = *rc::gen::inRange(0, static_cast<int>(model.blocks.size()));
  const auto nodes = model.blocks[static_cast<std::size_t>(block)].graph.nodes.size();
  builder.select({block, *rc::gen::inRange(-1, static_cast<int>(nodes))});
  switch (*rc::gen::inRange(0, 8)) {
    case 0:
      return builder.add("own-gradient", builder.selected());
    case 1:
      return builder.add("relu", builder.selected());
    case 2:
      return builder.duplicate();
    case 3:
      return builder.remove();
    case 4:
      return builder.set_field("outputs", QString::number(*rc::gen::inRange(1, 64)));
    case 5:
      return builder.set_field("gradient 0", "dy * " + QString::number(*rc::gen::inRange(1, 9)));
    case 6:
      return document.set_setting("tp", QString::number(*rc::gen::inRange(1, 9)));
    default:
      return builder.split_off();
  }
}

TEST(Undo, OfRandomEditsReturnsToEveryDocumentAndModelBefore) {
  EXPECT_TRUE(rc::check([] {
    Document document;
    document.set_model("mlp-small");
    document.set_cluster("cpu:2");
    ModelBuilder builder(document);
    std::vector<std::string> projects, models;
    const auto note = [&] {
      projects.push_back(project_document(document.project()));
      models.push_back(write_model(builder.model()));
    };
    const int first = document.undo_stack().index();
    note();
    for (int i = *rc::gen::inRange(1, 9); i > 0; --i) {
      const Project copy = document.project();
      const Model model = builder.model();
      const std::string copied = project_document(copy), written = write_model(model);
      const int before = document.undo_stack().index();
      edit_anything(document, builder);
      RC_ASSERT(project_document(copy) == copied);
      RC_ASSERT(write_model(model) == written);
      // Edits of one field in a row are one step.
      if (document.undo_stack().index() == before && projects.size() > 1 &&
          projects.back() != project_document(document.project()))
        projects.pop_back(), models.pop_back();
      if (projects.back() != project_document(document.project())) note();
    }
    const int last = document.undo_stack().index();
    RC_ASSERT(last - first == static_cast<int>(projects.size()) - 1);
    for (int at = last; at >= first; --at) {
      document.undo_stack().setIndex(at);
      RC_ASSERT(project_document(document.project()) ==
                projects[static_cast<std::size_t>(at - first)]);
      RC_ASSERT(write_model(builder.model()) == models[static_cast<std::size_t>(at - first)]);
    }
    for (int at = first; at <= last; ++at) {
      document.undo_stack().setIndex(at);
      RC_ASSERT(project_document(document.project()) ==
                projects[static_cast<std::size_t>(at - first)]);
    }
    RC_ASSERT(write_model(builder.model()) == models.back());
  }));
}

// An edit of a copy leaves the model it was copied from, formulas included, as it is.
TEST(Undo, AnEditOfACopyOfAModelNeverChangesTheOriginal) {
  EXPECT_TRUE(rc::check([] {
    ModelPart part;
    const Model original =
        with_building_block(zoo_model("mlp-small"), "own-gradient", {1, 0}, &part);
    const std::string written = write_model(original);
    Model copy = original;
    for (int i = *rc::gen::inRange(1, 6); i > 0; --i)
      copy = with_model_field(copy, part, *rc::gen::element<std::string>("value", "gradient 0"),
                              std::to_string(*rc::gen::inRange(1, 9)) + " * x");
    RC_ASSERT(write_model(copy) != written);
    RC_ASSERT(write_model(original) == written);
  }));
}

}  // namespace
}  // namespace trainyard
