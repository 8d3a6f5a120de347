#include "app/cli/text/plans/scenario_words.h"

#include <fmt/format.h>

#include <ostream>
#include <utility>

#include "app/workspace/scenario/prices.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "app/workspace/scenario/workspace.h"
#include "core/io/bytes/file_writer.h"
#include "core/io/documents/order_json.h"
#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"
#include "core/model/trained_tables.h"

namespace trainyard {

std::vector<Flag> with_scenario_flags(std::vector<Flag> own) {
  std::vector<Flag> flags = {
      {"model", "M",
       "a name of \"trainyard models\" or a config.json or its folder, with images as "
       "llava-1.5-7b:images=4,image=672 where it reads them, a preset as cnn:classes=10, a "
       "safetensors, GGUF, ONNX or trainyard/model file, or published:ID"},
      {"cluster", "C",
       "device:count with options, as h100-sxm:64, a trainyard/cluster file, or published:ID"},
      {"plan", "P", "a trainyard/plan file, or published:ID: a row of \"trainyard validate\""},
      {"set", "KEY=VALUE", "one field of the plan, as tp=8", true}};
  flags.insert(flags.end(), own.begin(), own.end());
  flags.push_back({"out", "FILE", "writes there instead of standard output"});
  flags.push_back({"quiet", "", "no warnings and no progress"});
  return flags;
}

Flag order_flag() {
  return {"order", "FILE",
          "an edited order of work instead of the schedule's: text or trainyard/order"};
}

Scenario open_scenario(const Words& words, Streams& streams) {
  Scenario scenario = open({words.text("model"), words.text("cluster"), words.text("plan"),
                            words.texts("set"), prices_word(words)});
  if (words.has("order")) scenario.plan.order = to_text(read_order(words.text("order")));
  const Diagnostics found = check(scenario);
  throw_if_errors(found);
  if (words.has("quiet")) return scenario;
  for (const std::string& sentence : scenario.model.assumed)
    streams.err << "note: --model: " << sentence << "\n";
  if (find_choice(scenario.plan, "tensor-train") != nullptr) {
    Scenario whole = scenario;
    whole.plan = complete(scenario);
    for (const std::string& sentence : table_sentences(trained_model(whole)))
      streams.err << "note: " << sentence << "\n";
  }
  warn(found, streams);
  return scenario;
}

void warn(const Diagnostics& found, Streams& streams) {
  for (const Diagnostic& d : found) {
    if (d.severity == Diagnostic::Severity::Note) continue;
    streams.err << "warning: " << (d.place.text.empty() ? "" : d.place.text + ": ") << d.message
                << (d.fix.empty() ? "" : "; try " + d.fix) << "\n";
  }
}

Scenario open_parts(const Words& words) {
  return open_named(
      {words.text("model"), words.text("cluster"), words.text("plan"), words.texts("set")});
}

Flag calibration_flag() {
  return {"calibration", "FILE",
          "a trainyard/calibration file (what this machine was measured at) or a trainyard/profile "
          "(parameters fitted to rows)"};
}

Flag cost_flag() {
  return {"cost", "PRICES",
          "roofline: nothing measured; calibrated: the kernels of --calibration, other shapes "
          "between them (default beside it); learned: other shapes by trees that learned from all "
          "of its kernels"};
}

std::string prices_word(const Words& words) {
  const std::string calibration = words.text("calibration");
  if (!words.has("cost")) return calibration;
  return priced_word(words.choice("cost", {"roofline", "calibrated", "learned"}, "calibrated"),
                     calibration);
}

std::unique_ptr<CostModel> open_costs(const Words& words, Scenario& scenario) {
  const std::string prices = prices_word(words);
  return prices.empty() ? nullptr : open_cost_model(prices, scenario);
}

Flag grain_flag() {
  return {"grain", "GRAIN",
          "order: an instruction a phase (default); op: one an operator (default where waves share "
          "a device)"};
}

Grain grain_word(const Words& words, const Scenario& scenario) {
  if (!words.has("grain")) return natural_grain(scenario);
  return words.choice("grain", {"order", "op"}, "order") == "op" ? Grain::Op : Grain::Order;
}

void deliver(const std::string& text, const Words& words, Streams& streams) {
  if (!words.has("out")) {
    streams.out << text;
    return;
  }
  write_file(words.text("out"), text);
  if (!words.has("quiet")) streams.err << "wrote " << words.text("out") << "\n";
}

}  // namespace trainyard
