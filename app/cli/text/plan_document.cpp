// Writes a search as the document trainyard/search@1.
#include <algorithm>

#include "app/cli/text/plan_text.h"
#include "core/io/documents/result_json.h"
#include "core/io/json/json.h"
#include "core/io/json/schema.h"

namespace trainyard {
namespace {

Json word_list(const std::vector<std::string>& words) {
  Json list = Json::list();
  for (const std::string& word : words) list.push(word);
  return list;
}

Json results(const PlanAnswer& a, const std::vector<Candidate>& plans,
             const std::vector<Result>& found) {
  Json list = Json::list();
  for (std::size_t i = 0; i < found.size(); ++i) {
    Json one = to_json(found[i]);
    one.set("rank", i + 1);
    one.set("words", word_list(a.space.words(plans[i].id)));
    one.set("reserved_bytes", reserved(found[i]).value);
    list.push(std::move(one));
  }
  return list;
}

Json space_json(const PlanSpace& space) {
  Json list = Json::list();
  for (const Knob& knob : space.knobs()) {
    Json one = Json::object();
    one.set("knob", knob.key);
    one.set("values", word_list(knob.values));
    list.push(std::move(one));
  }
  return list;
}

Json reason_json(const Reason& reason) {
  Json one = Json::object();
  one.set("sentence", reason.sentence);
  if (!reason.field.empty()) one.set("field", reason.field);
  if (!reason.fix.empty()) one.set("fix", reason.fix);
  one.set("distance", reason.distance);
  return one;
}

Json waterfall(const Waterfall& fall, double unit) {
  const auto figure = [&](std::int64_t n) {
    return unit == 1 ? Json(n) : Json(static_cast<double>(n) / unit);
  };
  Json list = Json::list();
  for (const CausePart& part : fall.parts) {
    Json one = Json::object();
    one.set("name", part.name);
    one.set("a", figure(part.mine));
    one.set("b", figure(part.theirs));
    one.set("difference", figure(part.difference()));
    list.push(std::move(one));
  }
  Json json = Json::object();
  json.set("a", figure(fall.mine));
  json.set("b", figure(fall.theirs));
  json.set("parts", std::move(list));
  return json;
}

Json between(const Result& a, const Result& b) {
  Json json = Json::object();
  json.set("seconds", waterfall(time_by_cause(a, b), 1e9));
  json.set("bytes", waterfall(bytes_by_cause(a, b), 1));
  return json;
}

Json refined_json(const PlanAnswer& a) {
  Json list = Json::list();
  for (const RefinedPlan& r : a.refined) {
    Json one = Json::object();
    one.set("words", word_list(a.space.words(r.from)));
    one.set("changes", word_list(r.changes));
    one.set("step_seconds", to_seconds(r.step));
    if (r.simulated > Duration{}) one.set("simulated_seconds", to_seconds(r.simulated));
    one.set("reserved_bytes", r.memory.value);
    list.push(std::move(one));
  }
  return list;
}

Json none_json(const PlanAnswer& a) {
  const NoPlan& none = *a.none;
  Json json = Json::object();
  if (none.least) {
    json.set("words", word_list(a.space.words(*none.least)));
    json.set("reserved_bytes", none.memory.value);
    json.set("over_bytes", none.over.value);
  }
  json.set("reason", reason_json(none.reason));
  Json openings = Json::list();
  for (const Opening& o : none.openings) {
    Json one = Json::object();
    one.set("flag", o.flag);
    one.set("words", o.words);
    one.set("fits", o.fits);
    one.set("margin_bytes", o.margin.value);
    one.set("step_seconds", to_seconds(o.step));
    openings.push(std::move(one));
  }
  json.set("openings", std::move(openings));
  return json;
}

Json why_json(const PlanAnswer& a) {
  const WhyPlan& why = *a.why;
  Json json = reason_json(why.reason);
  json.set("fate", to_string(why.reason.fate));
  json.set("words", word_list(why.words));
  json.set("matches", why.matches);
  if (!why.outside.empty()) json.set("outside", why.outside);
  if (why.nearest) json.set("nearest", word_list(a.space.words(*why.nearest)));
  if (why.mine) json.set("result", to_json(*why.mine));
  if (why.mine && why.best) json.set("against_best", between(*why.best, *why.mine));
  return json;
}

}  // namespace

std::string search_document(const PlanAnswer& a) {
  const SearchResult& found = a.found;
  Json json = Json::object();
  json.set("schema", schema_name(schema("trainyard/search")));
  json.set("evaluated", found.tried);
  json.set("feasible", found.fitting);
  json.set("estimated", found.estimated);
  json.set("simulated", found.simulated);
  json.set("seconds", a.seconds);
  json.set("plans_per_second",
           found.seconds > 0 ? static_cast<double>(found.tried) / found.seconds : 0.0);
  json.set("stopped", found.stopped);
  json.set("objective", to_string(a.options.objective));
  json.set("space", space_json(a.space));
  json.set("best", results(a, found.best, a.best));
  json.set("pareto", results(a, found.front, a.front));
  Json rejected = Json::object(), fates = Json::object(), samples = Json::list();
  for (std::size_t f = 0; f < kFates; ++f) {
    const auto fate = static_cast<Fate>(f);
    if (found.fates[f] == 0) continue;
    fates.set(std::string(to_string(fate)), found.fates[f]);
    if (fate < Fate::Front) rejected.set(std::string(to_string(fate)), found.fates[f]);
  }
  for (const FateSample& sample : a.fates) {
    Json one = reason_json(sample.reason);
    one.set("fate", to_string(sample.fate));
    one.set("words", word_list(a.space.words(sample.id)));
    samples.push(std::move(one));
  }
  json.set("rejected", std::move(rejected));
  json.set("fates", std::move(fates));
  json.set("samples", std::move(samples));
  if (a.best.size() > 1) json.set("runner_up", between(a.best[0], a.best[1]));
  if (!a.refined.empty()) json.set("refined", refined_json(a));
  if (a.none) json.set("nothing_fits", none_json(a));
  if (a.why) json.set("why", why_json(a));
  return write_json(json);
}

}  // namespace trainyard
