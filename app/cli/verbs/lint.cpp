// lint: what a benchmark report leaves out or bends.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/verbs/json_schemas.h"
#include "core/io/bytes/files.h"
#include "core/io/documents/benchmark_report_json.h"

namespace trainyard {
namespace {

Fields<ReportFinding> finding_fields() {
  return {{"flaw", [](const ReportFinding& f) { return std::string(to_string(f.flaw)); },
           "missing, cherry-picked-runs, cherry-picked-seeds, winning-metric, tuned-on-test, "
           "unequal-tuning, first-pass, rivals-threshold, logarithmic-axis, not-significant"},
          {"place", &ReportFinding::place, "in the report"},
          {"sentence", &ReportFinding::sentence},
          {"fix", &ReportFinding::fix}};
}

struct LintAnswer {
  std::string file;
  std::vector<ReportFinding> findings;
};

Fields<LintAnswer> lint_fields() {
  return document_fields<LintAnswer>(
      "trainyard/lint", {{"file", &LintAnswer::file},
                         {"findings", &LintAnswer::findings, list_of(object(finding_fields())),
                          "none: the report says all that it must"}});
}

int run_lint(const Words& words, Streams& streams) {
  LintAnswer answer{words.text(""), {}};
  const bool shipped = answer.file == "example";
  answer.findings = check_report(
      read_benchmark_report(shipped ? shipped_report() : read_file(answer.file), answer.file));
  std::string text;
  for (const ReportFinding& f : answer.findings)
    text += fmt::format("{}#/{}: {}: {}; {}\n", answer.file, f.place, to_string(f.flaw), f.sentence,
                        f.fix);
  if (text.empty()) text = fmt::format("{}: {}\n", answer.file, kFlawlessReport);
  deliver(words.has("json") ? write_json(lint_fields().write(answer)) : text, words, streams);
  return answer.findings.empty() ? kDone : kNotMet;
}

}  // namespace

Json lint_schema() { return lint_fields().schema(); }

Verb lint_verb() {
  return {
      .name = "lint",
      .summary = "Says what a benchmark report leaves out, and how it bends what it has.",
      .positional = "FILE",
      .positional_doc =
          "a trainyard/benchmark-report document, as \"compare A B --report FILE\" writes it or "
          "as somebody wrote another's report down; example, which ships with the program and "
          "bends "
          "much; exit 3 where anything is found",
      .positional_required = true,
      .flags = {{"json", "", "one trainyard/lint@1 document and nothing else"},
                {"out", "FILE", "writes there instead of standard output"},
                {"quiet", "", "no diagnostics"}},
      .examples = {"lint example"},
      .run = run_lint};
}

}  // namespace trainyard
