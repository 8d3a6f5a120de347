// Measures undo of an edit of a large model, as one line of JSON a figure: the goal is that of
// B-MOD-09, 10 ms for a project whose model has 10^4 nodes. An undo puts the project back and gives
// the model builder its model; the rows of the outline are drawn afterwards and are not part of it.
// Times are medians of the processor time of the thread. Exits with 1 when a goal is missed.
//   QT_QPA_PLATFORM=offscreen undo_benchmark
#include <time.h>

#include <QApplication>
#include <algorithm>
#include <cstdio>
#include <vector>

#include "app/desktop/design/model_builder.h"
#include "app/desktop/session/document.h"
#include "core/io/documents/model_json.h"
#include "core/io/json/inline_document.h"
#include "core/model/graph_builder.h"

namespace trainyard {
namespace {

constexpr int kBlocks = 100, kPairs = 50, kWidth = 64, kUndone = 20;
constexpr double kGoal = 10;  // milliseconds

// 100 blocks of 50 products and 50 activations.
Model large_model() {
  Model model;
  model.name = "ten thousand nodes", model.family = "mlp", model.tokens = false;
  for (int b = 0; b < kBlocks; ++b) {
    GraphBuilder builder;
    TensorId x = builder.graph.input = builder.activation("input", {kBatch, whole(kWidth)});
    for (int n = 0; n < kPairs; ++n) {
      const std::string name = "fc" + std::to_string(n);
      x = builder.node(name + ".relu", relu(), {builder.linear(name, x, whole(kWidth), true)});
    }
    model.blocks.push_back(builder.block("block" + std::to_string(b), 1, true, x));
  }
  return model;
}

double milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

double median_of(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

int measure() {
  Document document;
  Project project = document.project();
  project.model = inline_document(model_to_json(large_model()));
  document.change("Open", std::move(project));
  document.set_cluster("cpu:2");
  ModelBuilder builder(document);
  std::size_t nodes = 0;
  for (const Block& block : builder.model().blocks) nodes += block.graph.nodes.size();
  std::vector<double> edits, undone, redone;
  for (int i = 0; i < kUndone; ++i) {
    builder.select({i, 0});
    const double from = milliseconds();
    builder.set_field("bias", "no");
    edits.push_back(milliseconds() - from);
  }
  for (int i = 0; i < kUndone; ++i) {
    const double from = milliseconds();
    document.undo_stack().undo();
    undone.push_back(milliseconds() - from);
  }
  for (int i = 0; i < kUndone; ++i) {
    const double from = milliseconds();
    document.undo_stack().redo();
    redone.push_back(milliseconds() - from);
  }
  bool met = true;
  for (const auto& [what, times] : {std::pair{"undo", undone}, std::pair{"redo", redone}}) {
    const double figure = median_of(times);
    met = met && figure <= kGoal;
    std::printf(
        "{\"id\": \"B-MOD-09\", \"what\": \"%s of an edit of a model of %zu nodes\", "
        "\"figure\": %.3g, \"unit\": \"ms\", \"goal\": %g, \"met\": %s}\n",
        what, nodes, figure, kGoal, figure <= kGoal ? "true" : "false");
  }
  std::printf("{\"what\": \"the edit itself\", \"figure\": %.3g, \"unit\": \"ms\"}\n",
              median_of(edits));
  return met && nodes == 10'000 ? 0 : 1;
}

}  // namespace
}  // namespace trainyard

int main(int argc, char** argv) {
  const QApplication application(argc, argv);
  return trainyard::measure();
}
