#include "app/workspace/scenario/setting_words.h"

#include <algorithm>

#include "core/methods/settings/settings.h"

namespace trainyard {

void apply_words(Plan& plan, std::string_view words) {
  bool none = true;
  for (std::size_t from = 0; from < words.size();) {
    // An order has many words and extends to the end.
    const bool order = words.substr(from).starts_with("order=");
    const std::size_t end = order ? words.size() : std::min(words.find(' ', from), words.size());
    if (end > from) apply_setting(plan, words.substr(from, end - from)), none = false;
    from = end + 1;
  }
  if (none) apply_setting(plan, words);  // throws for an empty assignment
}

}  // namespace trainyard
