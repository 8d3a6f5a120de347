// Communication overlap: collectives that nothing waits for at once run beside computation.
// Gradients are reduced while the last backward still runs, layer by layer as they become ready;
// weights of the next layer are gathered while this one computes; keys and values travel while
// attention works on the block before.
//
//   compute   B(layer 3)  B(layer 2)  B(layer 1)  B(layer 0)
//   data                  reduce 3    reduce 2    reduce 1    reduce 0      only the last is
//   exposed
//
// Li et al., "PyTorch Distributed", VLDB 2020; Zhao et al., "PyTorch FSDP", VLDB 2023.
#include "core/methods/catalogue.h"

namespace trainyard {
namespace {

void mark(std::vector<BodyOp>& ops, bool data, bool context) {
  for (BodyOp& op : ops) {
    if (!op.communication) continue;
    switch (op.group) {
      case Group::Data:
      case Group::ExpertData:
      case Group::Shard:
      case Group::Replica:
        op.overlapped = data;
        break;
      case Group::Context:
        op.overlapped = context;
        break;
      default:
        break;
    }
  }
}

}  // namespace

Method overlap() {
  return {
      .name = "overlap",
      .axis = MethodAxis::Communication,
      .summary = "Runs gradient, weight and key/value traffic beside computation.",
      .paper = {"PyTorch Distributed: Experiences on Accelerating Data Parallel Training",
                "Li et al.", "VLDB", 2020},
      .card =
          {.gains =
               "hides what fits beside computation: all but the first or last layer's collective",
           .costs = "buffers in flight; the device computes a little slower while it communicates",
           .legal_when = "always"},
      .file = "core/methods/overlap.cpp",
      .params = {{.name = "gradients",
                  .fallback = true,
                  .doc = "reduce gradients beside the backward that makes them"},
                 {.name = "weights",
                  .fallback = true,
                  .doc = "gather a layer's weights beside the layer before"},
                 {.name = "context",
                  .fallback = true,
                  .doc = "pass keys and values beside attention"}},
      .rewrite =
          [](Body& body, const Layout&, const Scenario&, const Params& params) {
            mark(body.forward, params.flag("weights"), params.flag("context"));
            mark(body.backward, params.flag("weights"), params.flag("context"));
            mark(body.reduce, params.flag("gradients"), false);
            mark(body.gather, params.flag("weights"), false);
          },
  };
}

}  // namespace trainyard
