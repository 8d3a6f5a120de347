// A RowContext is what the rows of a table say about each other: families, the blanks that other
// rows of a run fill, the settings that a source's memory figures reveal. It keeps counts and a few
// figures, so that a table of any length needs no more than one row at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/validation/rows/row_parts.h"

namespace trainyard {

class RowContext {
 public:
  /// Every row has to be seen, in the order of the file, before settle().
  void see(const MeasuredRow&);
  void settle();
  /// A row that was seen, with its family named, its blanks filled and its settings inferred.
  FilledRow filled(const MeasuredRow&) const;

 private:
  // How often each value was stated, by what the rows have in common.
  template <class Key>
  using Counts = std::map<Key, std::map<std::int64_t, int>>;
  using Whole = std::optional<std::int64_t>;
  using ShapeKey = std::tuple<std::string, Whole>;  // family, hidden size
  using RunKey = std::tuple<std::string, Whole, Whole, Whole, Whole, std::string>;

  std::string family_of(const MeasuredRow&) const;
  static ShapeKey shape_key(const std::string& family, const MeasuredRow&);
  static RunKey run_key(const std::string& family, const MeasuredRow&);
  FilledRow with_blanks_filled(const MeasuredRow&) const;

  RowFamilies families_;
  // Before settle() under the head of each row's group, since its family is not yet known.
  Counts<ShapeKey> heads_;
  Counts<RunKey> chunks_;
  std::vector<MeasuredRow> figures_;               // rows that state memory and leave settings open
  std::map<std::string, InferredAnswer> answers_;  // by source
};

}  // namespace trainyard
