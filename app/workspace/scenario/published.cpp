#include "app/workspace/scenario/published.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "app/workspace/scenario/closed_form.h"
#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/validation/shipped.h"

namespace trainyard {
namespace {

constexpr std::string_view kPrefix = "published:";

const RowSet& record_set() {
  static const RowSet set = prepare_rows(record_rows());
  return set;
}

}  // namespace

const RowSet& published_set() {
  static const RowSet set = prepare_rows(published_rows());
  return set;
}

const PreparedRow& published_row(std::string_view id) {
  const Place place{published_word(id)};
  std::vector<std::string_view> ids;
  for (const RowSet* set : {&published_set(), &record_set()}) {
    for (const PreparedRow& row : set->rows) {
      if (row.row.id == id) return row;
      ids.push_back(row.row.id);
    }
    for (const SkippedRow& row : set->skipped)
      if (row.row.id == id)
        throw Error(Error::Kind::InvalidInput, "the row cannot be predicted: it " + row.reason,
                    place);
  }
  throw Error(Error::Kind::InvalidInput,
              fmt::format("there is no published row \"{}\"{}", id.substr(0, 80),
                          did_you_mean(id.substr(0, 80), ids)),
              place);
}

std::string published_word(std::string_view id) { return std::string(kPrefix) + std::string(id); }

std::optional<std::string_view> published_id(std::string_view word) {
  if (!word.starts_with(kPrefix)) return std::nullopt;
  return word.substr(kPrefix.size());
}

std::vector<std::string> assumed_sentences(const PreparedRow& row) {
  std::vector<std::string> list;
  for (const Assumption& assumed : row.assumptions)
    list.push_back(
        fmt::format("{} = {} is assumed: {}", assumed.setting, assumed.taken, assumed.why));
  return list;
}

PlanCost estimated_cost(const Scenario& scenario) {
  const Result result = estimate(scenario);
  return {result.step.value, worst_peak(result)};
}

}  // namespace trainyard
