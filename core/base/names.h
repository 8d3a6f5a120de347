// Names holds interned text: a program with a million instructions refers to only some dozens of
// names.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"

namespace trainyard {

class Names {
 public:
  /// Returns the id of the text; equal texts have equal ids. Ids count from 0 in order of first
  /// use.
  NameId intern(std::string_view text) {
    if (auto found = ids_.find(text); found != ids_.end()) return found->second;
    const NameId id{static_cast<std::uint32_t>(texts_.size())};
    texts_.emplace_back(text);
    ids_.emplace(texts_.back(), id);
    return id;
  }
  /// Returns "" for an id that is not valid.
  std::string_view operator[](NameId id) const {
    return id.value < texts_.size() ? texts_[id.value] : std::string_view();
  }
  std::size_t size() const { return texts_.size(); }

 private:
  std::vector<std::string> texts_;
  std::map<std::string, NameId, std::less<>> ids_;
};

}  // namespace trainyard
