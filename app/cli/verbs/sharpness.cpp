// sharpness: how strongly the gradient of a model changes, and which rates that leaves stable.
#include <fmt/format.h>

#include <utility>

#include "app/cli/interrupt.h"
#include "app/cli/pictures/picture_files.h"
#include "app/cli/status_line.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/text/runs/sharpness_text.h"
#include "app/workspace/runs/sharpness/sharpness_chart.h"
#include "app/workspace/runs/sharpness/sharpness_document.h"
#include "core/base/error.h"

namespace trainyard {
namespace {

int run_sharpness(const Words& words, Streams& streams) {
  SharpnessQuestion q;
  for (const std::string& assignment : words.texts("train")) apply_training(q.training, assignment);
  q.steps = words.integer("steps", 0, 1'000'000'000, 0);
  q.data = words.text("data"), q.start_from = words.text("start-from");
  q.options.most_products = static_cast<int>(words.integer("products", 1, 100'000, 100));
  q.options.tolerance = words.number("tolerance", 1e-9, 1, q.options.tolerance);
  q.options.difference = words.number("difference", 1e-9, 0.1, q.options.difference);
  q.options.seed = static_cast<std::uint64_t>(words.integer("seed", 0, INT64_MAX, 1));
  q.points = asks_for_picture(words) || words.has("json") ? 10 : 0;
  Words scenario_words = words;
  if (!words.has("cluster")) scenario_words.add("cluster", "cpu:1");
  q.scenario = open_scenario(scenario_words, streams);
  const InterruptStop interrupt;
  q.stop = interrupt.token();
  StatusLine status(words, streams);
  q.options.progress = [&](int products) {
    if (status.is_due()) status.show(fmt::format("{} products with the Hessian", products));
  };
  const SharpnessAnswer found = sharpness_study(std::move(q));
  status.clear();
  if (asks_for_picture(words) && !found.slice.offsets.empty())
    write_picture(sharpness_picture(found), Theme::Dark, words, streams);
  deliver(words.has("json") ? sharpness_document(found) : sharpness_text(found), words, streams);
  return kDone;
}

}  // namespace

Verb sharpness_verb() {
  return {
      .name = "sharpness",
      .summary =
          "The largest curvature of a loss, by real gradients here, and the rates that it "
          "leaves stable.",
      .flags = with_scenario_flags(
          {{"steps", "N", "trains the plan so long before; else 0: at the initial weights"},
           {"train", "KEY=VALUE", "one setting of training, as rate=0.1: that rate is judged",
            true},
           {"data", "NAME", "as run takes it; the loss is that of the first update's samples"},
           {"start-from", "FILE", "at the weights in the checkpoint of a run"},
           {"products", "N",
            "at most so many of the Hessian with a vector, and again so many where the largest "
            "curvature is negative (default 100)"},
           {"tolerance", "SHARE", "ends where one changes it by less (default 0.001)"},
           {"difference", "SHARE",
            "of the length of the weights: how far apart two gradients are (default 0.00001)"},
           {"seed", "N", "of the first vector (default 1)"},
           {"json", "", "one trainyard/sharpness@1 document and nothing else"},
           {"svg", "FILE",
            "draws the loss along the sharpest and a random line, and the stable rates, there too"},
           {"png", "FILE", "the same as pixels, two a logical one"}}),
      .examples = {"sharpness --model mlp-small --data random --set global-batch=16"},
      .run = run_sharpness};
}

}  // namespace trainyard
