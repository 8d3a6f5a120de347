// validate: compares predictions with published measurements, or with a user's own.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "app/cli/pictures/validate_picture.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/text/runs/validate_text.h"
#include "app/cli/verb.h"
#include "core/base/csv.h"
#include "core/base/nearest.h"
#include "core/io/bytes/byte_source.h"
#include "core/io/bytes/file_writer.h"
#include "core/io/bytes/files.h"
#include "core/io/bytes/limits.h"
#include "core/io/documents/profile_json.h"
#include "core/io/documents/validation_json.h"
#include "core/validation/shipped.h"

namespace trainyard {
namespace {

// Sets of rows that ship, by the word that asks for them.
const std::vector<MeasuredRow>* shipped_set(std::string_view word) {
  if (word.empty()) return &published_rows();
  if (word == "one-device") return &device_rows();
  if (word == "records") return &record_rows();
  return nullptr;
}

// The rows of the file, or those that ship. Warnings are printed the first time.
RowStream rows_of(const Words& words, Streams& streams) {
  const std::string path = words.text("");
  if (const std::vector<MeasuredRow>* rows = shipped_set(path))
    return [rows](const std::function<void(MeasuredRow)>& take) {
      for (const MeasuredRow& row : *rows) take(row);
    };
  return [path, told = words.has("quiet"), &streams](const auto& take) mutable {
    Diagnostics warnings;
    MeasuredRows rows(path, &warnings);
    CsvRecords records(path, static_cast<std::size_t>(kLongestText.value),
                       [&](const CsvRecord& record) {
                         auto row = rows.row(record);
                         if (!row) return;
                         mark_suspect(*row);
                         take(std::move(*row));
                       });
    const std::unique_ptr<ByteSource> bytes = file_bytes(path);
    std::vector<char> block(std::size_t{1} << 18);
    while (const std::size_t got = bytes->read(block.data(), block.size()))
      records.feed({block.data(), got});
    records.finish();
    rows.expect_header();
    if (!std::exchange(told, true))
      for (const Diagnostic& d : warnings) streams.err << d.place.text << ": " << d.message << "\n";
  };
}

// All rows at once, for what names each of them or fits parameters to all.
RowSet set_of(const RowStream& stream) {
  std::vector<MeasuredRow> rows;
  stream([&](MeasuredRow row) { rows.push_back(std::move(row)); });
  return prepare_rows(rows);
}

std::string value_of(const MeasuredRow& row, std::string_view flag) {
  return flag == "id" ? row.id : flag == "source" ? row.source_family : row.group;
}

// Gaps were filled in from all rows first; now only the requested rows are kept.
void keep(RowSet& set, std::string_view flag, const std::vector<std::string>& wanted) {
  if (wanted.empty()) return;
  const auto is_wanted = [&](const MeasuredRow& row) {
    return std::find(wanted.begin(), wanted.end(), value_of(row, flag)) != wanted.end();
  };
  for (const std::string& name : wanted) {
    std::vector<std::string> names;
    for (const PreparedRow& r : set.rows) names.push_back(value_of(r.row, flag));
    for (const SkippedRow& r : set.skipped) names.push_back(value_of(r.row, flag));
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("no row has the {} \"{}\"{}", flag, name.substr(0, 80),
                              did_you_mean(name.substr(0, 80), names)),
                  {fmt::format("--{}", flag)});
  }
  std::erase_if(set.rows, [&](const PreparedRow& r) { return !is_wanted(r.row); });
  std::erase_if(set.skipped, [&](const SkippedRow& r) { return !is_wanted(r.row); });
}

// The shipped parameters were fitted on the shipped rows.
bool fitted_on(const Words& words) { return words.text("").empty() && !words.has("calibration"); }

std::string heading(const ValidationSummary& summary) {
  return fmt::format(
      "{} rows predicted, {} skipped; errors in percent of what was measured, every group of rows "
      "weighted equally\n",
      summary.predicted, summary.skipped);
}

std::string scores_text(const ValidationSummary& summary, const Words& words) {
  std::string text;
  if (fitted_on(words))
    text +=
        "\nThe parameters were fitted on rows below; --cross tells of each source by a fit to the "
        "others.\n";
  text += score_table("by metric", summary.by_metric);
  if (summary.kendall)
    text += fmt::format("\nKendall's tau of step times over 3 % apart, mean of groups: {:.3f}\n",
                        *summary.kendall);
  text += score_table("by source, clean", summary.by_source);
  return text + fmt::format("\nmean half-width of the bands of step times: {:.1f} %\n",
                            100 * summary.mean_half_width);
}

std::string text_of(const ValidationSummary& summary, const Words& words) {
  return heading(summary) + scores_text(summary, words) + worst_rows(summary.worst) +
         skipped_table(summary);
}

std::string text_of(const RowSet& set, const Validation& v, const Words& words) {
  const ValidationSummary summary = summarize_rows(set, v);
  std::string text = heading(summary);
  // Errors on rows that the parameters were not fitted on are more informative about a new run, so
  // they come first.
  if (!v.cross.empty()) {
    text += score_table("each source left out in turn", v.cross);
    text += score_table("after three rows of the left-out source", v.calibrated);
    if (!v.by_factor.empty()) text += score_table("one factor from rows of its group", v.by_factor);
    if (v.cross_kendall)
      text += fmt::format(
          "\nwith sources left out: Kendall's tau {:.3f}, mean half-width of bands {:.1f} %\n",
          *v.cross_kendall, 100 * v.cross_half_width);
  }
  text += scores_text(summary, words);
  if (words.has("fit")) text += fit_table(v.refit);
  if (words.has("rows")) text += row_table(set, v);
  text += worst_rows(summary.worst);
  text += skipped_table(summary);
  if (words.has("rows"))
    for (const SkippedRow& row : set.skipped)
      text += fmt::format("  {}: {}\n", row.row.id, row.reason);
  return text;
}

// If every row was skipped, nothing was compared.
int held(const ValidationSummary& summary, const Words& words, Streams& streams) {
  if (summary.predicted > 0) return kDone;
  const std::string place = words.text("").empty() ? "validate" : words.text("");
  std::string sentence =
      fmt::format("expected a row that can be predicted, found {}, all skipped", summary.skipped);
  if (summary.skipped > 0)
    sentence += fmt::format("; {}: {}", summary.first_skipped, summary.first_reason);
  streams.err << place << ": " << sentence << "\n";
  return kWrongInput;
}

// What names every row, fits to all of them or draws them needs the whole table at once.
bool needs_every_row(const Words& words) {
  const char* flags[] = {"rows", "source",    "group", "id",  "simulate", "cross",
                         "fit",  "residuals", "json",  "svg", "png"};
  return std::any_of(std::begin(flags), std::end(flags),
                     [&](const char* flag) { return words.has(flag); });
}

ValidateOptions validate_options_of(const Words& words) {
  ValidateOptions options;
  if (words.has("calibration")) {
    const std::string path = words.text("calibration");
    const ParameterProfile profile = read_profile(read_file(path), path);
    options.parameters = profile.parameters;
    options.steps = profile.steps.value_or(StepFactor{});
    options.steps_of = profile.devices;
  }
  options.threads = static_cast<int>(words.integer("threads", 1, 256, 2));
  options.explained = static_cast<int>(words.integer("explain", 0, 10'000, 8));
  if (words.has("simulate") && words.has("json"))
    throw Error(Error::Kind::InvalidInput,
                "--simulate prints a table, and there is no document of it", {"--json"});
  options.cross = words.has("cross") || words.has("fit") || words.has("residuals");
  return options;
}

int validate_every_row(RowSet set, const ValidateOptions& options, const Words& words,
                       Streams& streams) {
  for (const std::string_view flag : {"id", "source", "group"}) keep(set, flag, words.texts(flag));
  if (words.has("simulate")) {
    deliver(difference_table(set, simulate_rows(set, options.parameters, options.threads)), words,
            streams);
    return held(summarize_rows(set, {}), words, streams);
  }
  const Validation v = validate(set, options);
  write_pictures(set, v, words, streams);
  if (words.has("residuals")) write_file(words.text("residuals"), write_residuals(v.residuals));
  deliver(words.has("json") ? validation_document(set, v) : text_of(set, v, words), words, streams);
  return held(summarize_rows(set, v), words, streams);
}

int run_validate(const Words& words, Streams& streams) {
  const RowStream rows = rows_of(words, streams);
  const ValidateOptions options = validate_options_of(words);
  if (needs_every_row(words)) return validate_every_row(set_of(rows), options, words, streams);
  const ValidationSummary summary = summarize_rows(rows, options);
  deliver(text_of(summary, words), words, streams);
  return held(summary, words, streams);
}

}  // namespace

Verb validate_verb() {
  Verb verb = {
      .name = "validate",
      .summary = "Holds predictions against measured rows: the published ones, or your own.",
      .positional = "FILE.csv",
      .positional_doc =
          "rows in the columns of assets/validation/README.md; \"one-device\" are those that this "
          "project measured on one H100 and one H200, \"records\" those of the fastest trainings "
          "on "
          "ImageNet; without it, the published ones",
      .flags = {{"rows", "", "lists every row: measured, predicted, error, what it leaves open"},
                {"source", "S", "rows of this source only", true},
                {"group", "G", "rows of this group only", true},
                {"id", "ID", "this row only", true},
                {"simulate", "",
                 "the simulator beside the closed form, instead of what was measured"},
                {"cross", "", "refits the parameters with each source left out in turn"},
                {"fit", "", "prints the parameters fitted to all sources (with --cross)"},
                {"residuals", "FILE", "writes what bands are drawn from (with --cross)"},
                {"calibration", "FILE", "predicts with the parameters of a trainyard/profile"},
                {"explain", "N", "explains so many of the worst rows (8)"},
                {"threads", "N", "predicts on so many threads (2); changes no figure"},
                {"json", "", "one trainyard/validation@1 document and nothing else"},
                {"out", "FILE", "writes there instead of standard output"},
                {"quiet", "", "no diagnostics"}},
      .examples = {"validate --source korthikanti --rows", "validate one-device",
                   "validate records --rows"},
      .run = run_validate};
  const std::vector<Flag> pictures = picture_flags();
  verb.flags.insert(verb.flags.end(), pictures.begin(), pictures.end());
  return verb;
}

}  // namespace trainyard
