// schema: prints the JSON Schemas of the documents that Trainyard reads and writes.
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/verbs/json_schemas.h"

namespace trainyard {
namespace {

int run_schema(const Words& words, Streams& streams) {
  std::string out;
  if (words.has(""))
    out = json_schema(words.text(""));
  else
    for (const std::string& name : json_schema_names()) out += name + "\n";
  deliver(out, words, streams);
  return kDone;
}

}  // namespace

Verb schema_verb() {
  return {
      .name = "schema",
      .summary = "The JSON Schema of a document that is read or written here.",
      .positional = "NAME",
      .positional_doc =
          "plan, result, search, order, schedules, calibration, profile, run, runs or comparison; "
          "without "
          "it, the list",
      .flags = {{"out", "FILE", "writes there instead of standard output"},
                {"quiet", "", "no diagnostics"}},
      .examples = {"schema", "schema plan"},
      .run = run_schema};
}

}  // namespace trainyard
