// import and export: read what other programs write about pipelines as a plan, and write a plan in
// their formats.
#include "app/workspace/scenario/exchange.h"

#include <ostream>
#include <utility>

#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/verbs/microcontroller.h"
#include "app/workspace/scenario/microcontroller.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "app/workspace/scenario/setting_words.h"
#include "app/workspace/scenario/workspace.h"
#include "core/io/bytes/files.h"
#include "core/io/documents/gate_json.h"
#include "core/io/documents/plan_json.h"

namespace trainyard {
namespace {

int run_import(const Words& words, Streams& streams) {
  const std::string path = words.text("");
  Scenario into = open_parts(words);
  const Import found = import_text(read_file(path), path, into);
  for (const std::string& setting : found.settings) apply_words(into.plan, setting);
  if (!into.model.blocks.empty() && !into.cluster.levels.empty()) throw_if_errors(check(into));
  if (!words.has("quiet"))
    for (const std::string& note : found.notes) streams.err << "note: " << note << "\n";
  deliver(plan_document(into.plan), words, streams);
  return kDone;
}

// A gate that was not passed, or that is of another model, lets nothing out.
void expect_passed(const std::string& path, const std::string& model) {
  const GateReport gate = read_gate(read_file(path), path);
  if (gate.model != model)
    throw Error(Error::Kind::InvalidInput,
                "expected a gate of " + model + ", found one of " + gate.model, {path});
  if (const std::string reason = reason_to_block(gate); !reason.empty())
    throw Error(
        Error::Kind::InvalidInput,
        "the gate of quality lets nothing out: " + reason + "; export without --gate ignores it",
        {path});
}

void refuse_microcontroller_flags(const Words& words) {
  for (const Flag& flag : microcontroller_flags())
    if (words.has(flag.name))
      refuse_flag(flag.name, "expected none: only --to microcontroller writes weights");
}

int run_export(const Words& words, Streams& streams) {
  if (!words.has("to"))
    throw Error(Error::Kind::InvalidInput, "expected a format: " + export_names(), {"--to"});
  const ExportFormat& format = export_format(words.text("to"));
  const bool program = format.name == kMicrocontrollerFormat;
  if (!program) refuse_microcontroller_flags(words);
  Words scenario_words = words;
  if (program && !words.has("cluster")) scenario_words.add("cluster", "cpu:1");
  const Scenario scenario = open_scenario(scenario_words, streams);
  if (words.has("gate")) expect_passed(words.text("gate"), scenario.model.name);
  if (program) return export_microcontroller(scenario, words, streams);
  const Exported exported = format.write(prepare(scenario));
  if (!words.has("quiet")) warn(exported.warnings, streams);
  deliver(exported.text, words, streams);
  return kDone;
}

}  // namespace

Verb import_verb() {
  return {.name = "import",
          .summary = "Reads PyTorch's pipeline CSV or Megatron's pipeline layout as a plan.",
          .positional = "FILE",
          .positional_doc = "told apart by what it says; a layout needs --model",
          .positional_required = true,
          .flags = with_scenario_flags({}),
          .run = run_import};
}

Verb export_verb() {
  std::vector<Flag> flags = {
      order_flag(),
      {"to", "FORMAT",
       "megatron-lm, megatron-bridge, deepspeed, slurm, torchtitan, pytorch-csv, megatron-layout "
       "or microcontroller"},
      {"gate", "FILE",
       "writes nothing where this document of \"gate --json\" says that a model is beyond a "
       "limit"}};
  for (Flag& flag : microcontroller_flags()) flags.push_back(std::move(flag));
  return {.name = "export",
          .summary =
              "Writes a plan in another program's words: a launch script, a configuration, a "
              "job, an order, a split; or a trained model as a program for a microcontroller.",
          .flags = with_scenario_flags(std::move(flags)),
          .examples = {"export --to megatron-lm --model llama-3-70b --cluster h100-sxm:64 --set "
                       "tp=8 --set pp=4 --set zero=1",
                       "export --to slurm --model llama-3-70b --cluster h100-sxm:64 --set tp=8 "
                       "--set pp=4 --set zero=1 --out job.sbatch",
                       "export --to deepspeed --model llama-3-8b --cluster h100-sxm:8 --set zero=3",
                       "export --to pytorch-csv --model llama-3-8b --cluster h100-sxm:8 --set pp=4 "
                       "--set global-batch=16",
                       "export --to megatron-layout --model llama-3-8b --cluster h100-sxm:8 --set "
                       "pp=4 --set split=7,9,9,7 --set global-batch=16",
                       "export --to microcontroller --model mlp-small --data random --samples 100 "
                       "--calibration-samples 100 --chip stm32h743 --out mlp_small.c"},
          .run = run_export};
}

}  // namespace trainyard
