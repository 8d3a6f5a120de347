#include "core/base/nearest.h"

#include <algorithm>
#include <cctype>

namespace trainyard {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Three rows of the table suffice, because the swap of neighbours looks back two rows.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

template <class List>
std::string_view closest(std::string_view typed, const List& names) {
  constexpr std::size_t kLongest = 256;  // a longer word is not a typing error, and the cost is
                                         // quadratic in the length
  if (typed.size() > kLongest) return {};
  std::string_view best;
  std::size_t best_distance = typed.size() / 2 + 2;
  for (std::string_view name : names) {
    if (name.size() > kLongest) continue;
    const std::size_t d = distance(typed, name);
    if (d < best_distance) best_distance = d, best = name;
  }
  return best;
}

std::string phrase(std::string_view name) {
  return name.empty() ? std::string() : "; did you mean \"" + std::string(name) + "\"?";
}

}  // namespace

std::string_view nearest(std::string_view typed, std::span<const std::string_view> names) {
  return closest(typed, names);
}
std::string_view nearest(std::string_view typed, const std::vector<std::string>& names) {
  return closest(typed, names);
}
std::string did_you_mean(std::string_view typed, std::span<const std::string_view> names) {
  return phrase(nearest(typed, names));
}
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& names) {
  return phrase(nearest(typed, names));
}

}  // namespace trainyard
