#include "app/workspace/scenario/scenario_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/units_text.h"
#include "core/io/documents/plan_json.h"
#include "core/io/documents/result_json.h"
#include "core/result/carbon.h"
#include "core/result/figures.h"
#include "core/timeline/breakdown.h"
#include "core/timeline/compare.h"
#include "visualizers/view.h"

namespace trainyard {
namespace {

using Row = std::vector<DataCell>;

template <class T>
Row figure(const char* name, const Banded<T>& banded, std::string (*written)(T)) {
  return {std::string(name), written(banded.value),
          has_band(banded) ? fmt::format("{} to {}", written(banded.low), written(banded.high))
                           : std::string(),
          banded.basis};
}

Row figure(const char* name, std::string value, std::string basis = "") {
  return {std::string(name), std::move(value), std::string(), std::move(basis)};
}

std::string dollars(double value) { return fmt::format("{:.3g} US dollars", value); }
std::string kilograms(double value) { return fmt::format("{:.3g} kg of CO2 equivalents", value); }
std::string kilowatt_hours(Joules value) { return fmt::format("{:.3g} kWh", value.value / 3.6e6); }
std::string step_length(Duration value) { return readable_step(value); }

DataTable figures(const Result& r) {
  const std::string work = r.counts_tokens ? "tokens/s" : "samples/s";
  std::vector<Row> rows{figure("Time of a step", r.step, step_length)};
  if (r.step.value > Duration{}) {
    rows.push_back(figure("Throughput", readable_rate(rate(r).value) + " " + work));
    rows.push_back(
        figure("Throughput per device", readable_rate(rate_per_device(r).value) + " " + work));
  }
  rows.push_back(figure("Model FLOPs utilisation (MFU)", readable_share(r.mfu),
                        "of the dense peak of " + readable(r.peak_flops)));
  rows.push_back(figure("Hardware FLOPs utilisation (HFU)", readable_share(r.hfu),
                        "recomputed work counted too"));
  rows.push_back(figure("Bubble", readable_share(r.bubble_fraction), "of the time of all devices"));
  rows.push_back(figure("Exposed communication", readable_share(r.exposed_communication_fraction),
                        "of the time of all devices"));
  if (const StageMemory* most = fullest(r))
    rows.push_back(figure("Peak of the fullest device",
                          fmt::format("{} of {}", readable(most->peak.value), readable(r.capacity)),
                          most->peak.basis));
  if (r.energy) rows.push_back(figure("Energy of a step", *r.energy, kilowatt_hours));
  if (const auto emitted = carbon(r))
    rows.push_back(figure("Carbon of a step", *emitted, kilograms));
  if (r.money) rows.push_back(figure("Money of a step", *r.money, dollars));
  return listed_table("Figures", {{"figure"}, {"value"}, {"range"}, {"how it is known"}},
                      std::move(rows));
}

DataTable device_time(const Result& r) {
  std::vector<Row> rows;
  for (const auto& [name, part] : breakdown_parts())
    if (const Duration time = r.breakdown.*part; time > Duration{})
      rows.push_back({std::string(name), std::int64_t{time.count()}, share(r.breakdown, time)});
  return listed_table("Time", {{"part"}, {"time", DataUnit::StepTime}, {"share", DataUnit::Share}},
                      std::move(rows));
}

DataTable changes(const Verdict& verdict) {
  std::vector<Row> rows;
  std::vector<Fix> all = verdict.fixes;
  if (verdict.gain) all.push_back(*verdict.gain);
  for (const Fix& fix : all) rows.push_back({"--set " + fix.set, fix.sentence});
  return listed_table("Changes", {{"setting"}, {"does"}}, std::move(rows));
}

std::vector<std::string> answered_by(const Result& r) {
  std::vector<std::string> sentences;
  if (r.evidence) sentences.push_back(r.evidence->sentence);
  for (const Assumed& one : r.assumptions) sentences.push_back("Assumed: " + one.sentence);
  for (const std::string& one : r.leaves_out) sentences.push_back("Left out: " + one);
  return sentences;
}

std::string memory_sentence(const Verdict& verdict) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(4, verdict.peak_parts.size()); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "The largest parts of the peak: " : ", ",
                        readable(verdict.peak_parts[i].bytes), verdict.peak_parts[i].name);
  return text.empty() ? text : text + ".";
}

}  // namespace

const std::vector<std::string>& usual_page_views() {
  static const std::vector<std::string> names{"timeline", "memory",        "utilisation",
                                              "roofline", "communication", "energy"};
  return names;
}

WebPage scenario_page(const ViewData& data, const std::vector<std::string>& names) {
  const Result& r = data.experiment->result;
  WebPage page{fmt::format("{} on {}", r.model_name, r.cluster_name), r.verdict.sentence, {}};
  page.sections.push_back({.title = "Figures",
                           .sentences = {fmt::format("Priced by the workbench ({}).", r.fidelity)},
                           .code = {},
                           .table = figures(r)});
  if (!r.verdict.fixes.empty() || r.verdict.gain)
    page.sections.push_back(
        {.title = r.verdict.fits ? "What would make it quicker" : "What would make it fit",
         .sentences = {},
         .code = {},
         .table = changes(r.verdict)});
  page.sections.push_back({.title = "Where the time of the critical device goes",
                           .sentences = {r.verdict.limit},
                           .code = {},
                           .table = device_time(r)});
  for (const std::string& name : names) {
    const View& shown = view(name);
    page.sections.push_back(
        {.title = std::string(shown.title),
         .sentences = {name == "memory" ? memory_sentence(r.verdict) : std::string(shown.summary)},
         .code = {},
         .table = {},
         .picture = shown.draw(data, shown.size, {})});
    page.sections.push_back({.title = "Rows of " + std::string(shown.title),
                             .sentences = {},
                             .code = {},
                             .table = shown.table(data, {}),
                             .picture = {},
                             .folded = true});
  }
  page.sections.push_back({.title = "How far this can be believed",
                           .sentences = answered_by(r),
                           .code = {},
                           .table = {}});
  page.sections.push_back({.title = "The plan, as --plan reads it",
                           .sentences = {},
                           .code = {plan_document(r.plan)},
                           .table = {},
                           .picture = {},
                           .folded = true});
  page.sections.push_back({.title = "The whole result, as --json prints it",
                           .sentences = {},
                           .code = {result_document(r)},
                           .table = {},
                           .picture = {},
                           .folded = true});
  return page;
}

}  // namespace trainyard
