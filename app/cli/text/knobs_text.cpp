#include "app/cli/text/knobs_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/units_text.h"
#include "core/io/json/schema.h"

namespace trainyard {
namespace {

struct Row {
  std::string knob, now, value, step, change, reserved, memory, verdict, maths;
};

std::string value_words(const KnobValue& v) {
  return v.partners.empty() ? v.value : v.value + ", " + v.partners;
}

std::string signed_words(Bytes more) {
  return more.value == 0 ? "same" : (more.value > 0 ? "+" : "") + readable(more);
}

Row row_of(const KnobValue& v, const PlanFigures& now) {
  Row row;
  row.value = value_words(v);
  row.step = readable_step(v.figures.step);
  row.change = fmt::format("{:+.1f} %", 100 * v.change);
  row.reserved = readable(v.figures.reserved);
  row.memory = signed_words(v.figures.reserved - now.reserved);
  row.verdict = spare_words(v.figures.margin);
  row.maths = v.maths;
  return row;
}

bool is_idle(const KnobValue& v, const PlanFigures& now) {
  return v.figures.step == now.step && v.figures.reserved == now.reserved && v.maths.empty();
}

// Values that fit come first, fastest first; then those nearest to fitting.
std::vector<const KnobValue*> ranked(const KnobStrip& strip, bool alone) {
  std::vector<const KnobValue*> values;
  for (const KnobValue& v : strip.values)
    if (v.legal && (alone || !v.alternative)) values.push_back(&v);
  std::stable_sort(values.begin(), values.end(), [](const KnobValue* a, const KnobValue* b) {
    if (a->figures.fits != b->figures.fits) return a->figures.fits;
    return a->figures.fits ? a->change < b->change : a->figures.reserved < b->figures.reserved;
  });
  return values;
}

std::string table(const std::vector<Row>& rows) {
  const auto width = [&](std::string Row::* cell, std::size_t least) {
    for (const Row& row : rows) least = std::max(least, (row.*cell).size());
    return least;
  };
  const std::size_t knob = width(&Row::knob, 4), now = width(&Row::now, 3),
                    value = width(&Row::value, 5);
  const std::size_t verdict = width(&Row::verdict, 7);
  std::string text;
  const auto line = [&](const Row& r) {
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>8}  {:>9}  {:>9}  {:>9}  {:<{}}  {}", r.knob,
                        knob, r.now, now, r.value, value, r.step, r.change, r.reserved, r.memory,
                        r.verdict, verdict, r.maths);
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  };
  line({"knob", "now", "value", "step", "work", "reserved", "memory", "spare", "maths"});
  for (const Row& row : rows) line(row);
  return text;
}

std::string refusals(const std::vector<const KnobStrip*>& strips) {
  std::string text;
  for (const KnobStrip* strip : strips)
    for (const KnobValue& v : strip->values) {
      if (v.legal) continue;
      text += fmt::format("  {}={}: {}{}{}\n", strip->key, v.value, v.why_not,
                          v.field.empty() ? "" : " (" + v.field + ")",
                          v.fix.empty() ? "" : "; try " + v.fix);
    }
  return text.empty() ? text : "\nnot legal\n" + text;
}

}  // namespace

std::string spare_words(Bytes margin) {
  return margin.value >= 0 ? readable(margin) + " spare" : readable(-margin) + " over";
}

std::string plan_words(const Scenario& scenario, const PlanFigures& now) {
  return fmt::format("{} on {}: {} a step, {} reserved of {} on device {}; {}", scenario.model.name,
                     scenario.cluster.name, readable_step(now.step), readable(now.reserved),
                     readable(scenario.cluster.device.memory.value), now.worst.value,
                     spare_words(now.margin));
}

std::string strips_text(const Sensitivity& all, bool alone) {
  std::string text = fmt::format(
      "{}\neach value alone, by closed form; work: time of a {} against now; maths: why a training "
      "is not this one's step by step\n\n",
      plan_words(all.scenario, all.now), all.scenario.model.tokens ? "token" : "sample");
  const std::vector<const KnobStrip*> strips = by_gain(all);
  std::vector<Row> rows;
  std::string idle;
  for (const KnobStrip* strip : strips) {
    bool first = true;
    for (const KnobValue* v : ranked(*strip, alone)) {
      if (!alone && is_idle(*v, all.now)) {
        idle += fmt::format("{}{}={}", idle.empty() ? "" : ", ", strip->key, v->value);
        continue;
      }
      Row row = row_of(*v, all.now);
      if (first) row.knob = strip->key, row.now = strip->now.empty() ? "not said" : strip->now;
      first = false;
      rows.push_back(std::move(row));
    }
  }
  text += table(rows);
  if (!idle.empty()) text += "\nchange nothing: " + idle + "\n";
  return text + refusals(strips);
}

Json value_json(const KnobValue& v) {
  Json json = Json::object();
  json.set("value", v.value);
  json.set("set", v.words);
  if (!v.partners.empty()) json.set("partners", v.partners);
  json.set("devices", v.devices);
  json.set("legal", v.legal);
  if (!v.legal) {
    json.set("why_not", v.why_not);
    if (!v.field.empty()) json.set("field", v.field);
    if (!v.fix.empty()) json.set("fix", v.fix);
    return json;
  }
  json.set("step_seconds", to_seconds(v.figures.step));
  json.set("change", v.change);
  json.set("peak_bytes", v.figures.peak.value);
  json.set("reserved_bytes", v.figures.reserved.value);
  json.set("margin_bytes", v.figures.margin.value);
  json.set("fits", v.figures.fits);
  json.set("worst_device", v.figures.worst.value);
  if (!v.maths.empty()) json.set("maths", v.maths);
  if (v.alternative) json.set("alternative", true);
  return json;
}

std::string strips_document(const Sensitivity& all) {
  Json json = Json::object();
  json.set("schema", schema_name(schema("trainyard/knobs")));
  json.set("model", all.scenario.model.name);
  json.set("cluster", all.scenario.cluster.name);
  json.set("step_seconds", to_seconds(all.now.step));
  json.set("reserved_bytes", all.now.reserved.value);
  json.set("margin_bytes", all.now.margin.value);
  json.set("capacity_bytes", all.scenario.cluster.device.memory.value.value);
  json.set("priced", all.priced);
  Json strips = Json::list();
  for (const KnobStrip* strip : by_gain(all)) {
    Json one = Json::object();
    one.set("knob", strip->key);
    one.set("now", strip->now);
    one.set("doc", strip->doc);
    Json values = Json::list();
    for (const KnobValue& v : strip->values) values.push(value_json(v));
    one.set("values", std::move(values));
    strips.push(std::move(one));
  }
  json.set("strips", std::move(strips));
  return write_json(json);
}

}  // namespace trainyard
