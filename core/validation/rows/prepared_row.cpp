#include "core/validation/rows/prepared_row.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace trainyard {
namespace {

constexpr std::string_view kMatter[] = {
    "micro-batch", "recompute", "flash-attention", "virtual-stages",    "schedule",    "zero",
    "precision",   "heads",     "hybrid",          "sequence-parallel", "global-batch"};

}  // namespace

std::vector<std::string> PreparedRow::blanks() const {
  std::vector<std::string> list;
  for (const Assumption& a : assumptions)
    if (std::find(std::begin(kMatter), std::end(kMatter), a.setting) != std::end(kMatter))
      list.push_back(a.setting);
  return list;
}

}  // namespace trainyard
