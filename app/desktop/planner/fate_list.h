// What became of every plan of a search, counted: one row a fate, its count as a bar. A row that is
// chosen filters.
#pragma once

#include <QWidget>

#include <optional>

#include "planners/plans/plan_search.h"

class QTreeWidget;

namespace trainyard {

class FateList : public QWidget {
  Q_OBJECT

 public:
  explicit FateList(QWidget* parent = nullptr);
  /// Null: empty.
  void show_counts(const SearchResult*);
  std::optional<Fate> chosen() const { return chosen_; }
  void clear_choice();

 Q_SIGNALS:
  void changed();

 private:
  QTreeWidget* table_;
  std::optional<Fate> chosen_;
};

/// "layers do not divide", what a row says.
QString fate_words(Fate);

}  // namespace trainyard
