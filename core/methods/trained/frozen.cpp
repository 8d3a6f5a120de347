// Frozen parts are blocks of a model whose weights stay as they are. They have no gradients,
// optimizer state or master copy; gradients pass through them to what is trained below, and below
// the lowest block with trained weights there is no backward at all. Pipeline stages there run
// forwards alone, and nothing is sent back to them.
//
//   forward   embedding ▶ layers ▶ head     frozen=all-but-head: backward ends in the head
//   backward                       head ◀
//
// Yosinski et al., "How transferable are features in deep neural networks?", NeurIPS 2014.
#include "core/methods/catalogue.h"
#include "core/model/trained_parts.h"

namespace trainyard {

Method frozen_parts() {
  return {
      .name = "frozen",
      .axis = MethodAxis::Memory,
      .summary = "Leaves the weights of parts of the model as they are, and trains the rest.",
      .paper = {"How transferable are features in deep neural networks?", "Yosinski et al.",
                "NeurIPS", 2014},
      .card = {.gains = "no gradients, master copies or optimizer state of what is frozen, no "
                        "weight-gradient products, and no backward below all that is trained",
               .costs = "what is frozen learns nothing",
               .legal_when = "schedules that update once a step; tables that are shared are frozen "
                             "together"},
      .file = "core/methods/trained/frozen.cpp",
      .params =
          {{.name = "parts",
            .fallback = std::string("layers"),
            .doc = "embedding (all before the first layer), layers, head (all after the last "
                   "layer), all-but-head, vision (the tower of a vision-language model), or names "
                   "of blocks, as in embedding,layers"}},
      .derive =
          [](Model model, const Plan&, const Params& params) {
            return with_frozen(std::move(model), params.text("parts"),
                               {"plan#/choices/frozen/parts"});
          },
  };
}

}  // namespace trainyard
