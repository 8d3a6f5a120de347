#include "visualizers/roofline/variants_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "core/base/units_text.h"
#include "core/cost/kernels/variant_ranking.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {

DataTable variants_table(const Calibration& c) {
  const auto ranking = rank_variants(c.variants);
  std::vector<std::vector<DataCell>> rows;
  std::vector<Item> items;
  for (std::size_t i = 0; i < c.variants.size(); ++i) {
    const VariantTiming& t = c.variants[i];
    const auto names = variant_names(t.shape.kernel);
    const auto name = [&](int v) { return std::string(names[static_cast<std::size_t>(v)]); };
    const auto time = [&](int v) { return t.times[static_cast<std::size_t>(v)]; };
    std::vector<std::string> ways;
    for (int v = 0; v < static_cast<int>(names.size()); ++v)
      if (has_variant(t.shape, v)) ways.push_back(name(v) + " " + readable(time(v)));
    const auto over_best = [&](int v) {
      return DataCell{to_seconds(time(v)) / to_seconds(time(t.best())) - 1};
    };
    const std::optional<int> unseen = ranking->held_out_choice(i);
    items.push_back({ItemKind::Dot, rows.size()});
    rows.push_back({std::string(to_string(t.shape.kernel)), shape_words(t.shape),
                    fmt::format("{}", fmt::join(ways, ", ")), name(t.usual), over_best(t.usual),
                    name(chosen_variant(t)), unseen ? DataCell{name(*unseen)} : DataCell{},
                    unseen ? over_best(*unseen) : DataCell{}});
  }
  return listed_table("Ways to compute kernels",
                      {{"kernel", DataUnit::Words},
                       {"shape", DataUnit::Words},
                       {"ways and times", DataUnit::Words},
                       {"usual", DataUnit::Words},
                       {"usual over fastest", DataUnit::Share},
                       {"chosen", DataUnit::Words},
                       {"chosen unseen", DataUnit::Words},
                       {"unseen over fastest", DataUnit::Share}},
                      std::move(rows), std::move(items));
}

}  // namespace trainyard
