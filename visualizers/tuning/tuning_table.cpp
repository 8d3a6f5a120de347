#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "visualizers/tuning/tuning_view.h"

namespace trainyard {
namespace {

// A varied key; a setting of the plan and one of training may have the same name.
struct TunedKey {
  std::string name;
  bool training = false;
  friend bool operator==(const TunedKey&, const TunedKey&) = default;
};

std::string key_title(const TunedKey& key) {
  return key.training ? key.name + " of training" : key.name;
}

std::pair<std::string, std::string> key_and_value(const std::string& word) {
  const std::size_t equals = std::min(word.find('='), word.size());
  return {word.substr(0, equals), equals < word.size() ? word.substr(equals + 1) : ""};
}

// The value that the trial gives the key; nothing where its family does not vary it.
std::optional<std::string> value_of(const TuneTrial& trial, const TunedKey& key) {
  for (const std::string& word : key.training ? trial.train : trial.set)
    if (const auto [name, value] = key_and_value(word); name == key.name) return value;
  return std::nullopt;
}

std::vector<TunedKey> tuned_keys(const TuneReport& report) {
  std::vector<TunedKey> keys;
  for (const TuneTrial& trial : report.trials)
    for (const bool training : {false, true})
      for (const std::string& word : training ? trial.train : trial.set)
        if (TunedKey key{key_and_value(word).first, training};
            std::find(keys.begin(), keys.end(), key) == keys.end())
          keys.push_back(std::move(key));
  return keys;
}

std::optional<double> as_number(const std::string& text) {
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                    : std::nullopt;
}

// A column is one of numbers, which are sorted by size, where every value is one.
bool are_numbers(const TuneReport& report, const TunedKey& key) {
  return std::all_of(report.trials.begin(), report.trials.end(), [&](const TuneTrial& trial) {
    const std::optional<std::string> value = value_of(trial, key);
    return !value || as_number(*value);
  });
}

DataColumn figure_column(TuneGoal goal) {
  const std::string name(goal_name(goal));
  switch (goal) {
    case TuneGoal::Time:
      return {name, DataUnit::StepTime};
    case TuneGoal::Memory:
      return {name, DataUnit::ByteCount};
    case TuneGoal::Money:
      return {name + ", US$", DataUnit::Digits};
    case TuneGoal::Loss:
      break;
  }
  return {name, DataUnit::Digits};
}

DataCell figure_cell(TuneGoal goal, const std::optional<double>& value) {
  if (!value) return {};
  if (goal == TuneGoal::Time) return std::int64_t{seconds(*value).count()};
  if (goal == TuneGoal::Memory) return static_cast<std::int64_t>(*value);
  return *value;
}

DataCell time_cell(double in_seconds) { return std::int64_t{seconds(in_seconds).count()}; }

}  // namespace

DataTable tuning_table(const TuneReport& report) {
  const std::vector<TunedKey> keys = tuned_keys(report);
  const bool families = report.arms.size() > 1;
  std::vector<DataColumn> columns = {{"trial", DataUnit::Count}};
  if (families) columns.push_back({"family", DataUnit::Words});
  std::vector<bool> numbers;
  for (const TunedKey& key : keys) {
    numbers.push_back(are_numbers(report, key));
    columns.push_back({key_title(key), numbers.back() ? DataUnit::Number : DataUnit::Words});
  }
  columns.push_back(figure_column(report.goal));
  columns.push_back({"cost", DataUnit::Time});
  columns.push_back({"cost so far", DataUnit::Time});
  if (report.fusion) columns.push_back({"trained together", DataUnit::Count});
  columns.push_back({"remark", DataUnit::Words});
  std::vector<std::vector<DataCell>> rows;
  std::vector<Item> items;
  for (std::size_t i = 0; i < report.trials.size(); ++i) {
    const TuneTrial& trial = report.trials[i];
    std::vector<DataCell> row = {static_cast<std::int64_t>(i) + 1};
    if (families) row.emplace_back(family_words(report.arms[trial.arm]));
    for (std::size_t k = 0; k < keys.size(); ++k) {
      const std::optional<std::string> value = value_of(trial, keys[k]);
      row.push_back(!value ? DataCell() : numbers[k] ? DataCell(*as_number(*value)) : *value);
    }
    row.push_back(figure_cell(report.goal, trial.value));
    row.push_back(time_cell(trial.cost));
    row.push_back(time_cell(trial.spent));
    if (report.fusion)
      row.push_back(trial.together > 0 ? DataCell(std::int64_t{trial.together}) : DataCell());
    row.emplace_back(trial_remark(trial));
    rows.push_back(std::move(row));
    items.push_back(tuning_item(i));
  }
  return listed_table("Trials", std::move(columns), std::move(rows), std::move(items));
}

}  // namespace trainyard
