#include "app/workspace/plans/sweep_document.h"

#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/cluster/price.h"
#include "core/io/documents/result_json.h"
#include "core/result/figures.h"

namespace trainyard {
namespace {

// One row and its combination.
struct Numbered {
  const SweepStudy* study;
  std::size_t index;
  const SweepRow& row() const { return study->rows[index]; }
};

std::vector<Numbered> numbered(const SweepStudy& study) {
  std::vector<Numbered> list;
  for (std::size_t i = 0; i < study.rows.size(); ++i) list.push_back({&study, i});
  return list;
}

// The values of a row on the axes, with the axis before them where that is a setting.
std::optional<std::string> value_on(const Numbered& n, std::string_view name) {
  for (std::size_t a = 0; a < n.study->axes.size(); ++a)
    if (n.study->axes[a].name == name) return n.study->value(n.index, a);
  return std::nullopt;
}

std::vector<std::string> varied(const Numbered& n) {
  std::vector<std::string> words;
  for (std::size_t a = 2; a < n.study->axes.size(); ++a)
    if (const std::string& name = n.study->axes[a].name; name != "price")
      words.push_back(name + "=" + n.study->value(n.index, a));
  return words;
}

// Present where a plan is legal.
template <class F>
auto of_result(F f) {
  return [f](const Numbered& n) {
    return n.row().result ? std::optional(std::invoke(f, *n.row().result)) : std::nullopt;
  };
}

// Present where a plan is legal and has the figure.
template <class F>
auto known(F f) {
  return [f](const Numbered& n) {
    using Value = std::remove_cvref_t<std::invoke_result_t<F, const Result&>>;
    return n.row().result ? Value(std::invoke(f, *n.row().result)) : Value();
  };
}

auto rate_of(bool tokens, Banded<double> (*figure)(const Result&)) {
  return [tokens, figure](const Numbered& n) {
    return n.row().result && n.row().result->counts_tokens == tokens
               ? std::optional(figure(*n.row().result))
               : std::nullopt;
  };
}

std::optional<Banded<Bytes>> peak_of(const Result& r) {
  const StageMemory* most = fullest(r);
  return most == nullptr ? std::nullopt : std::optional(most->peak);
}

Fields<Numbered> row_fields() {
  const Form<Banded<double>> range = band<double>(number());
  const auto row = [](auto member) {
    return in([](const Numbered& n) -> const SweepRow& { return n.row(); }, member);
  };
  const auto on = [](std::string_view name) {
    return [name](const Numbered& n) { return value_on(n, name); };
  };
  const auto price = [](const Numbered& n) -> std::optional<double> {
    const auto words = value_on(n, "price");
    return words ? std::optional(parse_price(*words)) : std::nullopt;
  };
  Fields<Numbered> fields = {
      {"model", on("model"), "as it was typed"},
      {"cluster", on("cluster"), "as it was typed"},
      {"price", price, "US dollars of a device-hour, where it was swept"},
      {"varied", varied, kWhereSet, "settings of this combination"},
      {"verdict", [](const Numbered& n) { return verdict_word(n.row()); },
       one_of({"fits", "may not fit", "does not fit", "no plan"})},
      {"reason", row(&SweepRow::reason), "the verdict as a sentence, or why there is no plan"},
      {"set", row(&SweepRow::set), "arguments of --set that make the plan"}};
  fields.add({{"fidelity", of_result(&Result::fidelity), "how the figures were found"},
              {"devices", of_result(&Result::devices), whole(1), "that the plan uses"},
              {"step_seconds", of_result(&Result::step), band<Duration>(nearest_seconds())},
              {"tokens_per_second", rate_of(true, rate), range, "on all devices"},
              {"tokens_per_second_per_device", rate_of(true, rate_per_device), range},
              {"useful_tokens_per_second", known([](const Result& r) {
                 return r.documents ? std::optional(useful_tokens_per_second(r)) : std::nullopt;
               }),
               number(kAmount), "that are no padding, where a plan packs or pads documents"},
              {"samples_per_second", rate_of(false, rate), range, "of a model without tokens"},
              {"samples_per_second_per_device", rate_of(false, rate_per_device), range},
              {"mfu", of_result(utilisation), range, "share of the peak"},
              {"peak_bytes", known(peak_of), band<Bytes>(whole()), "of the fullest device"},
              {"reserved_bytes", of_result(reserved), "on the fullest device"},
              {"capacity_bytes", of_result(&Result::capacity)},
              {"margin_bytes", of_result([](const Result& r) { return r.verdict.margin; }),
               signed_whole(), "negative = over"},
              {"money_per_step", known(&Result::money), range, "US dollars"},
              {"money_per_work", known(money_for_work), range,
               "US dollars for 1e9 tokens, or 1e6 samples of a model without tokens"},
              {"energy_joules", known(&Result::energy), band<Joules>(number(kAmount)), "of a step"},
              {"limit", of_result([](const Result& r) { return r.verdict.limit; }), kWhereSet}});
  return fields;
}

Fields<SweepStudy> sweep_fields() {
  const Fields<SweepAxis> axis = {{"name", &SweepAxis::name}, {"values", &SweepAxis::values}};
  return document_fields<SweepStudy>(
      "trainyard/sweep",
      {{"plans", [](const SweepStudy& s) { return s.searched ? "searched" : "as given"; },
        one_of({"searched", "as given"})},
       {"objective",
        [](const SweepStudy& s) { return s.searched ? std::optional(s.objective) : std::nullopt; },
        "of the searches: time, memory or money"},
       {"axes", &SweepStudy::axes, list_of(object(axis)), "the last one varies fastest"},
       {"combinations", [](const SweepStudy& s) { return combinations(s.axes); }, whole(1)},
       {"stopped", &SweepStudy::stopped, "before all combinations were done"},
       {"rows", numbered, list_of(object(row_fields())), "by combination"}});
}

}  // namespace

Json sweep_schema() { return sweep_fields().schema(); }

std::string sweep_document(const SweepStudy& study) {
  return write_json(sweep_fields().write(study));
}

}  // namespace trainyard
