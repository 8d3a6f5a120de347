#include "core/io/json/schema.h"

#include <array>
#include <charconv>
#include <vector>

#include "core/base/nearest.h"

namespace trainyard {
namespace {

// Since version 2 a model or cluster may be a document inside the project; a word of version 1 is
// unchanged.
constexpr SchemaUpgrade kProjectSteps[] = {[](Json document) { return document; }};

constexpr std::array kSchemas = {
    Schema{"trainyard/model", "a model"},
    Schema{"trainyard/cluster", "a cluster"},
    Schema{"trainyard/plan", "a plan"},
    Schema{"trainyard/scenario", "a scenario"},
    Schema{"trainyard/project", "a project", kProjectSteps},
    Schema{"trainyard/order", "an order"},
    Schema{"trainyard/schedules", "a comparison of schedules"},
    Schema{"trainyard/trade", "a trade of memory against time"},
    Schema{"trainyard/program", "a program"},
    Schema{"trainyard/timeline", "a timeline"},
    Schema{"trainyard/result", "a result"},
    Schema{"trainyard/estimate", "an estimate"},
    Schema{"trainyard/search", "a search"},
    Schema{"trainyard/run", "a run"},
    Schema{"trainyard/runs", "a list of runs"},
    Schema{"trainyard/repeats", "repeats of a run"},
    Schema{"trainyard/validation", "a validation"},
    Schema{"trainyard/device", "a device"},
    Schema{"trainyard/efficiency", "what devices compute for each watt"},
    Schema{"trainyard/bench", "a benchmark"},
    Schema{"trainyard/comparison", "a comparison"},
    Schema{"trainyard/benchmark-report", "a benchmark report"},
    Schema{"trainyard/lint", "what a benchmark report leaves out"},
    Schema{"trainyard/knobs", "strips of a plan's knobs"},
    Schema{"trainyard/scaling", "a study of scaling"},
    Schema{"trainyard/sweep", "a sweep"},
    Schema{"trainyard/goodput", "what failures leave of a training"},
    Schema{"trainyard/network", "links that the transfers of a step share"},
    Schema{"trainyard/shared-cluster", "jobs and short flows on one network"},
    Schema{"trainyard/incast", "senders that meet at one port"},
    Schema{"trainyard/placement", "jobs on shared nodes over time"},
    Schema{"trainyard/stragglers", "what waiting for stragglers costs"},
    Schema{"trainyard/hogwild", "what threads gain that share weights"},
    Schema{"trainyard/halp", "what bits do to HALP"},
    Schema{"trainyard/sharpness", "a study of sharpness"},
    Schema{"trainyard/gate", "a gate of quality"},
    Schema{"trainyard/probe", "a probe of one op"},
    Schema{"trainyard/collectives", "all-reduces measured between processes"},
    Schema{"trainyard/span-profile", "a profile that corrects itself"},
    Schema{"trainyard/batch", "a study of batches"},
    Schema{"trainyard/branches", "a study of branches"},
    Schema{"trainyard/tune", "a tuning"},
    Schema{"trainyard/waves", "waves that share a device"},
    Schema{"trainyard/flip", "what would let another plan win"},
    Schema{"trainyard/fit", "levers that bring a plan into a budget of memory"},
    Schema{"trainyard/tables", "embedding tables as tensor trains"},
    Schema{"trainyard/boundary", "the largest or smallest that fits"},
    Schema{"trainyard/owners", "who owns the memory at its peak"},
    Schema{"trainyard/wrapping", "units that are sharded together"},
    Schema{"trainyard/resharding", "groups that keep gathered weights"},
    Schema{"trainyard/recomputation", "memory and time of each method of recomputation"},
    Schema{"trainyard/questions", "questions and the commands that answer them"},
    Schema{"trainyard/calibration", "a calibration"},
    Schema{"trainyard/profile", "a profile of parameters"},
    Schema{"trainyard/arena", "a placement in an arena"},
    Schema{"trainyard/trace", "what a recorded trace says"},
    Schema{"trainyard/recorded-trace", "a recorded trace"},
    Schema{"trainyard/snapshot", "what a memory snapshot says"},
    Schema{"trainyard/links", "links as measured"},
    Schema{"trainyard/lessons", "the list of lessons"},
    Schema{"trainyard/lesson", "a lesson"},
    Schema{"trainyard/lesson-figures", "the numbers of lessons"},
    Schema{"trainyard/answers", "answers to lessons"},
    Schema{"trainyard/histogram", "how a class answered"},
};

std::vector<std::string> names() {
  std::vector<std::string> list;
  for (const Schema& known : kSchemas) list.push_back(schema_name(known));
  return list;
}

// The hint is left out where the kind itself is known, because then it is no typing error.
std::string hint(const std::string& name) {
  const std::string guess = did_you_mean(name, names());
  return guess.find("\"" + name + "\"") == std::string::npos ? guess : "";
}

// Returns the version after "@", or 0 where there is none.
int version_of(std::string_view name) {
  const std::size_t at = name.rfind('@');
  int version = 0;
  if (at == std::string_view::npos) return 0;
  const auto [end, error] =
      std::from_chars(name.data() + at + 1, name.data() + name.size(), version);
  return error == std::errc() && end == name.data() + name.size() && version > 0 ? version : 0;
}

}  // namespace

std::span<const Schema> schemas() { return kSchemas; }

std::string schema_name(const Schema& known) {
  return std::string(known.kind) + "@" + std::to_string(known.version());
}

const Schema& schema(std::string_view kind) {
  std::vector<std::string_view> kinds;
  for (const Schema& known : kSchemas) {
    if (known.kind == kind) return known;
    kinds.push_back(known.kind);
  }
  throw Error(Error::Kind::InvalidInput, "expected a kind of document, found \"" +
                                             std::string(kind) + "\"" + did_you_mean(kind, kinds));
}

bool has_schema(const Json& document, std::string_view kind) {
  const Json* member = document.find("schema");
  const std::string* name = member ? member->text() : nullptr;
  return name && name->substr(0, name->rfind('@')) == kind;
}

Json upgraded(Json document, const Schema& wanted, const std::string& source) {
  const JsonCursor root(document, source);
  const std::string expected =
      "expected " + std::string(wanted.what) + " (\"schema\": \"" + schema_name(wanted) + "\")";
  if (!root.has("schema")) root.refuse(expected + ", found no key \"schema\"");
  const JsonCursor member = root.at("schema");
  const std::string name = member.text();
  const int version = version_of(name);
  if (!has_schema(document, wanted.kind) || version == 0)
    member.refuse(expected + ", found \"" + name.substr(0, 60) + "\"" + hint(name));
  if (version > wanted.version())
    member.refuse(expected + ", found version " + std::to_string(version) +
                  ", which a newer Trainyard wrote");
  for (std::size_t step = static_cast<std::size_t>(version) - 1; step < wanted.upgrades.size();
       ++step)
    document = wanted.upgrades[step](std::move(document));
  document.set("schema", schema_name(wanted));
  return document;
}

Json read_document(std::string_view text, std::string_view kind, const std::string& source) {
  return upgraded(parse_json(text, source), schema(kind), source);
}

}  // namespace trainyard
