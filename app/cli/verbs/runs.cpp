// runs: shows the list of runs trained here, with notes, tags and search.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/verbs/json_schemas.h"
#include "app/workspace/runs/run_store.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/io/documents/measured_prices.h"
#include "core/io/json/fields.h"
#include "core/io/json/inline_document.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

using Texts = std::vector<std::string>;

std::string joined(const Texts& words, std::size_t from = 0) {
  std::string text;
  for (std::size_t i = from; i < words.size(); ++i) text += (i > from ? " " : "") + words[i];
  return text;
}

std::string path_of(const Words& words) {
  return words.has("store") ? words.text("store") : run_store_path();
}

bool exists(const std::string& path) {
  struct stat facts{};
  return stat(path.c_str(), &facts) == 0;
}

std::int64_t id_of(const Texts& words) {
  const std::string typed = words.size() > 1 ? words[1] : "";
  std::int64_t id = 0;
  const auto [end, wrong] = std::from_chars(typed.data(), typed.data() + typed.size(), id);
  if (wrong != std::errc() || end != typed.data() + typed.size() || id < 1)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected the number of a run behind \"{}\", found {}", words[0],
                            typed.empty() ? "nothing" : "\"" + typed + "\""),
                {"trainyard runs"});
  return id;
}

Texts tags_of(const Texts& words) {
  if (words.size() < 3)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected a tag behind \"{} {}\", found nothing", words[0], words[1]),
                {"trainyard runs"});
  return {words.begin() + 2, words.end()};
}

Fields<RunEntry> entry_fields() {
  return {{"id", &RunEntry::id, whole(1)},
          {"started", &RunEntry::started, "UTC"},
          {"name", &RunEntry::name},
          {"model", &RunEntry::model},
          {"cluster", &RunEntry::cluster},
          {"plan", &RunEntry::plan, kWhereSet},
          {"settings", &RunEntry::settings},
          {"training", &RunEntry::training},
          {"calibration", &RunEntry::calibration, kWhereSet},
          {"data", &RunEntry::data},
          {"outcome", &RunEntry::outcome},
          {"steps", &RunEntry::steps},
          {"loss", &RunEntry::loss, "of the last update"},
          {"step_seconds", &RunEntry::step},
          {"predicted_step_seconds", &RunEntry::predicted_step},
          {"peak_bytes", &RunEntry::peak, "of the fullest device"},
          {"predicted_peak_bytes", &RunEntry::predicted_peak},
          {"note", &RunEntry::note},
          {"tags", &RunEntry::tags}};
}

struct RunList {
  std::string store;
  std::vector<RunEntry> runs;
};

Fields<RunList> runs_fields() {
  return document_fields<RunList>("trainyard/runs",
                                  {{"store", &RunList::store, "the file that holds them"},
                                   {"runs", &RunList::runs, list_of(object(entry_fields()))}});
}

std::string list_json(const std::string& path, const std::vector<RunEntry>& entries) {
  return write_json(runs_fields().write({path, entries}));
}

std::string apart(double measured, double predicted) {
  return predicted > 0 ? fmt::format("{:+.1f} %", 100 * (measured / predicted - 1)) : "";
}
std::string loss_of(const RunEntry& e) { return e.loss ? loss_text(*e.loss) : "–"; }

std::string list_text(const std::vector<RunEntry>& entries) {
  if (entries.empty()) return "no runs\n";
  std::size_t name = 4;
  for (const RunEntry& e : entries) name = std::max(name, e.name.size());
  std::string out =
      fmt::format("{:>4}  {:<20}  {:<{}}  {:>6}  {:>8}  {:>9}  {:>9}  {:>10}  {}\n", "run",
                  "started", "name", name, "steps", "loss", "step", "predicted", "peak", "tags");
  for (const RunEntry& e : entries) {
    out += fmt::format("{:>4}  {:<20}  {:<{}}  {:>6}  {:>8}  {:>9}  {:>9}  {:>10}  {}\n", e.id,
                       e.started, e.name, name, e.steps, loss_of(e),
                       e.step ? readable_step(*e.step) : "–",
                       e.predicted_step ? readable_step(*e.predicted_step) : "–",
                       e.peak ? readable(*e.peak) : "–", joined(e.tags));
    if (!e.note.empty()) out += fmt::format("{:>4}  {}\n", "", e.note);
  }
  return out;
}

std::string entry_text(const RunEntry& e) {
  std::string out = fmt::format("run {}: {}, {}\n", e.id, e.name, e.started);
  const auto line = [&](const char* what, const std::string& text) {
    if (!text.empty()) out += fmt::format("  {:<12} {}\n", what, text);
  };
  line("model", e.model);
  line("cluster", e.cluster);
  line("plan", e.plan);
  line("settings", joined(e.settings));
  line("training", joined(e.training));
  line("calibration", is_inline_document(e.calibration)
                          ? provenance(open_measured_prices(e.calibration))
                          : e.calibration);
  line("data", e.data);
  line("outcome", fmt::format("{}, {} updates, loss {}", e.outcome, e.steps, loss_of(e)));
  if (e.step && e.predicted_step)
    line("step", fmt::format("{}, predicted {} ({})", readable_step(*e.step),
                             readable_step(*e.predicted_step),
                             apart(to_seconds(*e.step), to_seconds(*e.predicted_step))));
  if (e.peak && e.predicted_peak)
    line("peak",
         fmt::format("{}, predicted {} ({})", readable(*e.peak), readable(*e.predicted_peak),
                     apart(static_cast<double>(e.peak->value),
                           static_cast<double>(e.predicted_peak->value))));
  line("tags", joined(e.tags));
  line("note", e.note);
  return out;
}

int show_list(const Words& words, Streams& streams, const std::string& search) {
  const std::string path = path_of(words);
  std::vector<RunEntry> entries;
  if (exists(path)) entries = RunStore(path).list(search);  // a query does not create the list
  deliver(words.has("json") ? list_json(path, entries) : list_text(entries), words, streams);
  return kDone;
}

int show_one(const Words& words, Streams& streams, std::int64_t id) {
  const RecordedRun run = RunStore(path_of(words)).get(id);
  deliver(words.has("json") ? run.document : entry_text(run.entry), words, streams);
  return kDone;
}

int change_one(const std::string& action, const Words& words, const Texts& typed,
               Streams& streams) {
  const std::int64_t id = id_of(typed);
  RunStore store(path_of(words));
  if (action == "note") store.set_note(id, joined(typed, 2));
  if (action == "tag")
    for (const std::string& tag : tags_of(typed)) store.add_tag(id, tag);
  if (action == "untag")
    for (const std::string& tag : tags_of(typed)) store.remove_tag(id, tag);
  if (action == "remove") {
    store.remove(id);
    if (!words.has("quiet")) streams.err << "removed run " << id << "\n";
  }
  return kDone;
}

int run_runs(const Words& words, Streams& streams) {
  const Texts typed = words.texts("");
  if (typed.empty() || (typed[0] == "list" && typed.size() == 1))
    return show_list(words, streams, "");
  Words action;
  action.add("", typed[0]);
  const std::string what =
      action.choice("", {"list", "show", "search", "note", "tag", "untag", "remove"}, "list");
  if (what == "list" || (what == "search" && typed.size() == 1))
    throw Error(Error::Kind::InvalidInput,
                what == "list" ? "expected nothing behind \"list\", found \"" + typed[1] +
                                     "\"; \"search\" takes words"
                               : "expected words behind \"search\", found nothing",
                {"trainyard runs"});
  if (what == "search") return show_list(words, streams, joined(typed, 1));
  if (what == "show") return show_one(words, streams, id_of(typed));
  return change_one(what, words, typed, streams);
}

}  // namespace

Json runs_schema() { return runs_fields().schema(); }

Verb runs_verb() {
  return {.name = "runs",
          .summary = "The list of what was trained here: notes, tags, search.",
          .positional = "ACTION",
          .positional_doc =
              "list (default), show ID, search WORDS (tag:NAME for a tag), note ID TEXT, tag ID "
              "TAG, untag ID TAG or remove ID",
          .positionals = 100,
          .flags = {{"json", "",
                     "one trainyard/runs@1 document and nothing else; of show, the trainyard/run@1 "
                     "that it recorded"},
                    {"store", "FILE",
                     "this list; else the one that TRAINYARD_RUNS names, else the person's own"},
                    {"out", "FILE", "writes there instead of standard output"},
                    {"quiet", "", "no diagnostics"}},
          .examples = {"runs", "runs search tag:best gpt-tiny --json"},
          .run = run_runs};
}

}  // namespace trainyard
