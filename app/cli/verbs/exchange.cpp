// import and export: read what other programs write about pipelines as a plan, and write a plan in
// their formats.
#include "app/workspace/scenario/exchange.h"

#include <ostream>

#include "app/cli/text/scenario_words.h"
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

int run_export(const Words& words, Streams& streams) {
  if (!words.has("to"))
    throw Error(Error::Kind::InvalidInput, "expected a format: " + export_names(), {"--to"});
  const ExportFormat& format = export_format(words.text("to"));
  const Scenario scenario = open_scenario(words, streams);
  if (words.has("gate")) expect_passed(words.text("gate"), scenario.model.name);
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
  return {.name = "export",
          .summary =
              "Writes a plan in another program's words: a launch script, a configuration, a "
              "job, an order, a split.",
          .flags = with_scenario_flags({order_flag(),
                                        {"to", "FORMAT",
                                         "megatron-lm, megatron-bridge, deepspeed, slurm, "
                                         "torchtitan, pytorch-csv or megatron-layout"},
                                        {"gate", "FILE",
                                         "writes nothing where this document of \"gate --json\" "
                                         "says that a model is beyond a limit"}}),
          .examples = {"export --to megatron-lm --model llama-3-70b --cluster h100-sxm:64 --set "
                       "tp=8 --set pp=4 --set zero=1",
                       "export --to slurm --model llama-3-70b --cluster h100-sxm:64 --set tp=8 "
                       "--set pp=4 --set zero=1 --out job.sbatch",
                       "export --to deepspeed --model llama-3-8b --cluster h100-sxm:8 --set zero=3",
                       "export --to pytorch-csv --model llama-3-8b --cluster h100-sxm:8 --set pp=4 "
                       "--set global-batch=16",
                       "export --to megatron-layout --model llama-3-8b --cluster h100-sxm:8 --set "
                       "pp=4 --set split=7,9,9,7 --set global-batch=16"},
          .run = run_export};
}

}  // namespace trainyard
