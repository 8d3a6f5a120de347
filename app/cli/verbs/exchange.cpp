// import and export: read what other programs write about pipelines as a plan, and write a plan in
// their formats.
#include "app/workspace/scenario/exchange.h"

#include <ostream>

#include "app/cli/text/scenario_words.h"
#include "app/workspace/scenario/setting_words.h"
#include "app/workspace/scenario/workspace.h"
#include "core/io/bytes/files.h"
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

int run_export(const Words& words, Streams& streams) {
  if (!words.has("to"))
    throw Error(Error::Kind::InvalidInput, "expected a format: " + export_names(), {"--to"});
  const ExportFormat& format = export_format(words.text("to"));
  const Exported exported = format.write(prepare(open_scenario(words, streams)));
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
                                         "torchtitan, pytorch-csv or megatron-layout"}}),
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
