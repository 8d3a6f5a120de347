#include "app/cli/text/plans/knobs_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/units_text.h"

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
                     readable(now.capacity()), now.worst.value, spare_words(now.margin));
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

const Fields<KnobValue>& knob_value_fields() {
  // Figures belong to a legal value only, and reasons to one that is not.
  const auto legal = [](auto of) {
    return [of](const KnobValue& v) {
      using Value = std::remove_cvref_t<std::invoke_result_t<decltype(of), const KnobValue&>>;
      return v.legal ? std::optional<Value>(std::invoke(of, v)) : std::nullopt;
    };
  };
  const auto figure = [legal](auto member) { return legal(in(&KnobValue::figures, member)); };
  static const Fields<KnobValue> kFields = {
      {"value", &KnobValue::value},
      {"set", &KnobValue::words, "what is set, as --set takes it"},
      {"partners", &KnobValue::partners, kWhereSet, "of it, what changes beside the knob"},
      {"devices", &KnobValue::devices, whole(1)},
      {"legal", &KnobValue::legal},
      {"why_not",
       [](const KnobValue& v) { return v.legal ? std::nullopt : std::optional(v.why_not); }},
      {"field", &KnobValue::field, kWhereSet, "of the plan, that is refused"},
      {"fix", &KnobValue::fix, kWhereSet},
      {"step_seconds", figure(&PlanFigures::step)},
      {"change", legal(&KnobValue::change),
       "time of a token (a sample) against the plan's, less one"},
      {"peak_bytes", figure(&PlanFigures::peak)},
      {"reserved_bytes", figure(&PlanFigures::reserved), "of the device that has most reserved"},
      {"margin_bytes", figure(&PlanFigures::margin), signed_whole(), "negative = over"},
      {"fits", figure(&PlanFigures::fits)},
      {"worst_device", figure(&PlanFigures::worst)},
      {"maths", &KnobValue::maths, kWhereSet, "why its training is not the plan's step by step"},
      {"alternative", &KnobValue::alternative, kWhereSet,
       "the same value is better with other partners"}};
  return kFields;
}

namespace {

Fields<KnobStrip> strip_fields() {
  return {{"knob", &KnobStrip::key},
          {"now", &KnobStrip::now},
          {"doc", &KnobStrip::doc},
          {"values", &KnobStrip::values, list_of(object(knob_value_fields()))}};
}

std::vector<KnobStrip> strips_by_gain(const Sensitivity& all) {
  std::vector<KnobStrip> strips;
  for (const KnobStrip* strip : by_gain(all)) strips.push_back(*strip);
  return strips;
}

Fields<Sensitivity> strips_fields() {
  using All = Sensitivity;
  const auto now = [](auto member) { return in(&All::now, member); };
  return document_fields<All>(
      "trainyard/knobs", {{"model", [](const All& all) { return all.scenario.model.name; }},
                          {"cluster", [](const All& all) { return all.scenario.cluster.name; }},
                          {"step_seconds", now(&PlanFigures::step)},
                          {"reserved_bytes", now(&PlanFigures::reserved)},
                          {"margin_bytes", now(&PlanFigures::margin), signed_whole()},
                          {"capacity_bytes", now(&PlanFigures::capacity)},
                          {"priced", &All::priced, "plans"},
                          {"strips", strips_by_gain, list_of(object(strip_fields()))}});
}

}  // namespace

Json knobs_schema() { return strips_fields().schema(); }

std::string strips_document(const Sensitivity& all) {
  return write_json(strips_fields().write(all));
}

}  // namespace trainyard
